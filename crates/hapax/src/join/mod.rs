//! Joins: all near pairs of a set, and a batch of queries against a file.
//!
//! ```
//! use hapax::fingerprint::MaxDistance;
//! use hapax::join::{OneThread, Pair, PairOptions, Record, pairs};
//!
//! let page = |id: u32, fingerprint| Record { fingerprint, id };
//! let pages = vec![page(1, 0xff00), page(2, 0xff01), page(3, 0x1234), page(4, 0xff00)];
//! let three = PairOptions::within(MaxDistance::new(3).unwrap())?;
//! let joined = pairs(pages, &three, &OneThread);
//! assert_eq!(joined.pairs(), [Pair { a: 1, b: 2, distance: 1 }]);
//! assert_eq!(joined.twins(), [Pair { a: 1, b: 4, distance: 0 }]);
//! # Ok::<(), hapax::join::JoinError>(())
//! ```
//!
//! Guarantees exactly the pairs that comparing all pairs would find, each once, in an order that depends on the
//! input alone, not on plan, memory or threads. Identical fingerprints take linear time and space; dense
//! clusters about as much as they have near pairs. Joining 16 million fingerprints within 3 bits takes about as
//! long as sorting them five times, on one core with AVX-512. [`pairs`](mod@pairs) works in memory, [`spilled`]
//! in bounded memory, [`distributed`] on many machines, [`matching`] streams a file past a batch. Does not
//! handle files and threads; see [`Spill`], [`Chunks`] and [`Executor`].

pub mod distributed;
pub mod executor;
pub mod joined;
pub mod matching;
pub mod pairs;
pub mod plan;
pub mod record;
pub mod spill;
pub mod spilled;

mod bucket;
mod collapse;
mod dense;
mod parts;
mod sorter;

#[cfg(test)]
mod tests;

pub use distributed::{PiecePairs, Pieces};
pub use executor::{Executor, OneThread};
pub use joined::Joined;
pub use matching::{Batch, Chunks, Hit, Streamed, Wanted};
pub use pairs::{PairOptions, pairs};
pub use plan::Plan;
pub use record::{Id, Pair, Record};
pub use spill::{MemorySpill, Spill};
pub use spilled::SpilledPairs;

/// A join was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Joins are exact up to a bound; beyond it they would have to compare all pairs.
    #[error("within {asked} bits is out of range: a join is exact from 0 to {most}")]
    BoundOutOfRange {
        asked: u32,
        /// The maximum bound.
        most: u32,
    },
    /// The memory limit is smaller than the required buffers.
    #[error("{given} bytes of memory are not enough for a join: {least} is the least")]
    MemoryTooSmall { given: usize, least: usize },
    /// The temporary storage failed.
    #[error("the temporary storage of a join failed")]
    Spill { source: std::io::Error },
    /// A chunk could not be read.
    #[error("a chunk of stored fingerprints could not be read")]
    Source {
        /// The error of its reader.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A chunk is not ascending, so its results would be wrong.
    #[error("chunk {chunk} of the stored fingerprints is not sorted; the file must be rewritten")]
    ChunkNotSorted {
        /// Number of the chunk, from 0.
        chunk: usize,
    },
    /// Positions in a chunk are numbered with 32 bits.
    #[error("chunk {chunk} has {given} fingerprints, more than a chunk may have (4294967295)")]
    ChunkTooLarge {
        /// Number of the chunk, from 0.
        chunk: usize,
        given: usize,
    },
    /// Queries are numbered with 32 bits.
    #[error("{given} queries are more than one batch holds (4294967295); use several")]
    BatchTooLarge { given: usize },
    /// The receiver of the results failed.
    #[error("the results of a join could not be passed on")]
    Sink { source: Box<dyn std::error::Error + Send + Sync> },
}
