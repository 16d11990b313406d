//! Loaded search: an engine in memory answers batches of queries on all cores.
//!
//! The planner chooses the engine, by how many queries there are and how much memory. Weak bits are among
//! the candidates when a recall below 1 will do and queries come with their sums. How far they have to
//! look is learnt from the data: some of the queries are answered exactly, and their matches say which
//! bits flip. As many others are answered both ways, so that the printed recall was measured.

use super::failed;
use super::find::Asked;
use super::queries::Queries;
use super::results::{Results, Row};
use crate::failure::Failure;
use crate::pipeline::{Work, in_order};
use crate::readable;
use hapax::fingerprint::{BitSums, Fingerprint, MaxDistance};
use hapax::index::plan::{Engine, Machine, Plan, PlanError, Request, plan, plan_with};
use hapax::index::segment::{Segment, SegmentEngine};
use hapax::index::{
    Calibration, Collection, Entry, HammingIndex, Query, Recall, Scan, TableOptions, Tables,
    WeakBits, WeakOptions,
};
use hapax_corpus::hpx::Hpx;
use std::ops::{ControlFlow, Range};

/// Batches for each thread, so that none waits long for another.
const BATCHES: usize = 4;

/// Queries of a batch.
const BATCH: std::ops::RangeInclusive<usize> = 64..=1 << 16;

/// Queries whose matches calibrate, and as many whose matches measure.
const SAMPLE: usize = 1000;

/// Why queries were answered exactly.
pub(super) const NEED_SUMS: &str =
    "; weak bits need queries with sums: hapax fingerprint --json --sums writes them";

/// Fewer matches that differ from their query say too little about a recall.
const LEAST_PAIRS: usize = 200;

/// How often weak bits are built, each time to find more, before an exact engine answers.
const TRIES: usize = 3;

/// Matches of a query that count in the sample: a page copied a million times is one page.
const MATCHES: usize = 256;

/// What answers.
pub(super) struct Chosen {
    index: Box<dyn HammingIndex + Sync>,
    /// The share of the matches it was measured to find.
    recall: f64,
    /// In words.
    described: String,
}

/// What the planner is asked.
pub(super) fn request(asked: &Asked, stored: u64, queries: &Queries) -> Request {
    let mut request = Request::new(stored, asked.within).queries(queries.len() as u64);
    request.memory = asked.memory;
    if asked.first {
        request = request.first();
    }
    if queries.any_sums() { request.recall(asked.recall) } else { request }
}

/// The plan for these queries.
///
/// # Errors
///
/// Nothing is stored, or nothing fits into memory.
pub(super) fn planned(asked: &Asked, stored: u64, queries: &Queries) -> Result<Plan, PlanError> {
    plan(&request(asked, stored, queries), &Machine::typical())
}

/// Loads the collection, searches and writes the matches; says how, in words.
///
/// # Errors
///
/// The file is damaged, or results cannot be written.
pub(super) fn search(
    asked: &Asked,
    queries: &Queries,
    stored: &Hpx,
    threads: usize,
    results: Results<'_>,
) -> Result<(String, (u64, u64)), Failure> {
    let chosen = choose(asked, stored, queries)?;
    let batch = queries.len().div_ceil(threads * BATCHES).clamp(*BATCH.start(), *BATCH.end());
    let mut ranges =
        (0..queries.len()).step_by(batch).map(|start| start..(start + batch).min(queries.len()));
    let search = Batches { index: &*chosen.index, queries, asked };
    let stated = (asked.recall < Recall::ALL).then_some(chosen.recall);
    let mut results = results.recall(stated);
    in_order(&mut ranges, vec![search; threads], |(range, rows): (_, Result<Vec<Row>, _>)| {
        results.write(range, &rows?)
    })?;
    Ok((chosen.described, results.finish()?))
}

