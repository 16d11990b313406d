//! All queries of a log: what their results lose.
//!
//! [`one_by_one`] is the paper's own way: queries in order, each sees what the former left.
//! [`all_at_once`] is the one it proposes and did not build (section III.C): every query sees the
//! whole index, what could go is only marked, and [`settle`](settle()) decides in the end.
//!
//! # What it promises
//!
//! - No group loses all of its members: of `all_at_once`, because no document goes for one that
//!   goes too; of `one_by_one`, because a document that wins and goes later goes for a better one,
//!   so that following the winners ends at one that stays.
//! - `all_at_once` gives the same answer for any number of threads.
//!
//! # What this module does not know
//!
//! How documents are taken out of an index. It only says which.

mod settle;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hapax::group::BatchError;
use rayon::prelude::*;

use crate::engine::{DocumentFacts, DocumentId, Engine};
use crate::fold::{fold, propose};
use crate::log::Query;
use crate::policy::Policy;

pub use settle::settle;

/// A document that goes, and the query that found it out.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The document.
    pub document: DocumentId,
    /// Its name.
    pub name: String,
    /// The one that stays.
    pub winner: DocumentId,
    /// Its name.
    pub winner_name: String,
    /// Rank of the query, from 1.
    pub query: u64,
    /// Bits between the two.
    pub distance: u8,
    /// How alike they are.
    pub similarity: f32,
    /// Bits that were allowed.
    pub within: u8,
    /// The rule that decided.
    pub rule: &'static str,
    /// Why the winner stays.
    pub reason: String,
}

/// What one query found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryOutcome {
    /// Rank of the query, from 1.
    pub rank: u64,
    /// How many results it has in all.
    pub results: u64,
    /// How many of them were looked at.
    pub examined: u64,
    /// What could go.
    pub marks: Vec<Mark>,
    /// Time in the engine.
    pub retrieval: Duration,
    /// Time for finding duplicates.
    pub dedup: Duration,
}

/// What all queries found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// By rank; what each query removed.
    pub queries: Vec<QueryOutcome>,
    /// All removals, by name of the document.
    pub removed: Vec<Mark>,
}

/// Why a job failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError<E: std::error::Error> {
    /// The engine failed.
    #[error("query {rank} (`{query}`) failed in the search engine")]
    Engine {
        /// From 1.
        rank: u64,
        /// Its text.
        query: String,
        /// Why.
        source: E,
    },
    /// Results could not be grouped.
    #[error("the results of query {rank} cannot be grouped")]
    Group {
        /// From 1.
        rank: u64,
        /// Why.
        source: BatchError,
    },
    /// The engine did not say what is known of documents that could go.
    #[error("the search engine failed when removals were brought together")]
    Facts(#[source] E),
    /// Marks could not be settled.
    #[error("the removals of all queries cannot be brought together")]
    Settle(#[source] BatchError),
}

/// One query after the other; each sees the index as the former ones left it.
///
/// # Errors
///
/// The engine failed. Nothing was changed in it.
pub fn one_by_one<E: Engine>(
    engine: &E,
    queries: &[Query],
    policy: &Policy,
    mut done: impl FnMut(&QueryOutcome),
) -> Result<Outcome, JobError<E::Error>> {
    let mut removed: BTreeMap<DocumentId, Mark> = BTreeMap::new();
    let mut outcome = Outcome::default();
    for (rank, query) in (1..).zip(queries) {
        let one = ask(engine, rank, query, policy, &|id| removed.contains_key(&id))?;
        removed.extend(one.marks.iter().map(|mark| (mark.document, mark.clone())));
        done(&one);
        outcome.queries.push(one);
    }
    outcome.removed = removed.into_values().collect();
    outcome.removed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(outcome)
}

/// All queries independently, on as many threads as the current pool has; what could go is settled
/// in the end.
///
/// # Errors
///
/// The engine failed. Nothing was changed in it.
pub fn all_at_once<E: Engine>(
    engine: &E,
    queries: &[Query],
    policy: &Policy,
    done: impl Fn(&QueryOutcome) + Sync,
) -> Result<Outcome, JobError<E::Error>> {
    let queries: Vec<QueryOutcome> = queries
        .par_iter()
        .enumerate()
        .map(|(at, query)| {
            let one = ask(engine, at as u64 + 1, query, policy, &|_| false)?;
            done(&one);
            Ok(one)
        })
        .collect::<Result<_, JobError<E::Error>>>()?;
    let removed = settle(engine, &queries, policy)?;
    Ok(Outcome { queries, removed })
}

/// The duplicates inside the results of one query.
///
/// # Errors
///
/// The engine failed.
pub fn ask<E: Engine>(
    engine: &E,
    rank: u64,
    query: &Query,
    policy: &Policy,
    hidden: &(dyn Fn(DocumentId) -> bool + Sync),
) -> Result<QueryOutcome, JobError<E::Error>> {
    let failed = |source| JobError::Engine { rank, query: query.text.clone(), source };
    let started = Instant::now();
    let mut found =
        engine.top(&query.text, policy.most_results(rank) as usize, hidden).map_err(failed)?;
    let judging = policy.for_query(rank, found.all);
    if found.top.len() < judging.results as usize && (found.top.len() as u64) < found.all {
        found = engine.top(&query.text, judging.results as usize, hidden).map_err(failed)?;
    }
    found.top.truncate(judging.results as usize);
    let fingerprints = engine.fingerprints(&found.top).map_err(failed)?;
    let retrieval = started.elapsed();

    let started = Instant::now();
    let examined = found.top.len() as u64;
    let mut outcome =
        QueryOutcome { rank, results: found.all, examined, retrieval, ..QueryOutcome::default() };
    if !judging.remove {
        return Ok(outcome);
    }
    let pairs = propose(&fingerprints, judging.within);
    // Everything else is asked only of documents that have company.
    let mut places: Vec<u32> = pairs.iter().flat_map(|&(a, b, _)| [a, b]).collect();
    places.sort_unstable();
    places.dedup();
    let ids: Vec<DocumentId> = places.iter().map(|&place| found.top[place as usize]).collect();
    let facts = engine.facts(&ids).map_err(failed)?;
    let at = |place: u32| places.partition_point(|&other| other < place) as u32;
    let pairs: Vec<_> = pairs.iter().map(|&(a, b, distance)| (at(a), at(b), distance)).collect();
    let alone = found.top.len() - places.len();
    let folded = fold(&ids, &facts, &pairs, alone, policy)
        .map_err(|source| JobError::Group { rank, source })?;
    let name = |facts: &DocumentFacts| facts.name.clone();
    outcome.marks = folded
        .into_iter()
        .map(|folded| Mark {
            document: ids[folded.place as usize],
            name: name(&facts[folded.place as usize]),
            winner: ids[folded.winner as usize],
            winner_name: name(&facts[folded.winner as usize]),
            query: rank,
            distance: folded.distance,
            similarity: folded.similarity,
            within: judging.within.bits() as u8,
            rule: folded.reason.rule,
            reason: folded.reason.text,
        })
        .collect();
    outcome.dedup = started.elapsed();
    Ok(outcome)
}
