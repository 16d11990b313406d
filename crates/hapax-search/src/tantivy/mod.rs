//! A search engine in a folder, on Tantivy.
//!
//! ```no_run
//! use hapax_search::Engine;
//! use hapax_search::tantivy::TantivyIndex;
//!
//! let index = TantivyIndex::open("index")?;
//! let found = index.top("cheap flights", 10, &|_| false)?;
//! println!("{} of {}", found.top.len(), found.all);
//! # Ok::<(), hapax_search::tantivy::Error>(())
//! ```
//!
//! Guarantees: results are ordered by score, then name, and depend only on the pages in the index, not on
//! segments, merges, deletions or threads; Tantivy stores and finds, scores are computed here over existing
//! documents. Removing and marking write a list that takes effect with the commit that refers to it, and can be
//! undone. Documents are numbered in order of name. Damaged indexes give errors: `claims`, `columns`, `stored`
//! and `delete` check what Tantivy trusts.

mod claims;
mod columns;
mod cursor;
mod delete;
mod error;
mod files;
mod manifest;
mod retrieve;
mod reveal;
mod schema;
mod status;
mod stored;
#[cfg(test)]
mod tests;
mod view;
mod writer;

use std::path::{Path, PathBuf};

use hapax::fingerprint::{Fingerprint, RecipeId};

use crate::engine::{
    Change, DocumentFacts, DocumentId, Engine, Excerpt, Removing, Results, Scored, Showing, Totals,
};
use crate::query::ParsedQuery;
use crate::words::Words;

pub use error::Error;
pub use manifest::Manifest;
pub use writer::{Writer, WriterOptions};

use schema::Fields;
use view::View;

/// An index opened for searching. It shows the state at the time of opening, or that of its own
/// last change; see [`reload`](Self::reload).
pub struct TantivyIndex {
    path: PathBuf,
    manifest: Manifest,
    recipe: String,
    index: ::tantivy::Index,
    fields: Fields,
    view: View,
}

impl TantivyIndex {
    /// Opens the index in a folder.
    ///
    /// # Errors
    ///
    /// There is none, it is damaged, or it was made by another release.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let manifest = Manifest::read(&path)?;
        let (index, fields, view) = Error::guarded(&path, || {
            let (index, fields) = schema::open(&path)?;
            let view = View::open(&path, &index, fields)?;
            Ok((index, fields, view))
        })?;
        let recipe = manifest.recipe().to_string();
        Ok(Self { path, manifest, recipe, index, fields, view })
    }

    /// Opens the index in a folder, and checks that its fingerprints are of this recipe.
    pub fn open_for(path: impl AsRef<Path>, recipe: &RecipeId) -> Result<Self, Error> {
        let index = Self::open(path)?;
        index.manifest.must_be_of(&index.path, recipe)?;
        Ok(index)
    }

    /// Shows commits of others since.
    pub fn reload(&mut self) -> Result<(), Error> {
        self.view = self.guarded(|| View::open(&self.path, &self.index, self.fields))?;
        Ok(())
    }

    /// Tantivy panics on some damaged files.
    fn guarded<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        Error::guarded(&self.path, work)
    }

    /// The metadata of the index.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub fn totals(&self) -> Totals {
        self.view.totals()
    }

    /// The names of all removed and of all marked documents, in order.
    pub fn status(&self) -> (Vec<String>, Vec<String>) {
        let status = self.view.status();
        (status.removed.iter().cloned().collect(), status.marked.iter().cloned().collect())
    }
}

impl std::fmt::Debug for TantivyIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TantivyIndex").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Engine for TantivyIndex {
    type Error = Error;

    fn recipe(&self) -> &str {
        &self.recipe
    }

    fn top(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<Results, Error> {
        let (top, all) = self.scored(query, most, hidden)?;
        Ok(Results { top: top.into_iter().map(|result| result.id).collect(), all })
    }

    fn fingerprints(&self, ids: &[DocumentId]) -> Result<Vec<Option<Fingerprint>>, Error> {
        self.guarded(|| self.view.fingerprints(ids))
    }

    fn facts(&self, ids: &[DocumentId]) -> Result<Vec<DocumentFacts>, Error> {
        self.guarded(|| self.view.facts(ids))
    }

    fn is_marked(&self, id: DocumentId) -> bool {
        self.view.is_marked(id)
    }
}

impl Showing for TantivyIndex {
    fn scored(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<(Vec<Scored>, u64), Error> {
        let query = ParsedQuery::parse(query, &mut Words::default());
        self.guarded(|| {
            retrieve::top(&self.view, &query, most, hidden)
                .map_err(|source| Error::tantivy(&self.path, source))
        })
    }

    fn excerpts(&self, ids: &[DocumentId]) -> Result<Vec<Excerpt>, Error> {
        self.guarded(|| self.view.excerpts(ids))
    }
}

impl TantivyIndex {
    /// The names that no document has, removed or not.
    pub fn unknown(&self, names: &[String]) -> Result<Vec<String>, Error> {
        let known = self.guarded(|| self.view.known(names))?;
        Ok(names.iter().filter(|name| !known.contains(name)).cloned().collect())
    }
}

impl Removing for TantivyIndex {
    fn change(&mut self, change: Change, names: &[String], operation: &str) -> Result<u64, Error> {
        let mut writer = Writer::open(&self.path, WriterOptions::smallest())?;
        // Under the writer's lock, so nobody else can change it.
        self.reload()?;
        let known = self.guarded(|| self.view.known(names))?;
        let changed = writer.change(change, &known, operation);
        writer.commit()?;
        self.reload()?;
        Ok(changed)
    }

    fn operation(&self) -> Option<&str> {
        self.view.status().operation.as_deref()
    }
}
