//! Combines the marks of all queries into one decision.
//!
//! A query may mark a document as a duplicate of one that another query marks. All marks together are pairs,
//! which are grouped like others: best documents first, and a document is removed only for a kept one that it
//! was marked for. The result depends on the set of marks alone; unmarked documents are kept.

use std::collections::BTreeMap;

use hapax::group::{BatchError, BatchInput, Grouping, NearPair};

use super::{Mark, QueryOutcome};
use crate::engine::{DocumentFacts, DocumentId, Engine};
use crate::fold::competitors;
use crate::policy::Policy;

/// The facts of all documents with a mark.
pub(super) struct Resolving {
    ids: Vec<DocumentId>,
    facts: Vec<DocumentFacts>,
}

impl Resolving {
    pub(super) fn new<E: Engine>(engine: &E, queries: &[QueryOutcome]) -> Result<Self, E::Error> {
        let marks =
            queries.iter().flat_map(|query| query.marks.iter().chain(query.sweep.iter().flatten()));
        let mut ids: Vec<DocumentId> =
            marks.flat_map(|mark| [mark.document, mark.winner]).collect();
        ids.sort_unstable();
        ids.dedup();
        let facts = engine.facts(&ids)?;
        Ok(Self { ids, facts })
    }

    /// The effective marks, in the order of documents. If several queries marked one for the same
    /// winner, the first by rank is named.
    pub(super) fn resolve<'a>(
        &self,
        marks: impl Iterator<Item = &'a Mark>,
        policy: &Policy,
    ) -> Result<Vec<Mark>, BatchError> {
        let mut by_pair: BTreeMap<(DocumentId, DocumentId), &Mark> = BTreeMap::new();
        for mark in marks {
            let first = by_pair.entry((mark.document, mark.winner)).or_insert(mark);
            if mark.query < first.query {
                *first = mark;
            }
        }
        let Self { ids, facts } = self;
        let place = |id: DocumentId| ids.partition_point(|&other| other < id) as u32;
        let pair = |mark: &&Mark| NearPair {
            a: place(mark.document),
            b: place(mark.winner),
            distance: mark.distance,
            similarity: mark.similarity,
        };
        let pairs: Vec<NearPair> = by_pair.values().map(pair).collect();
        let pages = competitors(ids, facts);
        let input = BatchInput { pages: &pages, pairs: &pairs, ..BatchInput::default() };
        let grouping = Grouping::of(&policy.keep, &input)?;
        let stands = |place: u32| {
            let placement = grouping.placements()[place as usize];
            let winner = ids[grouping.winner(place) as usize];
            let mark = by_pair.get(&(ids[place as usize], winner));
            mark.filter(|_| placement.outcome.removable()).map(|&&mark| mark)
        };
        Ok((0..ids.len() as u32).filter_map(stands).collect())
    }
}
