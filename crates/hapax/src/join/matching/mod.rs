//! Searches a file larger than memory for a batch of queries.
//!
//! The batch stays in memory, and the file streams by once, chunk by chunk ([`exact`]). Both sides are bucketed by
//! the same keys and compared bucket by bucket. Guarantees everything within the bound, chunk after chunk, ordered
//! by query, then position, for any executor. Find-first gives each query one hit and stops reading when all are
//! answered. Identical queries are searched once, identical stored fingerprints are one hit. Does not read files:
//! see [`Chunks`].
//!
//! Source: Sood 2011, chapters V.B and VI, after Manku.

pub mod exact;

pub use exact::Batch;

use super::JoinError;

/// Where the stored fingerprints come from.
pub trait Chunks {
    /// Replaces what is in `fingerprints` by the next chunk, ascending; `false` when there is
    /// none. Positions count on through all chunks.
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError>;
}

/// How much is wanted of each query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    All,
    /// One hit, if there is any.
    First,
}

/// Stored fingerprints within the bound of a query. Ordered by query, then position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The smallest number of a query with this fingerprint.
    pub query: u32,
    /// Where the stored fingerprint stands, counted through all chunks.
    pub position: u64,
    /// How many identical ones stand there one after the other.
    pub copies: u32,
    /// In how many bits they differ from the query.
    pub distance: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streamed {
    pub chunks: usize,
    /// Fingerprints in them.
    pub stored: u64,
    pub hits: u64,
}

/// Reads the next chunk and sees that it is in order.
fn next_chunk(
    chunks: &mut impl Chunks,
    into: &mut Vec<u64>,
    streamed: &mut Streamed,
) -> Result<bool, JoinError> {
    if !chunks.next_chunk(into)? {
        return Ok(false);
    }
    if u32::try_from(into.len()).is_err() {
        return Err(JoinError::ChunkTooLarge { chunk: streamed.chunks, given: into.len() });
    }
    if !into.is_sorted() {
        return Err(JoinError::ChunkNotSorted { chunk: streamed.chunks });
    }
    streamed.chunks += 1;
    streamed.stored += into.len() as u64;
    Ok(true)
}

/// How many identical fingerprints start at `index`.
fn copies_at(stored: &[u64], index: usize) -> u32 {
    let same = stored[index];
    let mut step = 1;
    while stored.get(index + step) == Some(&same) {
        step *= 2;
    }
    let end = stored.len().min(index + step);
    stored[index..end].partition_point(|&other| other == same) as u32
}

#[cfg(test)]
mod tests;
