//! Compares members of dense clusters with the kept pages, if their representative is removed.
//!
//! A member was compared with its representative only (see [`near`](mod@crate::near)); if that is removed, with
//! the page kept instead. Components that still keep a member are scanned once, best page first: a page that
//! matches no kept page by a known pair is compared with those kept so far.
//!
//! Guarantees that every added pair is confirmed and inside one component, so components can be resolved
//! separately. No kept member matches another kept page, except for pairs that [`bands`](mod@bands) miss where
//! over [`SCANNED`] pages are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use hapax::group::batch::UnionFind;
use hapax::group::{Grouping, NearPair, Rules};
use hapax::hamming::Kernel;

use super::linked::Linked;
use crate::error::Error;
use crate::near::{Matcher, Member, bands};
use crate::pages::Pages;

/// Up to this many kept pages are compared one by one; beyond that, sketch bands propose
/// candidates.
const SCANNED: usize = 1 << 13;
/// Kept pages compared per band of the sketch: the most recent ones.
const IN_BAND: usize = 64;

/// Groups by pairs and members, and adds the pairs confirmed on the way to `pairs`.
pub(super) fn rematch(
    (members, links): (&[Member], &[(u32, u32)]),
    pairs: &mut Vec<NearPair>,
    linked: &Linked<'_>,
    rules: &Rules,
    (pages, matcher): (&Pages, &Matcher<'_>),
) -> Result<Grouping, Error> {
    pairs.extend(members.iter().map(Member::pair));
    let mut grouping = linked.group(rules, pairs)?;
    let kept = |grouping: &Grouping, page: u32| linked.winner(grouping, page) == page;
    let left = members.iter().filter(|member| kept(&grouping, member.page));
    let asked: Vec<NearPair> = left
        .filter_map(|it| matcher.confirm(linked.winner(&grouping, it.representative), it.page))
        .collect();
    if !asked.is_empty() {
        pairs.extend(asked);
        grouping = linked.group(rules, pairs)?;
    }

    let components = components(linked, pairs, links);
    let component_of = |page: u32| linked.place(page).map(|place| components[place as usize]);
    let kept_members = members.iter().filter(|member| kept(&grouping, member.page));
    let open: BTreeSet<u32> = kept_members.filter_map(|it| component_of(it.page)).collect();
    if open.is_empty() {
        return Ok(grouping);
    }
    let mut is_member: Vec<u32> = members.iter().map(|member| member.page).collect();
    is_member.sort_unstable();
    let known = pairs.iter().flat_map(|pair| [(pair.a, pair.b), (pair.b, pair.a)]);
    let lone = links.iter().flat_map(|&(one, other)| [(one, one), (other, other)]);
    let mut by_component: BTreeMap<u32, Component> = BTreeMap::new();
    for pair in known.chain(lone) {
        if let Some(component) = component_of(pair.0).filter(|it| open.contains(it)) {
            by_component.entry(component).or_default().pairs.push(pair);
        }
    }
    let before = pairs.len();
    for component in by_component.into_values() {
        let is_member = |page: u32| is_member.binary_search(&page).is_ok();
        component.compare_kept(linked, rules, is_member, (pages, matcher), pairs);
    }
    if pairs.len() > before {
        grouping = linked.group(rules, pairs)?;
    }
    Ok(grouping)
}

/// The component of each linked page, by its number.
fn components(linked: &Linked<'_>, pairs: &[NearPair], links: &[(u32, u32)]) -> Vec<u32> {
    let all = linked.pages.len() as u32;
    let mut sets = UnionFind::new(all);
    let edges = pairs.iter().map(|pair| (pair.a, pair.b)).chain(links.iter().copied());
    for (a, b) in edges.filter_map(|(a, b)| Some((linked.place(a)?, linked.place(b)?))) {
        sets.union(a, b);
    }
    (0..all).map(|place| sets.find(place)).collect()
}

/// The pairs of a component in both directions. A page without a pair is paired with itself.
#[derive(Default)]
struct Component {
    pairs: Vec<(u32, u32)>,
}

impl Component {
    /// Chooses kept pages in the same order as grouping, best first, and adds the pairs needed for
    /// that to `found`. Representatives were all compared with each other already, so they are
    /// compared with kept members only.
    fn compare_kept(
        mut self,
        linked: &Linked<'_>,
        rules: &Rules,
        is_member: impl Fn(u32) -> bool,
        (pages, matcher): (&Pages, &Matcher<'_>),
        found: &mut Vec<NearPair>,
    ) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        let mut ranked: Vec<&[(u32, u32)]> = self.pairs.chunk_by(|a, b| a.0 == b.0).collect();
        let facts = |page: u32| linked.place(page).map(|place| &linked.facts[place as usize]);
        ranked.sort_by(|one, other| match (facts(one[0].0), facts(other[0].0)) {
            (Some(one), Some(other)) => rules.order(one, other).0,
            (one, other) => one.is_some().cmp(&other.is_some()),
        });
        let mut kept = BTreeSet::new();
        let (mut representatives, mut members) = (Kept::default(), Kept::default());
        for pairs in ranked {
            let page = pairs[0].0;
            if pairs.iter().any(|(_, other)| kept.contains(other)) {
                continue;
            }
            let is_member = is_member(page);
            let mut pair = members.matching(page, pages, matcher);
            if is_member && pair.is_none() {
                pair = representatives.matching(page, pages, matcher);
            }
            if let Some(pair) = pair {
                found.push(pair);
                continue;
            }
            kept.insert(page);
            let list = if is_member { &mut members } else { &mut representatives };
            list.push(page, pages);
        }
    }
}

/// Kept pages, best first.
#[derive(Default)]
struct Kept {
    pages: Vec<u32>,
    fingerprints: Vec<u64>,
    /// Places of kept pages by band of the sketch; filled from [`SCANNED`] pages on.
    by_band: BTreeMap<(usize, u64), Vec<u32>>,
}

impl Kept {
    fn push(&mut self, page: u32, pages: &Pages) {
        self.pages.push(page);
        self.fingerprints.push(pages.fingerprint(page).to_bits());
        let from = match self.pages.len() {
            0..SCANNED => return,
            SCANNED => 0,
            all => all - 1,
        };
        for &page in &self.pages[from..] {
            for key in bands_of(page, pages) {
                self.by_band.entry(key).or_default().push(page);
            }
        }
    }

    /// The best kept page that matches `page`, as a pair.
    fn matching(&self, page: u32, pages: &Pages, matcher: &Matcher<'_>) -> Option<NearPair> {
        if self.pages.len() >= SCANNED && bands::suffice(matcher.least()) {
            let buckets = bands_of(page, pages).filter_map(|key| self.by_band.get(&key));
            let candidates = buckets.flat_map(|all| &all[all.len().saturating_sub(IN_BAND)..]);
            let candidates: BTreeSet<u32> = candidates.copied().collect();
            return candidates.into_iter().find_map(|kept| matcher.confirm(kept, page));
        }
        let mut found = None;
        let query = pages.fingerprint(page).to_bits();
        let visit = |at: usize, _| match matcher.confirm(self.pages[at], page) {
            Some(pair) => {
                found = Some(pair);
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        };
        let _ = Kernel::best().visit_within(&self.fingerprints, query, matcher.within(), visit);
        found
    }
}

fn bands_of(page: u32, pages: &Pages) -> impl Iterator<Item = (usize, u64)> {
    let key = move |band| bands::key(pages.sketch(page), pages.own_bucket(page, band), band);
    (0..bands::count()).map(move |band| (band, key(band)))
}
