//! The facts of pages that the winner rules compare.

use hapax::group::facts::CanonicalStatus;
use hapax::group::{PageFacts, Rule, Rules, set_domain_places};

use crate::pages::Pages;

/// Computes the facts of a page on request.
pub(crate) struct FactTable<'p> {
    pages: &'p Pages,
    rules: &'p Rules,
    named: Named<'p>,
}

/// Which pages others name as canonical.
enum Named<'p> {
    /// The pages at these addresses, sorted.
    At(Vec<&'p str>),
    /// A flag for each page, by position.
    Marked(&'p [bool]),
}

impl<'p> FactTable<'p> {
    pub(crate) fn new(pages: &'p Pages, rules: &'p Rules) -> Self {
        let elsewhere = |page| pages.facts(page).canonical_status() == CanonicalStatus::Elsewhere;
        let mut named: Vec<&str> = pages
            .canonicals()
            .filter(|(page, _)| elsewhere(*page))
            .map(|(_, address)| without_fragment(address))
            .collect();
        named.sort_unstable();
        named.dedup();
        Self { pages, rules, named: Named::At(named) }
    }

    /// For a part of the corpus: whether another page names a page as canonical is known already,
    /// one flag per page.
    pub(crate) fn marked(pages: &'p Pages, rules: &'p Rules, named: &'p [bool]) -> Self {
        Self { pages, rules, named: Named::Marked(named) }
    }

    pub(crate) fn of(&self, page: u32) -> PageFacts<'p> {
        let facts = self.pages.facts(page);
        let named_canonical = match &self.named {
            Named::At(named) => named.binary_search(&without_fragment(&facts.url)).is_ok(),
            Named::Marked(marks) => marks.get(page as usize).copied().unwrap_or(false),
        };
        PageFacts { named_canonical, ..facts }
    }

    /// The page that wins over all others, which must be copies of each other; `None` if `pages` is
    /// empty.
    pub(crate) fn best(&self, pages: impl IntoIterator<Item = u32>) -> Option<u32> {
        let pages: Vec<u32> = pages.into_iter().collect();
        if pages.len() < 2 {
            return pages.first().copied();
        }
        let mut facts: Vec<PageFacts<'_>> = pages.iter().map(|&page| self.of(page)).collect();
        if self.rules.list().contains(&Rule::FirstDomain) {
            set_domain_places(&mut facts, |_| 0);
        }
        let order = |a: &(_, &_), b: &(_, &_)| self.rules.order(a.1, b.1).0;
        pages.iter().zip(&facts).min_by(order).map(|(&page, _)| page)
    }
}

pub(crate) fn without_fragment(url: &str) -> &str {
    url.split_once('#').map_or(url, |(before, _)| before)
}
