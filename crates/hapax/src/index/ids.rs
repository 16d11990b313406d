//! The ids of rows: one column for those with one id, lists for the others.
//!
//! A row with one id has it in a column as wide as the largest id needs (24 bits for ten million
//! dense ids, 40 for a trillion). A row with several has there the place of its list in a second
//! column: first how many, then the ids. A bitmap says which rows those are, so an id is two reads
//! away at most and nothing is searched for. Rows may be filled in any order, each once.

use std::ops::ControlFlow;

use super::packed::PackedInts;
use crate::hamming::memory::{filled, prefetch};

/// What the columns must hold, counted before they are made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) rows: usize,
    pub(super) entries: usize,
    /// Places in the lists.
    listed: usize,
    largest: u64,
}

impl Counted {
    /// Counts a row of so many ids, the largest of which is given.
    pub(super) fn add(&mut self, ids: usize, largest: u64) {
        self.rows += 1;
        self.entries += ids;
        self.listed += if ids > 1 { 1 + ids } else { 0 };
        self.largest = self.largest.max(largest);
    }

    /// Is there room for it in what was counted?
    pub(super) fn fits(&self, counted: &Self) -> bool {
        self.rows <= counted.rows && self.listed <= counted.listed
    }
}

#[derive(Clone, Debug)]
pub(super) struct Ids {
    /// The id of each row, or where in [`Shared::lists`] its ids are.
    slots: PackedInts,
    shared: Option<Shared>,
    entries: usize,
}

#[derive(Clone, Debug)]
struct Shared {
    /// Bit `row` is set when that row has more ids than one.
    several: Vec<u64>,
    /// For each such row: how many, then its ids.
    lists: PackedInts,
    /// Places of the lists that are filled.
    end: usize,
}

impl Ids {
    /// Room for what was counted.
    pub(super) fn new(counted: &Counted) -> Self {
        let Counted { rows, entries, listed, largest } = *counted;
        // Places in the lists and lengths of lists must fit beside ids.
        let largest = largest.max(listed as u64);
        let shared = (listed > 0).then(|| Shared {
            several: filled(rows.div_ceil(64), 0),
            lists: PackedInts::zeros(listed, largest),
            end: 0,
        });
        Self { slots: PackedInts::zeros(rows, largest), shared, entries }
    }

    /// Fills a row, whose ids were counted; `count` is their number.
    #[inline(always)]
    pub(super) fn put(&mut self, row: usize, count: usize, ids: impl Iterator<Item = u64>) {
        match &mut self.shared {
            Some(Shared { several, lists, end }) if count > 1 => {
                several[row / 64] |= 1 << (row % 64);
                self.slots.put(row, *end as u64);
                for value in std::iter::once(count as u64).chain(ids) {
                    lists.put(*end, value);
                    *end += 1;
                }
            }
            _ => ids.for_each(|id| self.slots.put(row, id)),
        }
    }

    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// How many ids a row has, and they.
    pub(super) fn of(&self, row: usize) -> (usize, impl Iterator<Item = u64>) {
        let slot = self.slots.get(row);
        let shared = self.shared.as_ref().filter(|shared| shared.has(row));
        let only = shared.is_none().then_some(slot);
        let count = shared.map_or(1, |shared| shared.lists.get(slot as usize) as usize);
        let listed = shared.into_iter().flat_map(move |shared| shared.list(slot));
        (count, only.into_iter().chain(listed))
    }

    /// Calls `visit` with each id of one row, until it breaks.
    #[inline(always)]
    pub(super) fn visit(
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

    /// Asks for the cache lines a match in this row will read.
    #[inline(always)]
    pub(super) fn prefetch(&self, row: usize) {
        self.slots.prefetch(row);
        if let Some(shared) = &self.shared {
            prefetch(&shared.several, row / 64);
        }
    }

    /// Heap bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        let shared = self.shared.as_ref().map_or(0, |shared| {
            shared.several.capacity() * size_of::<u64>() + shared.lists.memory_bytes()
        });
        self.slots.memory_bytes() + shared
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
