//! Trying the likeliest buckets of many queries.
//!
//! A *probe* is one bucket to be looked into for one query. Two orders:
//!
//! - Few queries: a handful at a time, each query's probes likeliest first, so that a search for
//!   the first match ends early. The directory and the bucket of later probes are asked for while
//!   earlier ones are compared.
//! - A large batch on a large set: probes of many queries are first dealt out to parts of the
//!   table, each so small that it stays in a core's own cache, and then compared part by part.
//!   Memory is read in long runs instead of at random, which costs less than half.
//!
//! Both try the same sets for the same query, so answers do not depend on the batch.

use std::ops::ControlFlow;

use super::combinations::{Combination, Enumeration, Likeliest, Ranking, above};
use super::plan::{Leading, Limit, Plan};
use super::table::{Table, WINDOW};
use crate::hamming::{Lanes, Work};
use crate::index::near::{Effort, Match, Query};

/// Queries whose probes are compared together in a small batch.
const TOGETHER: usize = 8;

/// Batches from this size on are dealt out ...
const LARGE_BATCH: usize = 1 << 13;

/// ... if the filters do not stay in the cache anyway.
const LARGE_SET: usize = 1 << 18;

/// Rows of a part: 128 KiB of filters and 64 of tails.
const ROWS_OF_A_PART: usize = 1 << 15;

/// The most parts: writing to more places at a time than this is slow.
const MOST_PARTS_BITS: u32 = 10;

/// Probes waiting before they are compared; 12 bytes each.
const WAITING: usize = 1 << 22;

/// How many probes ahead memory is asked for.
const LAG: usize = 8;

/// Bits of [`Probe::slot`] below the query's number: how many flips are left.
const LEFT_BITS: u32 = 5;

pub(super) struct Search<'a> {
    pub(super) table: &'a Table,
    pub(super) plan: &'a Plan,
    pub(super) leading: &'a Leading,
    pub(super) queries: &'a [Query<'a>],
    pub(super) bound: u32,
    pub(super) visit: &'a mut dyn FnMut(usize, Match) -> ControlFlow<()>,
}

/// One bucket to look into.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Number of the query since `Answering::first`, and how many flips are left.
    slot: u32,
    prefix: u32,
    filter: u32,
}

/// The queries whose probes are waiting.
struct Answering {
    /// Number of the query in slot 0.
    first: usize,
    /// Bit `slot` is set when that query wants no more.
    done: Vec<u64>,
    compared: u64,
}

impl Answering {
    fn start(&mut self, first: usize, slots: usize) {
        self.first = first;
        self.done.clear();
        self.done.resize(slots.div_ceil(64), 0);
    }

    #[inline(always)]
    fn is_done(&self, slot: usize) -> bool {
        self.done[slot / 64] >> (slot % 64) & 1 == 1
    }
}

impl Work for Search<'_> {
    type Output = Effort;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Effort {
        let large = self.queries.len() >= LARGE_BATCH && self.table.rows() >= LARGE_SET;
        if large { self.dealt_out(lanes) } else { self.one_by_one(lanes) }
    }
}

