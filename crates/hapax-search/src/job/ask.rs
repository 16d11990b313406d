//! One query: its results, and what of them could go.
//!
//! Fingerprints are asked of all results, everything else only of those that have company.

use std::time::Instant;

use hapax::fingerprint::MaxDistance;

use super::ledger::{Documents, Known, digest};
use super::{JobError, JobOptions, Mark, QueryOutcome, Ranked};
use crate::engine::{DocumentId, Engine};
use crate::fold::{Company, Loser, propose};

/// What asking any query needs.
pub(super) struct Asking<'a, E> {
    engine: &'a E,
    options: &'a JobOptions<'a>,
    documents: Documents,
}

impl<'a, E: Engine> Asking<'a, E> {
    pub(super) fn new(engine: &'a E, options: &'a JobOptions<'a>) -> Self {
        Self { engine, options, documents: Documents::new() }
    }

    /// The duplicates inside the results of one query.
    pub(super) fn ask(
        &self,
        asked: &Ranked,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<QueryOutcome, JobError<E::Error>> {
        let Ranked { rank, query } = asked;
        let (rank, policy) = (*rank, self.options.policy);
        let failed = |source| JobError::Engine { rank, query: query.text.clone(), source };
        let started = Instant::now();
        let most = policy.most_results(rank) as usize;
        let mut found = self.engine.top(&query.text, most, hidden).map_err(failed)?;
        let judging = policy.for_query(rank, found.all);
        if found.top.len() < judging.results as usize && (found.top.len() as u64) < found.all {
            let most = judging.results as usize;
            found = self.engine.top(&query.text, most, hidden).map_err(failed)?;
        }
        found.top.truncate(judging.results as usize);
        let fingerprints = self.engine.fingerprints(&found.top).map_err(failed)?;
        let retrieval = started.elapsed();

        let sample = self.options.sample;
        let mut outcome = QueryOutcome {
            rank,
            results: found.all,
            examined: found.top.len() as u64,
            sampled: found.top.iter().copied().filter(|&id| sample.holds(id)).collect(),
            retrieval,
            ..QueryOutcome::default()
        };
        if self.options.remember {
            let documents = self.documents.digests(self.engine, &found.top).map_err(failed)?;
            let sweep = &self.options.sweep;
            let recipe = self.engine.recipe();
            let digest = digest(recipe, &query.text, &judging, policy, sweep, &found, &documents);
            outcome.digest = Some(digest);
            if let Some((known, others)) =
                self.options.earlier.and_then(|earlier| earlier.marks(&query.text, &digest))
            {
                let marks = |known: &[Known], within: MaxDistance| -> Vec<Mark> {
                    let within = within.bits() as u8;
                    known.iter().map(|known| known.mark(&found.top, rank, within)).collect()
                };
                outcome.known = true;
                outcome.marks = marks(known, judging.within);
                outcome.sweep =
                    others.iter().zip(sweep).map(|(known, &within)| marks(known, within)).collect();
                return Ok(outcome);
            }
        }

        let started = Instant::now();
        let widest = self.options.sweep.iter().copied().chain([judging.within]).max();
        if !judging.remove {
            outcome.sweep = vec![Vec::new(); self.options.sweep.len()];
            return Ok(outcome);
        }
        let pairs = propose(&fingerprints, widest.unwrap_or(judging.within));
        let mut places: Vec<u32> = pairs.iter().flat_map(|&(a, b, _)| [a, b]).collect();
        places.sort_unstable();
        places.dedup();
        let ids: Vec<DocumentId> = places.iter().map(|&place| found.top[place as usize]).collect();
        let facts = self.engine.facts(&ids).map_err(failed)?;
        let mut at = vec![0; found.top.len()];
        (0..).zip(&places).for_each(|(new, &place)| at[place as usize] = new);
        let pairs: Vec<_> = pairs
            .iter()
            .map(|&(a, b, distance)| (at[a as usize], at[b as usize], distance))
            .collect();
        let company = Company::new(&ids, &facts, &pairs, found.top.len() - places.len(), policy);
        let shared = started.elapsed();
        let marks = |folded: Vec<Loser>, within: MaxDistance| -> Vec<Mark> {
            let mark = |folded: Loser| Mark {
                document: ids[folded.place as usize],
                winner: ids[folded.winner as usize],
                query: rank,
                places: (places[folded.place as usize], places[folded.winner as usize]),
                distance: folded.distance,
                similarity: folded.similarity,
                within: within.bits() as u8,
            };
            folded.into_iter().map(mark).collect()
        };
        let group = |source| JobError::Group { rank, source };
        let folded = company.fold(Some(judging.within)).map_err(group)?;
        outcome.marks = marks(folded, judging.within);
        outcome.dedup = started.elapsed();
        for &within in &self.options.sweep {
            let started = Instant::now();
            let folded = company.fold(Some(within)).map_err(group)?;
            outcome.sweep.push(marks(folded, within));
            outcome.sweep_times.push(shared + started.elapsed());
        }
        Ok(outcome)
    }
}
