//! Which method, and the file streamed past the batch.
//!
//! Exact: tables over the batch. Below a recall of 1, weak bits, if the queries have them and a
//! sample shows that they reach it. Under `--memory` the batch is cut so that what is prepared of
//! each cut fits, and the file is read once for each.

use std::time::{Duration, Instant};

use hapax::fingerprint::MaxDistance;
use hapax::index::Recall;
use hapax::join::matching::weak::Load;
use hapax::join::matching::{WeakFlips, WeakModel, learn};
use hapax::join::{Batch, Chunks, Hit, JoinError, Looks, PairOptions, Wanted};
use hapax_corpus::hpx::{Hpx, ReadAhead};
use hapax_dedup::Threads;

use super::queries::Queries;
use crate::failure::Failure;

/// Fingerprints of a piece: about as many as queries, within these.
const PIECE: std::ops::RangeInclusive<usize> = 1 << 16..=8 << 20;
const LEAST_PIECE: usize = 1 << 20;

/// Bytes of memory that a fingerprint of a piece takes: three pieces, and records of one.
const PIECE_BYTES: u64 = 3 * 8 + 2 * 12;

/// Bytes that a look takes while looks are put in order.
const LOOK_BYTES: f64 = 20.0;

/// What is asked.
pub(super) struct Search {
    pub(super) within: MaxDistance,
    pub(super) first: bool,
    pub(super) recall: Recall,
    pub(super) memory: Option<u64>,
}

/// What was found.
pub(super) struct Searched {
    /// Queries are numbers in the batch.
    pub(super) hits: Vec<Hit>,
    /// Of identical queries, hits are told for the first: that one, and another.
    pub(super) twins: Vec<(u32, u32)>,
    pub(super) bytes_read: u64,
    /// From the first byte to the last hit.
    pub(super) streaming: Duration,
    pub(super) passes: usize,
    pub(super) method: String,
}

impl Search {
    /// Finds what is within the bound.
    pub(super) fn run(
        &self,
        queries: &Queries,
        stored: &Hpx,
        threads: &Threads,
    ) -> Result<Searched, Failure> {
        let options = PairOptions::within(self.within).map_err(anyhow::Error::new)?;
        let mut piece = queries.len().clamp(LEAST_PIECE, *PIECE.end());
        if let Some(memory) = self.memory {
            let fits = usize::try_from(memory / 3 / PIECE_BYTES).unwrap_or(usize::MAX);
            piece = piece.min(fits).max(*PIECE.start());
        }
        let mut source = Source { ahead: ReadAhead::new(stored.stream(piece)) };
        let started = Instant::now();
        let mut bytes_read = 0;
        let mut model = None;
        if self.recall < Recall::ALL
            && let Some(orders) = queries.orders()
        {
            let load = Load {
                queries: queries.len() as u64,
                stored: stored.len(),
                passes: stored.runs() as u64,
            };
            let all = queries.fingerprints();
            model = learn(all, orders, self.within, self.recall, load, &mut source, threads)
                .map_err(anyhow::Error::new)?
                .map(|model| (model, orders));
            bytes_read += source.ahead.bytes_read();
            source = Source { ahead: ReadAhead::new(stored.stream(piece)) };
        }
        let method = self.method(queries, model.as_ref().map(|(model, _)| model));
        let each = match &model {
            Some((model, _)) => model.mean_looks_of_a_query() * LOOK_BYTES,
            None => 24.0 + 12.0 * options.plan(queries.len()).keys() as f64,
        };
        let room = self.memory.map_or(f64::INFINITY, |memory| {
            memory.saturating_sub(piece as u64 * PIECE_BYTES) as f64
        });
        let at_once = (room / each).clamp(65_536.0, u32::MAX.into()) as usize;
        let mut searched = Searched {
            hits: Vec::new(),
            twins: Vec::new(),
            bytes_read,
            streaming: Duration::ZERO,
            passes: 0,
            method,
        };
        for (number, cut) in queries.fingerprints().chunks(at_once).enumerate() {
            if number > 0 {
                source = Source { ahead: ReadAhead::new(stored.stream(piece)) };
            }
            let base = number * at_once;
            let model = model.as_ref().map(|(model, orders)| WeakFlips {
                model,
                orders: &orders[base..base + cut.len()],
            });
            self.pass(cut, base as u32, model, &options, &mut source, threads, &mut searched)?;
            searched.bytes_read += source.ahead.bytes_read();
            searched.passes += 1;
        }
        searched.streaming = started.elapsed();
        Ok(searched)
    }

    fn method(&self, queries: &Queries, model: Option<&WeakModel>) -> String {
        match model {
            Some(model) => format!(
                "weak bits for a recall of {}, {:.1} looks a query by {} bits",
                self.recall,
                model.mean_looks_of_a_query(),
                model.leading_bits()
            ),
            None if self.recall == Recall::ALL => "exact".to_owned(),
            None if queries.orders().is_none() => "exact, as there are no weak bits".to_owned(),
            None => "exact, as weak bits do not reach the recall or pairs are few".to_owned(),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one pass of one method")]
    fn pass(
        &self,
        queries: &[u64],
        base: u32,
        flips: Option<WeakFlips<'_>>,
        options: &PairOptions,
        source: &mut Source,
        threads: &Threads,
        searched: &mut Searched,
    ) -> Result<(), Failure> {
        let wanted = if self.first { Wanted::First } else { Wanted::All };
        let hits = &mut searched.hits;
        let sink = |hit: Hit| {
            hits.push(Hit { query: base + hit.query, ..hit });
            Ok(())
        };
        let streamed = match flips {
            Some(flips) => Looks::new(queries, &flips, threads)
                .and_then(|looks| looks.stream(self.within, wanted, source, threads, sink)),
            None => Batch::new(queries, options.clone(), threads).and_then(|batch| {
                let twins = batch.twins().iter().map(|twin| (base + twin.a, base + twin.b));
                searched.twins.extend(twins);
                batch.stream(wanted, source, threads, sink)
            }),
        };
        streamed.map(drop).map_err(|error| Failure::Run(anyhow::Error::new(error)))
    }
}

/// The file, as the engine wants it.
struct Source {
    ahead: ReadAhead,
}

impl Chunks for Source {
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError> {
        let next = self.ahead.next_piece(fingerprints);
        next.map_err(|error| JoinError::Source { source: Box::new(error) })
    }
}
