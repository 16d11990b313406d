//! The ids of rows: one column for single ids, lists for several.
//!
//! The id of a row with one id is in a column as wide as the largest id (24 bits for ten million dense ids, 40
//! for a trillion). For a row with several ids, this column has the position of its list in a second column:
//! the number of ids, then the ids. A bitmap marks these rows, so reading an id takes at most two reads and no
//! search. Rows may be filled in any order, each once.

use std::ops::ControlFlow;

use super::packed::PackedInts;
use crate::hamming::memory::{filled, prefetch};

/// Sizes of the columns, counted before they are allocated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) rows: usize,
    pub(super) entries: usize,
    /// Length of the lists column.
    listed: usize,
    largest: u64,
}

impl Counted {
    /// Counts a row with this many ids and this largest id.
    pub(super) fn add(&mut self, ids: usize, largest: u64) {
        self.rows += 1;
        self.entries += ids;
        self.listed += if ids > 1 { 1 + ids } else { 0 };
        self.largest = self.largest.max(largest);
    }

    /// Whether columns of this size hold what `counted` counts.
    pub(super) fn fits(&self, counted: &Self) -> bool {
        self.rows <= counted.rows && self.listed <= counted.listed
    }
}

#[derive(Clone, Debug)]
pub(super) struct Ids {
    /// The id of each row, or the position of its ids in [`Shared::lists`].
    slots: PackedInts,
    shared: Option<Shared>,
    entries: usize,
}

#[derive(Clone, Debug)]
struct Shared {
    /// Bit `row` is set if this row has several ids.
    several: Vec<u64>,
    /// For each such row: the number of ids, then the ids.
    lists: PackedInts,
    /// Length of the filled part of the lists.
    end: usize,
}

impl Ids {
    /// Empty columns of this size.
    pub(super) fn new(counted: &Counted) -> Self {
        let Counted { rows, entries, listed, largest } = *counted;
        // Positions and lengths of lists must fit into the columns, too.
        let largest = largest.max(listed as u64);
        let shared = (listed > 0).then(|| Shared {
            several: filled(rows.div_ceil(64), 0),
            lists: PackedInts::zeros(listed, largest),
            end: 0,
        });
        Self { slots: PackedInts::zeros(rows, largest), shared, entries }
    }

    /// Fills a counted row; `count` is its number of ids.
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

    /// The number of ids of a row, and the ids.
    pub(super) fn of(&self, row: usize) -> (usize, impl Iterator<Item = u64>) {
        let slot = self.slots.get(row);
        let shared = self.shared.as_ref().filter(|shared| shared.has(row));
        let only = shared.is_none().then_some(slot);
        let count = shared.map_or(1, |shared| shared.lists.get(slot as usize) as usize);
        let listed = shared.into_iter().flat_map(move |shared| shared.list(slot));
        (count, only.into_iter().chain(listed))
    }

    /// Calls `visit` for each id of a row until it breaks.
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

    /// Requests the cache lines that a match in this row will read.
    #[inline(always)]
    pub(super) fn prefetch(&self, row: usize) {
        self.slots.prefetch(row);
        if let Some(shared) = &self.shared {
            prefetch(&shared.several, row / 64);
        }
    }

    /// Heap memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let shared = self.shared.as_ref().map_or(0, |shared| {
            shared.several.capacity() * size_of::<u64>() + shared.lists.memory_bytes()
        });
        self.slots.memory_bytes() + shared
    }
}

impl Shared {
    /// Whether this row has several ids.
    #[inline(always)]
    fn has(&self, row: usize) -> bool {
        self.several[row / 64] >> (row % 64) & 1 == 1
    }

    /// The list at `place`.
    fn list(&self, place: u64) -> impl Iterator<Item = u64> {
        let first = place as usize + 1;
        let count = self.lists.get(place as usize) as usize;
        (first..first + count).map(|at| self.lists.get(at))
    }
}
