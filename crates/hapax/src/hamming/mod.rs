//! How far apart: distances between fingerprints, as fast as the CPU allows.
//!
//! The distance of two fingerprints is the number of set bits in their XOR. Everything here is
//! that one operation over slices, compiled once for each instruction set worth having, and
//! chosen once: an index asks for [`Kernel::best`] when it is made and keeps the answer.
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
//! # Reading order
//!
//! [`kernel`] picks the instruction set and runs a [`Work`] under it. [`lanes`] holds the loops
//! such a work calls. [`gather`] collects scattered bits of a fingerprint into a small key.
//! [`vacant`] says which hashes fill a bin of a sketch, `leading` gathers the outcome of a test of
//! 64 bytes. [`memory`] hides the wait for memory: prefetches and large pages.
//!
//! # What this module promises
//!
//! Every kernel gives the same answers as the plain loop, in the same order; a property suite
//! runs over each one this CPU has. It is the only home of `unsafe` in the crate, and nothing
//! unsafe can be reached through its public items.
//!
//! # What this module does not know
//!
//! Ids, tables and plans.

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
