//! Fingerprints and their ids, each distinct fingerprint once.
//!
//! Web pages repeat: one fingerprint may belong to a million pages. Here it is one row with a
//! list of ids beside it (`ids`), so that an engine compares it once and a popular page costs its
//! answer and nothing else. Rows are sorted by fingerprint.

use std::ops::ControlFlow;

use super::ids::{Counted, Ids};
use super::packed::PackedInts;
use crate::fingerprint::Fingerprint;
use crate::hamming::memory::{filled, prefetch};

/// A fingerprint and the id it is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    pub fingerprint: Fingerprint,
    /// What a match reports. Any number; small ones take less memory.
    pub id: u64,
}

/// Why an index could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Positions are 32-bit numbers.
    #[error("{given} distinct fingerprints are more than one index holds ({most}); use several")]
    TooMany {
        /// How many distinct fingerprints there are.
        given: usize,
        most: usize,
    },
    /// What is read twice was not the same both times.
    #[error("the stored fingerprints changed while an index was made of them; try again")]
    Changed,
    /// The engine is exact only up to a bound.
    #[error("within {asked} bits is out of range: this engine is exact from 0 to {most}")]
    BoundOutOfRange {
        asked: u32,
        /// The widest bound possible.
        most: u32,
    },
    /// The numbers of blocks given make no design.
    #[error("a design with {blocks} blocks is not exact within {bound} bits: {need}")]
    Blocks {
        /// The number of blocks asked for.
        blocks: u32,
        /// The bound it was asked for.
        bound: u32,
        need: &'static str,
    },
}

/// Entries, ready to be made into an engine.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Distinct, ascending.
    fingerprints: Vec<u64>,
    ids: Ids,
}

impl Collection {
    /// The most distinct fingerprints one index holds.
    pub const MOST: usize = u32::MAX as usize;

    /// Collects entries. The same fingerprint with the same id counts once.
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
        // Ids ascend in a row.
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

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.ids.entries()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The distinct fingerprints, ascending. A *row* is a position here.
    pub fn fingerprints(&self) -> &[u64] {
        &self.fingerprints
    }

    /// Calls `visit` with each id of one row, ascending, until it breaks.
    #[inline(always)]
    pub(super) fn visit_ids(
        &self,
        row: usize,
        visit: impl FnMut(u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.ids.visit(row, visit)
    }

    /// The ids of one row, ascending.
    pub fn ids(&self, row: usize) -> impl Iterator<Item = u64> {
        self.ids.of(row).1
    }

    /// Each distinct fingerprint, how many ids it has, and they.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, usize, impl Iterator<Item = u64>)> {
        self.fingerprints.iter().enumerate().map(|(row, &bits)| {
            let (count, ids) = self.ids.of(row);
            (bits, count, ids)
        })
    }

    /// Asks for the cache lines a match in this row will read.
    #[inline(always)]
    pub fn prefetch(&self, row: usize) {
        prefetch(&self.fingerprints, row);
        self.ids.prefetch(row);
    }

    /// Heap bytes that so many distinct fingerprints with one id up to `largest_id` each take.
    pub(super) fn predicted_bytes(rows: u64, largest_id: u64) -> u64 {
        rows * size_of::<u64>() as u64 + PackedInts::predicted_bytes(rows, largest_id)
    }

    /// Heap bytes held.
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
