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
    /// Authority.
    pub score: Option<f64>,
    /// Words of text.
    pub words: u32,
    /// Seconds since 1970.
    pub fetched: Option<u64>,
}

/// A search engine.
pub trait Engine: Sync {
    /// Why it failed.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The recipe of the fingerprints in the index.
    fn recipe(&self) -> &str;

    /// The best `most` results of a query as people type it, without those that `hidden` says;
    /// ties are broken the same way each time. A query without words finds nothing.
    ///
    /// # Errors
    ///
    /// The engine failed. What it cannot parse is no error: it is searched for as plain words.
    fn top(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<Results, Self::Error>;

    /// The fingerprints of documents; `None` for one that cannot be judged.
    ///
    /// # Errors
    ///
    /// The engine failed, or there is no such document.
    fn fingerprints(&self, ids: &[DocumentId]) -> Result<Vec<Option<Fingerprint>>, Self::Error>;

    /// Everything else about documents.
    ///
    /// # Errors
    ///
    /// The engine failed, or there is no such document.
    fn facts(&self, ids: &[DocumentId]) -> Result<Vec<DocumentFacts>, Self::Error>;
}

/// An engine from which documents can be taken out, and put back.
pub trait Removing: Engine {
    /// Takes these documents, given by name, out of all results: all of them or, if it fails or is
    /// killed, none. Names that are out already, or unknown, do no harm.
    ///
    /// # Errors
    ///
    /// The engine failed; nothing was taken out.
    fn remove(&mut self, names: &[String]) -> Result<u64, Self::Error>;

    /// Puts documents back that were taken out, all or none.
    ///
    /// # Errors
    ///
    /// The engine failed; nothing was put back.
    fn restore(&mut self, names: &[String]) -> Result<u64, Self::Error>;
}
