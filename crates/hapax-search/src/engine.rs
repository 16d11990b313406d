//! What a search engine must be able to do for its results to be cleaned.
//!
//! Retrieval is the engine's own; what duplicates need is kept in its index beside each
//! document, so that no page text is read when queries are processed. Fingerprints of results are
//! asked for every query and must be quick; everything else only of documents that are alike.

use hapax::fingerprint::{Fingerprint, Sketch};

/// A document, as the engine numbers it. Stable as long as nothing is indexed or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(pub u64);

/// The best results of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// The best ones, best first.
    pub top: Vec<DocumentId>,
    /// How many there are in all, as far as the engine counts.
    pub all: u64,
}

/// What decides between copies.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentFacts {
    /// The document's name, stable across indexings.
    pub name: String,
    /// Its address; empty without one.
    pub url: String,
    /// Confirms that texts are alike; `None` for a document without words.
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

    /// The best `most` results of a query as people type it, without those that `hidden` says;
    /// ties are broken the same way each time. A query without words finds nothing.
    fn top(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<Results, Self::Error>;

    /// The fingerprints of documents, each of which may be asked for more than once; `None` for one
    /// that cannot be compared.
    fn fingerprints(&self, ids: &[DocumentId]) -> Result<Vec<Option<Fingerprint>>, Self::Error>;

    /// Everything else about documents, each of which may be asked for more than once.
    fn facts(&self, ids: &[DocumentId]) -> Result<Vec<DocumentFacts>, Self::Error>;

    /// Is the document marked as a duplicate? A marked one is found as any other; to leave it out,
    /// hide it.
    fn is_marked(&self, _id: DocumentId) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Documents that are found.
    pub documents: u64,
    /// Documents that were removed and can be restored.
    pub removed: u64,
    /// Documents that are found and marked.
    pub marked: u64,
    /// Parts it lies in on disk; 1 where there are none.
    pub segments: u64,
    pub bytes: u64,
}

/// A result with the engine's own score, which only compares results of the same query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    pub id: DocumentId,
    /// Higher is better.
    pub relevance: f32,
}

/// What a list of results shows of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Empty without one.
    pub title: String,
    /// How its text begins, as far as the engine keeps it.
    pub start: String,
    /// As stated; empty without one.
    pub language: String,
}

/// An engine whose results can be shown to people.
pub trait Showing: Engine {
    /// As [`top`](Engine::top), with the scores that made the order.
    fn scored(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<(Vec<Scored>, u64), Self::Error>;

    /// What is shown of documents.
    fn excerpts(&self, ids: &[DocumentId]) -> Result<Vec<Excerpt>, Self::Error>;
}

/// What happens to documents in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Out of all results.
    Remove,
    /// Back from where [`Remove`](Self::Remove) put them.
    Restore,
    /// Known as a duplicate, but still found.
    Mark,
    /// No longer known as one.
    Unmark,
}

/// An engine from which documents can be taken out, and put back.
pub trait Removing: Engine {
    /// Changes these documents, given by name: all of them or, if it fails or is killed, none.
    /// Names that are changed already, or unknown, do no harm. Says how many changed.
    ///
    /// `operation` is the caller's name for it, which [`operation`](Self::operation) says from then
    /// on, whether or not any document changed.
    fn change(
        &mut self,
        change: Change,
        names: &[String],
        operation: &str,
    ) -> Result<u64, Self::Error>;

    /// The last operation that took effect, in this process or another. A caller that was killed
    /// finds its own name here, or nothing happened.
    fn operation(&self) -> Option<&str>;

    /// Takes documents out of all results.
    fn remove(&mut self, names: &[String], operation: &str) -> Result<u64, Self::Error> {
        self.change(Change::Remove, names, operation)
    }

    /// Puts documents back that were taken out.
    fn restore(&mut self, names: &[String], operation: &str) -> Result<u64, Self::Error> {
        self.change(Change::Restore, names, operation)
    }
}
