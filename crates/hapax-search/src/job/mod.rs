//! Finds the duplicates in the results of all queries of a log.
//!
//! [`one_by_one`] is the paper's method: queries in order, each sees what the previous ones left.
//! [`all_at_once`] is the one it proposes in section III.C: every query sees the whole index, candidates are
//! only marked, and one pass decides. Guarantees that no group loses all its members, that following winners
//! ends at a kept document, and that `all_at_once` gives the same result for any number of threads and with or
//! without an earlier [`Ledger`]. Does not change an index.

mod ask;
pub mod difference;
mod documents;
pub mod ledger;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use hapax::fingerprint::MaxDistance;
use hapax::group::BatchError;
use rayon::prelude::*;

use crate::choose::Sample;
use crate::engine::{DocumentId, Engine};
use crate::log::Query;
use crate::policy::Policy;

use ask::Retriever;
use documents::Documents;
pub use ledger::Ledger;

/// Queries whose results are in memory at a time.
const BATCH_SIZE: usize = 256;

/// A document that could be removed as a duplicate of another, and the query that found it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub document: DocumentId,
    /// The kept document.
    pub winner: DocumentId,
    /// Rank of the query, from 1.
    pub query: u64,
    /// Indexes of both in the results.
    pub places: (u32, u32),
    pub distance: u8,
    pub similarity: f32,
    /// The distance bound of the query in bits.
    pub within: u8,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Removal {
    /// The mark behind the removal.
    pub mark: Mark,
    pub name: String,
    /// Empty without an address.
    pub url: String,
    /// Name of the kept document.
    pub winner: String,
    pub rule: &'static str,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryOutcome {
    /// Rank of the query, from 1.
    pub rank: u64,
    pub results: u64,
    /// Number of results examined.
    pub examined: u64,
    pub marks: Vec<Mark>,
    /// The marks for other bounds; see [`JobOptions::sweep`].
    pub sweep: Vec<Vec<Mark>>,
    /// The results in the sample.
    pub sampled: Vec<DocumentId>,
    /// Digest of everything that the marks depend on.
    pub digest: Option<ledger::Digest>,
    /// Whether the marks are from an earlier run.
    pub known: bool,
    /// Time in the engine.
    pub retrieval: Duration,
    /// Time for finding duplicates.
    pub dedup: Duration,
    /// Time for finding duplicates within each of the other bounds.
    pub sweep_times: Vec<Duration>,
}

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub queries: Vec<QueryOutcome>,
    /// All removals, by name of the document.
    pub removed: Vec<Removal>,
    /// For each of the other bounds: the marks that would be effective.
    pub sweep: Vec<Vec<Mark>>,
}

#[derive(Clone, Debug)]
pub struct JobOptions<'a> {
    /// How strictly results are compared.
    pub policy: &'a Policy,
    /// Other bounds to evaluate besides the policy's, without effect.
    pub sweep: Vec<MaxDistance>,
    /// The sample for counting documents that queries share.
    pub sample: Sample,
    /// The results of an earlier run.
    pub earlier: Option<&'a Ledger>,
    /// Whether to compute what a [`Ledger`] needs.
    pub remember: bool,
}

impl<'a> JobOptions<'a> {
    /// Only this policy.
    pub fn new(policy: &'a Policy) -> Self {
        let sample = Sample { one_of: 1 };
        Self { policy, sweep: Vec::new(), sample, earlier: None, remember: false }
    }
}

/// A query with its rank in the log, which affects how strictly its results are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// From 1.
    pub rank: u64,
    pub query: Query,
}

