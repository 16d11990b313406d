//! What all queries marked, brought together.
//!
//! Queries that know nothing of each other may mark a document in favour of one that another query
//! marks. All marks together are pairs of a set of documents, and those are grouped as any pairs
//! are: best documents first, and a document goes only for one that it was marked for and that
//! stays.
//!
//! # What it promises
//!
//! The answer depends on the set of marks alone. A document that no query marked stays.

use std::collections::BTreeMap;

use hapax::group::{BatchInput, Grouping, NearPair};

use super::{JobError, Mark, QueryOutcome};
use crate::engine::{DocumentId, Engine};
use crate::fold::competitors;
use crate::policy::Policy;

/// Which marked documents go, by name. Of several queries that marked one for the same winner the
/// first in rank is named.
///
/// # Errors
///
/// The engine does not know a marked document.
pub fn settle<E: Engine>(
    engine: &E,
    queries: &[QueryOutcome],
    policy: &Policy,
) -> Result<Vec<Mark>, JobError<E::Error>> {
    let mut marks: BTreeMap<(DocumentId, DocumentId), &Mark> = BTreeMap::new();
    for mark in queries.iter().flat_map(|query| &query.marks) {
        let first = marks.entry((mark.document, mark.winner)).or_insert(mark);
        if mark.query < first.query {
            *first = mark;
        }
    }
    let mut ids: Vec<DocumentId> = marks.keys().flat_map(|&(a, b)| [a, b]).collect();
    ids.sort_unstable();
    ids.dedup();
    let place = |id: DocumentId| ids.partition_point(|&other| other < id) as u32;
    let pairs: Vec<NearPair> = marks
        .values()
        .map(|mark| NearPair {
            a: place(mark.document),
            b: place(mark.winner),
            distance: mark.distance,
            similarity: mark.similarity,
        })
        .collect();
    let facts = engine.facts(&ids).map_err(JobError::Facts)?;
    let pages = competitors(&ids, &facts);
    let input = BatchInput { pages: &pages, pairs: &pairs, ..BatchInput::default() };
    let grouping = Grouping::of(&policy.keep, &input).map_err(JobError::Settle)?;
    let mut removed: Vec<Mark> = (0..ids.len() as u32)
        .filter(|&place| grouping.placements()[place as usize].outcome.removable())
        .filter_map(|place| {
            let winner = ids[grouping.winner(place) as usize];
            marks.get(&(ids[place as usize], winner)).map(|&mark| mark.clone())
        })
        .collect();
    removed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(removed)
}
