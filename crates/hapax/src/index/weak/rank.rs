//! Chooses the sets of flips of a query, before the table is read.
//!
//! Queries are ranked in small groups, with the sums of the next group prefetched. Does not handle buckets.

use super::combinations::{BATCH_SIZE, Enumeration, Likeliest, Ranking, above};
use super::compare::{LEFT_BITS, Probe};
use super::plan::{Leading, Limit, Plan};
use super::table::Table;
use crate::hamming::memory::prefetch;
use crate::hamming::{Lanes, Work};
use crate::index::near::Query;

/// The ranking of a query's leading bits.
pub(super) struct Ranked {
    ranking: Ranking,
    limit: Limit,
    total: f32,
    prefix: u32,
    filter: u32,
    pub(super) tail: u32,
}

impl Ranked {
    pub(super) fn new(plan: &Plan) -> Self {
        let ranking = plan.empty_ranking();
        Self { ranking, limit: Limit::None, total: 1.0, prefix: 0, filter: 0, tail: 0 }
    }

    /// A probe with `left` remaining flips.
    #[inline(always)]
    pub(super) fn probe(&self, slot: usize, flips: u32, left: u32) -> Probe {
        let slot = (slot as u32) << LEFT_BITS | left;
        Probe { slot, prefix: self.prefix ^ flips, filter: self.filter }
    }
}

/// Ranks the bits of at most [`BATCH_SIZE`] queries.
#[derive(Clone, Copy)]
pub(super) struct Rank<'a> {
    pub(super) table: &'a Table,
    pub(super) plan: &'a Plan,
    pub(super) leading: &'a Leading,
    pub(super) together: &'a [Query<'a>],
    /// The following queries, to prefetch.
    pub(super) next: &'a [Query<'a>],
}

impl Rank<'_> {
    #[inline(always)]
    pub(super) fn fill<L: Lanes>(self, lanes: L, ranked: &mut [Ranked]) {
        for sums in self.next.iter().filter_map(|query| query.sums) {
            for line in 0..8 {
                prefetch(sums.as_array(), line * 8);
            }
        }
        let ranked = &mut ranked[..self.together.len().min(BATCH_SIZE)];
        for (query, ranked) in self.together.iter().zip(&mut *ranked) {
            ranked.limit = self.plan.rank(query.sums, self.leading, &mut ranked.ranking);
            ranked.total = ranked.ranking.total();
            let pieces = self.table.cut(lanes, query.fingerprint.to_bits());
            (ranked.prefix, ranked.filter) = (pieces.prefix, pieces.filter);
            ranked.tail = pieces.tail;
        }
    }
}

/// [`Rank::fill`], compiled for the CPU.
pub(super) struct RankThese<'a>(pub(super) Rank<'a>, pub(super) &'a mut [Ranked]);

impl Work for RankThese<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        self.0.fill(lanes, self.1);
    }
}

/// The sets to try for a query.
#[derive(Default)]
pub(super) struct Sets {
    enumeration: Enumeration,
    likeliest: Likeliest,
}

impl Sets {
    /// Finds the sets, in order on request; returns the probability they cover.
    #[inline(always)]
    pub(super) fn find(&mut self, query: &Ranked, in_order: bool) -> f64 {
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

    /// Takes the most likely sets while their weight and the weight covered so far are `wanted`;
    /// always takes the empty set.
    #[inline(never)]
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
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.enumeration.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.enumeration.len()
    }
}
