//! Finds the duplicates inside one list of results.
//!
//! Finds all pairs within the bound by comparing all results: half a million comparisons for a thousand
//! results, a small part of the time of retrieving them. Sketches confirm pairs, groups are verified against
//! their winners, and the policy's rules choose winners. Guarantees that a result is removed only for a kept
//! one that it matches itself; protected results and the policy's minimum are kept, and the last results of the
//! list are removed first.
//!
//! Source: Pi et al. 2009, II.B and II.C.

use std::ops::ControlFlow;

use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::group::batch::UnionFind;
use hapax::group::{
    BatchError, BatchInput, DecidedBy, Grouping, NearPair, PageFacts, Reason, Rule, Rules,
    set_domain_places,
};
use hapax::hamming::Kernel;

use crate::engine::{DocumentFacts, DocumentId};
use crate::policy::Policy;

/// Two results, by index in the list, and their distance in bits.
pub type Proposal = (u32, u32, u8);

#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    pub place: u32,
    /// Index of the kept result.
    pub winner: u32,
    pub distance: u8,
    pub similarity: f32,
    /// Why the other one is kept.
    pub reason: Reason,
}

/// All pairs of results within the bound, ordered by index.
pub fn propose(fingerprints: &[Option<Fingerprint>], within: MaxDistance) -> Vec<Proposal> {
    // Leaves out results that cannot be compared first, so that the loop compares plain numbers.
    let comparable: Vec<(u64, u32)> = (0..)
        .zip(fingerprints)
        .filter_map(|(place, fingerprint)| Some(((*fingerprint)?.to_bits(), place)))
        .collect();
    let bits: Vec<u64> = comparable.iter().map(|&(bits, _)| bits).collect();
    let kernel = Kernel::best();
    let mut pairs = Vec::new();
    for (at, &bits_here) in bits.iter().enumerate() {
        let behind = &comparable[at + 1..];
        let _ = kernel.visit_within(&bits[at + 1..], bits_here, within, |ahead, distance| {
            pairs.push((comparable[at].1, behind[ahead].1, distance as u8));
            ControlFlow::Continue(())
        });
    }
    pairs
}

/// The removable documents among those in some pair, in the order of the results. Indexes in
/// `pairs` and in the result refer to `facts`; `left` is the number of results without any of these
/// documents.
///
/// # Errors
///
/// A pair has an invalid index.
pub fn fold(
    ids: &[DocumentId],
    facts: &[DocumentFacts],
    pairs: &[Proposal],
    left: usize,
    policy: &Policy,
) -> Result<Vec<Folded>, BatchError> {
    let linked = Linked::new(ids, facts.iter().collect(), pairs, left, policy);
    let (losers, pages) = linked.fold(None)?;
    let describe = |Loser { place, winner, distance, similarity, decided }| {
        let [best, other] = [winner, place].map(|place| &pages[place as usize]);
        let reason = Reason::new(&policy.keep, decided, best, other);
        Folded { place, winner, distance, similarity, reason }
    };
    Ok(losers.into_iter().map(describe).collect())
}

/// A removable result, without explanation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loser {
    pub(crate) place: u32,
    pub(crate) winner: u32,
    pub(crate) distance: u8,
    pub(crate) similarity: f32,
    decided: DecidedBy,
}

/// Results that match others, with the confirmed pairs.
#[derive(Debug)]
pub(crate) struct Linked<'a> {
    pages: Vec<PageFacts<'a>>,
    confirmed: Vec<NearPair>,
    left: usize,
    policy: &'a Policy,
}

impl<'a> Linked<'a> {
    pub(crate) fn new(
        ids: &[DocumentId],
        facts: Vec<&'a DocumentFacts>,
        pairs: &[Proposal],
        left: usize,
        policy: &'a Policy,
    ) -> Self {
        let confirmed = pairs.iter().filter_map(|pair| confirm(&facts, pair, policy)).collect();
        Self { pages: competitors(ids, facts), confirmed, left, policy }
    }

