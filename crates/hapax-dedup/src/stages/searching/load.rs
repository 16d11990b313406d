//! Loaded search: an index in memory answers batches of queries on all cores.
//!
//! The planner chooses the engine from the number of queries and the memory. With a target recall below 1 and
//! queries with sums, that may be weak bits, built while the file is read: only the index is held, and the
//! matched ids are looked up in the file.

use std::ops::Range;

use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::index::plan::{Engine, Machine, Request, Ways, plan};
use hapax::index::segment::{Segment, SegmentEngine};
use hapax::index::{
    Collection, Entry, HammingIndex, Measured, Query, Recall, Scan, TableOptions, Tables,
    Unmeasured, WeakBits,
};
use hapax::join::Executor;
use hapax_corpus::hpx::{Hpx, Lookup};
use hapax_report::{counted, grouped};

use super::stream::Source;
use super::{Answers, Asked, Queries, Row, SearchError, Take, documents};

/// Batches per thread, so that no thread waits long for another.
const BATCHES: usize = 4;

/// Queries per batch.
const BATCH: std::ops::RangeInclusive<usize> = 64..=1 << 16;

/// Queries per batch for weak bits: few enough that their probes need little memory.
const WEAK_BATCH: usize = 1 << 12;

/// Fingerprints per piece of the file when building weak bits.
const PIECE: usize = 1 << 16;

/// Why queries were answered exactly.
pub(super) const NEED_SUMS: &str =
    "; weak bits need queries with sums: hapax fingerprint --json --sums writes them";

/// The chosen engine.
struct Chosen {
    index: Box<dyn HammingIndex + Sync>,
    /// Measured share of matches that it finds; 1 for exact engines.
    recall: f64,
    /// Description for the report.
    described: String,
    /// Whether matches are positions in the file rather than documents.
    by_position: bool,
    most_in_batch: usize,
}

/// Loads the collection and searches; returns a description of the method.
pub(super) fn search<E: From<SearchError>>(
    asked: &Asked,
    queries: &Queries,
    stored: &Hpx,
    ways: &Ways,
    threads: &dyn Executor,
    take: Take<'_, E>,
) -> Result<String, E> {
    let chosen = choose(asked, stored, queries, ways, threads)?;
    let round = threads.width() * BATCHES;
    let even = queries.len().div_ceil(round);
    let batch = even.clamp(*BATCH.start(), chosen.most_in_batch);
    let ranges =
        (0..queries.len()).step_by(batch).map(|start| start..(start + batch).min(queries.len()));
    let ranges: Vec<Range<usize>> = ranges.collect();
    let recall = (asked.recall < Recall::ALL).then_some(chosen.recall);
    // Results wait to be written in order, so batches run in rounds.
    for ranges in ranges.chunks(round) {
        let found = threads.map(ranges.to_vec(), |range| {
            let lookup = chosen.by_position.then(|| stored.lookup());
            rows(&*chosen.index, queries, asked, range, lookup)
        });
        for (range, rows) in ranges.iter().zip(found) {
            take(Answers { queries: range.clone(), rows: &rows?, recall })?;
        }
    }
    Ok(chosen.described)
}

/// Builds the planned engine, or an exact one if weak bits cannot state a recall.
fn choose(
    asked: &Asked,
    stored: &Hpx,
    queries: &Queries,
    ways: &Ways,
    threads: &dyn Executor,
) -> Result<Chosen, SearchError> {
    // An empty collection is scanned, and so is one that does not fit into memory but is loaded on
    // request.
    let mut engine = ways.load.as_ref().map_or(Engine::Scan, |load| load.candidate.engine.clone());
    let mut why = "";
    let reason;
    if let Engine::WeakBits { .. } = engine {
        match weak_bits(asked, stored, queries, threads)? {
            Ok(chosen) => return Ok(chosen),
            Err(unmeasured) => reason = format!("; {unmeasured}"),
        }
        why = &reason;
        let request = Request::new(stored.len(), asked.within).queries(queries.len() as u64);
        let exact = plan(&request, &Machine::typical());
        engine = exact.map_or(Engine::Scan, |plan| plan.choice().engine.clone());
    } else if !queries.any_sums() && !queries.is_empty() {
        why = NEED_SUMS;
    }
    let entry = |(id, bits)| Entry { fingerprint: Fingerprint::from_bits(bits), id };
    let entries: Vec<Entry> = stored.entries()?.into_iter().map(entry).collect();
    let mut chosen = exact_engine(engine, asked.within, entries)?;
    if asked.recall < Recall::ALL {
        chosen.described.push_str(", which finds every match");
        chosen.described.push_str(why);
    }
    Ok(chosen)
}

