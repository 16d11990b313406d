//! Fingerprints and their ids, each distinct fingerprint once.
//!
//! Web pages repeat: one fingerprint may belong to a million pages. Here it is one row with a
//! list of ids beside it, so that an engine compares it once and a popular page costs its
//! answer and nothing else.
//!
//! Rows are sorted by fingerprint. A row with one id has it in a column as wide as the largest
//! id needs (24 bits for ten million dense ids, 40 for a trillion). A row with several has there
//! the place of its list in a second column: first how many, then the ids. A bitmap says which
//! rows those are, so an id is two reads away at most and nothing is searched for.

use std::ops::ControlFlow;

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
    /// An id needs more bits than the caller allowed.
    #[error("id {id} does not fit into {bits} bits")]
    IdTooWide {
        /// The offending id.
        id: u64,
        /// The width allowed.
        bits: u32,
    },
    /// The engine is exact only up to a bound.
    #[error("within {asked} bits is out of range: this engine is exact from 0 to {most}")]
    BoundOutOfRange {
        /// The bound asked for.
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
    /// The id of each fingerprint, or where in [`Shared::lists`] its ids are.
    slots: PackedInts,
    shared: Option<Shared>,
    entries: usize,
}

/// The ids of fingerprints that have several.
#[derive(Clone, Debug)]
struct Shared {
    /// Bit `row` is set when that row has more ids than one.
    several: Vec<u64>,
    /// For each such row: how many, then its ids, ascending.
    lists: PackedInts,
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
        Self::with_id_bits(entries, u64::BITS)
    }

    /// As [`new`](Self::new), for a caller who has no room for ids of more than `bits` bits.
    ///
    /// # Errors
    ///
    /// [`BuildError::IdTooWide`] for a larger id.
    pub fn with_id_bits(
        entries: impl IntoIterator<Item = Entry>,
        bits: u32,
    ) -> Result<Self, BuildError> {
        let mut entries: Vec<Entry> = entries.into_iter().collect();
        let largest = entries.iter().map(|entry| entry.id).max().unwrap_or(0);
        if u64::BITS - largest.leading_zeros() > bits {
            return Err(BuildError::IdTooWide { id: largest, bits });
        }
        entries.sort_unstable();
        entries.dedup();
        let rows = entries.chunk_by(|a, b| a.fingerprint == b.fingerprint).count();
        if rows > Self::MOST {
            return Err(BuildError::TooMany { given: rows, most: Self::MOST });
        }
        Ok(Self::from_sorted(&entries, rows, largest))
    }

    fn from_sorted(entries: &[Entry], rows: usize, largest: u64) -> Self {
        let same_fingerprint = || entries.chunk_by(|a, b| a.fingerprint == b.fingerprint);
        let several = same_fingerprint().filter(|same| same.len() > 1);
        let listed: usize = several.map(|same| 1 + same.len()).sum();
        // Places in the lists and lengths of lists must fit beside ids.
        let largest = largest.max(listed as u64);
        let mut fingerprints = filled(rows, 0);
        let mut slots = PackedInts::zeros(rows, largest);
        let mut shared = (listed > 0).then(|| Shared {
            several: filled(rows.div_ceil(64), 0),
            lists: PackedInts::zeros(listed, largest),
        });
        let mut end = 0;
        for (row, same) in same_fingerprint().enumerate() {
            fingerprints[row] = same[0].fingerprint.to_bits();
            match &mut shared {
                Some(Shared { several, lists }) if same.len() > 1 => {
                    several[row / 64] |= 1 << (row % 64);
                    slots.put(row, end as u64);
                    let ids = same.iter().map(|entry| entry.id);
                    for value in std::iter::once(same.len() as u64).chain(ids) {
                        lists.put(end, value);
                        end += 1;
                    }
                }
                _ => slots.put(row, same[0].id),
            }
        }
        Self { fingerprints, slots, shared, entries: entries.len() }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries
    }

    pub fn is_empty(&self) -> bool {
        self.entries == 0
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
        mut visit: impl FnMut(u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let slot = self.slots.get(row);
        match &self.shared {
            Some(shared) if shared.has(row) => shared.list(slot).try_for_each(visit),
            _ => visit(slot),
        }
    }

    /// The ids of one row, ascending.
    pub fn ids(&self, row: usize) -> impl Iterator<Item = u64> {
        let slot = self.slots.get(row);
        let shared = self.shared.as_ref().filter(|shared| shared.has(row));
        let only = shared.is_none().then_some(slot);
        only.into_iter().chain(shared.into_iter().flat_map(move |shared| shared.list(slot)))
    }

    /// Asks for the cache lines a match in this row will read.
    #[inline(always)]
    pub fn prefetch(&self, row: usize) {
        prefetch(&self.fingerprints, row);
        self.slots.prefetch(row);
        if let Some(shared) = &self.shared {
            prefetch(&shared.several, row / 64);
        }
    }

    /// Heap bytes that so many distinct fingerprints with one id up to `largest_id` each take.
    pub(super) fn predicted_bytes(rows: u64, largest_id: u64) -> u64 {
        rows * size_of::<u64>() as u64 + PackedInts::predicted_bytes(rows, largest_id)
    }

    /// The ids alone, for an engine that keeps the fingerprints in its own way. Rows keep their
    /// numbers.
    pub(super) fn without_fingerprints(self) -> Self {
        Self { fingerprints: Vec::new(), ..self }
    }

    /// Heap bytes held.
    pub fn memory_bytes(&self) -> usize {
        let shared = self.shared.as_ref().map_or(0, |shared| {
            shared.several.capacity() * size_of::<u64>() + shared.lists.memory_bytes()
        });
        self.fingerprints.capacity() * size_of::<u64>() + self.slots.memory_bytes() + shared
    }
}

impl Shared {
    /// Has this row several ids?
    #[inline(always)]
    fn has(&self, row: usize) -> bool {
        self.several[row / 64] >> (row % 64) & 1 == 1
    }

    /// The ids listed at `place`.
    fn list(&self, place: u64) -> impl Iterator<Item = u64> {
        let first = place as usize + 1;
        let count = self.lists.get(place as usize) as usize;
        (first..first + count).map(|at| self.lists.get(at))
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
    fn an_id_wider_than_allowed_is_refused() {
        assert!(Collection::with_id_bits([entry(0, u64::from(u32::MAX))], 32).is_ok());
        let refused = Collection::with_id_bits([entry(0, 1 << 32)], 32).map(|c| c.len());
        assert_eq!(refused, Err(BuildError::IdTooWide { id: 1 << 32, bits: 32 }));
    }

    #[test]
    fn a_popular_fingerprint_is_one_row() {
        let all = Collection::new((0..100_000).map(|id| entry(7, id))).unwrap();
        assert_eq!(all.fingerprints(), [7]);
        assert_eq!(all.ids(0).count(), 100_000);
        assert!(all.memory_bytes() < 100_000 * 17 / 8 + 200);
    }
}
