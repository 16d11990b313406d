//! Distances between fingerprints, as fast as the CPU allows: the set bits of their XOR.
//!
//! Loops over slices are compiled once per instruction set. An index calls [`Kernel::best`] when it is built
//! and keeps the result.
//!
//! ```
//! # use std::ops::ControlFlow;
//! # use hapax::fingerprint::MaxDistance;
//! # use hapax::hamming::Kernel;
//! let mut found = Vec::new();
//! let two = MaxDistance::new(2).unwrap();
//! let _ = Kernel::best().visit_within(&[0b0000, 0b0111, 0b1111], 0b0011, two, |position, distance| {
//!     found.push((position, distance));
//!     ControlFlow::Continue(())
//! });
//! assert_eq!(found, [(0, 2), (1, 1), (2, 2)]);
//! ```
//!
//! Guarantees that every kernel gives the results of the plain loop, in the same order. The only module of the
//! crate with `unsafe`; its public items are safe. Does not handle ids, tables or plans.

pub mod gather;
pub mod kernel;
pub mod lanes;
#[cfg(feature = "text")]
pub(crate) mod leading;
pub mod memory;
pub mod vacant;

pub use gather::BitGather;
pub use kernel::{Kernel, Work};
pub use lanes::Lanes;
pub use vacant::Vacant;
