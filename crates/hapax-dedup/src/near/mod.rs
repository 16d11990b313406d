//! Finds near-duplicates: fingerprints propose candidate pairs, sketches confirm them.
//!
//! ```text
//!   representatives --thin out dense clusters--> representatives --join within k--> candidates --confirm--> pairs
//!                            |
//!                            +--> members: each confirmed with its representative
//! ```
//!
//! A *dense cluster* is a large set of nearly equal pages, such as a template that differs in one number; its
//! best page represents it and the other members are compared with nothing else. Under *saturation* (too many
//! close fingerprints of different texts) sketches propose candidates ([`bands`](mod@bands)), or the bound is
//! narrowed ([`saturation`](mod@saturation)). Guarantees that every reported pair is within the bound and
//! confirmed and, outside dense clusters and saturation, that every such pair is reported. The result depends
//! on the set of pages, not on threads. Does not choose the kept page; [`decide`](mod@crate::decide) does.

pub(crate) mod bands;
pub(crate) mod dense;
mod joiner;
mod matcher;
mod same;
pub(crate) mod saturation;
#[cfg(test)]
mod tests;

use hapax::fingerprint::MaxDistance;
use hapax::group::NearPair;
use hapax::join::{Executor, Pair, PairOptions, Record};
use rayon::prelude::*;

pub(crate) use dense::{Collapsed, Member, choose_representatives};
pub(crate) use joiner::Joiner;
pub(crate) use matcher::{Matcher, PairMatch};

use crate::error::Error;
use crate::facts::FactTable;
use crate::pages::Pages;
use saturation::Proposal;

#[derive(Debug, Default)]
pub(crate) struct Near {
    /// Confirmed pairs of representatives.
    pub(crate) pairs: Vec<NearPair>,
    /// Members of dense clusters, each compared with its representative only.
    pub(crate) members: Vec<Member>,
    /// Pairs of representatives whose members may match each other.
    pub(crate) links: Vec<(u32, u32)>,
    /// The most similar candidates that were not confirmed, most similar first; at most
    /// [`REFUSED`].
    pub(crate) refused: Vec<NearPair>,
    /// Number of candidate pairs.
    pub(crate) candidates: u64,
    /// Pages with the same fingerprint as many others and different text; each is compared with few
    /// of them and with nothing else.
    pub(crate) collisions: u64,
    /// Pages that were not compared with everything within the bound.
    pub(crate) saturated: u64,
    /// The narrowest bound that was used under saturation; `None` if the bound was not narrowed.
    pub(crate) seen_within: Option<MaxDistance>,
    /// The probability that bands propose a pair of the minimum similarity; `None` if bands were
    /// not used.
    pub(crate) chance: Option<f64>,
}

/// Candidates per piece of work of a thread.
const BATCH_SIZE: usize = 1 << 14;

/// Finds near-duplicates among representatives, scope by scope. `many` goes to
/// [`dense::part_bits`].
pub(crate) fn find(
    representatives: &[u32],
    pages: &Pages,
    matcher: &Matcher<'_>,
    table: &FactTable<'_>,
    (within, many): (MaxDistance, usize),
    joiner: &Joiner<'_>,
) -> Result<Near, Error> {
    let mut near = Near::default();
    for scope in representatives.chunk_by(|&a, &b| pages.scope(a) == pages.scope(b)) {
        let Collapsed { representatives, members, links, collisions } =
            dense::thin_out(scope, pages, matcher, table, many);
        near.members.extend(members);
        near.links.extend(links);
        near.collisions += collisions;
        near.propose(&representatives, pages, matcher, within, joiner)?;
        keep_most_similar(&mut near.refused);
    }
    Ok(near)
}

