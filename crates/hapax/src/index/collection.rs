//! Fingerprints and their ids, each distinct fingerprint once.
//!
//! Web pages repeat: a million pages may share one fingerprint. Such a fingerprint is one row with a list of
//! ids (`ids`), so an engine compares it once and a popular page costs no more than its results. Rows are
//! sorted by fingerprint.

use std::ops::ControlFlow;

use super::ids::{Counted, Ids};
use super::packed::PackedInts;
use crate::fingerprint::Fingerprint;
use crate::hamming::memory::{filled, prefetch};

/// A fingerprint and its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    pub fingerprint: Fingerprint,
    /// Reported by matches. Any number; small ones take less memory.
    pub id: u64,
}

/// An index could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There are more rows than 32-bit positions.
    #[error("{given} distinct fingerprints are more than one index holds ({most}); use several")]
    TooMany {
        /// Number of distinct fingerprints.
        given: usize,
        most: usize,
    },
    /// An input that is read twice differed between the readings.
    #[error("the stored fingerprints changed while an index was made of them; try again")]
    Changed,
    /// The engine is exact only up to a smaller bound.
    #[error("within {asked} bits is out of range: this engine is exact from 0 to {most}")]
    BoundOutOfRange {
        asked: u32,
        /// The maximum bound.
        most: u32,
    },
    /// No design has this number of blocks.
    #[error("a design with {blocks} blocks is not exact within {bound} bits: {need}")]
    Blocks {
        blocks: u32,
        /// The bound of the design.
        bound: u32,
        need: &'static str,
    },
}

/// Entries to build an engine from.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Distinct, ascending.
    fingerprints: Vec<u64>,
    ids: Ids,
}

impl Collection {
    /// Maximum number of distinct fingerprints per index.
    pub const MOST: usize = u32::MAX as usize;

    /// Collects entries. Repeats of the same fingerprint and id count once.
    ///
    /// # Errors
    ///
    /// [`BuildError::TooMany`] beyond [`MOST`](Self::MOST) distinct fingerprints.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Result<Self, BuildError> {
        let mut entries: Vec<Entry> = entries.into_iter().collect();
        entries.sort_unstable();
        entries.dedup();
        let rows = || entries.chunk_by(|a, b| a.fingerprint == b.fingerprint);
        let mut counted = Counted::default();
        // The last id of a row is its largest.
        rows().for_each(|same| counted.add(same.len(), same[same.len() - 1].id));
        if counted.rows > Self::MOST {
            return Err(BuildError::TooMany { given: counted.rows, most: Self::MOST });
        }
        let mut fingerprints = filled(counted.rows, 0);
        let mut ids = Ids::new(&counted);
        for (row, same) in rows().enumerate() {
            fingerprints[row] = same[0].fingerprint.to_bits();
            ids.put(row, same.len(), same.iter().map(|entry| entry.id));
        }
        Ok(Self { fingerprints, ids })
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.ids.entries()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The distinct fingerprints, ascending. A *row* is an index into them.
    pub fn fingerprints(&self) -> &[u64] {
        &self.fingerprints
    }

    /// Calls `visit` for each id of a row, ascending, until it breaks.
    #[inline(always)]
    pub(super) fn visit_ids(
        &self,
        row: usize,
        visit: impl FnMut(u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.ids.visit(row, visit)
    }

    /// The ids of a row, ascending.
    pub fn ids(&self, row: usize) -> impl Iterator<Item = u64> {
        self.ids.of(row).1
    }

    /// Each distinct fingerprint, the number of its ids, and the ids.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, usize, impl Iterator<Item = u64>)> {
        self.fingerprints.iter().enumerate().map(|(row, &bits)| {
            let (count, ids) = self.ids.of(row);
            (bits, count, ids)
        })
    }

    /// Requests the cache lines that a match in this row will read.
    #[inline(always)]
    pub fn prefetch(&self, row: usize) {
        prefetch(&self.fingerprints, row);
        self.ids.prefetch(row);
    }

    /// Predicted heap bytes of this many distinct fingerprints with one id each, up to
    /// `largest_id`.
    pub(super) fn predicted_bytes(rows: u64, largest_id: u64) -> u64 {
        rows * size_of::<u64>() as u64 + PackedInts::predicted_bytes(rows, largest_id)
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.fingerprints.capacity() * size_of::<u64>() + self.ids.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn entry(bits: u64, id: u64) -> Entry {
        Entry { fingerprint: Fingerprint::from_bits(bits), id }
    }

    proptest! {
        #[test]
        fn each_fingerprint_is_kept_once_with_all_its_ids(
            pairs in vec((0u64..40, any::<u64>()), 0..200),
        ) {
            let mut expected = BTreeMap::<u64, Vec<u64>>::new();
            for &(bits, id) in &pairs {
                expected.entry(bits).or_default().push(id);
            }
            for ids in expected.values_mut() {
                ids.sort_unstable();
                ids.dedup();
            }
            let all = Collection::new(pairs.iter().map(|&(bits, id)| entry(bits, id))).unwrap();
            let rows = all.fingerprints().iter().enumerate();
            let kept: BTreeMap<u64, Vec<u64>> =
                rows.map(|(row, &bits)| (bits, all.ids(row).collect())).collect();
            prop_assert_eq!(all.len(), expected.values().map(Vec::len).sum::<usize>());
            prop_assert_eq!(kept, expected);
        }
    }

    #[test]
    fn a_popular_fingerprint_is_one_row() {
        let all = Collection::new((0..100_000).map(|id| entry(7, id))).unwrap();
        assert_eq!(all.fingerprints(), [7]);
        assert_eq!(all.ids(0).count(), 100_000);
        assert!(all.memory_bytes() < 100_000 * 17 / 8 + 200);
    }
}