    /// The removable results, by pairs within a bound or, with `None`, by all pairs; and the facts
    /// that the rules compared.
    pub(crate) fn fold(
        &self,
        within: Option<MaxDistance>,
    ) -> Result<(Vec<Loser>, Vec<PageFacts<'a>>), BatchError> {
        let Self { pages, confirmed, left, policy } = self;
        let counts =
            |pair: &&NearPair| within.is_none_or(|within| within.admits(u32::from(pair.distance)));
        let pairs: Vec<NearPair> = confirmed.iter().filter(counts).copied().collect();
        let pages = &among_copies(pages.clone(), &pairs, &policy.keep);
        let input = BatchInput { pages, pairs: &pairs, ..BatchInput::default() };
        let grouping = Grouping::of(&policy.keep, &input)?;
        let mut losers: Vec<Loser> = (0..pages.len() as u32)
            .filter_map(|place| {
                let placement = grouping.placements()[place as usize];
                let page = &pages[place as usize];
                let may_go =
                    placement.outcome.removable() && policy.may_go(page.host(), page.score);
                let decided = may_go.then_some(placement.decided).flatten()?;
                let winner = grouping.winner(place);
                let (distance, similarity) = (placement.distance, placement.similarity);
                Some(Loser { place, winner, distance, similarity, decided })
            })
            .collect();
        let most = (pages.len() + left).saturating_sub(policy.least_left);
        let spared = losers.len().saturating_sub(most);
        losers.drain(..spared);
        Ok((losers, pages.clone()))
    }
}

/// The facts with the place of each page's domain among the copies that the pairs connect, which
/// `first-domain` compares.
pub(crate) fn among_copies<'a>(
    mut pages: Vec<PageFacts<'a>>,
    pairs: &[NearPair],
    rules: &Rules,
) -> Vec<PageFacts<'a>> {
    if rules.list().contains(&Rule::FirstDomain) {
        let mut sets = UnionFind::new(pages.len() as u32);
        pairs.iter().for_each(|pair| sets.union(pair.a, pair.b));
        let set_of: Vec<u32> = (0..pages.len() as u32).map(|page| sets.find(page)).collect();
        set_domain_places(&mut pages, |page| set_of[page]);
    }
    pages
}

/// The facts of documents for the winner rules.
pub(crate) fn competitors<'a>(
    ids: &[DocumentId],
    facts: impl IntoIterator<Item = &'a DocumentFacts>,
) -> Vec<PageFacts<'a>> {
    let page = |(id, facts): (&DocumentId, &'a DocumentFacts)| PageFacts {
        // Names are stable, unlike document numbers, which change when documents are added.
        url: if facts.url.is_empty() { facts.name.as_str() } else { facts.url.as_str() }.into(),
        id: id.0,
        score: facts.score,
        first_seen: facts.fetched,
        words: facts.words,
        ..PageFacts::default()
    };
    ids.iter().zip(facts).map(page).collect()
}

fn confirm(facts: &[&DocumentFacts], pair: &Proposal, policy: &Policy) -> Option<NearPair> {
    let &(a, b, distance) = pair;
    let [one, other] = [a, b].map(|place| facts.get(place as usize)?.sketch.as_ref());
    let sketches = match policy.confirm {
        true => Some((one?, other?)),
        false => None,
    };
    // The bound depends on the query; whoever proposed the pair has applied it.
    let policy = policy.similarity(MaxDistance::new(distance)?);
    let likeness = policy.compare_signatures(u32::from(distance), sketches);
    let similarity = likeness.similarity;
    likeness.matches().then_some(NearPair { a, b, distance, similarity })
}

#[cfg(test)]
mod tests {
    use hapax::fingerprint::Fingerprinter;
    use hapax::fingerprint::Recipe;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn document(url: &str, score: f64, text: &str) -> DocumentFacts {
        let recipe = Recipe::built_in("web-2").unwrap();
        let mut fingerprinter = Fingerprinter::new(recipe, None).unwrap();
        let signature = fingerprinter.text(text).unwrap();
        DocumentFacts {
            name: url.to_owned(),
            url: url.to_owned(),
            sketch: signature.comparable.map(|it| it.sketch),
            score: Some(score),
            words: 10,
            fetched: None,
        }
    }

    fn same(urls: &[(&str, f64)]) -> Vec<DocumentFacts> {
        let text = "one page that is found at several addresses with the very same words in it";
        urls.iter().map(|&(url, score)| document(url, score, text)).collect()
    }

    fn folded(
        facts: &[DocumentFacts],
        pairs: &[Proposal],
        left: usize,
        policy: &Policy,
    ) -> Result<Vec<Folded>, BatchError> {
        let ids: Vec<DocumentId> = (0..facts.len() as u64).map(DocumentId).collect();
        fold(&ids, facts, pairs, left, policy)
    }