impl Near {
    /// Finds confirmed pairs of representatives of one scope: all of them or, under
    /// [`saturation`](mod@saturation), all that the chosen method proposes.
    fn propose(
        &mut self,
        representatives: &[u32],
        pages: &Pages,
        matcher: &Matcher<'_>,
        within: MaxDistance,
        joiner: &Joiner<'_>,
    ) -> Result<(), Error> {
        let fingerprints: Vec<u64> =
            representatives.par_iter().map(|&page| pages.fingerprint(page).to_bits()).collect();
        let records = |wanted: &(dyn Fn(usize) -> bool + Sync)| -> Vec<Record<u32>> {
            let all = fingerprints.par_iter().zip(representatives).enumerate();
            all.filter(|(at, _)| wanted(*at))
                .map(|(_, (&fingerprint, &id))| Record { fingerprint, id })
                .collect()
        };
        let twins = Twins::among(representatives, pages);
        let wide = PairOptions::within(within)?;
        let mut confirm = |candidates: &[Pair<u32>]| {
            self.candidates += candidates.len() as u64;
            for compared in confirm(candidates, &twins, matcher, joiner.executor) {
                matcher.count(compared.pairs);
                self.pairs.extend(compared.confirmed);
                self.refused.extend(compared.refused);
            }
        };
        let least = matcher.least();
        match saturation::choose(&fingerprints, within, least, joiner.executor) {
            Proposal::Fingerprints => {
                joiner.pairs(records(&|_| true), &wide, confirm)?;
                self.compare_twins(&twins, matcher);
            }
            Proposal::Sketches(chance) => {
                self.saturated += representatives.len() as u64;
                self.chance = Some(chance);
                self.propose_by_sketch(representatives, pages, matcher, joiner.executor);
            }
            Proposal::Narrow(found) => {
                let around =
                    saturation::around(&found.dense, &fingerprints, within, joiner.executor);
                let narrow = PairOptions::within(found.within)?;
                joiner.pairs(records(&|at| !around[at]), &wide, &mut confirm)?;
                joiner.pairs(records(&|_| true), &narrow, confirm)?;
                self.compare_twins(&twins, matcher);
                self.pairs.par_sort_unstable_by_key(|pair| (pair.a, pair.b));
                self.pairs.dedup_by_key(|pair| (pair.a, pair.b));
                self.saturated += around.iter().filter(|saturated| **saturated).count() as u64;
                let least = self.seen_within.unwrap_or(found.within);
                self.seen_within = Some(least.min(found.within));
            }
        }
        Ok(())
    }

    /// Compares representatives that share a fingerprint, which the join does not report.
    fn compare_twins(&mut self, twins: &Twins, matcher: &Matcher<'_>) {
        let mut compared = Compared::default();
        for class in twins.0.chunk_by(|one, other| one.0 == other.0) {
            for (at, &(first, twin)) in class.iter().enumerate() {
                compared.add(matcher, first, twin);
                class[..at].iter().for_each(|&(_, other)| compared.add(matcher, other, twin));
            }
        }
        matcher.count(compared.pairs);
        self.pairs.extend(compared.confirmed);
        self.refused.extend(compared.refused);
    }

    /// As [`propose`](Self::propose), with candidates from bands of the sketch.
    fn propose_by_sketch(
        &mut self,
        representatives: &[u32],
        pages: &Pages,
        matcher: &Matcher<'_>,
        executor: &dyn Executor,
    ) {
        let mut most = representatives.len();
        let mut set = representatives.to_vec();
        set.par_sort_unstable();
        for band in 0..bands::count() {
            let sink = || CandidateSink { matcher, candidates: 0, compared: Compared::default() };
            let found = bands::collect(&set, pages, band, matcher.widest(), sink, executor);
            for CandidateSink { candidates, compared, .. } in found {
                self.candidates += candidates;
                matcher.count(compared.pairs);
                self.pairs.extend(compared.confirmed);
                self.refused.extend(compared.refused);
            }
            // Other bands propose the same pair again.
            if self.pairs.len() > most {
                in_order_once(&mut self.pairs);
                most = 2 * self.pairs.len();
            }
            in_order_once(&mut self.refused);
            keep_most_similar(&mut self.refused);
        }
        in_order_once(&mut self.pairs);
    }
}

