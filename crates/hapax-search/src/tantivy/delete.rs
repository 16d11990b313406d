//! Deletes pages by name, even if the index is damaged.
//!
//! Tantivy looks up the names while committing, in its own thread, in which a panic aborts the process. Here a
//! panic becomes an error of the commit. Otherwise Tantivy only opens segments in that thread, which
//! [`check_segments`](super::claims::check_segments) has tried before.

use tantivy::error::DataCorruption;
use tantivy::query::{EnableScoring, Explanation, Query, Scorer, TermQuery, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, Score, SegmentReader, Term};

use crate::guard::guarded;

/// A query for the documents with this name.
#[derive(Clone, Debug)]
pub(super) struct Named(pub(super) Term);

impl Query for Named {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let query = TermQuery::new(self.0.clone(), IndexRecordOption::Basic);
        Ok(Box::new(Guarded(query.weight(scoring)?)))
    }
}

struct Guarded(Box<dyn Weight>);

fn damage<T>(work: impl FnOnce() -> tantivy::Result<T>) -> tantivy::Result<T> {
    guarded(work, |what| DataCorruption::comment_only(what).into())
}

impl Weight for Guarded {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        damage(|| self.0.scorer(reader, boost))
    }

    fn explain(&self, reader: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        damage(|| self.0.explain(reader, document))
    }

    /// Uses a callback; a document that the segment does not have would be a panic.
    fn for_each_no_score(
        &self,
        reader: &SegmentReader,
        callback: &mut dyn FnMut(&[DocId]),
    ) -> tantivy::Result<()> {
        damage(|| self.0.for_each_no_score(reader, callback))
    }
}
