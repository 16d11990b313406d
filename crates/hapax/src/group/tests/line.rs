//! A world of pages on a line: a content is a number, and numbers at most one apart match.
//!
//! Chains are everywhere: 1 matches 2 and 2 matches 3, but 1 does not match 3.

use crate::group::live::{Likeness, Matching, Near, PageId, World};
use crate::group::{PageFacts, ScopeKey};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Contents, facts and scopes of the pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) contents: BTreeMap<PageId, i32>,
    pub(super) scores: BTreeMap<PageId, f64>,
    pub(super) scopes: BTreeMap<PageId, u64>,
    pub(super) searches: Cell<u32>,
}

/// Distance in bits of one step on the line.
pub(super) const STEP: u8 = 3;

impl Line {
    pub(super) fn likeness(&self, a: PageId, b: PageId) -> Likeness {
        let steps = self.contents[&a].abs_diff(self.contents[&b]);
        let distance = u8::try_from(steps).unwrap_or(u8::MAX).saturating_mul(STEP).min(64);
        let matching = match steps {
            0 => Matching::Exact,
            1 => Matching::Near,
            _ => Matching::No,
        };
        Likeness { distance, similarity: 1.0 - f32::from(distance) / 64.0, matching }
    }

    /// Whether both have content in one scope that matches.
    pub(super) fn matches(&self, a: PageId, b: PageId) -> bool {
        self.contents.contains_key(&a)
            && self.contents.contains_key(&b)
            && self.scope_of(a) == self.scope_of(b)
            && self.likeness(a, b).matches()
    }

    fn scope_of(&self, page: PageId) -> u64 {
        self.scopes.get(&page).copied().unwrap_or_default()
    }

    pub(super) fn url(page: PageId) -> String {
        format!("http://example.org/{:03}", page.0 * 7 % 101)
    }
}

impl World for Line {
    type Error = Infallible;

    fn facts(&self, page: PageId) -> Result<PageFacts<'_>, Infallible> {
        let url = Self::url(page).into();
        let (id, score) = (u64::from(page.0), self.scores.get(&page).copied());
        Ok(PageFacts { url, id, score, ..PageFacts::default() })
    }

    fn compare(&self, a: PageId, b: PageId) -> Result<Likeness, Infallible> {
        Ok(self.likeness(a, b))
    }

    fn near(&self, page: PageId, limit: usize) -> Result<Vec<Near>, Infallible> {
        self.searches.set(self.searches.get() + 1);
        let all = self.contents.keys().map(|&other| (other, self.likeness(page, other)));
        let mut found: Vec<Near> = all
            .filter(|(_, likeness)| likeness.matches())
            .map(|(page, likeness)| Near { page, likeness })
            .collect();
        found.sort_by_key(|near| near.likeness.distance);
        found.truncate(limit);
        Ok(found)
    }

    fn scope(&self, page: PageId) -> Result<ScopeKey, Infallible> {
        Ok(ScopeKey(self.scope_of(page)))
    }
}
