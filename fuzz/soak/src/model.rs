//! The reference: groups in memory, over pages with known similarity.
//!
//! Uses the engine's grouping rules; models what the repository adds: which pages are known, with which numbers and
//! facts. Numbers are assigned in the same order, and a page that lost its number gets a new one when it is added
//! again.

use crate::line::{FAMILIES, MEMBERS, comparable, settings, url};
use crate::operation::Operation;
use anyhow::Result;
use hapax::group::PageFacts;
use hapax::group::live::{
    Bare, Content, GroupState, Likeness, LiveGroups, Matching, MemoryState, Near, PageId,
    PageRecord, Verdict, World,
};
use hapax_client::wire::verdict_name;
use hapax_store::Seen;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Data of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    page: u32,
    place: Option<u32>,
    score: Option<u32>,
    fetched: Option<u64>,
    /// When its content was first seen, and at which position.
    first_seen: Option<u64>,
    recorded: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Pages(BTreeMap<PageId, Known>);

impl World for Pages {
    type Error = Infallible;

    fn facts(&self, page: PageId) -> Result<PageFacts<'_>, Infallible> {
        let known = self.0.get(&page).copied().unwrap_or_default();
        let (score, first_seen) = (known.score.map(f64::from), known.first_seen);
        let (url, recorded) = (url(known.page).into(), known.recorded);
        Ok(PageFacts { url, score, first_seen, recorded, ..PageFacts::default() })
    }

    fn compare(&self, a: PageId, b: PageId) -> Result<Likeness, Infallible> {
        let of = |page| {
            let known: Known = self.0.get(&page).copied().unwrap_or_default();
            (known.page / MEMBERS, known.place.unwrap_or(0), known.page)
        };
        let ((family_a, a, page_a), (family_b, b, page_b)) = (of(a), of(b));
        let (left, right) = (comparable(page_a, a), comparable(page_b, b));
        let matching = match (family_a == family_b, a.abs_diff(b)) {
            (true, 0) => Matching::Exact,
            (true, 1) => Matching::Near,
            _ => Matching::No,
        };
        let similarity = left.sketch.estimate(&right.sketch).jaccard as f32;
        let distance = left.fingerprint.distance(right.fingerprint) as u8;
        Ok(Likeness { distance, similarity, matching })
    }

    fn near(&self, page: PageId, limit: usize) -> Result<Vec<Near>, Infallible> {
        let mut near = Vec::new();
        for (&other, known) in &self.0 {
            if other != page && known.place.is_some() {
                let likeness = self.compare(page, other)?;
                if likeness.matches() {
                    near.push(Near { page: other, likeness });
                }
            }
        }
        near.sort_by_key(|near| (near.likeness.distance, near.page));
        near.truncate(limit);
        Ok(near)
    }
}

/// The status of a page: the addresses of its group with the winner first, and its facts.
pub(crate) type Status = Option<(Vec<String>, Option<u32>, Option<u64>)>;

/// The expected state of the repository.
pub(crate) struct Model {
    groups: LiveGroups<MemoryState>,
    pages: Pages,
    /// Numbers of the pages that have one.
    numbers: BTreeMap<u32, PageId>,
    next: u32,
    recorded: u64,
}

/// The answer in a form that both sides can produce.
fn text_of(verdict: &Verdict, seen: Seen) -> String {
    verdict_name(verdict.kind, Some(seen)).to_owned()
}

impl Model {
    pub(crate) fn new() -> Result<Self> {
        let settings = settings()?;
        let groups = LiveGroups::new(MemoryState::default(), settings.rules, settings.groups);
        Ok(Self { groups, pages: Pages::default(), numbers: BTreeMap::new(), next: 0, recorded: 0 })
    }

    fn number(&mut self, page: u32) -> PageId {
        if let Some(&known) = self.numbers.get(&page) {
            return known;
        }
        let number = PageId(self.next);
        self.next += 1;
        self.numbers.insert(page, number);
        self.pages.0.insert(number, Known { page, ..Known::default() });
        number
    }

    /// A page that was removed loses its number.
    fn sweep(&mut self) {
        let Ok(removed) = self
            .numbers
            .iter()
            .map(|(&page, &number)| Ok((page, number, self.groups.state().page(number)?)))
            .collect::<Result<Vec<_>, Infallible>>();
        for (page, number, _) in removed.into_iter().filter(|(.., record)| record.is_none()) {
            self.numbers.remove(&page);
            self.pages.0.remove(&number);
        }
    }

