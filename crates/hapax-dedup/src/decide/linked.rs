//! Pages that have something to do with another one.
//!
//! Most pages of a corpus have no duplicate and nothing to decide; only the others are grouped, so that
//! what grouping costs grows with the duplicates and not with the corpus.

use std::borrow::Cow;

use hapax::fingerprint::ContentHash;
use hapax::group::{BatchInput, Grouping, NearPair, PageFacts, Rules, ScopeKey};

use crate::addresses::Address;
use crate::error::Error;
use crate::facts::FactTable;
use crate::pages::Pages;

/// Pages in linked, numbered for grouping.
pub(super) struct Linked<'p> {
    /// Addresses that lead to documents.
    pub(super) addresses: Vec<Address>,
    /// Positions of the pages, ascending; addresses count on behind the last page.
    pub(super) pages: Vec<u32>,
    /// What the rules see of them.
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
        let documents = linked.iter().take_while(|&&page| page < all);
        let mut facts: Vec<PageFacts<'p>> = documents.clone().map(|&page| table.of(page)).collect();
        let mut contents: Vec<_> = documents.clone().map(|&page| pages.content(page)).collect();
        let scopes = linked.iter().map(|&page| match page < all {
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

    /// The number of a page in linked.
    fn place(&self, page: u32) -> Option<u32> {
        self.pages.binary_search(&page).ok().map(|place| place as u32)
    }

    /// Groups them by these pairs.
    pub(super) fn group(&self, rules: &Rules, pairs: &[NearPair]) -> Result<Grouping, Error> {
        let numbered: Vec<NearPair> = pairs
            .iter()
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

    /// Who stays instead of a page.
    pub(super) fn winner(&self, grouping: &Grouping, page: u32) -> u32 {
        match self.place(page) {
            Some(place) => self.pages[grouping.winner(place) as usize],
            None => page,
        }
    }
}
