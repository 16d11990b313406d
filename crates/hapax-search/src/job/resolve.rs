//! Combines the marks of all queries into one decision.
//!
//! A query may mark a document as a duplicate of one that another query marks. All marks together are pairs,
//! which are grouped like others: best documents first, and a document is removed only for a kept one that it
//! was marked for. The result depends on the set of marks alone; unmarked documents are kept.

use std::collections::BTreeMap;

use hapax::group::{BatchError, BatchInput, Grouping, NearPair, PageFacts};

use super::{Mark, QueryOutcome, Removal};
use crate::engine::{DocumentFacts, DocumentId, Engine};
use crate::fold::{among_copies, competitors};
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
        let ids = &self.ids;
        let pairs = self.pairs(by_pair.values().copied());
        let pages = self.pages(&pairs, policy);
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

    /// The marks of `removed` with names and reasons, by name of the document; `all` marks connect
    /// the copies among which the rules chose.
    pub(super) fn removals<'a>(
        &self,
        all: impl Iterator<Item = &'a Mark>,
        removed: &[Mark],
        policy: &Policy,
    ) -> Vec<Removal> {
        let pages = self.pages(&self.pairs(all), policy);
        let removal = |&mark: &Mark| {
            let [document, winner] = [mark.document, mark.winner].map(|id| self.place(id) as usize);
            let reason = policy.keep.reason(&pages[winner], &pages[document]);
            Removal {
                mark,
                name: self.facts[document].name.clone(),
                url: self.facts[document].url.clone(),
                winner: self.facts[winner].name.clone(),
                rule: reason.rule,
                reason: reason.text,
            }
        };
        let mut removals: Vec<Removal> = removed.iter().map(removal).collect();
        removals.sort_by(|a, b| a.name.cmp(&b.name));
        removals
    }

    /// The facts that the rules compare, among the copies that these pairs connect.
    fn pages(&self, pairs: &[NearPair], policy: &Policy) -> Vec<PageFacts<'_>> {
        among_copies(competitors(&self.ids, &self.facts), pairs, &policy.keep)
    }

    fn pairs<'a>(&self, marks: impl Iterator<Item = &'a Mark>) -> Vec<NearPair> {
        let pair = |mark: &Mark| NearPair {
            a: self.place(mark.document),
            b: self.place(mark.winner),
            distance: mark.distance,
            similarity: mark.similarity,
        };
        marks.map(pair).collect()
    }

    fn place(&self, id: DocumentId) -> u32 {
        self.ids.partition_point(|&other| other < id) as u32
    }
}
