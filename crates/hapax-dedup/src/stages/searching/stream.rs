//! Streamed search: tables over the queries, and the file read past them, for files larger than memory.
//!
//! With a memory limit, the queries are split so that the tables of each part fit, and the file is read once
//! per part.

use std::ops::Range;
use std::time::Instant;

use hapax::join::{Batch, Chunks, Executor, Hit, JoinError, PairOptions, Wanted};
use hapax_corpus::hpx::{Hpx, HpxError, Lookup, ReadAhead};
use hapax_report::{bytes as sized, counted};

use super::{Answers, Asked, Queries, Recall, Row, SearchError, Take, documents};

/// Limits of the number of fingerprints per piece, which follows the number of queries.
const PIECE: std::ops::RangeInclusive<usize> = 1 << 16..=8 << 20;
const LEAST_PIECE: usize = 1 << 20;

/// Memory per fingerprint of a piece in bytes: three pieces, and the records of one.
const PIECE_BYTES: u64 = 3 * 8 + 2 * 12;

/// Matches whose ids and names are looked up together.
const BATCH_SIZE: u64 = 1 << 18;

/// How much is in memory at a time.
struct Shape {
    /// Fingerprints per piece.
    piece: usize,
    /// Queries per pass.
    at_once: usize,
}

impl Shape {
    fn of(asked: &Asked, options: &PairOptions, queries: usize) -> Self {
        let mut piece = queries.clamp(LEAST_PIECE, *PIECE.end());
        if let Some(memory) = asked.memory {
            let fits = usize::try_from(memory / 3 / PIECE_BYTES).unwrap_or(usize::MAX);
            piece = piece.min(fits).max(*PIECE.start());
        }
        let each = 24.0 + 12.0 * options.plan(queries).keys() as f64;
        let room = asked.memory.map_or(f64::INFINITY, |memory| {
            memory.saturating_sub(piece as u64 * PIECE_BYTES) as f64
        });
        Self { piece, at_once: (room / each).clamp(65_536.0, u32::MAX.into()) as usize }
    }
}

/// Number of times the file would be read for this many queries.
pub(super) fn passes(asked: &Asked, queries: usize) -> u64 {
    let shape =
        PairOptions::within(asked.within).map(|options| Shape::of(asked, &options, queries));
    shape.map_or(1, |shape| queries.div_ceil(shape.at_once) as u64)
}

/// Searches; returns a description of the method.
pub(super) fn search<E: From<SearchError>>(
    asked: &Asked,
    queries: &Queries,
    stored: &Hpx,
    threads: &dyn Executor,
    take: Take<'_, E>,
) -> Result<String, E> {
    let options = PairOptions::within(asked.within).map_err(SearchError::of)?;
    let Shape { piece, at_once } = Shape::of(asked, &options, queries.len());
    let started = Instant::now();
    let (mut bytes, mut passes) = (0, 0u64);
    for (number, cut) in queries.fingerprints().chunks(at_once).enumerate() {
        let mut source = Source::open(stored, piece);
        let batch = Batch::new(cut, options.clone(), threads).map_err(SearchError::of)?;
        // Hits are reported for the first of identical queries only.
        let mut same: Vec<u32> = (0..cut.len() as u32).collect();
        batch.twins().iter().for_each(|twin| same[twin.b as usize] = twin.a);
        let wanted = if asked.first { Wanted::First } else { Wanted::All };
        let mut hits = Vec::new();
        let sink = |hit: Hit| {
            hits.push(hit);
            Ok(())
        };
        batch.stream(wanted, &mut source, threads, sink).map_err(SearchError::of)?;
        hits.sort_unstable();
        let recall = (asked.recall < Recall::ALL).then_some(1.0);
        let found = Found { hits, same, first: asked.first, recall };
        found.hand_over(number * at_once, stored, take)?;
        bytes += source.ahead.bytes_read();
        passes += 1;
    }
    let speed = bytes as f64 * 1e-6 / started.elapsed().as_secs_f64().max(1e-9);
    let read = sized(bytes);
    let passes = counted(passes, "pass");
    Ok(format!("streamed {read} in {passes} at {speed:.0} MB/s"))
}

/// The hits of one pass, by query.
struct Found {
    hits: Vec<Hit>,
    /// For each query, the identical query that has its hits.
    same: Vec<u32>,
    first: bool,
    recall: Option<f64>,
}

impl Found {
    /// Passes on the matches of all queries; `base` is the number of the first.
    fn hand_over<E: From<SearchError>>(
        &self,
        base: usize,
        stored: &Hpx,
        take: Take<'_, E>,
    ) -> Result<(), E> {
        let mut lookup = stored.lookup();
        let mut start = 0;
        while start < self.same.len() {
            let (mut end, mut rows) = (start, 0);
            while end < self.same.len() && (rows < BATCH_SIZE || end == start) {
                let copies = self.hits_of(end).iter().map(|hit| u64::from(hit.copies));
                rows += if self.first { 1 } else { copies.sum() };
                end += 1;
            }
            let rows = self.rows(start..end, base, &mut lookup).map_err(SearchError::from)?;
            let (queries, recall) = (base + start..base + end, self.recall);
            take(Answers { queries, rows: &rows, recall })?;
            start = end;
        }
        Ok(())
    }

    fn hits_of(&self, query: usize) -> &[Hit] {
        let same = self.same[query];
        let from = self.hits.partition_point(|hit| hit.query < same);
        let length = self.hits[from..].partition_point(|hit| hit.query == same);
        &self.hits[from..from + length]
    }

    /// The matches of some queries.
    fn rows(
        &self,
        queries: Range<usize>,
        base: usize,
        lookup: &mut Lookup,
    ) -> Result<Vec<Row>, HpxError> {
        let mut rows = Vec::new();
        for query in queries {
            for hit in self.hits_of(query) {
                let copies = if self.first { 1 } else { u64::from(hit.copies) };
                let positions = hit.position..hit.position + copies;
                let (query, distance) = ((base + query) as u32, hit.distance);
                rows.extend(positions.map(|document| Row { query, distance, document }));
            }
        }
        documents(&mut rows, lookup)?;
        Ok(rows)
    }
}

/// The file as a sequence of chunks for the engine.
pub(super) struct Source {
    ahead: ReadAhead,
}

impl Source {
    /// Reads from the start, in pieces of this many fingerprints.
    pub(super) fn open(stored: &Hpx, piece: usize) -> Self {
        Self { ahead: ReadAhead::new(stored.stream(piece)) }
    }
}

impl Chunks for Source {
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError> {
        let next = self.ahead.next_piece(fingerprints);
        next.map_err(|error| JoinError::Source { source: Box::new(error) })
    }
}
