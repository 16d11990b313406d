//! Distances between fingerprints, as fast as the CPU allows: the set bits of their XOR.
//!
//! Loops over slices are compiled once for each instruction set. An index asks for [`Kernel::best`] when it is made
//! and keeps the answer.
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
//! Guarantees that every kernel gives the answers of the plain loop, in the same order. The only home of `unsafe`
//! in the crate; nothing unsafe can be reached through its public items. Does not handle ids, tables or plans.

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