/// Chooses an engine for these queries and builds it.
fn choose(asked: &Asked, stored: &Hpx, queries: &Queries) -> Result<Chosen, Failure> {
    let entry = |(id, bits)| Entry { fingerprint: Fingerprint::from_bits(bits), id };
    let entries: Vec<Entry> = stored.entries().map_err(failed)?.into_iter().map(entry).collect();
    let request = request(asked, stored.len(), queries);
    let mut why = String::new();
    if let Ok(plan) = plan(&request, &Machine::typical())
        && let Engine::WeakBits { .. } = plan.choice().engine
    {
        match weak_bits(&request, &entries, queries)? {
            Ok(chosen) => return Ok(chosen),
            Err(reason) => why = reason,
        }
    } else if asked.recall < Recall::ALL && !queries.any_sums() && queries.len() > 0 {
        why = NEED_SUMS.to_owned();
    }
    let mut chosen = exact_engine(&request.recall(Recall::ALL), entries)?;
    if asked.recall < Recall::ALL {
        chosen.described.push_str(", which finds every match");
        chosen.described.push_str(&why);
    }
    Ok(chosen)
}

/// The best engine that finds everything.
fn exact_engine(request: &Request, entries: Vec<Entry>) -> Result<Chosen, Failure> {
    let machine = Machine::typical();
    Ok(match plan(request, &machine).map(|plan| plan.choice().engine.clone()) {
        Ok(Engine::Tables(design)) => {
            let pages = Collection::new(entries).map_err(anyhow::Error::new)?;
            let costs = machine.costs(pages.fingerprints().len());
            let tables = readable::counted(design.keys().len() as u64, "table");
            let options = TableOptions::within(request.bound).design(design).costs(costs);
            let index = Tables::build(pages, options).map_err(anyhow::Error::new)?;
            exact(index, format!("loaded into {tables}"))
        }
        Ok(Engine::Sorted(encoding)) => {
            let engine = SegmentEngine::Sorted(encoding);
            let sorted = Segment::build(entries, engine, request.bound);
            exact(sorted.map_err(anyhow::Error::new)?, "loaded into a sorted array".to_owned())
        }
        // An empty collection has no plan and no matches.
        _ => scan(entries)?,
    })
}

fn exact(index: impl HammingIndex + Sync + 'static, described: String) -> Chosen {
    Chosen { index: Box::new(index), recall: 1.0, described }
}

fn scan(entries: Vec<Entry>) -> Result<Chosen, Failure> {
    let pages = Collection::new(entries).map_err(anyhow::Error::new)?;
    Ok(exact(Scan::new(pages), "loaded and scanned".to_owned()))
}

/// One thread.
#[derive(Clone, Copy)]
struct Batches<'a> {
    index: &'a (dyn HammingIndex + Sync),
    queries: &'a Queries,
    asked: &'a Asked,
}

impl Work for Batches<'_> {
    type Item = Range<usize>;
    type Out = (Range<usize>, Result<Vec<Row>, Failure>);

    fn work(&mut self, range: Self::Item) -> Self::Out {
        let rows = self.rows(range.clone());
        (range, rows)
    }
}

impl Batches<'_> {
    fn rows(&self, range: Range<usize>) -> Result<Vec<Row>, Failure> {
        let queries: Vec<Query<'_>> = range.clone().map(|at| self.queries.query(at)).collect();
        let within = self.asked.within;
        let mut rows = Vec::new();
        let mut push = |query: usize, found: &[hapax::index::Match]| {
            rows.extend(found.iter().map(|m| Row {
                query: query as u32,
                distance: m.distance as u8,
                document: m.id,
            }));
        };
        if self.asked.first {
            let first =
                self.index.find_first_batch(&queries, within).map_err(anyhow::Error::new)?;
            range.zip(&first).for_each(|(query, found)| push(query, found.as_slice()));
        } else {
            let all = self.index.find_all_batch(&queries, within).map_err(anyhow::Error::new)?;
            range.zip(all.iter()).for_each(|(query, found)| push(query, found));
        }
        Ok(rows)
    }
}

