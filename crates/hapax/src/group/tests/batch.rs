//! Batch grouping, compared with a recursive reference implementation.

use crate::fingerprint::ContentHash;
use crate::group::{
    BatchError, BatchInput, Grouping, NearPair, Outcome, PageFacts, Rules, ScopeKey,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn pair(a: u32, b: u32) -> NearPair {
    NearPair { a, b, distance: 3, similarity: 0.9 }
}

fn named(names: &[String]) -> Vec<PageFacts<'_>> {
    names.iter().map(|name| PageFacts::at(name)).collect()
}

fn hash(n: u8) -> ContentHash {
    ContentHash::from_bytes([n; 16])
}

/// A batch that owns its data.
#[derive(Clone, Debug)]
struct Case {
    names: Vec<String>,
    contents: Vec<Option<ContentHash>>,
    scopes: Vec<ScopeKey>,
    redirects: Vec<(u32, u32)>,
    pairs: Vec<NearPair>,
}

impl Case {
    fn group(&self, rules: &str) -> Grouping {
        let pages = named(&self.names);
        let input = BatchInput {
            pages: &pages,
            contents: &self.contents,
            scopes: &self.scopes,
            redirects: &self.redirects,
            pairs: &self.pairs,
        };
        Grouping::of(&rules.parse().unwrap(), &input).unwrap()
    }

    /// The last page of a chain, and whether it has content.
    fn end(&self, page: u32) -> (u32, bool) {
        let target = |p| self.redirects.iter().find(|r| r.0 == p).map(|r| r.1);
        let mut seen = vec![page];
        while let Some(next) = target(*seen.last().unwrap()) {
            if let Some(start) = seen.iter().position(|&p| p == next) {
                let least = seen[start..].iter().min_by_key(|&&p| &self.names[p as usize]);
                return (*least.unwrap(), false);
            }
            seen.push(next);
        }
        let last = *seen.last().unwrap();
        (last, self.contents[last as usize].is_some())
    }

    /// Whether two pages with content match directly.
    fn matches(&self, a: u32, b: u32) -> bool {
        let same_scope = self.scopes[a as usize] == self.scopes[b as usize];
        let content = |p: u32| self.contents[p as usize];
        let class = |p: u32| {
            (0..self.names.len() as u32).filter(move |&q| {
                content(p) == content(q)
                    && self.scopes[p as usize] == self.scopes[q as usize]
                    && self.end(q) == (q, true)
            })
        };
        let paired = |x, y| self.pairs.iter().any(|p| (p.a, p.b) == (x, y) || (p.b, p.a) == (x, y));
        same_scope && (content(a) == content(b) || class(a).any(|x| class(b).any(|y| paired(x, y))))
    }

    /// Reference: the best page of a component takes its matches, the rest is regrouped.
    fn winners_by_recursion(&self, rules: &Rules) -> Vec<u32> {
        let pages = named(&self.names);
        let n = self.names.len() as u32;
        let mut winner: Vec<u32> = (0..n).map(|p| self.end(p).0).collect();
        let full: BTreeSet<u32> = (0..n).filter(|&p| self.end(p) == (p, true)).collect();
        let mut waiting = vec![full];
        while let Some(set) = waiting.pop() {
            for component in self.components(&set) {
                let better =
                    |a: &&u32, b: &&u32| rules.order(&pages[**a as usize], &pages[**b as usize]).0;
                let best = *component.iter().min_by(better).unwrap();
                let (star, rest): (BTreeSet<u32>, BTreeSet<u32>) =
                    component.iter().partition(|&&p| p == best || self.matches(p, best));
                for page in star {
                    winner[page as usize] = best;
                }
                waiting.push(rest);
            }
        }
        (0..n).map(|p| winner[winner[p as usize] as usize]).collect()
    }

    fn components(&self, set: &BTreeSet<u32>) -> Vec<BTreeSet<u32>> {
        let mut left = set.clone();
        let mut found = Vec::new();
        while let Some(start) = left.pop_first() {
            let mut component = BTreeSet::from([start]);
            let mut open = vec![start];
            while let Some(page) = open.pop() {
                let next: Vec<u32> =
                    left.iter().copied().filter(|&q| self.matches(page, q)).collect();
                for q in next {
                    left.remove(&q);
                    component.insert(q);
                    open.push(q);
                }
            }
            found.push(component);
        }
        found
    }

