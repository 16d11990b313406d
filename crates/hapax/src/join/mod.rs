//! Many against many: all near pairs of a set.
//!
//! # Reading order
//!
//! [`plan`] says which bits two near fingerprints must share. `parts`, `collapse` and `bucket`
//! are the steps; [`pairs`](mod@pairs) puts them together.

pub mod executor;
pub mod joined;
pub mod pairs;
pub mod plan;
pub mod record;
pub mod spill;
pub mod spilled;

mod bucket;
mod collapse;
mod parts;
mod sorter;

#[cfg(test)]
mod agreement;

pub use executor::{Executor, OneThread};
pub use joined::Joined;
pub use pairs::{PairOptions, pairs};
pub use plan::Plan;
pub use record::{Id, Pair, Record};
pub use spill::{MemorySpill, Spill};
pub use spilled::SpilledPairs;

/// Why a join was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Joins are exact up to a bound, and beyond it would compare everything with everything.
    #[error("within {asked} bits is out of range: a join is exact from 0 to {most}")]
    BoundOutOfRange {
        /// The bound asked for.
        asked: u32,
        /// The widest bound possible.
        most: u32,
    },
    /// The memory allowed would not even hold the buffers.
    #[error("{given} bytes of memory are not enough for a join: {least} is the least")]
    MemoryTooSmall {
        /// The bytes allowed.
        given: usize,
        /// The bytes needed.
        least: usize,
    },
    /// The temporary storage failed.
    #[error("the temporary storage of a join failed")]
    Spill {
        /// What it said.
        source: std::io::Error,
    },
    /// Whoever takes the results could not.
    #[error("the results of a join could not be passed on")]
    Sink {
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
