//! Probes the most likely buckets of many queries.
//!
//! Few queries are searched a handful at a time, each one's most likely probes first, with the memory of later
//! probes prefetched; a search for the first match ends early. A large batch on a large set is sorted by parts
//! of the table (see [`deal`](super::deal)). Both try the same sets for a query, so results do not depend on
//! the batch.

use std::ops::ControlFlow;

use super::combinations::BATCH_SIZE;
use super::compare::{Answering, Compare, LEFT_BITS};
use super::deal::{DealOut, Scratch};
use super::plan::{Leading, Plan};
use super::rank::{Rank, RankThese, Ranked, Sets};
use super::table::Table;
use crate::hamming::Kernel;
use crate::index::near::{Effort, Match, Query};

/// Batches of at least this size are sorted by parts ...
const LARGE_BATCH: usize = 1 << 13;

/// ... if the filters exceed the cache anyway.
const LARGE_SET: usize = 1 << 18;

/// Maximum number of queries that can be numbered.
const CHUNK: usize = 1 << (u32::BITS - LEFT_BITS);

#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) table: &'a Table,
    pub(super) plan: &'a Plan,
    pub(super) leading: &'a Leading,
    pub(super) kernel: Kernel,
    pub(super) bound: u32,
}

impl<'a> Search<'a> {
    pub(super) fn run(
        &self,
        queries: &[Query<'_>],
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Effort {
        let mut effort = Effort::default();
        for (number, chunk) in queries.chunks(CHUNK).enumerate() {
            let mut visit = |query, m| visit(number * CHUNK + query, m);
            let answering = Answering::new(self.table, chunk, self.bound, &mut visit);
            let large = chunk.len() >= LARGE_BATCH && self.table.rows() >= LARGE_SET;
            let part = if large {
                self.kernel.run(DealOut { search: *self, answering, scratch })
            } else {
                self.one_by_one(answering)
            };
            effort.probes += part.probes;
            effort.compared += part.compared;
            effort.covered += part.covered;
        }
        effort
    }

    fn one_by_one(&self, mut answering: Answering<'_>) -> Effort {
        let mut sets = Sets::default();
        let mut probes = Vec::new();
        let mut effort = Effort::default();
        let mut ranked: Vec<Ranked> = (0..BATCH_SIZE).map(|_| Ranked::new(self.plan)).collect();
        for (first, rank) in self.in_turn(answering.queries) {
            self.kernel.run(RankThese(rank, &mut ranked));
            for (slot, query) in (first..).zip(&ranked[..rank.together.len()]) {
                answering.tails[slot] = query.tail;
                effort.covered += sets.find(query, true);
                let left = |size| self.bound - size;
                probes
                    .extend(sets.iter().map(|(flips, size)| query.probe(slot, flips, left(size))));
            }
            effort.probes += probes.len() as u64;
            self.kernel.run(Compare { probes: &probes, answering: &mut answering });
            probes.clear();
        }
        Effort { compared: answering.compared, ..effort }
    }

    /// Passes queries to `rank` in groups, each with the number of its first query.
    #[inline(always)]
    pub(super) fn in_turn<'q>(
        &self,
        queries: &'q [Query<'q>],
    ) -> impl Iterator<Item = (usize, Rank<'q>)>
    where
        'a: 'q,
    {
        let Self { table, plan, leading, .. } = *self;
        queries.chunks(BATCH_SIZE).enumerate().map(move |(number, together)| {
            let first = number * BATCH_SIZE;
            let next = &queries[(first + BATCH_SIZE).min(queries.len())..];
            let next = &next[..next.len().min(BATCH_SIZE)];
            (first, Rank { table, plan, leading, together, next })
        })
    }
}
