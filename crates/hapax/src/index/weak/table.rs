//! The table: fingerprints sorted by their leading bits, in columns.
//!
//! ```text
//!   fingerprint  =  prefix (p bits)  +  filter (32 bits)  +  tail (32 - p bits)
//!
//!   directory   2^p + 1 numbers     start of each prefix's bucket
//!   filters     4 bytes a row       compared by a search
//!   tails       32 - p bits a row   read for rows that pass the filter
//!   ids         as wide as needed   read for matches
//! ```
//!
//! Nothing is stored twice. For 2^26 pages with dense ids and p = 18 it takes 4 + 1.75 + 3.25 bytes per page
//! and 0.016 for the directory. "Leading" bits are those of a mask. Rows of a bucket keep their order of
//! insertion; rows are read twice, to count and to place them, so nothing else is held in memory.

use std::ops::ControlFlow;

use crate::hamming::memory::{filled, prefetch};
use crate::hamming::{BitGather, Lanes};
use crate::index::collection::{BuildError, Collection};
use crate::index::ids::{Counted, Ids};
use crate::index::packed::PackedInts;

pub(super) const FILTER_BITS: u32 = 32;

/// Filters compared by one instruction.
pub(super) const WINDOW: usize = 16;

/// Filters compared at a time; the column is this much longer than its rows.
pub(super) const STRIDE: usize = 2 * WINDOW;

#[derive(Clone, Debug)]
pub(super) struct Table {
    prefix: BitGather,
    rest: BitGather,
    directory: Vec<u32>,
    filters: Vec<u32>,
    /// `None` if prefix and filter cover all bits.
    tails: Option<PackedInts>,
    tail_bits: u32,
    ids: Ids,
}

/// Fingerprints with their ids, which can be read repeatedly.
pub(super) trait Rows {
    type Error: From<BuildError>;

    /// Calls `row` with each fingerprint, the number of its ids, and the ids; in the same order
    /// each time. A fingerprint may occur several times.
    fn each(
        &mut self,
        row: impl FnMut(u64, usize, &mut dyn Iterator<Item = u64>) -> Result<(), BuildError>,
    ) -> Result<(), Self::Error>;
}

impl Rows for &Collection {
    type Error = BuildError;

    fn each(
        &mut self,
        mut row: impl FnMut(u64, usize, &mut dyn Iterator<Item = u64>) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        self.rows().try_for_each(|(bits, count, mut ids)| row(bits, count, &mut ids))
    }
}

/// The parts of a fingerprint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    pub(super) prefix: u32,
    pub(super) filter: u32,
    pub(super) tail: u32,
}

impl Table {
    /// `leading` has at most 32 bits.
    pub(super) fn build<R: Rows>(rows: &mut R, leading: u64) -> Result<Self, R::Error> {
        let prefix = BitGather::new(leading);
        let rest = BitGather::new(!leading);
        let tail_bits = rest.bits() - FILTER_BITS;
        let mut counted = Counted::default();
        // Bucket `b` is counted at `b + 1`, which then advances from its start to its end.
        let mut directory = filled((1usize << prefix.bits()) + 1, 0u32);
        rows.each(|bits, count, ids| {
            counted.add(count, ids.max().unwrap_or(0));
            if counted.rows > Collection::MOST {
                return Err(BuildError::TooMany { given: counted.rows, most: Collection::MOST });
            }
            directory[prefix.apply(bits) as usize + 1] += 1;
            Ok(())
        })?;
        let mut before = 0;
        for place in &mut directory[1..] {
            before += std::mem::replace(place, before);
        }
        let mut filters = filled(counted.rows + STRIDE, 0u32);
        let mut tails = (tail_bits > 0).then(|| {
            PackedInts::zeros(counted.rows, u64::from(u32::MAX >> (u32::BITS - tail_bits)))
        });
        let mut ids = Ids::new(&counted);
        let mut again = Counted::default();
        rows.each(|bits, count, row_ids| {
            again.add(count, 0);
            let place = &mut directory[prefix.apply(bits) as usize + 1];
            let row = *place as usize;
            *place += 1;
            if row >= counted.rows || !again.fits(&counted) {
                return Err(BuildError::Changed);
            }
            let rest = rest.apply(bits);
            filters[row] = (rest >> tail_bits) as u32;
            if let Some(tails) = &mut tails {
                tails.put(row, rest & ((1 << tail_bits) - 1));
            }
            ids.put(row, count, row_ids);
            Ok(())
        })?;
        if again.rows != counted.rows {
            return Err(BuildError::Changed.into());
        }
        Ok(Self { prefix, rest, directory, filters, tails, tail_bits, ids })
    }