/// Weak bits that were measured to find the share asked for; otherwise why they cannot promise it.
fn weak_bits(
    request: &Request,
    entries: &[Entry],
    queries: &Queries,
) -> Result<Result<Chosen, String>, Failure> {
    let all = (0..queries.len()).map(|at| queries.query(at));
    let known: Vec<Query<'_>> = all.filter(|query| query.sums.is_some()).collect();
    let every = known.len().div_ceil(2 * SAMPLE).max(1);
    let sample: Vec<Query<'_>> = known.into_iter().step_by(every).collect();
    let (calibrating, measuring): (Vec<_>, Vec<_>) =
        sample.iter().enumerate().partition(|(number, _)| number.is_multiple_of(2));
    let [calibrating, measuring] =
        [calibrating, measuring].map(|half| half.into_iter().map(|(_, q)| *q).collect::<Vec<_>>());
    let pages = Collection::new(entries.iter().copied()).map_err(anyhow::Error::new)?;
    let reference = Scan::new(pages.clone());
    let near = different(&reference, &calibrating, request.bound)?;
    let there = different(&reference, &measuring, request.bound)?;
    drop(reference);
    let (learnt, least) = (near.len().min(there.len()), LEAST_PAIRS);
    if learnt < least {
        return Ok(Err(format!(
            "; {} in a sample are too few to state a recall of weak bits by, {least} would do",
            readable::counted(learnt as u64, "match")
        )));
    }
    let calibration = Calibration::fit(flips(&near, &calibrating, entries));
    let machine = Machine::typical();
    let mut target = request.recall;
    for _ in 0..TRIES {
        // Bits that flip otherwise than thought may need another prefix, or another engine.
        let Ok(plan) = plan_with(&(*request).recall(target), &machine, &calibration) else {
            break;
        };
        let mut options =
            WeakOptions::within(request.bound, target).calibration(calibration.clone());
        if let Engine::WeakBits { prefix_bits } = plan.choice().engine {
            options = options.prefix_bits(prefix_bits);
        }
        let index = WeakBits::build(pages.clone(), options).map_err(anyhow::Error::new)?;
        let found = different(&index, &measuring, request.bound)?;
        let seen = there.iter().filter(|near| found.binary_search(near).is_ok()).count();
        let recall = seen as f64 / there.len() as f64;
        if recall >= request.recall.get() {
            let described = format!(
                "loaded into weak bits for recall {}, calibrated on {} and measured {recall:.3} on {} others",
                request.recall,
                readable::counted(calibration.len() as u64, "pair"),
                there.len()
            );
            return Ok(Ok(Chosen { index: Box::new(index), recall, described }));
        }
        // Half of what is missing to everything.
        let Some(stricter) = Recall::new(f64::midpoint(target.get(), 1.0)) else { break };
        target = stricter;
    }
    Ok(Err(format!("; weak bits were measured to find less than {}", request.recall)))
}

/// The number of a query in its sample and the id of a match that differs from it in some bit;
/// in ascending order.
fn different(
    index: &dyn HammingIndex,
    queries: &[Query<'_>],
    bound: MaxDistance,
) -> Result<Vec<(usize, u64)>, Failure> {
    let mut found = Vec::new();
    let mut counts = vec![0; queries.len()];
    let visited = index.visit_batch(queries, bound, &mut |number, m| {
        if m.distance > 0 {
            found.push((number, m.id));
            counts[number] += 1;
        }
        if counts[number] < MATCHES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    visited.map_err(anyhow::Error::new)?;
    found.sort_unstable();
    Ok(found)
}

/// The sums of each query, and the bits in which each of its matches differs.
fn flips<'a>(
    near: &[(usize, u64)],
    queries: &[Query<'a>],
    entries: &[Entry],
) -> Vec<(&'a BitSums, u64)> {
    let mut ids: Vec<u64> = near.iter().map(|&(_, id)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut fingerprints = vec![Fingerprint::from_bits(0); ids.len()];
    for entry in entries {
        if let Ok(at) = ids.binary_search(&entry.id) {
            fingerprints[at] = entry.fingerprint;
        }
    }
    let pair = |&(number, id): &(usize, u64)| {
        let Query { fingerprint, sums } = queries[number];
        let other = fingerprints[ids.binary_search(&id).ok()?];
        Some((sums?, fingerprint.to_bits() ^ other.to_bits()))
    };
    near.iter().filter_map(pair).collect()
}
