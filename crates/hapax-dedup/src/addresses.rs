//! Redirects and revisits: addresses that stand for a document without being one.
//!
//! An archive may say that one address leads to another, or that what it found at an address it
//! had already stored under another. Such an address belongs to the group of the document at the
//! end of its chain. An address under which the corpus holds a document of its own is that
//! document, whatever else is said about it; one whose chain ends nowhere is dropped.

use std::collections::BTreeMap;

use hapax_corpus::{Fact, Place};

use crate::pages::Pages;

/// Where browsers give up, too.
const MOST_HOPS: usize = 20;

/// An address that leads to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub url: String,
    /// The position of the document it leads to at last.
    pub document: u32,
    /// Whether the archive saw a revisit rather than a redirect.
    pub revisit: bool,
    pub place: Place,
}

/// All addresses that lead to a document, in the order of the corpus. The first that is said about
/// an address counts.
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
