//! The weak-bit join of files (chapters V.B and VI): queries are searched for under likely flips of their leading
//! bits.
//!
//! Slower than the engine's exact join at every measured size, and therefore not part of the product. `probe`
//! searches, `weak` chooses the flips, with a model from `learning`.

#[cfg(test)]
mod agreement;
mod learning;
mod probe;
mod weak;

use hapax::join::{Chunks, JoinError, Streamed};

pub(super) use learning::learn;
pub(super) use probe::Probes;
pub(super) use weak::{Load, WEAKEST, WeakFlips, WeakOrder};

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

/// Number of equal fingerprints starting at `index`.
fn copies_at(stored: &[u64], index: usize) -> u32 {
    let same = stored[index];
    let mut step = 1;
    while stored.get(index + step) == Some(&same) {
        step *= 2;
    }
    let end = stored.len().min(index + step);
    stored[index..end].partition_point(|&other| other == same) as u32
}
