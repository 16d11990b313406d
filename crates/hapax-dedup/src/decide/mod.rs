//! Decides which documents are kept, which are removed, and which kept document replaces each removed one.
//!
//! ```text
//!   pages --exact--> representatives --near--> pairs, members
//!   pairs, members --group--> kept pages --kept members compared again--> more pairs --group--> decision
//! ```
//!
//! Guarantees what [`hapax::group::batch`] guarantees: no document is removed because of a chain of similar pages.
//! A member of a dense cluster (see `near`) was compared with its representative only; if that is removed, the
//! member is compared with the kept pages (`rematch`). The decision depends on the pages and their order alone.

mod linked;
mod rematch;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use hapax::group::{DecidedBy, Grouping, NearPair, Outcome, Placement, Reason, Rule, Rules, Star};
use hapax::join::Executor;
use hapax_corpus::Fact;
use rayon::slice::ParallelSliceMut;

use linked::Linked;
use rematch::rematch;

use crate::addresses::{Address, resolve};
use crate::against::{self, Earlier, Known};
use crate::confirm::Contents;
use crate::error::Error;
use crate::exact;
use crate::facts::FactTable;
use crate::near::{self, Joiner, Matcher, Member, Near, choose_representatives};
use crate::options::Options;
use crate::pages::Pages;

/// Rounds in which pages that lost the same winner choose a new one among themselves.
const LOST_ROUNDS: usize = 16;

/// The decision on every document.
#[derive(Debug)]
pub struct Decision<'p> {
    pages: &'p Pages,
    rules: &'p Rules,
    linked: Linked<'p>,
    pairs: Vec<NearPair>,
    grouping: Grouping,
    /// Pages whose removal was undone because their texts were not similar enough.
    unconfirmed: BTreeMap<u32, Unconfirmed>,
    earlier: &'p Pages,
    known: BTreeMap<u32, Known>,
    refused: Vec<NearPair>,
    effort: Effort,
}

/// A match by signature that the texts refuted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Unconfirmed {
    winner: u32,
    similarity: f32,
}

/// Work counters of the decision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Candidate pairs found by fingerprints.
    pub candidates: u64,
    /// Pairs whose sketches were compared.
    pub compared: u64,
    /// Confirmed pairs.
    pub confirmed: u64,
    /// Pages in dense clusters; each was compared with its representative only.
    pub dense: u64,
    /// Pages with the same fingerprint as many others and different text.
    pub collisions: u64,
    /// Pages with so many chance matches that not all of them were compared.
    pub saturated: u64,
    /// Distance in bits within which saturated pages were compared; `None` if sketches proposed
    /// their candidates or no page is saturated.
    pub saturated_within: Option<u32>,
    /// Probability of finding a partner at the minimum similarity where sketches proposed the
    /// candidates.
    pub saturated_chance: Option<f64>,
}

/// The decision on one document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    pub outcome: Outcome,
    /// Position of the kept document of its group; its own position if it is kept.
    pub winner: u32,
    /// `true` if an earlier job kept the winner; `winner` is then a position among the earlier
    /// documents.
    pub earlier: bool,
    pub distance: u8,
    /// Estimated Jaccard similarity to the winner; 1 for a kept document.
    pub similarity: f32,
}

/// A kept document and the documents removed as its duplicates.
#[derive(Clone, Debug)]
pub struct Group<'d, 'p> {
    decision: &'d Decision<'p>,
    star: &'d Star,
}

/// Decides on all pages. Writes temporary files to the folder `scratch` if memory is short.
///
/// # Errors
///
/// The distance bound is too wide, or there are more pairs than grouping can number.
pub fn decide<'p>(
    pages: &'p Pages,
    facts: &[Fact],
    earlier: &'p Earlier,
    options: &'p Options,
    executor: &dyn Executor,
    scratch: &Path,
) -> Result<Decision<'p>, Error> {
    let rules = &options.keep;
    let earlier = earlier.pages();
    let known = match earlier.is_empty() {
        true => BTreeMap::new(),
        false => against::known(pages, earlier, options, executor)?,
    };
    let table = FactTable::new(pages, rules);
    let matcher = Matcher::new(pages, options);
    let classes = exact::classes(pages, &table, |page| !known.contains_key(&page));
    let representatives = &classes.representatives;
    let joiner = Joiner { executor, memory: options.join_memory(pages)?, scratch };
    let bounds = (options.policy.within, options.many);
    let near = near::find(representatives, pages, &matcher, &table, bounds, &joiner)?;
    let addresses = resolve(facts, pages);
    let found = Found { copies: classes.copies, near, addresses, earlier, known };
    resolve_groups(pages, &table, &matcher, rules, found)
}