/// Weak bits with the measured recall that was asked for; otherwise why they cannot promise it.
fn weak_bits(
    asked: &Asked,
    stored: &Hpx,
    queries: &Queries,
    threads: &dyn Executor,
) -> Result<Result<Chosen, Unmeasured>, SearchError> {
    let all: Vec<Query<'_>> = (0..queries.len()).map(|at| queries.query(at)).collect();
    let open = || Source::open(stored, PIECE);
    let built = WeakBits::build_measured(&all, asked.within, asked.recall, open, threads);
    let measured = built.map_err(SearchError::of)?;
    Ok(measured.map(|Measured { index, recall, pairs, matches }| {
        let described = format!(
            "loaded into weak bits for recall {}, calibrated on {} and measured {recall:.3} on {} others",
            asked.recall,
            counted(pairs as u64, "pair"),
            grouped(matches),
        );
        let (index, most_in_batch) = (Box::new(index), WEAK_BATCH);
        Chosen { index, recall, described, by_position: true, most_in_batch }
    }))
}

/// An engine with recall 1.
fn exact_engine(
    engine: Engine,
    within: MaxDistance,
    entries: Vec<Entry>,
) -> Result<Chosen, SearchError> {
    Ok(match engine {
        Engine::Tables(design) => {
            let pages = Collection::new(entries).map_err(SearchError::of)?;
            let costs = Machine::typical().costs(pages.fingerprints().len());
            let tables = counted(design.keys().len() as u64, "table");
            let options = TableOptions::within(within).design(design).costs(costs);
            let index = Tables::build(pages, options).map_err(SearchError::of)?;
            exact(index, format!("loaded into {tables}"))
        }
        Engine::Sorted(encoding) => {
            let sorted = Segment::build(entries, SegmentEngine::Sorted(encoding), within);
            exact(sorted.map_err(SearchError::of)?, "loaded into a sorted array".to_owned())
        }
        _ => {
            let pages = Collection::new(entries).map_err(SearchError::of)?;
            exact(Scan::new(pages), "loaded and scanned".to_owned())
        }
    })
}

fn exact(index: impl HammingIndex + Sync + 'static, described: String) -> Chosen {
    let (index, most_in_batch) = (Box::new(index), *BATCH.end());
    Chosen { index, recall: 1.0, described, by_position: false, most_in_batch }
}

/// The matches of some queries. `lookup` translates positions in the file.
fn rows(
    index: &(dyn HammingIndex + Sync),
    queries: &Queries,
    asked: &Asked,
    range: Range<usize>,
    lookup: Option<Lookup>,
) -> Result<Vec<Row>, SearchError> {
    let queries: Vec<Query<'_>> = range.clone().map(|at| queries.query(at)).collect();
    let within = asked.within;
    let mut rows = Vec::new();
    let mut push = |query: usize, found: &[hapax::index::Match]| {
        rows.extend(found.iter().map(|m| Row {
            query: query as u32,
            distance: m.distance as u8,
            document: m.id,
        }));
    };
    if asked.first {
        let first = index.find_first_batch(&queries, within).map_err(SearchError::of)?;
        range.zip(&first).for_each(|(query, found)| push(query, found.as_slice()));
    } else {
        let all = index.find_all_batch(&queries, within).map_err(SearchError::of)?;
        range.zip(all.iter()).for_each(|(query, found)| push(query, found));
    }
    if let Some(mut lookup) = lookup {
        documents(&mut rows, &mut lookup)?;
    }
    Ok(rows)
}
