//! Lists of results as JSON, the same from the program and the service.

use serde::Serialize;

use crate::collapse::{FoldedCopy, Hit, Listing, Shown};
use crate::snippet::Snippet;

#[derive(Debug, Serialize)]
pub struct ListingRecord<'a> {
    /// As typed.
    pub query: &'a str,
    pub results: u64,
    /// Number of results that were examined for copies.
    pub examined: u64,
    /// Number of those that are shown under another.
    pub folded: u64,
    pub hits: Vec<HitRecord<'a>>,
}

/// A result with its copies.
#[derive(Debug, Serialize)]
pub struct HitRecord<'a> {
    #[serde(flatten)]
    pub document: DocumentRecord<'a>,
    /// The copies shown under it.
    pub copies: Vec<CopyRecord<'a>>,
}

#[derive(Debug, Serialize)]
pub struct DocumentRecord<'a> {
    /// Its rank among all results, from 1.
    pub rank: u64,
    /// Unique in the index.
    pub name: &'a str,
    /// `null` without one.
    pub url: Option<&'a str>,
    /// `null` without one.
    pub title: Option<&'a str>,
    /// The beginning of its text.
    pub start: &'a str,
    /// The passage with words of the query.
    pub snippet: &'a Snippet,
    /// `null` without a statement.
    pub language: Option<&'a str>,
    /// The engine's score for this query.
    pub relevance: f32,
    pub score: Option<f64>,
    /// Whether it is marked as a duplicate.
    pub marked: bool,
}

#[derive(Debug, Serialize)]
pub struct CopyRecord<'a> {
    #[serde(flatten)]
    pub document: DocumentRecord<'a>,
    /// Distance of the fingerprints in bits.
    pub distance: u8,
    /// Similarity, from 0 to 1.
    pub similarity: f32,
    /// Why the other one is shown.
    pub reason: &'a str,
}

impl<'a> ListingRecord<'a> {
    pub fn of(query: &'a str, listing: &'a Listing) -> Self {
        let Listing { results, examined, folded, hits } = listing;
        let hits = hits.iter().map(HitRecord::of).collect();
        Self { query, results: *results, examined: *examined, folded: *folded, hits }
    }
}

impl<'a> HitRecord<'a> {
    fn of(hit: &'a Hit) -> Self {
        let copies = hit.copies.iter().map(CopyRecord::of).collect();
        Self { document: DocumentRecord::of(&hit.document), copies }
    }
}

impl<'a> CopyRecord<'a> {
    fn of(copy: &'a FoldedCopy) -> Self {
        Self {
            document: DocumentRecord::of(&copy.document),
            distance: copy.distance,
            similarity: copy.similarity,
            reason: &copy.reason,
        }
    }
}

impl<'a> DocumentRecord<'a> {
    fn of(shown: &'a Shown) -> Self {
        let some = |text: &'a str| (!text.is_empty()).then_some(text);
        Self {
            rank: shown.rank,
            name: &shown.facts.name,
            url: some(&shown.facts.url),
            title: some(&shown.excerpt.title),
            start: &shown.excerpt.start,
            snippet: &shown.snippet,
            language: some(&shown.excerpt.language),
            relevance: shown.relevance,
            score: shown.facts.score,
            marked: shown.marked,
        }
    }
}