/// Everything that connects pages.
pub(crate) struct Found<'p> {
    /// Pages with an exact copy.
    pub(crate) copies: Vec<u32>,
    /// Near pairs and members of dense clusters.
    pub(crate) near: Near,
    /// Addresses that lead to a page by redirect or revisit.
    pub(crate) addresses: Vec<Address>,
    /// Pages kept by earlier jobs.
    pub(crate) earlier: &'p Pages,
    /// New pages that match one of them.
    pub(crate) known: BTreeMap<u32, Known>,
}

/// Groups pages after matching. `pages` may be a part of a corpus if no page in it matches a page
/// outside.
pub(crate) fn resolve_groups<'p>(
    pages: &'p Pages,
    table: &FactTable<'p>,
    matcher: &Matcher<'_>,
    rules: &'p Rules,
    found: Found<'p>,
) -> Result<Decision<'p>, Error> {
    let Found { copies, near, addresses, earlier, known } = found;
    let mut linked = copies;
    linked.extend(near.pairs.iter().flat_map(|pair| [pair.a, pair.b]));
    linked.extend(near.members.iter().flat_map(|member| [member.page, member.representative]));
    linked.extend(near.links.iter().flat_map(|&(one, other)| [one, other]));
    if pages.len() + addresses.len() > Pages::MOST {
        return Err(Error::TooMany { most: Pages::MOST });
    }
    let all = pages.len() as u32;
    for (number, address) in (0..).zip(&addresses) {
        linked.extend([address.document, all + number]);
    }
    linked.par_sort_unstable();
    linked.dedup();

    let mut linked = Linked::new(pages, table, linked, addresses);
    let members = near.members.iter().map(|member| (member.page, member.representative));
    if rules.list().contains(&Rule::FirstDomain) {
        linked.set_domain_places(near.pairs.iter().map(|pair| (pair.a, pair.b)).chain(members));
    }
    let mut pairs = near.pairs;
    let grouping = match near.members.is_empty() {
        true => linked.group(rules, &pairs)?,
        false => {
            rematch((&near.members, &near.links), &mut pairs, &linked, rules, (pages, matcher))?
        }
    };
    let effort = Effort {
        candidates: near.candidates,
        compared: matcher.compared(),
        confirmed: pairs.len() as u64,
        dense: near.members.len() as u64,
        collisions: near.collisions,
        saturated: near.saturated,
        saturated_within: near.seen_within.map(|it| it.bits()),
        saturated_chance: near.chance,
    };
    Ok(Decision {
        pages,
        rules,
        linked,
        pairs,
        grouping,
        unconfirmed: BTreeMap::new(),
        earlier,
        known,
        refused: near.refused,
        effort,
    })
}

