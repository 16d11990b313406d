//! Any sequence of operations, compared with live groups in memory over the same pages.

use crate::line::{FARTHEST, assert_clean, contents, create, empty, open, page, settings};
use hapax::group::PageFacts;
use hapax::group::live::{
    Content, Likeness, LiveGroups, Matching, MemoryState, Near, PageId, Verdict, World,
};
use hapax_store::{Decision, Observation, Repository};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;

const PAGES: u32 = 12;

fn url(page: PageId) -> String {
    // Byte order of addresses equals order of numbers.
    format!("http://a/{:02}", page.0)
}

#[derive(Default)]
struct Line {
    contents: BTreeMap<PageId, u32>,
    scores: BTreeMap<PageId, f64>,
}

impl World for Line {
    type Error = Infallible;

    fn facts(&self, page: PageId) -> Result<PageFacts<'_>, Infallible> {
        let score = self.scores.get(&page).copied();
        Ok(PageFacts { url: url(page).into(), score, ..PageFacts::default() })
    }

    fn compare(&self, a: PageId, b: PageId) -> Result<Likeness, Infallible> {
        let (a, b) = (self.contents[&a], self.contents[&b]);
        let matching = match a.abs_diff(b) {
            0 => Matching::Exact,
            1 => Matching::Near,
            _ => Matching::No,
        };
        let similarity = contents(a).sketch.estimate(&contents(b).sketch).jaccard as f32;
        Ok(Likeness { distance: 3 * a.abs_diff(b) as u8, similarity, matching })
    }

    fn near(&self, page: PageId, limit: usize) -> Result<Vec<Near>, Infallible> {
        let mut near = Vec::new();
        for &other in self.contents.keys().filter(|&&other| other != page) {
            let likeness = self.compare(page, other)?;
            if likeness.matches() {
                near.push(Near { page: other, likeness });
            }
        }
        near.sort_by_key(|near| (near.likeness.distance, near.page));
        near.truncate(limit);
        Ok(near)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Seen(PageId, u32),
    Empty(PageId),
    Redirect(PageId, PageId),
    Forget(Vec<PageId>),
    Score(PageId, u32),
    Batch(Vec<(PageId, u32)>),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let page = || (0..PAGES).prop_map(PageId);
    let seen = || (page(), 0..FARTHEST);
    prop::collection::vec(
        prop_oneof![
            8 => seen().prop_map(|(page, content)| Step::Seen(page, content)),
            1 => page().prop_map(Step::Empty),
            3 => (page(), page())
                .prop_filter("a page cannot redirect to itself", |(from, to)| from != to)
                .prop_map(|(from, to)| Step::Redirect(from, to)),
            2 => prop::collection::vec(page(), 1..4).prop_map(Step::Forget),
            2 => (page(), 0u32..4).prop_map(|(page, score)| Step::Score(page, score)),
            2 => prop::collection::vec(seen(), 1..6).prop_map(Step::Batch),
            1 => Just(Step::Reopen),
        ],
        1..40,
    )
}

struct Both {
    store: Option<Repository>,
    groups: LiveGroups<MemoryState>,
    line: Line,
}

impl Both {
    fn store(&self) -> &Repository {
        self.store.as_ref().unwrap()
    }

    fn expect(&mut self, page: PageId, content: u32) -> Verdict {
        self.prune_scores();
        let same = self.line.contents.insert(page, content) == Some(content);
        let content = if same { Content::Same } else { Content::Changed };
        self.groups.seen(&self.line, page, content).unwrap()
    }

    fn known(&self, page: PageId) -> bool {
        self.groups.place(page).unwrap().is_some()
    }

    /// A page that is not even awaited has lost its score.
    fn prune_scores(&mut self) {
        let gone: Vec<PageId> =
            self.line.scores.keys().copied().filter(|&page| !self.known(page)).collect();
        for page in gone {
            self.line.scores.remove(&page);
        }
    }

    fn apply(&mut self, step: &Step, folder: &std::path::Path) {
        match step {
            Step::Seen(number, content) => {
                let expected = self.expect(*number, *content);
                let decided = self.store().observe(page(&url(*number), *content)).unwrap();
                same(&decided, &expected);
            }
            Step::Batch(pages) => {
                let expected: Vec<Verdict> =
                    pages.iter().map(|&(number, content)| self.expect(number, content)).collect();
                let pages: Vec<Observation> =
                    pages.iter().map(|&(number, content)| page(&url(number), content)).collect();
                let decided = self.store().observe_many(pages).unwrap();
                assert_eq!(decided.len(), expected.len());
                decided
                    .iter()
                    .zip(&expected)
                    .for_each(|(decided, expected)| same(decided, expected));
            }
            Step::Empty(number) => {
                self.line.contents.remove(number);
                let expected = self.groups.seen(&self.line, *number, Content::Empty).unwrap();
                same(&self.store().observe(empty(&url(*number))).unwrap(), &expected);
            }
            Step::Redirect(from, to) => {
                self.line.contents.remove(from);
                let expected = self.groups.redirects(&self.line, *from, *to).unwrap();
                let decided = self.store().redirect(&url(*from), &url(*to), None).unwrap();
                same(&decided, &expected);
            }
            Step::Forget(pages) => {
                let mut gone = pages.clone();
                gone.sort_unstable();
                gone.dedup();
                for page in &gone {
                    self.line.contents.remove(page);
                    self.line.scores.remove(page);
                }
                self.groups.gone(&self.line, &gone).unwrap();
                self.store().forget_many(pages.iter().map(|&page| url(page)).collect()).unwrap();
            }
            Step::Score(number, score) => {
                let known = self.known(*number);
                let score = f64::from(*score);
                if known {
                    self.line.scores.insert(*number, score);
                    self.groups.facts_changed(&self.line, &[*number]).unwrap();
                }
                assert_eq!(self.store().score(&url(*number), Some(score)).unwrap(), known);
            }
            Step::Reopen => {
                self.store = None;
                self.store = Some(open(folder));
            }
        }
        self.prune_scores();
    }
}

fn same(decided: &Decision, expected: &Verdict) {
    let verdict = &decided.verdict;
    assert_eq!(verdict.kind, expected.kind);
    assert_eq!(verdict.is_winner, expected.is_winner);
    assert_eq!(verdict.likeness, expected.likeness);
    assert_eq!(verdict.tier, expected.tier);
    assert_eq!(verdict.matches.len(), expected.matches.len());
    let winner = expected.winner.filter(|_| !expected.is_winner).map(url);
    assert_eq!(decided.winner_url, winner);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn the_repository_decides_as_groups_in_memory_do(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings();
        let groups = LiveGroups::new(MemoryState::default(), settings.rules, settings.groups);
        let store = Some(create(folder.path()));
        let mut both = Both { store, groups, line: Line::default() };
        for step in &steps {
            both.apply(step, folder.path());
        }
        for page in (0..PAGES).map(PageId) {
            let place = both.groups.place(page).unwrap();
            let group = both.store().group(&url(page)).unwrap();
            prop_assert_eq!(place.is_some(), group.is_some());
            if let (Some((number, _)), Some(group)) = (place, group) {
                let expected: Vec<String> =
                    both.groups.pages(number).unwrap().into_iter().map(url).collect();
                let mut urls: Vec<String> = group.pages.into_iter().map(|(_, url)| url).collect();
                urls.sort();
                prop_assert_eq!(urls, expected);
            }
        }
        assert_clean(both.store());
    }
}