/// The queries of a log with their ranks.
pub fn ranked(queries: &[Query]) -> Vec<Ranked> {
    (1..).zip(queries).map(|(rank, query)| Ranked { rank, query: query.clone() }).collect()
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError<E: std::error::Error> {
    #[error("query {rank} (`{query}`) failed in the search engine")]
    Engine {
        /// From 1.
        rank: u64,
        query: String,
        source: E,
    },
    /// Grouping results failed.
    #[error("the results of query {rank} cannot be grouped")]
    Group {
        /// From 1.
        rank: u64,
        source: BatchError,
    },
    /// The engine could not provide the facts of documents to be removed.
    #[error("the search engine failed when removals were combined")]
    Facts(#[source] E),
    /// Resolving the marks failed.
    #[error("the removals of all queries cannot be combined")]
    Resolve(#[source] BatchError),
}

/// Processes one query after the other; each sees the index as the previous ones left it.
///
/// # Errors
///
/// The engine failed. Nothing was changed in it.
pub fn one_by_one<E: Engine>(
    engine: &E,
    queries: &[Ranked],
    policy: &Policy,
    sample: Sample,
    mut done: impl FnMut(&QueryOutcome),
) -> Result<Outcome, JobError<E::Error>> {
    let mut removed: BTreeMap<DocumentId, Mark> = BTreeMap::new();
    let mut outcome = Outcome::default();
    let options = JobOptions { sample, ..JobOptions::new(policy) };
    let retriever = Retriever::new(engine, &options);
    let mut documents = Documents::default();
    for query in queries {
        let mut found = retriever.retrieve(query, &|id| removed.contains_key(&id))?;
        let loading = documents.load(engine, found.wanted(false), false);
        found.add(loading.map_err(JobError::Facts)?);
        let one = retriever.mark(found, &documents)?;
        removed.extend(one.marks.iter().map(|mark| (mark.document, *mark)));
        done(&one);
        outcome.queries.push(one);
    }
    let marks: Vec<Mark> = removed.into_values().collect();
    let resolving = resolve::Resolving::new(engine, &outcome.queries).map_err(JobError::Facts)?;
    outcome.removed = resolving.removals(marks.iter(), &marks, policy);
    Ok(outcome)
}

/// Processes all queries independently, on all threads of the current pool, and resolves the marks
/// at the end.
///
/// # Errors
///
/// The engine failed. Nothing was changed in it.
pub fn all_at_once<E: Engine>(
    engine: &E,
    queries: &[Ranked],
    options: &JobOptions<'_>,
    done: impl Fn(&QueryOutcome) + Sync,
) -> Result<Outcome, JobError<E::Error>> {
    let retriever = Retriever::new(engine, options);
    let mut documents = Documents::default();
    let mut outcomes: Vec<QueryOutcome> = Vec::with_capacity(queries.len());
    for together in queries.chunks(BATCH_SIZE) {
        let mut found = together
            .par_iter()
            .map(|query| retriever.retrieve(query, &|_| false))
            .collect::<Result<Vec<_>, JobError<E::Error>>>()?;
        let wanted = found.iter().flat_map(|found| found.wanted(options.remember));
        let loading = documents.load(engine, wanted, options.remember).map_err(JobError::Facts)?;
        found.iter_mut().for_each(|one| one.add(loading / together.len() as u32));
        let processed = found
            .into_par_iter()
            .map(|found| {
                let one = retriever.mark(found, &documents)?;
                done(&one);
                Ok(one)
            })
            .collect::<Result<Vec<_>, JobError<E::Error>>>()?;
        outcomes.extend(processed);
    }
    drop(documents);
    let queries = outcomes;
    let resolving = resolve::Resolving::new(engine, &queries).map_err(JobError::Facts)?;
    let marks = || queries.iter().flat_map(|query| &query.marks);
    let stand = resolving.resolve(marks(), options.policy).map_err(JobError::Resolve)?;
    let removed = resolving.removals(marks(), &stand, options.policy);
    let bounds: Vec<usize> = (0..options.sweep.len()).collect();
    let sweep = bounds
        .par_iter()
        .map(|&at| {
            let marks = queries.iter().filter_map(|query| query.sweep.get(at)).flatten();
            resolving.resolve(marks, options.policy)
        })
        .collect::<Result<_, _>>()
        .map_err(JobError::Resolve)?;
    drop(resolving);
    Ok(Outcome { queries, removed, sweep })
}