impl<'p> Decision<'p> {
    pub fn pages(&self) -> &'p Pages {
        self.pages
    }

    pub fn rules(&self) -> &'p Rules {
        self.rules
    }

    /// Redirects and revisits that lead to documents.
    pub fn addresses(&self) -> &[Address] {
        &self.linked.addresses
    }

    pub fn effort(&self) -> Effort {
        self.effort
    }

    fn placement(&self, page: u32) -> Option<(u32, &Placement)> {
        let place = self.linked.place(page)?;
        Some((place, &self.grouping.placements()[place as usize]))
    }

    /// The decision on a document.
    pub fn verdict(&self, page: u32) -> Verdict {
        if let Some(known) = self.known.get(&page) {
            return Verdict {
                outcome: known.outcome,
                winner: known.earlier,
                earlier: true,
                distance: known.distance,
                similarity: known.similarity,
            };
        }
        match self.placement(page) {
            None => Verdict {
                outcome: Outcome::Kept,
                winner: page,
                earlier: false,
                distance: 0,
                similarity: 1.0,
            },
            Some((place, placement)) => Verdict {
                earlier: false,
                outcome: placement.outcome,
                winner: self.linked.pages[self.grouping.winner(place) as usize],
                distance: placement.distance,
                similarity: placement.similarity,
            },
        }
    }

    /// Why a document was removed, or why it was kept although its signature matches another one;
    /// `None` if it was kept without a match.
    pub fn reason(&self, page: u32) -> Option<Reason> {
        if self.known.contains_key(&page) {
            return Some(Reason { rule: "earlier", text: "kept by an earlier job".to_owned() });
        }
        if let Some(refuted) = self.unconfirmed(page) {
            let winner = self.pages.id(refuted.winner);
            let text = format!(
                "its signature is like that of {winner}, its text is not ({:.2} alike)",
                refuted.similarity
            );
            return Some(Reason { rule: "unconfirmed", text });
        }
        let (place, placement) = self.placement(page)?;
        if placement.decided == Some(DecidedBy::Id) {
            let text = "equal by every rule and URL, and first in the corpus".to_owned();
            return Some(Reason { rule: "order", text });
        }
        self.grouping.reason(self.rules, &self.linked.facts, place)
    }

    fn unconfirmed(&self, page: u32) -> Option<&Unconfirmed> {
        let refuted = self.unconfirmed.get(&page)?;
        (self.verdict(page).outcome == Outcome::Kept).then_some(refuted)
    }

    /// Number of documents kept because their texts refuted a match by signature.
    pub fn unconfirmed_count(&self) -> usize {
        self.unconfirmed.keys().filter(|&&page| self.unconfirmed(page).is_some()).count()
    }

    /// Documents removed as near-duplicates of another document of this corpus, with their winners.
    pub(crate) fn near_removals(&self) -> impl Iterator<Item = (u32, u32)> {
        let all = self.pages.len() as u32;
        let documents = self.linked.pages.iter().copied().take_while(move |&page| page < all);
        documents.filter_map(move |page| {
            let verdict = self.verdict(page);
            let near = verdict.outcome == Outcome::Near && !verdict.earlier;
            near.then_some((page, verdict.winner))
        })
    }

    /// Drops the refuted pairs and groups their pages again. Pages that lost the same winner may
    /// have been compared with nothing else, so they are compared with each other.
    pub(crate) fn refute(
        &mut self,
        refuted: &BTreeMap<Contents, f32>,
        options: &Options,
    ) -> Result<(), Error> {
        let pages = self.pages;
        let contents = |a: u32, b: u32| pages.content(a).zip(pages.content(b));
        let similarity = |a: u32, b: u32| refuted.get(&contents(a, b)?).copied();
        let lost: Vec<(u32, Unconfirmed)> = self
            .near_removals()
            .filter_map(|(page, winner)| {
                let similarity = similarity(page, winner)?;
                Some((page, Unconfirmed { winner, similarity }))
            })
            .collect();
        let mut left: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (page, lost) in &lost {
            left.entry(lost.winner).or_default().push(*page);
        }
        self.unconfirmed.extend(lost);
        self.pairs
            .retain(|pair| similarity(pair.a, pair.b).or(similarity(pair.b, pair.a)).is_none());
        let (matcher, table) = (Matcher::new(pages, options), FactTable::new(pages, self.rules));
        for alike in left.into_values() {
            let members = choose_representatives(alike, 2, LOST_ROUNDS, &matcher, &table).members;
            self.pairs.extend(members.iter().map(Member::pair));
        }
        self.regroup()
    }

    /// Drops all unconfirmed pairs and groups again.
    pub(crate) fn keep_only(&mut self, confirmed: impl Fn(Contents) -> bool) -> Result<(), Error> {
        let pages = self.pages;
        let stands =
            |a: u32, b: u32| pages.content(a).zip(pages.content(b)).is_some_and(&confirmed);
        self.pairs.retain(|&NearPair { a, b, .. }| stands(a, b) || stands(b, a));
        self.regroup()
    }

    fn regroup(&mut self) -> Result<(), Error> {
        if self.rules.list().contains(&Rule::FirstDomain) {
            self.linked.set_domain_places(self.pairs.iter().map(|pair| (pair.a, pair.b)));
        }
        self.grouping = self.linked.group(self.rules, &self.pairs)?;
        Ok(())
    }

    /// Candidate pairs that failed confirmation by little, most similar first, whose pages are in
    /// different groups.
    pub fn nearly_alike(&self) -> impl Iterator<Item = &NearPair> {
        let winner = |page| {
            let verdict = self.verdict(page);
            (verdict.earlier, verdict.winner)
        };
        self.refused.iter().filter(move |pair| winner(pair.a) != winner(pair.b))
    }

    /// The pages that hold the winner of a verdict, and its position there.
    pub fn winner(&self, verdict: &Verdict) -> (&'p Pages, u32) {
        (if verdict.earlier { self.earlier } else { self.pages }, verdict.winner)
    }

    /// Documents that match one kept by an earlier job, ascending.
    pub fn known(&self) -> impl Iterator<Item = u32> {
        self.known.keys().copied()
    }

    /// Groups of two or more documents, ascending by winner. Addresses that lead to a document do
    /// not count.
    pub fn groups(&self) -> impl Iterator<Item = Group<'_, 'p>> {
        let all = self.grouping.stars().iter().filter(|star| star.size > 1);
        all.map(|star| Group { decision: self, star }).filter(|group| group.documents().count() > 1)
    }

    /// Chains of matching pages that transitive closure would have merged into one group.
    pub fn families(&self) -> &[hapax::group::Family] {
        self.grouping.families()
    }
}

impl Group<'_, '_> {
    pub fn winner(&self) -> u32 {
        self.decision.linked.pages[self.star.winner as usize]
    }

    /// The winner, then the other documents, best first.
    pub fn documents(&self) -> impl Iterator<Item = u32> {
        let members = self.decision.grouping.members(self.star).iter();
        let all = self.decision.pages.len() as u32;
        members
            .map(|&place| self.decision.linked.pages[place as usize])
            .filter(move |&page| page < all)
    }
}
