//! What answers the queries: the index file as it is, or an engine built from it first.
//!
//! The planner decides, by how many queries there are and how much memory. Weak bits are among the
//! candidates when a recall below 1 will do and queries come with their sums. How far they
//! have to look is learnt from the data at hand: some of the queries are answered exactly, in the
//! file, and their matches say which bits flip. As many others are answered both ways, so that the
//! recall that is told was measured. No sums, no weak bits: exact engines then answer.

use super::records::Record;
use crate::failure::Failure;
use crate::readable;
use hapax::fingerprint::{BitSums, Fingerprint, MaxDistance};
use hapax::index::plan::{Engine, Machine, Request, plan, plan_with};
use hapax::index::segment::SegmentView;
use hapax::index::{
    Calibration, Collection, Entry, HammingIndex, Query, Recall, TableOptions, Tables, WeakBits,
    WeakOptions,
};
use std::ops::ControlFlow;

/// Queries whose matches calibrate, and as many whose matches measure.
const SAMPLE: usize = 1000;

/// Matches of a query that count in the sample: a page copied a million times is one page.
const MATCHES: usize = 256;

/// What is asked for.
pub(super) struct Wanted {
    pub(super) within: MaxDistance,
    pub(super) recall: Recall,
    pub(super) first: bool,
    pub(super) memory: Option<u64>,
}

/// What answers.
pub(super) struct Chosen {
    /// The file itself when there is nothing else.
    pub(super) built: Option<Box<dyn HammingIndex + Sync>>,
    /// The share of the matches it is made to find.
    pub(super) recall: f64,
    /// In words.
    pub(super) told: String,
}

/// Chooses an engine for these queries and builds it.
///
/// # Errors
///
/// None in practice: what a segment holds an engine takes.
pub(super) fn choose(
    wanted: &Wanted,
    view: &SegmentView<'_>,
    queries: &[Record],
) -> Result<Chosen, Failure> {
    let machine = Machine::typical();
    let mut request = Request::new(view.len() as u64, wanted.within).queries(queries.len() as u64);
    request.memory = wanted.memory;
    if wanted.first {
        request = request.first();
    }
    let without_sums = queries.iter().all(|record| record.sums.is_none());
    if !without_sums {
        request = request.recall(wanted.recall);
    }
    let mut chosen = match plan(&request, &machine).map(|plan| plan.choice().engine.clone()) {
        Ok(Engine::Tables(design)) => {
            let pages = Collection::new(entries(view)).map_err(anyhow::Error::new)?;
            let costs = machine.costs(pages.fingerprints().len());
            let told = format!("built {}", readable::counted(design.keys().len() as u64, "table"));
            let options = TableOptions::within(wanted.within).design(design).costs(costs);
            let tables = Tables::build(pages, options).map_err(anyhow::Error::new)?;
            Chosen { built: Some(Box::new(tables)), recall: 1.0, told }
        }
        Ok(Engine::WeakBits { .. }) => weak_bits(&request, &machine, view, queries)?,
        // An empty index has no plan and no matches; and the file as it is takes no further memory.
        _ => in_place(),
    };
    if wanted.recall < Recall::ALL && chosen.recall == 1.0 {
        chosen.told.push_str(", which finds every match");
        if without_sums && !queries.is_empty() {
            chosen.told.push_str(
                "; weak bits need queries with sums: hapax fingerprint --json --sums writes them",
            );
        }
    }
    Ok(chosen)
}

fn in_place() -> Chosen {
    Chosen { built: None, recall: 1.0, told: "searched the file as it is".to_owned() }
}

fn entries(view: &SegmentView<'_>) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(view.len());
    view.for_each(|entry| entries.push(entry));
    entries
}

/// Weak bits were chosen for pages like others; this is about the pages at hand.
fn weak_bits(
    request: &Request,
    machine: &Machine,
    view: &SegmentView<'_>,
    queries: &[Record],
) -> Result<Chosen, Failure> {
    let known: Vec<Query<'_>> = queries.iter().filter(|r| r.sums.is_some()).map(query).collect();
    let every = known.len().div_ceil(2 * SAMPLE).max(1);
    let sample: Vec<Query<'_>> = known.into_iter().step_by(every).collect();
    let (calibrating, measuring): (Vec<_>, Vec<_>) =
        sample.iter().enumerate().partition(|(number, _)| number.is_multiple_of(2));
    let [calibrating, measuring] =
        [calibrating, measuring].map(|half| half.into_iter().map(|(_, q)| *q).collect::<Vec<_>>());
    let near = different(view, &calibrating, request.bound)?;
    let entries = entries(view);
    let calibration = Calibration::fit(flips(&near, &calibrating, &entries));

    // Bits that flip otherwise than thought may need another prefix, or another engine.
    let Ok(plan) = plan_with(request, machine, &calibration) else { return Ok(in_place()) };
    let mut options =
        WeakOptions::within(request.bound, request.recall).calibration(calibration.clone());
    if let Engine::WeakBits { prefix_bits } = plan.choice().engine {
        options = options.prefix_bits(prefix_bits);
    }
    let pages = Collection::new(entries).map_err(anyhow::Error::new)?;
    let index = WeakBits::build(pages, options).map_err(anyhow::Error::new)?;

    let mut told = format!(
        "built weak bits for recall {}, calibrated on {}",
        request.recall,
        readable::counted(calibration.len() as u64, "pair")
    );
    let there = different(view, &measuring, request.bound)?;
    let found = different(&index, &measuring, request.bound)?;
    let seen = there.iter().filter(|near| found.binary_search(near).is_ok()).count();
    if !there.is_empty() {
        let share = seen as f64 / there.len() as f64;
        told.push_str(&format!(" and measured {share:.3} on {} others", there.len()));
    }
    Ok(Chosen { built: Some(Box::new(index)), recall: request.recall.get(), told })
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

/// A record as an engine is asked.
pub(super) fn query(record: &Record) -> Query<'_> {
    Query { fingerprint: record.fingerprint, sums: record.sums.as_deref() }
}
