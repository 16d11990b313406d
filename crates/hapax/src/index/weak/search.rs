//! Trying the likeliest buckets of many queries.
//!
//! A *probe* is one bucket to be looked into for one query. Two orders:
//!
//! - Few queries: a handful at a time, each query's probes likeliest first, so that a search for
//!   the first match ends early. The directory and the bucket of later probes are asked for while
//!   earlier ones are compared.
//! - A large batch on a large set: probes of many queries are first dealt out to parts of the
//!   table, each so small that it stays in a core's own cache, and then compared part by part.
//!   Memory is read in long runs instead of at random.
//!
//! Both try the same sets for the same query, so answers do not depend on the batch.

use std::ops::ControlFlow;

use super::combinations::{Enumeration, Likeliest, Ranking, above};
use super::compare::{Answering, Compare, LEFT_BITS, Probe};
use super::plan::{Leading, Limit, Plan};
use super::table::Table;
use crate::hamming::memory::{filled, prefetch};
use crate::hamming::{Kernel, Lanes, Work};
use crate::index::near::{Effort, Match, Query};

/// Queries ranked together, and compared together in a small batch.
const TOGETHER: usize = 16;

/// Batches from this size on are dealt out ...
const LARGE_BATCH: usize = 1 << 13;

/// ... if the filters do not stay in the cache anyway.
const LARGE_SET: usize = 1 << 18;

/// Rows of a part: 128 KiB of filters and 64 of tails.
const ROWS_OF_A_PART: usize = 1 << 15;

/// The most parts: writing to more places at a time than this is slow.
const MOST_PARTS_BITS: u32 = 10;

/// Room for probes dealt out to all parts, 12 bytes each, and for those of one query in a batch
/// so small that it does not need all of it.
const WAITING: usize = 1 << 21;
const WAITING_OF_ONE: usize = 32;

/// Queries answered before their numbers start over.
const CHUNK: usize = 1 << (u32::BITS - LEFT_BITS);

pub(super) struct Search<'a> {
    pub(super) table: &'a Table,
    pub(super) plan: &'a Plan,
    pub(super) leading: &'a Leading,
    pub(super) kernel: Kernel,
    pub(super) bound: u32,
}

impl Search<'_> {
    /// Answers a batch.
    pub(super) fn run(
        &self,
        queries: &[Query<'_>],
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Effort {
        let mut effort = Effort::default();
        for (number, chunk) in queries.chunks(CHUNK).enumerate() {
            let mut visit = |query, m| visit(number * CHUNK + query, m);
            let answering = Answering::new(self.table, chunk, self.bound, &mut visit);
            let large = chunk.len() >= LARGE_BATCH && self.table.rows() >= LARGE_SET;
            let part = if large { self.dealt_out(answering) } else { self.one_by_one(answering) };
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
        self.rank(answering.queries, |slot, query| {
            answering.tails[slot] = query.tail;
            effort.covered += sets.find(query, true);
            probes.extend(
                sets.iter().map(|(flips, size)| query.probe(slot, flips, self.bound - size)),
            );
            if (slot + 1).is_multiple_of(TOGETHER) || slot + 1 == answering.queries.len() {
                effort.probes += probes.len() as u64;
                self.kernel.run(Compare { probes: &probes, answering: &mut answering });
                probes.clear();
            }
        });
        Effort { compared: answering.compared, ..effort }
    }

    fn dealt_out(&self, mut answering: Answering<'_>) -> Effort {
        let parts = (self.table.rows() / ROWS_OF_A_PART).max(1).ilog2();
        let parts = parts.min(MOST_PARTS_BITS).min(self.table.prefix_bits());
        let shift = self.table.prefix_bits() - parts;
        let room = WAITING.min(answering.queries.len() * WAITING_OF_ONE) >> parts;
        let mut waiting = Parts::new(1 << parts, room);
        let mut sets = Sets::default();
        let mut effort = Effort::default();
        let compare = |waiting: &mut Parts, answering: &mut Answering<'_>| {
            for part in 0..1 << parts {
                self.kernel.run(Compare { probes: waiting.of(part), answering });
            }
            waiting.clear();
        };
        self.rank(answering.queries, |slot, query| {
            answering.tails[slot] = query.tail;
            effort.covered += sets.find(query, false);
            effort.probes += sets.len() as u64;
            for (flips, size) in sets.iter() {
                let probe = query.probe(slot, flips, self.bound - size);
                let part = (probe.prefix >> shift) as usize;
                if waiting.is_full(part) {
                    compare(&mut waiting, &mut answering);
                }
                waiting.push(part, probe);
            }
        });
        compare(&mut waiting, &mut answering);
        Effort { compared: answering.compared, ..effort }
    }

    /// Calls `then` with the number of each query and what its leading bits say.
    #[inline(always)]
    fn rank(&self, queries: &[Query<'_>], mut then: impl FnMut(usize, &Ranked)) {
        let Self { table, plan, leading, .. } = *self;
        let mut ranked: Vec<Ranked> = (0..TOGETHER).map(|_| Ranked::new(plan)).collect();
        for (number, together) in queries.chunks(TOGETHER).enumerate() {
            let first = number * TOGETHER;
            let next = &queries[(first + TOGETHER).min(queries.len())..];
            let next = &next[..next.len().min(TOGETHER)];
            self.kernel.run(Rank { table, plan, leading, together, next, ranked: &mut ranked });
            for (at, ranked) in ranked[..together.len()].iter().enumerate() {
                then(first + at, ranked);
            }
        }
    }
}

/// What is known about a query before the table is touched.
struct Ranked {
    ranking: Ranking,
    limit: Limit,
    total: f32,
    prefix: u32,
    filter: u32,
    tail: u32,
}

impl Ranked {
    fn new(plan: &Plan) -> Self {
        let ranking = plan.empty_ranking();
        Self { ranking, limit: Limit::None, total: 1.0, prefix: 0, filter: 0, tail: 0 }
    }

    #[inline(always)]
    fn probe(&self, slot: usize, flips: u32, left: u32) -> Probe {
        let slot = (slot as u32) << LEFT_BITS | left;
        Probe { slot, prefix: self.prefix ^ flips, filter: self.filter }
    }
}

/// Ranks the bits of some queries. Their own piece of work, so that it is compiled for the CPU.
struct Rank<'a> {
    table: &'a Table,
    plan: &'a Plan,
    leading: &'a Leading,
    together: &'a [Query<'a>],
    next: &'a [Query<'a>],
    ranked: &'a mut [Ranked],
}

