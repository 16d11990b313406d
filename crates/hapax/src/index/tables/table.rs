//! One table: the fingerprints in the order of one key.
//!
//! ```text
//!   fingerprint  =  prefix (p bits of the key)  +  filter (32 bits)  +  the rest
//!
//!   directory   2^p + 1 numbers      start of each prefix's bucket
//!   filters     4 bytes a row        bucket after bucket
//!   rows        log2(rows) bits      row of the collection
//! ```
//!
//! The prefix follows from the directory. The rest is not stored: at `k = 3` the 32 bits pass about one
//! unrelated fingerprint in a million, and those are compared completely in the collection. For a wide bound,
//! the filter has all bits outside the prefix, 8 bytes per row. A lookup without a match reads one line of the
//! directory and one or two of the filters.

use super::design::Key;
use crate::hamming::BitGather;
use crate::hamming::memory::{filled, prefetch};
use crate::index::packed::PackedInts;

/// Sorting first splits by this many bits, so that each partition fits into the cache.
const PARTITION_BITS: u32 = 8;

/// Bits of a fingerprint in a narrow filter.
const NARROW_BITS: u32 = 32;

/// Above this bound, 32 bits pass so many unrelated fingerprints (2.5 percent at 10) that comparing
/// them costs more than reading wider filters.
const WIDEST_FOR_NARROW: u32 = 9;

/// Narrow filters compared at a time; a column is this much longer than its rows, so that a window
/// may start at any row.
pub(super) const WINDOW: usize = 16;

/// Lines of a long bucket to prefetch; the CPU prefetches the rest by itself.
const LINES_AHEAD: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) prefix: BitGather,
    pub(super) filter: BitGather,
    pub(super) radius: u32,
    /// Earlier tables whose result follows from this table's prefix and filter alone.
    pub(super) earlier_keys: Vec<EarlierKey>,
    directory: Vec<u32>,
    pub(super) filters: Filters,
    rows: PackedInts,
}

/// The filters of all rows, bucket by bucket, and [`WINDOW`] more elements.
#[derive(Clone, Debug)]
pub(super) enum Filters {
    /// 32 bits.
    Narrow(Vec<u32>),
    /// All bits outside the prefix.
    Wide(Vec<u64>),
}

/// An earlier table's prefix, as bits of this table's prefix and filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierKey {
    in_prefix: u32,
    in_filter: u64,
    radius: u32,
}

impl EarlierKey {
    /// Whether the earlier table finds a match whose prefix and filter differ like this.
    #[inline(always)]
    pub(super) fn finds(&self, prefix_flips: u32, filter_flips: u64) -> bool {
        let flips = (prefix_flips & self.in_prefix).count_ones()
            + (filter_flips & self.in_filter).count_ones();
        flips <= self.radius
    }
}

impl Table {
    /// Sorts `fingerprints` by the top `prefix_bits` bits of `key`, for searches within `bound`.
    pub(super) fn build(fingerprints: &[u64], key: Key, prefix_bits: u32, bound: u32) -> Self {
        let prefix = BitGather::new(highest(key.mask, prefix_bits));
        let length = fingerprints.len() + WINDOW;
        let (filter, filters) = if bound <= WIDEST_FOR_NARROW {
            (highest(!prefix.mask(), NARROW_BITS), Filters::Narrow(filled(length, 0)))
        } else {
            (!prefix.mask(), Filters::Wide(filled(length, 0)))
        };
        let directory = directory(fingerprints, &prefix);
        let mut table = Self {
            prefix,
            filter: BitGather::new(filter),
            radius: key.radius,
            earlier_keys: Vec::new(),
            directory,
            filters,
            rows: PackedInts::zeros(
                fingerprints.len(),
                fingerprints.len().saturating_sub(1) as u64,
            ),
        };
        table.fill(fingerprints);
        table
    }

    /// Records which of the `earlier` tables can be decided from this one.
    pub(super) fn set_earlier(&mut self, earlier: &[Table]) {
        let known = self.prefix.mask() | self.filter.mask();
        let tellable = earlier.iter().filter(|other| other.prefix.mask() & !known == 0);
        self.earlier_keys = tellable
            .map(|other| EarlierKey {
                in_prefix: self.prefix.apply(other.prefix.mask()) as u32,
                in_filter: self.filter.apply(other.prefix.mask()),
                radius: other.radius,
            })
            .collect();
        self.earlier_keys.shrink_to_fit();
    }

