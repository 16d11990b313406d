//! The results of a run as numbers, the same for the same index, log and policy; and, separately, its time.

use std::collections::BTreeMap;

use serde::Serialize;

use super::effect::Effect;
use super::figures::{Coverage, Covered, DuplicatesByRank, Times};
use super::run::{Choice, Mode};
use crate::job::difference::Difference;
use crate::job::{Outcome, Ranked};
use crate::log::Counted;

#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The recipe of the fingerprints in the index.
    pub recipe: String,
    pub mode: Mode,
    pub choice: Choice,
    /// What is done with duplicates; `None` for a dry run.
    pub effect: Option<Effect>,
    /// Counts of the rows of the log.
    pub log: LogCounts,
    pub queries: u64,
    pub without_results: u64,
    /// Number of results examined, over all queries.
    pub examined: u64,
    /// Estimated number of distinct documents among them.
    pub documents: u64,
    /// Marks of all queries, before they were combined.
    pub marks: u64,
    pub removed: u64,
    /// Duplicates by distance to the winner in bits.
    pub distances: BTreeMap<u8, u64>,
    /// Duplicates by the deciding rule.
    pub decided_by: BTreeMap<&'static str, u64>,
    /// By rank of the query and by bound: the paper's Table I.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates_by_rank: Option<DuplicatesByRank>,
    /// Documents covered by the first queries.
    pub coverage: Vec<Covered>,
    /// Differences between sequential and parallel processing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
}

/// Counts of the rows of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogCounts {
    /// Valid rows.
    pub rows: u64,
    /// Invalid rows, which were skipped.
    pub bad: u64,
    /// Rows that are empty after normalisation.
    pub empty: u64,
    pub too_long: u64,
    /// Repetitions within a session.
    pub repeated: u64,
    pub robots: u64,
    pub distinct: u64,
}

impl LogCounts {
    pub fn new(counted: &Counted, bad: u64, distinct: usize) -> Self {
        let Counted { rows, empty, too_long, repeated, robots } = *counted;
        Self { rows, bad, empty, too_long, repeated, robots, distinct: distinct as u64 }
    }
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Run {
    pub threads: usize,
    /// Queries without changes since the last run.
    pub known: u64,
    /// From the first query to the last file, in seconds.
    pub seconds: f64,
    /// For processing queries, summed over threads.
    pub retrieval_seconds: f64,
    /// For finding duplicates in their results, summed over threads.
    pub dedup_seconds: f64,
    /// For Figure 6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates_by_rank_seconds: Option<Times>,
    /// Number of documents whose state in the index changed.
    pub changed: u64,
}

impl Summary {
    pub(super) fn count(&mut self, queries: &[Ranked], outcome: &Outcome, coverage: &Coverage) {
        let found = &outcome.queries;
        self.queries = queries.len() as u64;
        self.without_results = found.iter().filter(|it| it.results == 0).count() as u64;
        self.examined = found.iter().map(|it| it.examined).sum();
        self.documents = coverage.documents;
        self.marks = found.iter().map(|it| it.marks.len() as u64).sum();
        self.removed = outcome.removed.len() as u64;
        for removal in &outcome.removed {
            *self.distances.entry(removal.mark.distance).or_default() += 1;
            *self.decided_by.entry(removal.rule).or_default() += 1;
        }
        self.coverage = coverage.curve(queries);
    }
}