impl Search<'_> {
    #[inline(always)]
    fn one_by_one<L: Lanes>(mut self, lanes: L) -> Effort {
        let mut answering = Answering { first: 0, done: Vec::new(), compared: 0 };
        let mut ranking = self.plan.empty_ranking();
        let (mut likeliest, mut enumeration) = (Likeliest::default(), Enumeration::default());
        let mut probes = Vec::new();
        let mut effort = Effort::default();
        for (number, together) in self.queries.chunks(TOGETHER).enumerate() {
            answering.start(number * TOGETHER, together.len());
            for (slot, query) in together.iter().enumerate() {
                let make = self.probes_of(lanes, query, slot);
                let limit = self.plan.rank(query.sums, self.leading, &mut ranking);
                let probe = |set| probes.push(make(set));
                effort.covered += match limit {
                    Limit::None => {
                        above(&ranking, 0.0, &mut enumeration, probe);
                        1.0
                    }
                    limit => in_order(&ranking, limit, &mut likeliest, probe),
                };
            }
            effort.probes += probes.len() as u64;
            self.compare_all(lanes, &probes, &mut answering);
            probes.clear();
        }
        Effort { compared: answering.compared, ..effort }
    }

    #[inline(always)]
    fn dealt_out<L: Lanes>(mut self, lanes: L) -> Effort {
        let mut answering = Answering { first: 0, done: Vec::new(), compared: 0 };
        let mut ranking = self.plan.empty_ranking();
        let (mut likeliest, mut enumeration) = (Likeliest::default(), Enumeration::default());
        let parts = (self.table.rows() / ROWS_OF_A_PART).max(1).ilog2();
        let parts = parts.min(MOST_PARTS_BITS).min(self.table.prefix_bits());
        let shift = self.table.prefix_bits() - parts;
        let mut waiting: Vec<Vec<Probe>> = vec![Vec::new(); 1 << parts];
        let mut effort = Effort::default();
        let mut first = 0;
        while first < self.queries.len() {
            let (mut slot, mut probes) = (0, 0);
            while first + slot < self.queries.len() && probes < WAITING {
                let query = &self.queries[first + slot];
                let make = self.probes_of(lanes, query, slot);
                let mut deal = |set: Combination| {
                    let probe = make(set);
                    waiting[(probe.prefix >> shift) as usize].push(probe);
                    probes += 1;
                };
                effort.covered += match self.plan.rank(query.sums, self.leading, &mut ranking) {
                    Limit::None => {
                        above(&ranking, 0.0, &mut enumeration, deal);
                        1.0
                    }
                    Limit::Likelihood(limit) => {
                        let total = ranking.total();
                        let mut covered = 0.0;
                        above(&ranking, limit * total, &mut enumeration, |set| {
                            covered += set.weight;
                            deal(set);
                        });
                        f64::from((covered / total).min(1.0))
                    }
                    limit => in_order(&ranking, limit, &mut likeliest, deal),
                };
                slot += 1;
            }
            effort.probes += probes as u64;
            answering.start(first, slot);
            for part in &mut waiting {
                self.compare_all(lanes, part, &mut answering);
                part.clear();
            }
            first += slot;
        }
        Effort { compared: answering.compared, ..effort }
    }

    /// Turns sets of flips into probes of one query.
    #[inline(always)]
    fn probes_of<L: Lanes>(
        &self,
        lanes: L,
        query: &Query<'_>,
        slot: usize,
    ) -> impl Fn(Combination) -> Probe + use<L> {
        let pieces = self.table.cut(lanes, query.fingerprint.to_bits());
        let bound = self.bound;
        move |set| Probe {
            slot: (slot as u32) << LEFT_BITS | (bound - set.size),
            prefix: pieces.prefix ^ set.flips,
            filter: pieces.filter,
        }
    }

    /// Memory is asked for in two steps, each so far ahead that the next finds it there.
    #[inline(always)]
    fn compare_all<L: Lanes>(&mut self, lanes: L, probes: &[Probe], answering: &mut Answering) {
        for probe in probes.iter().take(2 * LAG) {
            self.table.prefetch_directory(probe.prefix);
        }
        for probe in probes.iter().take(LAG) {
            self.table.prefetch_bucket(probe.prefix);
        }
        for (at, probe) in probes.iter().enumerate() {
            if let Some(later) = probes.get(at + 2 * LAG) {
                self.table.prefetch_directory(later.prefix);
            }
            if let Some(later) = probes.get(at + LAG) {
                self.table.prefetch_bucket(later.prefix);
            }
            if !answering.is_done((probe.slot >> LEFT_BITS) as usize) {
                self.compare(lanes, probe, answering);
            }
        }
    }

    #[inline(always)]
    fn compare<L: Lanes>(&mut self, lanes: L, probe: &Probe, answering: &mut Answering) {
        let (start, end) = self.table.bucket(probe.prefix);
        answering.compared += (end - start) as u64;
        let left = probe.slot & ((1 << LEFT_BITS) - 1);
        let mut at = start;
        while at < end {
            let near = lanes.within_16(self.table.window(at), probe.filter, left);
            if near != 0 {
                // The window may reach into the next bucket.
                let inside = (1u32 << (end - at).min(WINDOW)) - 1;
                self.look_closer(probe, at, u32::from(near) & inside, answering);
            }
            at += WINDOW;
        }
    }

    /// Of the rows from `at` on, those in `near` passed the filter.
    #[inline(never)]
    fn look_closer(&mut self, probe: &Probe, at: usize, mut near: u32, answering: &mut Answering) {
        let slot = (probe.slot >> LEFT_BITS) as usize;
        let number = answering.first + slot;
        let flipped = self.bound - (probe.slot & ((1 << LEFT_BITS) - 1));
        let tail = self.table.tail(self.queries[number].fingerprint.to_bits());
        while near != 0 && !answering.is_done(slot) {
            let place = near.trailing_zeros() as usize;
            near &= near - 1;
            let row = at + place;
            let distance = flipped
                + (self.table.window(at)[place] ^ probe.filter).count_ones()
                + self.table.tail_distance(row, tail);
            if distance <= self.bound {
                let visit = &mut *self.visit;
                let flow =
                    self.table.ids(row).try_for_each(|id| visit(number, Match { distance, id }));
                answering.done[slot / 64] |= u64::from(flow.is_break()) << (slot % 64);
            }
        }
    }
}

/// Calls `probe` for the sets to be tried, likeliest first; gives back what they cover.
fn in_order(
    ranking: &Ranking,
    limit: Limit,
    likeliest: &mut Likeliest,
    mut probe: impl FnMut(Combination),
) -> f64 {
    let total = ranking.total();
    let mut covered = 0f32;
    likeliest.restart(ranking);
    while let Some(set) = likeliest.next(ranking) {
        let wanted = match limit {
            Limit::None => true,
            Limit::Likelihood(least) => set.size == 0 || set.weight >= least * total,
            Limit::Covered(enough) => set.size == 0 || covered < enough * total,
        };
        if !wanted {
            break;
        }
        covered += set.weight;
        probe(set);
    }
    f64::from((covered / total).min(1.0))
}
