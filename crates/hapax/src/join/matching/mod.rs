//! Searches a file larger than memory for a batch of queries.
//!
//! The batch stays in memory, and the file is streamed once, chunk by chunk ([`exact`]). Both sides are
//! bucketed by the same keys and compared bucket by bucket. Guarantees all matches within the bound, in order
//! of chunk, query and position, for any executor. Find-first gives each query one hit and stops reading when
//! all queries are answered. Identical queries are searched once, identical stored fingerprints are one hit.
//! Does not read files; see [`Chunks`].
//!
//! Source: Sood 2011, chapters V.B and VI, after Manku.

pub mod exact;

pub use exact::Batch;

use super::JoinError;

/// The source of the stored fingerprints.
pub trait Chunks {
    /// Replaces the contents of `fingerprints` by the next chunk, ascending; `false` at the end.
    /// Positions are counted over all chunks.
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError>;
}

/// Which hits of each query are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    All,
    /// One hit, if any.
    First,
}

/// Equal stored fingerprints within the bound of a query. Ordered by query, then position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The smallest number of a query with this fingerprint.
    pub query: u32,
    /// Position of the first such stored fingerprint, over all chunks.
    pub position: u64,
    /// Number of consecutive equal fingerprints there.
    pub copies: u32,
    /// Distance to the query in bits.
    pub distance: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streamed {
    pub chunks: usize,
    /// Number of fingerprints in these chunks.
    pub stored: u64,
    pub hits: u64,
}

/// Reads the next chunk and checks its order.
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

/// Number of equal fingerprints from `index` on.
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