/// Compares the candidates of one piece of work.
struct CandidateSink<'m, 'p> {
    matcher: &'m Matcher<'p>,
    candidates: u64,
    compared: Compared,
}

impl bands::PairSink for CandidateSink<'_, '_> {
    fn near(&mut self, a: u32, b: u32) {
        self.candidates += 1;
        self.compared.add(self.matcher, a, b);
    }

    fn far(&mut self, pairs: u64) {
        self.candidates += pairs;
    }
}

fn in_order_once(pairs: &mut Vec<NearPair>) {
    pairs.par_sort_unstable_by_key(|pair| (pair.a, pair.b));
    pairs.dedup_by_key(|pair| (pair.a, pair.b));
}

/// Representatives that share a fingerprint, as pairs of the first and another. A join reports only
/// the first.
struct Twins(Vec<(u32, u32)>);

impl Twins {
    fn among(representatives: &[u32], pages: &Pages) -> Self {
        let mut order: Vec<(u64, u32)> =
            representatives.par_iter().map(|&p| (pages.fingerprint(p).to_bits(), p)).collect();
        order.par_sort_unstable();
        let same = order.par_chunk_by(|one, other| one.0 == other.0);
        let others = same.flat_map_iter(|same| same[1..].iter().map(|it| (same[0].1, it.1)));
        let mut twins: Vec<(u32, u32)> = others.collect();
        twins.par_sort_unstable();
        Self(twins)
    }

    /// The first page of a fingerprint and all others that share it.
    fn of(&self, first: u32) -> impl Iterator<Item = u32> + Clone {
        let from = self.0.partition_point(|(page, _)| *page < first);
        let others = self.0[from..].iter().take_while(move |(page, _)| *page == first);
        std::iter::once(first).chain(others.map(|(_, twin)| *twin))
    }
}

/// Number of refused pairs to keep for the report.
pub(crate) const REFUSED: usize = 64;

fn keep_most_similar(pairs: &mut Vec<NearPair>) {
    pairs.sort_unstable_by(|one, other| {
        let by_similarity = other.similarity.total_cmp(&one.similarity);
        by_similarity.then((one.a, one.b).cmp(&(other.a, other.b)))
    });
    pairs.truncate(REFUSED);
}

/// The result of comparing candidates.
#[derive(Debug, Default)]
struct Compared {
    pairs: u64,
    confirmed: Vec<NearPair>,
    /// The most similar ones; others may be present.
    refused: Vec<NearPair>,
}

impl Compared {
    fn add(&mut self, matcher: &Matcher<'_>, a: u32, b: u32) {
        self.pairs += 1;
        match matcher.compare(a, b) {
            PairMatch::Alike(pair) => self.confirmed.push(pair),
            // Normalized, so that the selection for the report does not depend on the order of
            // comparisons.
            PairMatch::NotAlike(pair) => {
                self.refused.push(NearPair { a: a.min(b), b: a.max(b), ..pair });
            }
            PairMatch::Far => {}
        }
        if self.refused.len() > 4 * REFUSED {
            keep_most_similar(&mut self.refused);
        }
    }
}

/// Compares every candidate, and all pages that share the fingerprints of a candidate.
fn confirm(
    candidates: &[Pair<u32>],
    twins: &Twins,
    matcher: &Matcher<'_>,
    executor: &dyn Executor,
) -> Vec<Compared> {
    executor.map(candidates.chunks(BATCH_SIZE).collect(), |candidates: &[Pair<u32>]| {
        let mut compared = Compared::default();
        for pair in candidates {
            for (a, b) in twins.of(pair.a).flat_map(|a| twins.of(pair.b).map(move |b| (a, b))) {
                compared.add(matcher, a, b);
            }
        }
        compared
    })
}
