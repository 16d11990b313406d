//! The pages that have a match, numbered for grouping.
//!
//! Most pages of a corpus have no duplicate and need no decision. Grouping only the linked pages makes its cost
//! grow with the number of duplicates, not with the corpus.

use std::borrow::Cow;

use hapax::fingerprint::ContentHash;
use hapax::group::batch::UnionFind;
use hapax::group::{BatchInput, Grouping, NearPair, PageFacts, Rules, ScopeKey, set_domain_places};
use rayon::prelude::*;

use crate::addresses::Address;
use crate::error::Error;
use crate::facts::FactTable;
use crate::pages::Pages;

#[derive(Debug)]
pub(super) struct Linked<'p> {
    /// Addresses that lead to documents.
    pub(super) addresses: Vec<Address>,
    /// Positions of the pages, ascending. Addresses get the numbers after the last page.
    pub(super) pages: Vec<u32>,
    /// The facts that the winner rules compare.
    pub(super) facts: Vec<PageFacts<'p>>,
    contents: Vec<Option<ContentHash>>,
    scopes: Vec<ScopeKey>,
    redirects: Vec<(u32, u32)>,
}

impl<'p> Linked<'p> {
    pub(super) fn new(
        pages: &'p Pages,
        table: &FactTable<'p>,
        linked: Vec<u32>,
        addresses: Vec<Address>,
    ) -> Self {
        let all = pages.len() as u32;
        let documents = linked[..linked.partition_point(|&page| page < all)].par_iter();
        let mut facts: Vec<PageFacts<'p>> = documents.clone().map(|&page| table.of(page)).collect();
        let mut contents: Vec<_> = documents.map(|&page| pages.content(page)).collect();
        let scopes = linked.par_iter().map(|&page| match page < all {
            true => pages.scope(page),
            false => ScopeKey::ALL,
        });
        let scopes = scopes.collect();
        let mut this = Self {
            addresses,
            pages: linked,
            facts: Vec::new(),
            contents: Vec::new(),
            scopes,
            redirects: Vec::new(),
        };
        for (number, address) in (0..).zip(&this.addresses) {
            let url = Cow::Owned(address.url.clone());
            facts.push(PageFacts { url, ..PageFacts::default() });
            contents.push(None);
            let place = |page| this.place(page).unwrap_or_default();
            this.redirects.push((place(all + number), place(address.document)));
        }
        (this.facts, this.contents) = (facts, contents);
        this
    }

    /// Marks the domain that had each text first, among pages connected by exact copies or by
    /// `links`.
    pub(super) fn set_domain_places(&mut self, links: impl Iterator<Item = (u32, u32)>) {
        let documents = self.facts.len() - self.addresses.len();
        let mut sets = UnionFind::new(documents as u32);
        for (a, b) in links.filter_map(|(a, b)| Some((self.place(a)?, self.place(b)?))) {
            sets.union(a, b);
        }
        let mut copies: Vec<(ScopeKey, ContentHash, u32)> = (0..documents as u32)
            .into_par_iter()
            .filter_map(|page| {
                Some((self.scopes[page as usize], self.contents[page as usize]?, page))
            })
            .collect();
        copies.par_sort_unstable();
        for two in copies.windows(2).filter(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1)) {
            sets.union(two[0].2, two[1].2);
        }
        let set_of: Vec<u32> = (0..documents as u32).map(|page| sets.find(page)).collect();
        set_domain_places(&mut self.facts[..documents], |page| set_of[page]);
    }

    /// The number of a page among the linked pages; `None` if it has no match.
    pub(super) fn place(&self, page: u32) -> Option<u32> {
        self.pages.binary_search(&page).ok().map(|place| place as u32)
    }

    pub(super) fn group(&self, rules: &Rules, pairs: &[NearPair]) -> Result<Grouping, Error> {
        let numbered: Vec<NearPair> = pairs
            .par_iter()
            .filter_map(|pair| {
                Some(NearPair { a: self.place(pair.a)?, b: self.place(pair.b)?, ..*pair })
            })
            .collect();
        Ok(Grouping::of(
            rules,
            &BatchInput {
                pages: &self.facts,
                contents: &self.contents,
                scopes: &self.scopes,
                redirects: &self.redirects,
                pairs: &numbered,
            },
        )?)
    }

    /// The kept page of the group of `page`.
    pub(super) fn winner(&self, grouping: &Grouping, page: u32) -> u32 {
        match self.place(page) {
            Some(place) => self.pages[grouping.winner(place) as usize],
            None => page,
        }
    }
}