    fn seen(&mut self, page: u32, place: Option<u32>, fetched: u64) -> Result<String> {
        let number = self.number(page);
        let Ok(record) = self.groups.state().page(number);
        let known = self.pages.0.entry(number).or_default();
        let seen = match record {
            None | Some(PageRecord::Bare { why: Bare::Awaited, .. }) => Seen::First,
            Some(PageRecord::Content { .. } | PageRecord::Bare { why: Bare::Empty, .. })
                if known.place == place =>
            {
                Seen::Unchanged
            }
            Some(_) => Seen::Changed,
        };
        let nearly = match (known.place, place) {
            (Some(was), Some(is)) => was.abs_diff(is) <= 1,
            _ => seen == Seen::Unchanged,
        };
        if seen == Seen::First || !nearly {
            self.recorded += u64::from(place.is_some());
            known.first_seen = Some(fetched);
            known.recorded = place.map(|_| self.recorded);
        }
        let content = match (place, known.place == place) {
            (None, _) => Content::Empty,
            (Some(_), true) => Content::Same,
            (Some(_), false) => Content::Changed,
        };
        (known.place, known.fetched) = (place, Some(fetched));
        let verdict = self.groups.seen(&self.pages, number, content)?;
        self.sweep();
        Ok(text_of(&verdict, seen))
    }

    fn forget(&mut self, pages: Vec<u32>) -> Result<u64> {
        let mut numbers: Vec<PageId> =
            pages.iter().filter_map(|page| self.numbers.get(page).copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut there = Vec::new();
        for &number in &numbers {
            let Ok(record) = self.groups.state().page(number);
            if !matches!(record, Some(PageRecord::Bare { why: Bare::Awaited, .. })) {
                there.push(number);
            }
        }
        self.groups.gone(&self.pages, &there)?;
        for number in numbers {
            if let Some(known) = self.pages.0.get_mut(&number) {
                *known = Known { page: known.page, ..Known::default() };
            }
        }
        self.sweep();
        Ok(there.len() as u64)
    }

    /// Applies an operation; returns the expected answer.
    pub(crate) fn apply(&mut self, operation: &Operation) -> Result<String> {
        match *operation {
            Operation::Seen { page, place, fetched } => self.seen(page, place, fetched),
            Operation::Batch { ref pages, fetched } => {
                let each = |&(page, place): &(u32, u32)| self.seen(page, Some(place), fetched);
                Ok(pages.iter().map(each).collect::<Result<Vec<_>>>()?.join(" "))
            }
            Operation::Redirect { from, to, fetched } => {
                let from = self.number(from);
                if let Some(known) = self.pages.0.get_mut(&from) {
                    let (page, score) = (known.page, known.score);
                    *known = Known { page, score, fetched: Some(fetched), ..Known::default() };
                }
                let to = self.number(to);
                let verdict = self.groups.redirects(&self.pages, from, to)?;
                self.sweep();
                // All redirects are reported alike, whether the page was known or not.
                Ok(text_of(&verdict, Seen::First))
            }
            Operation::Forget { page } => Ok((self.forget(vec![page])? > 0).to_string()),
            Operation::Score { page, score } => {
                let Some(&number) = self.numbers.get(&page) else { return Ok("false".into()) };
                if let Some(known) = self.pages.0.get_mut(&number) {
                    known.score = score;
                }
                self.groups.facts_changed(&self.pages, &[number])?;
                Ok("true".into())
            }
            Operation::Expire { before } => {
                let old = |known: &&Known| known.fetched.is_some_and(|fetched| fetched < before);
                let pages = self.pages.0.values().filter(old).map(|known| known.page).collect();
                Ok(self.forget(pages)?.to_string())
            }
        }
    }

    /// The status of every page, by its number on the line.
    pub(crate) fn statuses(&self) -> Result<Vec<Status>> {
        (0..FAMILIES * MEMBERS).map(|page| self.status(page)).collect()
    }

    fn status(&self, page: u32) -> Result<Status> {
        let Some(number) = self.numbers.get(&page) else { return Ok(None) };
        let known = self.pages.0.get(number).copied().unwrap_or_default();
        let mut urls = Vec::new();
        if let Some((group, _)) = self.groups.place(*number)? {
            let name = |number: &PageId| self.pages.0.get(number).map(|known| url(known.page));
            urls.extend(self.groups.pages(group)?.iter().filter_map(name));
            urls.sort();
            let Ok(record) = self.groups.state().group(group);
            urls.splice(0..0, record.and_then(|record| name(&record.winner)));
        }
        Ok(Some((urls, known.score, known.fetched)))
    }
}