impl Work for Rank<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for sums in self.next.iter().filter_map(|query| query.sums) {
            for line in 0..8 {
                prefetch(sums.as_array(), line * 8);
            }
        }
        for (query, ranked) in self.together.iter().zip(self.ranked) {
            ranked.limit = self.plan.rank(query.sums, self.leading, &mut ranked.ranking);
            ranked.total = ranked.ranking.total();
            let pieces = self.table.cut(lanes, query.fingerprint.to_bits());
            (ranked.prefix, ranked.filter) = (pieces.prefix, pieces.filter);
            ranked.tail = pieces.tail;
        }
    }
}

/// The sets that are tried for a query.
#[derive(Default)]
struct Sets {
    enumeration: Enumeration,
    likeliest: Likeliest,
}

impl Sets {
    /// Finds them, in order if that is asked for; gives back the probability they cover.
    fn find(&mut self, query: &Ranked, in_order: bool) -> f64 {
        let Ranked { ranking, limit, total, .. } = query;
        let covered = match *limit {
            Limit::None => {
                above(ranking, 0.0, &mut self.enumeration);
                return 1.0;
            }
            Limit::Likelihood(least) if !in_order => {
                above(ranking, least * total, &mut self.enumeration)
            }
            Limit::Likelihood(least) => {
                self.take_while(ranking, |set_weight, _| set_weight >= least * total)
            }
            Limit::Covered(enough) => {
                self.take_while(ranking, |_, covered| covered < enough * total)
            }
        };
        f64::from((covered / total).min(1.0))
    }

    /// The likeliest sets, as long as their weight and what was covered before are `wanted`; the
    /// empty one in any case.
    fn take_while(&mut self, ranking: &Ranking, wanted: impl Fn(f32, f32) -> bool) -> f32 {
        let mut covered = 0.0;
        self.likeliest.restart(ranking);
        self.enumeration.clear();
        while let Some(set) = self.likeliest.next(ranking) {
            if set.size > 0 && !wanted(set.weight, covered) {
                break;
            }
            covered += set.weight;
            self.enumeration.push(set);
        }
        covered
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.enumeration.iter()
    }

    fn len(&self) -> usize {
        self.enumeration.len()
    }
}

/// Probes dealt out, with the same room for each part.
struct Parts {
    probes: Vec<Probe>,
    lengths: Vec<usize>,
    room: usize,
}

impl Parts {
    fn new(parts: usize, room: usize) -> Self {
        let none = Probe { slot: 0, prefix: 0, filter: 0 };
        Self { probes: filled(parts * room, none), lengths: vec![0; parts], room }
    }

    #[inline(always)]
    fn is_full(&self, part: usize) -> bool {
        self.lengths[part] == self.room
    }

    #[inline(always)]
    fn push(&mut self, part: usize, probe: Probe) {
        let length = &mut self.lengths[part];
        self.probes[part * self.room + *length] = probe;
        *length += 1;
    }

    fn of(&self, part: usize) -> &[Probe] {
        &self.probes[part * self.room..][..self.lengths[part]]
    }

    fn clear(&mut self) {
        self.lengths.fill(0);
    }
}
