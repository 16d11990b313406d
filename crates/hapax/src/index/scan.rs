//! Linear scan: compares every query with every fingerprint.
//!
//! The reference implementation for all other engines, and the best engine for small sets. A batch is processed
//! in tiles: a run of fingerprints that fits into the first-level cache is compared with every query before the
//! next one is loaded, so a large set is read from memory once per batch instead of once per query.

use std::ops::ControlFlow;

use super::collection::Collection;
use super::near::{Effort, HammingIndex, Match, Query, SearchError};
use crate::fingerprint::{Fingerprint, MaxDistance};
use crate::hamming::{Kernel, Lanes, Work};

/// Fingerprints per tile: 16 KiB, half of a small first-level cache.
const TILE: usize = 2048;

/// Queries that share one pass over the fingerprints: one bit of a word each.
const BATCH_SIZE: usize = 64;

/// Compares every query with every fingerprint.
#[derive(Clone, Debug)]
pub struct Scan {
    pages: Collection,
    kernel: Kernel,
}

impl Scan {
    pub fn new(pages: Collection) -> Self {
        Self::with_kernel(pages, Kernel::best())
    }

    /// With a given instruction set.
    pub(super) fn with_kernel(pages: Collection, kernel: Kernel) -> Self {
        Self { pages, kernel }
    }

    pub fn into_collection(self) -> Collection {
        self.pages
    }

    pub const fn collection(&self) -> &Collection {
        &self.pages
    }
}

impl HammingIndex for Scan {
    fn visit_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<Effort, SearchError> {
        let compared = self.kernel.run(Tiles { pages: &self.pages, queries, bound, visit });
        Ok(Effort { probes: 0, compared, covered: queries.len() as f64 })
    }

    fn widest(&self) -> MaxDistance {
        const { MaxDistance::new(Fingerprint::BITS as u8).unwrap() }
    }

    fn len(&self) -> usize {
        self.pages.len()
    }

    fn memory_bytes(&self) -> usize {
        self.pages.memory_bytes()
    }
}

struct Tiles<'a> {
    pages: &'a Collection,
    queries: &'a [Query<'a>],
    bound: MaxDistance,
    visit: &'a mut dyn FnMut(usize, Match) -> ControlFlow<()>,
}

impl Work for Tiles<'_> {
    type Output = u64;

    /// Returns the number of comparisons.
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u64 {
        let Self { pages, queries, bound, visit } = self;
        let mut compared = 0;
        for (group, together) in queries.chunks(BATCH_SIZE).enumerate() {
            let mut done = 0u64;
            for (number, tile) in pages.fingerprints().chunks(TILE).enumerate() {
                for (slot, query) in together.iter().enumerate() {
                    if (done >> slot) & 1 == 1 {
                        continue;
                    }
                    compared += tile.len() as u64;
                    let bits = query.fingerprint.to_bits();
                    let flow = lanes.within(tile, bits, bound.bits(), |position, distance| {
                        pages.ids(number * TILE + position).try_for_each(|id| {
                            visit(group * BATCH_SIZE + slot, Match { distance, id })
                        })
                    });
                    done |= u64::from(flow.is_break()) << slot;
                }
            }
        }
        compared
    }
}
