//! What a search engine must provide for deduplication.
//!
//! Retrieval is the engine's own; data about duplicates is stored in its index with each document, so no page
//! text is read when queries are processed. Fingerprints are read for the results of every query and must be
//! fast; other data is read only for similar documents.

use hapax::fingerprint::{Fingerprint, Sketch};

/// A document's number in the engine. Stable as long as nothing is indexed or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(pub u64);

/// The best results of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// The best ones, best first.
    pub top: Vec<DocumentId>,
    /// Total number of results, as far as the engine counts.
    pub all: u64,
}

/// The facts that choose between copies.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentFacts {
    /// The document's name, stable across indexing.
    pub name: String,
    /// Empty without an address.
    pub url: String,
    /// Confirms near-duplicates; `None` for a document without words.
    pub sketch: Option<Sketch>,
    pub score: Option<f64>,
    pub words: u32,
    /// Seconds since 1970.
    pub fetched: Option<u64>,
}

pub trait Engine: Sync {
    type Error: std::error::Error + Send + Sync + 'static;

    /// The recipe of the fingerprints in the index.
    fn recipe(&self) -> &str;

    /// The best `most` results of a query as typed by users, without those for which `hidden` is
    /// true; ties are broken consistently. A query without words has no results.
    fn top(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<Results, Self::Error>;

    /// The fingerprints of documents, which may be requested repeatedly; `None` for a document that
    /// cannot be compared.
    fn fingerprints(&self, ids: &[DocumentId]) -> Result<Vec<Option<Fingerprint>>, Self::Error>;

    /// All other data of documents, which may be requested repeatedly.
    fn facts(&self, ids: &[DocumentId]) -> Result<Vec<DocumentFacts>, Self::Error>;

    /// Whether the document is marked as a duplicate. Marked documents are found like others; use
    /// `hidden` to leave them out.
    fn is_marked(&self, _id: DocumentId) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of documents that are found.
    pub documents: u64,
    /// Number of removed documents, which can be restored.
    pub removed: u64,
    /// Number of documents that are found and marked.
    pub marked: u64,
    /// Number of segments on disk; 1 if there are none.
    pub segments: u64,
    pub bytes: u64,
}

/// A result with the engine's score, which is comparable only within one query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    pub id: DocumentId,
    /// Higher is better.
    pub relevance: f32,
}

/// What a list of results shows about a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Empty without a title.
    pub title: String,
    /// The beginning of its text, as far as the engine stores it.
    pub start: String,
    /// As stated; empty without a statement.
    pub language: String,
}

/// An engine whose results can be displayed.
pub trait Showing: Engine {
    /// As [`top`](Engine::top), with scores.
    fn scored(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<(Vec<Scored>, u64), Self::Error>;

    /// The excerpts of documents.
    fn excerpts(&self, ids: &[DocumentId]) -> Result<Vec<Excerpt>, Self::Error>;
}

/// A change of documents in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Removes them from all results.
    Remove,
    /// Undoes [`Remove`](Self::Remove).
    Restore,
    /// Marks them as duplicates; they are still found.
    Mark,
    /// Undoes [`Mark`](Self::Mark).
    Unmark,
}

/// An engine that can remove and restore documents.
pub trait Removing: Engine {
    /// Changes these documents, given by name: all of them or, if it fails or is killed, none.
    /// Ignores unknown names and documents in the desired state. Returns the number of changed
    /// documents.
    ///
    /// `operation` is the caller's name for the change, which [`operation`](Self::operation)
    /// returns afterwards, even if no document changed.
    fn change(
        &mut self,
        change: Change,
        names: &[String],
        operation: &str,
    ) -> Result<u64, Self::Error>;

    /// The last operation that took effect, in this process or another. A caller that was killed
    /// finds its own name here, or nothing was changed.
    fn operation(&self) -> Option<&str>;

    /// Removes documents from all results.
    fn remove(&mut self, names: &[String], operation: &str) -> Result<u64, Self::Error> {
        self.change(Change::Remove, names, operation)
    }

    /// Restores removed documents.
    fn restore(&mut self, names: &[String], operation: &str) -> Result<u64, Self::Error> {
        self.change(Change::Restore, names, operation)
    }
}
