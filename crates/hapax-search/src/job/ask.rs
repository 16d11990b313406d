//! Processes one query: its results, and those that could be removed.
//!
//! Reads fingerprints of all results; other data only of results with a match or, if a ledger is kept, of all
//! results, and for many queries at a time.

use std::time::{Duration, Instant};

use super::documents::Documents;
use super::ledger::{Known, digest};
use super::{JobError, JobOptions, Mark, QueryOutcome, Ranked};
use crate::engine::{DocumentId, Engine};
use crate::fold::{Linked, Loser, Proposal, propose};
use crate::policy::QueryLimits;
use hapax::fingerprint::MaxDistance;

/// What processing a query needs.
pub(super) struct Retriever<'a, E> {
    engine: &'a E,
    options: &'a JobOptions<'a>,
}

/// The results of a query, and the near pairs among them.
pub(super) struct Retrieved<'q> {
    asked: &'q Ranked,
    top: Vec<DocumentId>,
    results: u64,
    limits: QueryLimits,
    pairs: Vec<Proposal>,
    /// Indexes of results in some pair, ascending.
    places: Vec<u32>,
    retrieval: Duration,
    dedup: Duration,
}

impl Retrieved<'_> {
    /// The documents whose facts are needed; all results with `all`.
    pub(super) fn wanted(&self, all: bool) -> impl Iterator<Item = DocumentId> {
        let alike = self.places.iter().map(|&place| self.top[place as usize]);
        let every = if all { self.top.as_slice() } else { &[] };
        alike.chain(every.iter().copied())
    }

    /// Adds its share of the time of reading facts.
    pub(super) fn add(&mut self, loading: Duration) {
        self.dedup += loading;
    }
}

impl<'a, E: Engine> Retriever<'a, E> {
    pub(super) fn new(engine: &'a E, options: &'a JobOptions<'a>) -> Self {
        Self { engine, options }
    }

    pub(super) fn retrieve<'q>(
        &self,
        asked: &'q Ranked,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<Retrieved<'q>, JobError<E::Error>> {
        let Ranked { rank, query } = asked;
        let (rank, policy) = (*rank, self.options.policy);
        let failed = |source| JobError::Engine { rank, query: query.text.clone(), source };
        let started = Instant::now();
        let most = policy.most_results(rank) as usize;
        let mut found = self.engine.top(&query.text, most, hidden).map_err(failed)?;
        let limits = policy.for_query(rank, found.all);
        if found.top.len() < limits.results as usize && (found.top.len() as u64) < found.all {
            let most = limits.results as usize;
            found = self.engine.top(&query.text, most, hidden).map_err(failed)?;
        }
        found.top.truncate(limits.results as usize);
        let fingerprints = self.engine.fingerprints(&found.top).map_err(failed)?;
        let retrieval = started.elapsed();

        let started = Instant::now();
        let sweep = self.options.sweep.iter().copied();
        let widest = sweep.fold(limits.within, MaxDistance::max);
        let pairs = if limits.remove { propose(&fingerprints, widest) } else { Vec::new() };
        let mut places: Vec<u32> = pairs.iter().flat_map(|&(a, b, _)| [a, b]).collect();
        places.sort_unstable();
        places.dedup();
        let dedup = started.elapsed();
        let (top, results) = (found.top, found.all);
        Ok(Retrieved { asked, top, results, limits, pairs, places, retrieval, dedup })
    }

    /// Finds the duplicates; the facts of wanted documents must be loaded.
    pub(super) fn mark(
        &self,
        retrieved: Retrieved<'_>,
        documents: &Documents,
    ) -> Result<QueryOutcome, JobError<E::Error>> {
        let Retrieved { asked, top, results, limits, pairs, places, retrieval, dedup } = retrieved;
        let (JobOptions { policy, sweep, sample, .. }, rank) = (self.options, asked.rank);
        let mut outcome = QueryOutcome {
            rank,
            results,
            examined: top.len() as u64,
            sampled: top.iter().copied().filter(|&id| sample.holds(id)).collect(),
            retrieval,
            ..QueryOutcome::default()
        };
        if self.options.remember {
            let known = top.iter().map(|&id| documents.digest(id));
            let recipe = self.engine.recipe();
            let text = &asked.query.text;
            let digest = digest(recipe, text, &limits, policy, sweep, results, known);
            outcome.digest = Some(digest);
            if let Some((known, others)) =
                self.options.earlier.and_then(|earlier| earlier.marks(text, &digest))
            {
                let marks = |known: &[Known], within: MaxDistance| -> Vec<Mark> {
                    let within = within.bits() as u8;
                    known.iter().map(|known| known.mark(&top, rank, within)).collect()
                };
                outcome.known = true;
                outcome.marks = marks(known, limits.within);
                outcome.sweep =
                    others.iter().zip(sweep).map(|(known, &within)| marks(known, within)).collect();
                return Ok(outcome);
            }
        }

        let started = Instant::now();
        let ids: Vec<DocumentId> = places.iter().map(|&place| top[place as usize]).collect();
        let facts: Vec<_> = ids.iter().filter_map(|&id| documents.facts(id)).collect();
        let mut at = vec![0; top.len()];
        (0..).zip(&places).for_each(|(new, &place)| at[place as usize] = new);
        let pairs: Vec<_> = pairs
            .iter()
            .map(|&(a, b, distance)| (at[a as usize], at[b as usize], distance))
            .collect();
        let linked = Linked::new(&ids, facts, &pairs, top.len() - places.len(), policy);
        let shared = dedup + started.elapsed();
        let marks = |losers: Vec<Loser>, within: MaxDistance| -> Vec<Mark> {
            let mark = |loser: Loser| Mark {
                document: ids[loser.place as usize],
                winner: ids[loser.winner as usize],
                query: rank,
                places: (places[loser.place as usize], places[loser.winner as usize]),
                distance: loser.distance,
                similarity: loser.similarity,
                within: within.bits() as u8,
            };
            losers.into_iter().map(mark).collect()
        };
        let group = |source| JobError::Group { rank, source };
        let (losers, _) = linked.fold(Some(limits.within)).map_err(group)?;
        outcome.marks = marks(losers, limits.within);
        outcome.dedup = dedup + started.elapsed();
        for &within in sweep {
            let started = Instant::now();
            let (losers, _) = linked.fold(Some(within)).map_err(group)?;
            outcome.sweep.push(marks(losers, within));
            outcome.sweep_times.push(shared + started.elapsed());
        }
        Ok(outcome)
    }
}
