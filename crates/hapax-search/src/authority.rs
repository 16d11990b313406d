//! An engine with the scores of a file instead of its own.
//!
//! A document that is not in the file has no score, because two scales cannot be compared.

use hapax::fingerprint::Fingerprint;

use crate::engine::{DocumentFacts, DocumentId, Engine, Results};
use crate::rank::scores::Scores;

/// An engine with other scores.
#[derive(Debug)]
pub struct WithScores<'a, E> {
    engine: &'a E,
    scores: Option<&'a Scores>,
}

impl<'a, E> WithScores<'a, E> {
    /// Uses these scores, or the engine's own if `None`.
    pub fn new(engine: &'a E, scores: Option<&'a Scores>) -> Self {
        Self { engine, scores }
    }
}

impl<E: Engine> Engine for WithScores<'_, E> {
    type Error = E::Error;

    fn recipe(&self) -> &str {
        self.engine.recipe()
    }

    fn top(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<Results, E::Error> {
        self.engine.top(query, most, hidden)
    }

    fn fingerprints(&self, ids: &[DocumentId]) -> Result<Vec<Option<Fingerprint>>, E::Error> {
        self.engine.fingerprints(ids)
    }

    fn facts(&self, ids: &[DocumentId]) -> Result<Vec<DocumentFacts>, E::Error> {
        let mut facts = self.engine.facts(ids)?;
        Scores::replace(self.scores, &mut facts);
        Ok(facts)
    }

    fn is_marked(&self, id: DocumentId) -> bool {
        self.engine.is_marked(id)
    }
}
