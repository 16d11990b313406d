//! The thesis's batch baseline: Manku's tables over the batch, with binary search.
//!
//! Four tables for three bits, the best design in the thesis (chapter VII.G): each contains the sorted queries,
//! rotated so that one block of 16 bits comes first. A stored fingerprint is rotated in the same way, searched for by
//! its first block, and compared with all queries that share it.

use std::time::Duration;

use hapax::hamming::{Kernel, Lanes, Work};

use crate::clock::timed;

const BLOCKS: u32 = 4;
const BLOCK_BITS: u32 = 64 / BLOCKS;

pub(crate) struct Baseline {
    tables: Vec<Vec<(u64, u32)>>,
    pub(crate) build: Duration,
}

impl Baseline {
    pub(crate) fn new(queries: &[u64]) -> Self {
        let (tables, spent) = timed(|| {
            let table = |block: u32| {
                let rotated = queries.iter().map(|query| query.rotate_left(block * BLOCK_BITS));
                let mut table: Vec<(u64, u32)> = rotated.zip(0..).collect();
                table.sort_unstable();
                table
            };
            (0..BLOCKS).map(table).collect()
        });
        Self { tables, build: spent.cpu }
    }

    /// Calls `hit(query, place)` for each stored fingerprint within three bits of a query, once per
    /// table that finds it.
    pub(crate) fn search(&self, stored: &[u64], hit: impl FnMut(u32, usize)) {
        Kernel::best().run(Search { tables: &self.tables, stored, hit });
    }
}

/// Compiled for the best instruction set, like our engines: without the population count
/// instruction the baseline would be unfairly slow.
struct Search<'a, F> {
    tables: &'a [Vec<(u64, u32)>],
    stored: &'a [u64],
    hit: F,
}

impl<F: FnMut(u32, usize)> Work for Search<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, _: L) {
        for (place, &fingerprint) in self.stored.iter().enumerate() {
            for (block, table) in (0u32..).zip(self.tables) {
                let rotated = fingerprint.rotate_left(block * BLOCK_BITS);
                let prefix = rotated >> (64 - BLOCK_BITS);
                let start = table.partition_point(|entry| entry.0 >> (64 - BLOCK_BITS) < prefix);
                for &(query, number) in &table[start..] {
                    if query >> (64 - BLOCK_BITS) != prefix {
                        break;
                    }
                    if (query ^ rotated).count_ones() <= 3 {
                        (self.hit)(number, place);
                    }
                }
            }
        }
    }
}
