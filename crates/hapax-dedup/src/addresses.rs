//! Redirects and revisits: addresses that lead to a document but are not documents.
//!
//! A redirect leads from one address to another; a revisit record says that the content of an address is stored
//! under an earlier record. Each such address joins the group of the document at the end of its chain. An
//! address that has a document of its own in the corpus is never treated as a redirect; an address whose chain
//! ends outside the corpus is dropped.

use std::collections::BTreeMap;

use hapax_corpus::{Fact, Place};

use crate::pages::Pages;

/// Browsers stop after as many.
const MOST_HOPS: usize = 20;

/// An address that leads to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub url: String,
    /// Position of the document at the end of the chain.
    pub document: u32,
    /// `true` for a revisit record, `false` for a redirect.
    pub revisit: bool,
    pub place: Place,
}

/// All addresses that lead to a document, in corpus order. If an address has several redirects or
/// revisits, the first counts.
pub(crate) fn resolve(facts: &[Fact], pages: &Pages) -> Vec<Address> {
    if facts.is_empty() {
        return Vec::new();
    }
    let mut by_url: Vec<u32> =
        (0..pages.len() as u32).filter(|&page| !pages.url(page).is_empty()).collect();
    by_url.sort_unstable_by_key(|&page| (pages.url(page), page));
    let document = |url: &str| {
        let at = by_url.partition_point(|&page| pages.url(page) < url);
        by_url.get(at).copied().filter(|&page| pages.url(page) == url)
    };
    let mut next: BTreeMap<&str, &str> = BTreeMap::new();
    let mut named = Vec::new();
    for fact in facts {
        let (from, to) = fact.addresses();
        if document(from).is_none() && !next.contains_key(from) {
            next.insert(from, to);
            named.push((from, fact));
        }
    }
    let end = |from: &str| {
        let mut at = *next.get(from)?;
        for _ in 0..MOST_HOPS {
            match document(at) {
                Some(found) => return Some(found),
                None => at = *next.get(at)?,
            }
        }
        None
    };
    let address = |(from, fact): (&str, &Fact)| {
        let (revisit, place) = match fact {
            Fact::Redirect { place, .. } => (false, *place),
            Fact::Revisit { place, .. } => (true, *place),
        };
        Some(Address { url: from.to_owned(), document: end(from)?, revisit, place })
    };
    named.into_iter().filter_map(address).collect()
}