    /// The same batch with page `i` at place `to[i]`, and with reversed pairs in reverse order.
    fn moved(&self, to: &[u32]) -> Self {
        let n = to.len();
        let mut from = vec![0; n];
        for (i, &place) in to.iter().enumerate() {
            from[place as usize] = i;
        }
        let at = |p: u32| to[p as usize];
        Self {
            names: from.iter().map(|&i| self.names[i].clone()).collect(),
            contents: from.iter().map(|&i| self.contents[i]).collect(),
            scopes: from.iter().map(|&i| self.scopes[i]).collect(),
            redirects: self.redirects.iter().rev().map(|&(a, b)| (at(a), at(b))).collect(),
            pairs: self
                .pairs
                .iter()
                .rev()
                .map(|p| NearPair { a: at(p.b), b: at(p.a), ..*p })
                .collect(),
        }
    }
}

fn cases() -> impl Strategy<Value = Case> {
    (2usize..14).prop_flat_map(|n| {
        let page = 0..n as u32;
        let redirects = prop::collection::vec((page.clone(), page.clone()), 0..4);
        (
            // Names of several lengths, not in the order of positions.
            Just(
                (0..n)
                    .map(|i| "x".repeat(i * 7 % 5) + &format!("{:02}", i * 5 % n))
                    .collect::<Vec<_>>(),
            )
            .prop_shuffle(),
            prop::collection::vec(prop::option::weighted(0.9, (0u8..12).prop_map(hash)), n),
            prop::collection::vec((0u64..5).prop_map(|s| ScopeKey(s / 4)), n),
            redirects,
            prop::collection::vec((page.clone(), page, 0u8..9), 0..2 * n),
        )
            .prop_map(|(mut names, contents, scopes, redirects, pairs)| {
                for (i, name) in names.iter_mut().enumerate() {
                    name.push_str(&i.to_string());
                }
                let redirects: BTreeMap<u32, u32> = redirects.into_iter().collect();
                let pairs = pairs.into_iter().map(|(a, b, distance)| NearPair {
                    a,
                    b,
                    distance,
                    similarity: 1.0 - f32::from(distance) / 64.0,
                });
                Case {
                    names,
                    contents,
                    scopes,
                    redirects: redirects.into_iter().collect(),
                    pairs: pairs.collect(),
                }
            })
    })
}

const LISTS: [&str; 2] = ["", "shortest-url"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn one_pass_gives_what_the_recursion_gives(case in cases(), list in 0usize..2) {
        let rules: Rules = LISTS[list].parse().unwrap();
        let grouping = case.group(LISTS[list]);
        let winners: Vec<u32> = (0..case.names.len() as u32).map(|p| grouping.winner(p)).collect();
        prop_assert_eq!(winners, case.winners_by_recursion(&rules));
    }

    #[test]
    fn any_order_of_pages_and_pairs_gives_the_same_groups(
        (case, to) in cases().prop_flat_map(|c| {
            let places = Just((0..c.names.len() as u32).collect::<Vec<_>>()).prop_shuffle();
            (Just(c), places)
        }),
    ) {
        let (before, after) = (case.group("shortest-url"), case.moved(&to).group("shortest-url"));
        prop_assert_eq!(before.families().len(), after.families().len());
        for (page, was) in before.placements().iter().enumerate() {
            let is = after.placements()[to[page] as usize];
            prop_assert_eq!(
                (was.outcome, was.distance, was.similarity, was.decided),
                (is.outcome, is.distance, is.similarity, is.decided)
            );
            let (star, moved) = (before.stars()[was.star as usize], after.stars()[is.star as usize]);
            let expected: Vec<u32> = before.members(&star).iter().map(|&p| to[p as usize]).collect();
            prop_assert_eq!(after.members(&moved), expected);
            prop_assert_eq!((star.radius, star.diameter), (moved.radius, moved.diameter));
            let family = |g: &Grouping, f: Option<u32>| f.map(|f| {
                let f = g.families()[f as usize];
                (f.stars, f.pages, f.failing)
            });
            prop_assert_eq!(family(&before, star.family), family(&after, moved.family));
        }
    }

    #[test]
    fn the_numbers_of_a_group_agree_with_its_members(case in cases()) {
        let grouping = case.group("");
        let mut listed = 0;
        for (i, star) in grouping.stars().iter().enumerate() {
            let members = grouping.members(star);
            listed += members.len();
            prop_assert_eq!(members[0], star.winner);
            let placed = |p: &u32| grouping.placements()[*p as usize];
            prop_assert!(members.iter().all(|p| placed(p).star == i as u32));
            prop_assert_eq!(members.iter().map(|p| placed(p).distance).max(), Some(star.radius));
            prop_assert!(star.radius <= star.diameter && star.diameter <= 2 * star.radius);
            prop_assert!(members[1..].iter().all(|p| placed(p).outcome.removable()));
        }
        prop_assert_eq!(listed, case.names.len());
        for (i, family) in grouping.families().iter().enumerate() {
            let stars: Vec<_> =
                grouping.stars().iter().filter(|s| s.family == Some(i as u32)).collect();
            prop_assert_eq!(stars.len() as u32, family.stars);
            prop_assert_eq!(stars.iter().map(|s| s.size).sum::<u32>(), family.pages);
            let head = grouping.stars()[family.head as usize];
            prop_assert_eq!(family.failing, family.pages - head.size);
        }
    }
}