    /// Partitions by a few bits, then sorts each partition in the cache: writing directly to the
    /// final places would miss the cache on every row.
    fn fill(&mut self, fingerprints: &[u64]) {
        let shift = self.prefix.bits().saturating_sub(PARTITION_BITS);
        let partitions = (self.directory.len() - 1) >> shift;
        let mut ends: Vec<usize> =
            (0..partitions).map(|part| self.directory[part << shift] as usize).collect();
        let mut staged = filled(fingerprints.len(), (0u32, 0u32, 0u64));
        for (row, &fingerprint) in fingerprints.iter().enumerate() {
            let prefix = self.prefix.apply(fingerprint) as u32;
            let end = &mut ends[(prefix >> shift) as usize];
            staged[*end] = (prefix, row as u32, self.filter.apply(fingerprint));
            *end += 1;
        }
        let mut free = vec![0u32; 1 << shift];
        let mut start = 0;
        for (part, &end) in ends.iter().enumerate() {
            let first = part << shift;
            free.copy_from_slice(&self.directory[first..first + (1 << shift)]);
            for &(prefix, row, filter) in &staged[start..end] {
                let slot = &mut free[prefix as usize - first];
                match &mut self.filters {
                    Filters::Narrow(filters) => filters[*slot as usize] = filter as u32,
                    Filters::Wide(filters) => filters[*slot as usize] = filter,
                }
                self.rows.put(*slot as usize, u64::from(row));
                *slot += 1;
            }
            start = end;
        }
    }

    /// Requests the directory line of a prefix.
    #[inline(always)]
    pub(super) fn prefetch_directory(&self, prefix: u32) {
        prefetch(&self.directory, prefix as usize);
    }

    /// Start and end of the bucket of a prefix; requests its first lines.
    #[inline(always)]
    pub(super) fn bucket(&self, prefix: u32) -> (u32, u32) {
        let start = self.directory[prefix as usize];
        let end = self.directory[prefix as usize + 1];
        match &self.filters {
            Filters::Narrow(filters) => prefetch_range(filters, start as usize, end as usize),
            Filters::Wide(filters) => prefetch_range(filters, start as usize, end as usize),
        }
        (start, end)
    }

    /// Requests the line that holds the row at `place`.
    #[inline(always)]
    pub(super) fn prefetch_row(&self, place: u32) {
        self.rows.prefetch(place as usize);
    }

    /// The row of the collection at a place of this table.
    #[inline(always)]
    pub(super) fn row(&self, place: u32) -> usize {
        self.rows.get(place as usize) as usize
    }

    /// Predicts [`memory_bytes`](Self::memory_bytes) plus the size of this struct, without the
    /// lists of runs and of earlier tables.
    pub(super) fn predicted_bytes(rows: u64, prefix_bits: u32, bound: u32) -> u64 {
        let filter = if bound <= WIDEST_FOR_NARROW { size_of::<u32>() } else { size_of::<u64>() };
        let directory = ((1u64 << prefix_bits) + 1) * size_of::<u32>() as u64;
        let filters = (rows + WINDOW as u64) * filter as u64;
        directory
            + filters
            + PackedInts::predicted_bytes(rows, rows.saturating_sub(1))
            + size_of::<Self>() as u64
    }

    /// Heap memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let filters = match &self.filters {
            Filters::Narrow(filters) => filters.capacity() * size_of::<u32>(),
            Filters::Wide(filters) => filters.capacity() * size_of::<u64>(),
        };
        self.directory.capacity() * size_of::<u32>()
            + filters
            + self.rows.memory_bytes()
            + self.earlier_keys.capacity() * size_of::<EarlierKey>()
            + self.prefix.heap_bytes()
            + self.filter.heap_bytes()
    }
}

/// Requests the lines of the first and last element, and some between.
#[inline(always)]
fn prefetch_range<T>(column: &[T], start: usize, end: usize) {
    let per_line = 64 / size_of::<T>();
    prefetch(column, start);
    prefetch(column, end.saturating_sub(1));
    if end - start > 2 * per_line {
        for line in 1..LINES_AHEAD {
            prefetch(column, start + line * per_line);
        }
    }
}

/// Counts prefixes, then sums: entry `x` is the number of fingerprints with a prefix less than `x`.
fn directory(fingerprints: &[u64], prefix: &BitGather) -> Vec<u32> {
    let mut starts = filled((1usize << prefix.bits()) + 1, 0u32);
    for &fingerprint in fingerprints {
        starts[prefix.apply(fingerprint) as usize + 1] += 1;
    }
    let mut before = 0;
    for start in &mut starts {
        before += *start;
        *start = before;
    }
    starts
}

/// The `count` highest set bits of `mask`, or all if there are fewer.
pub(super) fn highest(mask: u64, count: u32) -> u64 {
    let mut low = mask;
    for _ in 0..count.min(mask.count_ones()) {
        low &= !(1u64 << low.ilog2());
    }
    mask & !low
}
