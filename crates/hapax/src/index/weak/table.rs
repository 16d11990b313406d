//! The one table: fingerprints in the order of their leading bits, in columns.
//!
//! ```text
//!   fingerprint  =  prefix (p bits)  +  filter (32 bits)  +  tail (32 - p bits)
//!
//!   directory   2^p + 1 numbers     where each prefix's bucket starts
//!   filters     4 bytes a row       what a search compares
//!   tails       32 - p bits a row   read for what passes the filter
//!   ids         as wide as needed   read for matches
//! ```
//!
//! Nothing is stored twice. For 2^26 pages with dense ids and p = 18 that is 4 + 1.75 + 3.25 bytes a page and 0.016
//! for the directory. "Leading" are the bits of a mask. Rows of a bucket keep the order in which they come; they
//! are read twice, to count and to place them, so nothing is held beside the table.

use std::ops::ControlFlow;

use crate::hamming::memory::{filled, prefetch};
use crate::hamming::{BitGather, Lanes};
use crate::index::collection::{BuildError, Collection};
use crate::index::ids::{Counted, Ids};
use crate::index::packed::PackedInts;

pub(super) const FILTER_BITS: u32 = 32;

/// Filters compared by one instruction.
pub(super) const WINDOW: usize = 16;

/// Filters compared in one go; the column is this much longer than its rows.
pub(super) const STRIDE: usize = 2 * WINDOW;

#[derive(Clone, Debug)]
pub(super) struct Table {
    prefix: BitGather,
    rest: BitGather,
    directory: Vec<u32>,
    filters: Vec<u32>,
    /// None where prefix and filter are all there is.
    tails: Option<PackedInts>,
    tail_bits: u32,
    ids: Ids,
}

/// Fingerprints with their ids, which can be read more than once.
pub(super) trait Rows {
    type Error: From<BuildError>;

    /// Calls `row` with each fingerprint, how many ids it has, and they; in the same order each
    /// time. A fingerprint may come several times.
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

/// What a search needs of a fingerprint.
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
        // Bucket `b` is counted at `b + 1`, which then moves from its start to its end.
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

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.ids.entries()
    }

    /// How many distinct fingerprints there are.
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

    /// Asks for the directory line of a prefix.
    #[inline(always)]
    pub(super) fn prefetch_directory(&self, prefix: u32) {
        prefetch(&self.directory, prefix as usize);
    }

    /// Where the bucket of a prefix starts and ends.
    #[inline(always)]
    pub(super) fn bucket(&self, prefix: u32) -> (usize, usize) {
        let [start, end] = [prefix, prefix + 1].map(|at| self.directory[at as usize] as usize);
        (start, end)
    }

    /// Asks for the first lines of a bucket; the CPU itself follows a longer run.
    #[inline(always)]
    pub(super) fn prefetch_bucket(&self, prefix: u32) {
        let start = self.directory[prefix as usize] as usize;
        for line in 0..4 {
            prefetch(&self.filters, start + line * WINDOW);
        }
    }

    /// The filters of the rows from `start` up to `end`, and of some more that fill a stride.
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

    /// Asks for the lines that a match in this row will read.
    pub(super) fn prefetch_row(&self, row: usize) {
        if let Some(tails) = &self.tails {
            tails.prefetch(row);
        }
        self.ids.prefetch(row);
    }

    /// In how many bits of the tail a row differs.
    #[inline(always)]
    pub(super) fn tail_distance(&self, row: usize, tail: u32) -> u32 {
        self.tails.as_ref().map_or(0, |tails| (tails.get(row) as u32 ^ tail).count_ones())
    }

    /// Calls `visit` with each id of a row until it breaks.
    #[inline(always)]
    pub(super) fn visit_ids(
        &self,
        row: usize,
        visit: impl FnMut(u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.ids.visit(row, visit)
    }

    /// Heap bytes of a table of so many rows with one id up to `largest_id` each. The few that
    /// gathering scattered bits takes are left out.
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

    /// Heap bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.directory.capacity() + self.filters.capacity()) * size_of::<u32>()
            + self.tails.as_ref().map_or(0, PackedInts::memory_bytes)
            + self.ids.memory_bytes()
            + self.prefix.heap_bytes()
            + self.rest.heap_bytes()
    }
}