fn numbered(n: u32) -> Vec<String> {
    (0..n).map(|i| format!("http://example.org/{i:07}")).collect()
}

fn case(names: Vec<String>, pairs: Vec<NearPair>) -> Case {
    Case { names, contents: Vec::new(), scopes: Vec::new(), redirects: Vec::new(), pairs }
}

#[test]
fn a_long_chain_falls_into_short_stars() {
    let n = 100_000;
    let grouping = case(numbered(n), (1..n).map(|i| pair(i - 1, i)).collect()).group("");
    assert_eq!(grouping.stars().len() as u32, n / 2);
    assert!(grouping.stars().iter().all(|s| s.size == 2 && s.diameter == 3));
    let family = grouping.families()[0];
    assert_eq!((family.stars, family.pages, family.failing), (n / 2, n, n - 2));
    assert!(family.failing_share() > 0.99);
}

#[test]
fn a_star_with_its_best_page_in_the_middle_is_one_group() {
    let n = 50_000;
    let from = |middle: u32| (0..n).filter(move |&i| i != middle).map(move |i| pair(middle, i));
    let best = case(numbered(n), from(0).collect()).group("");
    assert_eq!((best.stars().len(), best.families().len()), (1, 0));
    assert_eq!((best.stars()[0].radius, best.stars()[0].diameter), (3, 6));
    // The best leaf takes the middle, and every other leaf is alone.
    let worst = case(numbered(n), from(n - 1).collect()).group("");
    assert_eq!(worst.stars().len() as u32, n - 1);
    assert_eq!(worst.families()[0].stars, n - 1);
}

#[test]
fn a_clique_is_one_group() {
    let n = 400;
    let pairs = (0..n).flat_map(|a| (0..a).map(move |b| pair(a, b))).collect();
    let grouping = case(numbered(n), pairs).group("");
    assert_eq!(grouping.stars().len(), 1);
    assert_eq!(grouping.members(&grouping.stars()[0]), (0..n).collect::<Vec<_>>());
}

#[test]
fn identical_pages_are_one_group_without_any_pair() {
    let mut batch = case(numbered(1000), vec![pair(7, 999)]);
    batch.contents = (0..1000).map(|i| Some(hash((i == 999) as u8))).collect();
    let grouping = batch.group("");
    assert_eq!(grouping.stars().len(), 1);
    let outcomes: Vec<_> = grouping.placements().iter().map(|p| p.outcome).collect();
    assert_eq!(outcomes[..2], [Outcome::Kept, Outcome::Exact]);
    assert_eq!((outcomes[999], grouping.placements()[999].distance), (Outcome::Near, 3));
    let pages = named(&batch.names);
    let reason = grouping.reason(&"".parse().unwrap(), &pages, 5).unwrap();
    assert_eq!(reason.rule, "url");
}

#[test]
fn empty_pages_match_nothing() {
    let mut batch = case(numbered(3), vec![pair(0, 1)]);
    batch.contents = vec![None, None, Some(hash(1))];
    assert_eq!(batch.group("").stars().len(), 3);
}

#[test]
fn inconsistent_lists_are_refused_by_name() {
    let names = numbered(2);
    let pages = named(&names);
    let whole = BatchInput { pages: &pages, ..BatchInput::default() };
    let refuse = |input: &BatchInput<'_>| Grouping::of(&Rules::default(), input).unwrap_err();
    let error = refuse(&BatchInput { contents: &[None], ..whole });
    assert_eq!(error.to_string(), "1 contents for 2 pages: give one for each page, or none");
    let error = refuse(&BatchInput { pairs: &[pair(0, 2)], ..whole });
    assert_eq!(error, BatchError::NoSuchPage { what: "a pair", page: 2, pages: 2 });
    let error = refuse(&BatchInput { redirects: &[(0, 1), (0, 0)], ..whole });
    assert_eq!(error, BatchError::TwoRedirects { page: 0, first: 0, second: 1 });
    assert_eq!(Grouping::of(&Rules::default(), &BatchInput::default()).unwrap().stars(), []);
}
