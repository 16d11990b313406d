//! Weak bits of fingerprints that are streamed, never held in memory: a file, read three times.
//!
//! Reads once to choose the leading bits, once to count buckets, once to place rows. Besides the table, one
//! chunk is in memory. The id of a row is its position in the stream, over all chunks; identical fingerprints
//! of a chunk are one row. Does not open files.

use super::table::Rows;
use super::{WeakBits, WeakOptions};
use crate::hamming::Kernel;
use crate::index::collection::BuildError;
use crate::join::{Chunks, JoinError};

/// An index could not be built from a stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamedError {
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The stream failed, or the bound is too wide for a join.
    #[error(transparent)]
    Read(#[from] JoinError),
}

/// Chunks that can be opened again; ids are positions.
pub(super) struct Stream<F>(pub(super) F);

impl<C: Chunks, F: FnMut() -> C> Stream<F> {
    /// Calls `chunk` with each chunk and the position of its first fingerprint.
    pub(super) fn chunks<E: From<JoinError>>(
        &mut self,
        mut chunk: impl FnMut(u64, &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut chunks = (self.0)();
        let (mut stored, mut position) = (Vec::new(), 0);
        while chunks.next_chunk(&mut stored)? {
            chunk(position, &stored)?;
            position += stored.len() as u64;
        }
        Ok(())
    }
}

impl<C: Chunks, F: FnMut() -> C> Rows for Stream<F> {
    type Error = StreamedError;

    fn each(
        &mut self,
        mut row: impl FnMut(u64, usize, &mut dyn Iterator<Item = u64>) -> Result<(), BuildError>,
    ) -> Result<(), StreamedError> {
        self.chunks(|mut position, stored| {
            for same in stored.chunk_by(|a, b| a == b) {
                let end = position + same.len() as u64;
                row(same[0], same.len(), &mut (position..end))?;
                position = end;
            }
            Ok(())
        })
    }
}

impl WeakBits {
    /// Builds an index of a stream, which `open` opens for each of three readings. The id of a
    /// match is its position in the stream.
    pub fn build_streamed<C: Chunks>(
        open: impl FnMut() -> C,
        options: WeakOptions,
    ) -> Result<Self, StreamedError> {
        Self::from_rows(&mut Stream(open), options, Kernel::best())
    }
}