    pub(super) fn len(&self) -> usize {
        self.ids.entries()
    }

    /// Number of distinct fingerprints.
    pub(super) fn rows(&self) -> usize {
        self.filters.len() - STRIDE
    }

    /// Bits of the directory.
    pub(super) fn prefix_bits(&self) -> u32 {
        self.prefix.bits()
    }

    #[inline(always)]
    pub(super) fn cut<L: Lanes>(&self, lanes: L, fingerprint: u64) -> Pieces {
        let prefix = lanes.gather(&self.prefix, fingerprint) as u32;
        let rest = lanes.gather(&self.rest, fingerprint);
        let tail = (rest & ((1 << self.tail_bits) - 1)) as u32;
        Pieces { prefix, filter: (rest >> self.tail_bits) as u32, tail }
    }

    /// Requests the directory line of a prefix.
    #[inline(always)]
    pub(super) fn prefetch_directory(&self, prefix: u32) {
        prefetch(&self.directory, prefix as usize);
    }

    /// Start and end of the bucket of a prefix.
    #[inline(always)]
    pub(super) fn bucket(&self, prefix: u32) -> (usize, usize) {
        let [start, end] = [prefix, prefix + 1].map(|at| self.directory[at as usize] as usize);
        (start, end)
    }

    /// Requests the first lines of a bucket; the CPU prefetches the rest by itself.
    #[inline(always)]
    pub(super) fn prefetch_bucket(&self, prefix: u32) {
        let start = self.directory[prefix as usize] as usize;
        for line in 0..4 {
            prefetch(&self.filters, start + line * WINDOW);
        }
    }

    /// The filters of rows `start` to `end`, and some more to fill a stride.
    #[inline(always)]
    pub(super) fn strides(&self, start: usize, end: usize) -> &[[u32; STRIDE]] {
        let whole = (end - start).next_multiple_of(STRIDE);
        // The column is longer than its rows by a stride.
        self.filters[start..start + whole].as_chunks().0
    }

    #[inline(always)]
    pub(super) fn filter(&self, row: usize) -> u32 {
        self.filters[row]
    }

    /// Requests the lines that a match in this row will read.
    pub(super) fn prefetch_row(&self, row: usize) {
        if let Some(tails) = &self.tails {
            tails.prefetch(row);
        }
        self.ids.prefetch(row);
    }

    /// The distance of a row in the bits of the tail.
    #[inline(always)]
    pub(super) fn tail_distance(&self, row: usize, tail: u32) -> u32 {
        self.tails.as_ref().map_or(0, |tails| (tails.get(row) as u32 ^ tail).count_ones())
    }

    /// Calls `visit` for each id of a row until it breaks.
    #[inline(always)]
    pub(super) fn visit_ids(
        &self,
        row: usize,
        visit: impl FnMut(u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.ids.visit(row, visit)
    }

    /// Predicted heap bytes of a table of this many rows with one id up to `largest_id` each,
    /// without the few for gathering scattered bits.
    pub(super) fn predicted_bytes(rows: u64, largest_id: u64, prefix_bits: u32) -> u64 {
        let tail_bits = u64::BITS - FILTER_BITS - prefix_bits;
        let tails = match tail_bits {
            0 => 0,
            _ => PackedInts::predicted_bytes(rows, (1 << tail_bits) - 1),
        };
        ((1 << prefix_bits) + 1 + rows + STRIDE as u64) * size_of::<u32>() as u64
            + tails
            + PackedInts::predicted_bytes(rows, largest_id)
    }

    /// Heap memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.directory.capacity() + self.filters.capacity()) * size_of::<u32>()
            + self.tails.as_ref().map_or(0, PackedInts::memory_bytes)
            + self.ids.memory_bytes()
            + self.prefix.heap_bytes()
            + self.rest.heap_bytes()
    }
}
