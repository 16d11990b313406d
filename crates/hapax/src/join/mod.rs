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

mod bucket;
mod collapse;
mod parts;

pub use executor::{Executor, OneThread};
pub use joined::Joined;
pub use pairs::{PairOptions, pairs};
pub use plan::Plan;
pub use record::{Id, Pair, Record};

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
}