    fn places(folded: &[Folded]) -> Vec<(u32, u32)> {
        folded.iter().map(|folded| (folded.place, folded.winner)).collect()
    }

    proptest! {
        #[test]
        fn proposals_are_all_pairs_within_the_bound(
            bits in vec(proptest::option::of(0u64..1 << 12), 0..60),
            within in 0u8..6,
        ) {
            let within = MaxDistance::new(within).unwrap();
            let fingerprints: Vec<_> =
                bits.iter().map(|bits| bits.map(Fingerprint::from_bits)).collect();
            let mut expected = Vec::new();
            for (a, first) in fingerprints.iter().enumerate() {
                for (b, second) in fingerprints.iter().enumerate().skip(a + 1) {
                    if let (Some(first), Some(second)) = (first, second)
                        && within.admits(first.distance(*second))
                    {
                        expected.push((a as u32, b as u32, first.distance(*second) as u8));
                    }
                }
            }
            prop_assert_eq!(propose(&fingerprints, within), expected);
        }
    }

    #[test]
    fn the_copy_with_the_highest_score_stays() {
        let facts =
            same(&[("http://a.test/", 0.1), ("http://b.test/", 0.9), ("http://c.test/", 0.5)]);
        let pairs = [(0, 1, 0), (0, 2, 0), (1, 2, 0)];
        let folded = folded(&facts, &pairs, 0, &Policy::default()).unwrap();
        assert_eq!(places(&folded), [(0, 1), (2, 1)]);
        assert!(folded[0].reason.to_string().starts_with("score"));
    }

    #[test]
    fn on_one_domain_the_better_address_stays_whenever_it_was_fetched() {
        let mut facts = same(&[
            ("http://shop.test/tea?PHPSESSID=1", 0.0),
            ("https://shop.test/tea", 0.0),
            ("https://copier.test/t", 0.0),
        ]);
        for (page, fetched) in facts.iter_mut().zip([1, 3, 2]) {
            (page.score, page.fetched) = (None, Some(fetched));
        }
        let pairs = [(0, 1, 0), (0, 2, 0), (1, 2, 0)];
        let folded = folded(&facts, &pairs, 0, &Policy::default()).unwrap();
        assert_eq!(places(&folded), [(0, 1), (2, 1)]);
        assert_eq!(
            folded.iter().map(|it| it.reason.rule).collect::<Vec<_>>(),
            ["https", "first-domain"]
        );
    }

    #[test]
    fn near_fingerprints_of_different_texts_are_not_confirmed() {
        let mut facts = same(&[("http://a.test/", 0.1)]);
        facts.push(document(
            "http://b.test/",
            0.9,
            "quite another text about something else altogether, which happens",
        ));
        assert!(folded(&facts, &[(0, 1, 2)], 0, &Policy::default()).unwrap().is_empty());
        let unconfirmed = Policy::from_toml("confirm = false").unwrap();
        assert_eq!(places(&folded(&facts, &[(0, 1, 2)], 0, &unconfirmed).unwrap()), [(0, 1)]);
    }

    #[test]
    fn a_result_that_matches_only_a_removed_one_is_kept() {
        let facts =
            same(&[("http://a.test/", 0.9), ("http://b.test/", 0.5), ("http://c.test/", 0.1)]);
        let folded = folded(&facts, &[(0, 1, 3), (1, 2, 3)], 0, &Policy::default()).unwrap();
        assert_eq!(places(&folded), [(1, 0)]);
    }

    #[test]
    fn protected_hosts_and_a_minimum_of_results_are_kept() {
        let facts =
            same(&[("http://a.test/", 0.9), ("http://b.test/", 0.5), ("http://c.test/", 0.1)]);
        let pairs = [(0, 1, 0), (0, 2, 0), (1, 2, 0)];
        let policy = Policy::from_toml("always-keep = [\"b.test\"]").unwrap();
        assert_eq!(places(&folded(&facts, &pairs, 0, &policy).unwrap()), [(2, 0)]);
        let policy = Policy::from_toml("least-left = 2").unwrap();
        assert_eq!(places(&folded(&facts, &pairs, 0, &policy).unwrap()), [(2, 0)]);
        assert_eq!(places(&folded(&facts, &pairs, 5, &policy).unwrap()), [(1, 0), (2, 0)]);
    }
}
