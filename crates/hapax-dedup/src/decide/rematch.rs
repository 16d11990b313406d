//! Members of clusters find a kept page that they match themselves.
//!
//! A member was compared with its representative only (see [`near`](mod@crate::near)). If the representative is removed, the
//! member is compared with the page kept instead, then kept members with all kept pages of their component,
//! until no two of these match.
//!
//! Guarantees that every added pair is confirmed and inside a component, so components can be resolved apart from each
//! other. Where more than [`ALL`] pages of a component are kept, sketches propose pairs, or fingerprints if the least similarity is too low for that. Stops
//! after [`ROUNDS`] rounds.

use std::collections::{BTreeMap, BTreeSet};

use hapax::group::batch::UnionFind;
use hapax::group::{Grouping, NearPair, Rules};
use hapax::join::{OneThread, PairOptions, Record};

use super::linked::Linked;
use crate::error::Error;
use crate::near::{Matcher, Member, bands};
use crate::pages::Pages;

/// So often kept pages are compared; drifting pages need two to four rounds.
pub(super) const ROUNDS: usize = 16;
/// Up to so many kept pages of a component are all compared.
const ALL: usize = 512;

/// Groups by pairs and members; `pairs` gets what was confirmed on the way.
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
    let mut is_member: Vec<u32> = members.iter().map(|member| member.page).collect();
    is_member.sort_unstable();
    let is_member = |page: u32| is_member.binary_search(&page).is_ok();
    let mut changed: Option<BTreeSet<u32>> = None;
    for _ in 0..ROUNDS {
        let mut by_component: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for member in members.iter().filter(|member| kept(&grouping, member.page)) {
            let Some(component) = component_of(member.page) else { continue };
            if changed.as_ref().is_none_or(|changed| changed.contains(&component)) {
                by_component.entry(component).or_default();
            }
        }
        for &page in linked.documents().iter().filter(|&&page| kept(&grouping, page)) {
            if let Some(kept) = component_of(page).and_then(|it| by_component.get_mut(&it)) {
                kept.push(page);
            }
        }
        let before = pairs.len();
        let mut again = BTreeSet::new();
        for (component, kept) in by_component {
            let found = matches(&kept, is_member, pages, matcher)?;
            if !found.is_empty() {
                again.insert(component);
                pairs.extend(found);
            }
        }
        if pairs.len() == before {
            break;
        }
        grouping = linked.group(rules, pairs)?;
        changed = Some(again);
    }
    Ok(grouping)
}

/// The component of each page in `linked`, by its number there.
fn components(linked: &Linked<'_>, pairs: &[NearPair], links: &[(u32, u32)]) -> Vec<u32> {
    let all = linked.pages.len() as u32;
    let mut sets = UnionFind::new(all);
    let edges = pairs.iter().map(|pair| (pair.a, pair.b)).chain(links.iter().copied());
    for (a, b) in edges.filter_map(|(a, b)| Some((linked.place(a)?, linked.place(b)?))) {
        sets.union(a, b);
    }
    (0..all).map(|place| sets.find(place)).collect()
}

/// Kept pages of a component that match each other, one of them a member.
fn matches(
    kept: &[u32],
    is_member: impl Fn(u32) -> bool,
    pages: &Pages,
    matcher: &Matcher<'_>,
) -> Result<Vec<NearPair>, Error> {
    let mut proposed: Vec<(u32, u32)> = Vec::new();
    let mut propose = |a: u32, b: u32| {
        if is_member(a) || is_member(b) {
            proposed.push((a.min(b), a.max(b)));
        }
    };
    if kept.len() <= ALL {
        for (at, &a) in kept.iter().enumerate() {
            kept[at + 1..].iter().for_each(|&b| propose(a, b));
        }
    } else if bands::suffice(matcher.least()) {
        for band in 0..bands::count() {
            bands::candidates(kept, pages, band, &mut propose);
        }
    } else {
        let record = |&id: &u32| Record { fingerprint: pages.fingerprint(id).to_bits(), id };
        let options = PairOptions::within(matcher.within())?;
        let joined = hapax::join::pairs(kept.iter().map(record).collect(), &options, &OneThread);
        joined.twins().iter().chain(joined.pairs()).for_each(|pair| propose(pair.a, pair.b));
    }
    proposed.sort_unstable();
    proposed.dedup();
    Ok(proposed.into_iter().filter_map(|(a, b)| matcher.confirm(a, b)).collect())
}
