//! A batch of queries against a file (Figure 10).
//!
//! The file is a `.hpx` of sorted runs, filled in batches like by a crawler. The baseline is the thesis's: four
//! tables over the batch, searched for every stored fingerprint; it runs on a sample of the stored fingerprints and
//! its time is scaled. The engine's exact search gives the true matches: the baseline must find the same ones in its
//! sample, as must a scan for some queries.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use hapax::hamming::Kernel;
use hapax::index::Recall;
use hapax::join::{Batch, Chunks, Hit, JoinError, OneThread, PairOptions, Wanted};
use hapax_corpus::hpx::{Appender, Hpx, ReadAhead};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_report::grouped;
use serde_json::json;

use super::baseline::BatchTables;
use super::join::{Load, Probes, WEAKEST, WeakFlips, WeakOrder, learn};
use super::{RECALL, bound};
use crate::bench::Bench;
use crate::clock::cpu;
use crate::real::sampled;
use crate::record::{Record, Table, Verdict};
use crate::synthetic::{DocumentSet, noise};

/// Number of stored fingerprints for the baseline.
const SAMPLE: usize = 40_000;

/// Number of queries checked by a scan.
const SCANNED: usize = 20;

/// CPU seconds of a batch.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Batched {
    pub(super) queries: usize,
    pub(super) stored: usize,
    pub(super) baseline: f64,
    pub(super) exact: f64,
    pub(super) all: f64,
    pub(super) first: f64,
    pub(super) recall: f64,
    pub(super) recall_first: f64,
    /// Share of queries with a match.
    pub(super) matched: f64,
}

/// Distinct queries with their weakest bits.
struct Queries {
    bits: Vec<u64>,
    orders: Vec<WeakOrder>,
}

impl Queries {
    fn new(set: &DocumentSet) -> Self {
        let order = |at: usize| {
            let weakest = set.sums[at].weakest_first();
            std::array::from_fn::<u8, WEAKEST, _>(|rank| weakest[rank])
        };
        let mut rows: Vec<usize> = (0..set.queries.len()).collect();
        rows.sort_by_key(|&at| (set.queries[at], at));
        rows.dedup_by_key(|at| set.queries[*at]);
        // Back in the order of the web, so that neighbours are unrelated.
        rows.sort_unstable();
        let bits = rows.iter().map(|&at| set.queries[at]).collect();
        Self { bits, orders: rows.into_iter().map(order).collect() }
    }
}

struct Source(ReadAhead);

impl Chunks for Source {
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError> {
        let next = self.0.next_piece(fingerprints);
        next.map_err(|error| JoinError::Source { source: Box::new(error) })
    }
}

pub(super) fn figure_10(bench: &Bench<'_>) -> Result<Vec<Batched>> {
    const NAME: &str = "sood-figure-10";
    let batches: Vec<usize> =
        bench.size.of(vec![1 << 14, 1 << 15, 1 << 16], vec![1 << 17, 1 << 18, 1 << 19, 1 << 20]);
    let largest = *batches.last().context("batches")?;
    let documents = bench.size.of(1 << 18, 1 << 22);
    let files: Vec<usize> =
        bench.size.of(vec![1 << 17, 1 << 18, 1 << 19], vec![1 << 20, 1 << 21, 1 << 22, 1 << 23]);
    let usual = bench.size.of(1 << 18, 1 << 22);
    bench.say(format!("  making {} synthetic documents", documents + largest));
    let set = DocumentSet::new(7, documents, largest);
    let queries = Queries::new(&set);
    let mut stored = set.stored.clone();
    stored.extend(noise(12, files.last().map_or(0, |most| most.saturating_sub(documents))));
    let folder = tempfile::tempdir()?;
    let mut by_batch = Vec::new();
    for &batch in &batches {
        bench.say(format!("  a batch of {batch} against {usual}"));
        by_batch.push(measure(folder.path(), &queries, batch, &stored[..usual])?);
    }
    let mut by_file = Vec::new();
    for &file in &files {
        bench.say(format!("  a batch of {largest} against {file}"));
        by_file.push(measure(folder.path(), &queries, largest, &stored[..file])?);
    }
    let mut table = Table::new([
        "batch",
        "file",
        "baseline, s",
        "exact, s",
        "weak all, s",
        "weak first, s",
        "times, all",
        "times, first",
        "recall, all",
        "recall, first",
    ]);
    for it in by_batch.iter().chain(&by_file) {
        table.row([
            grouped(it.queries as u64),
            grouped(it.stored as u64),
            format!("{:.3}", it.baseline),
            format!("{:.3}", it.exact),
            format!("{:.3}", it.all),
            format!("{:.3}", it.first),
            format!("{:.1}", it.baseline / it.all),
            format!("{:.1}", it.baseline / it.first),
            format!("{:.3}", it.recall),
            format!("{:.3}", it.recall_first),
        ]);
    }
    let line = |list: &[Batched],
                x: fn(&Batched) -> usize,
                of: fn(&Batched) -> f64|
     -> Vec<(f64, f64)> { list.iter().map(|it| (x(it) as f64, of(it))).collect() };
    let chart = |title: &str, name: &str, list: &[Batched], x: fn(&Batched) -> usize| Chart {
        title: title.to_owned(),
        x: Axis::logarithmic(name),
        y: Axis::logarithmic("seconds of CPU"),
        series: vec![
            Series::new("thesis's baseline", line(list, x, |it| it.baseline)),
            Series::new("weak bits, all", line(list, x, |it| it.all)),
            Series::new("weak bits, first", line(list, x, |it| it.first)),
            Series::new("our exact search, all", line(list, x, |it| it.exact)),
        ],
        about: "Requested recall 0.95.".to_owned(),
    };
    let (small, large) = (&by_batch[0], &by_batch[by_batch.len() - 1]);
    let (near, far) = (&by_file[0], &by_file[by_file.len() - 1]);
    let factor = |it: &Batched| it.baseline / it.all;
    let grows = factor(large) > factor(small);
    let of_files: Vec<f64> = by_file.iter().map(factor).collect();
    let least = of_files.iter().copied().fold(f64::INFINITY, f64::min);
    let steady = of_files.iter().all(|it| *it <= 2.0 * least);
    if bench.wants(NAME) {
        bench.keep(Record {
            name: NAME.to_owned(),
            figure: "Figure 10".to_owned(),
            title: "batch mode".to_owned(),
            claim: "Against a file of 60 million, weak bits are 3.7 times as fast as the baseline at a batch of 1 million and 7.72 times at 10 million when finding all, about 14 times when finding the first; about 7 times at any size of the file.".to_owned(),
            ran_on: format!(
                "{} synthetic documents and random numbers beyond; batches of {} to {} documents; CPU time of one thread, learning and preparing included; the baseline on {} of the stored, scaled",
                grouped(documents as u64),
                grouped(small.queries as u64),
                grouped(large.queries as u64),
                grouped(SAMPLE as u64),
            ),
            verdict: match (large.baseline / large.all, large.baseline / large.first) {
                (all, first) if all >= 7.0 && first >= 14.0 && grows && steady => Verdict::Agrees,
                (all, first) if all > 1.0 && first > 1.0 => Verdict::Partly,
                _ => Verdict::Differs,
            },
            sentence: format!(
                "Weak bits are {:.1} times as fast as the baseline for all and {:.1} times for the first at a batch of {}, {:.1} and {:.1} times at {}, and {:.1} and {:.1} times (all) at the smallest and the largest file: the factor {} with the batch, which it does in the thesis, and {} with the file, as preparing the queries is paid once for any file; the thesis's batch is {:.0} times as large, and its baseline compares a stored fingerprint with 4 m / 2^16 of m queries, {:.0} here and 610 there; finding the first saves {}, as {:.0} % of the queries have a match; our own exact batch search is {:.1} times as fast as the baseline.",
                small.baseline / small.all,
                small.baseline / small.first,
                grouped(small.queries as u64),
                large.baseline / large.all,
                large.baseline / large.first,
                grouped(large.queries as u64),
                near.baseline / near.all,
                far.baseline / far.all,
                if grows { "grows" } else { "does not grow" },
                if steady { "keeps within a factor of 2" } else { "does not stay the same" },
                1e7 / large.queries as f64,
                4.0 * large.queries as f64 / 65536.0,
                match 1.0 - large.first / large.all {
                    saved if saved >= 0.01 => format!("{:.0} % of the time here", 100.0 * saved),
                    _ => "no time here".to_owned(),
                },
                100.0 * large.matched,
                large.baseline / large.exact,
            ),
            size: bench.size,
            table: Some(table),
            charts: vec![
                chart("(a) Batches", "queries in the batch", &by_batch, |it| it.queries),
                chart("(b) Files", "fingerprints in the file", &by_file, |it| it.stored),
            ],
            data: json!({ "by batch": by_batch, "by file": by_file }),
        })?;
    }
    by_batch.extend(by_file);
    Ok(by_batch)
}

fn measure(folder: &Path, queries: &Queries, batch: usize, stored: &[u64]) -> Result<Batched> {
    let rows: Vec<usize> = sampled(queries.bits.len(), batch).collect();
    let bits: Vec<u64> = rows.iter().map(|&row| queries.bits[row]).collect();
    let orders: Vec<WeakOrder> = rows.iter().map(|&row| queries.orders[row]).collect();
    let path = folder.join(format!("{}-{}.hpx", bits.len(), stored.len()));
    for chunk in stored.chunks(batch) {
        let mut appender = Appender::open(&path, "")?.memory(1 << 28);
        for &fingerprint in chunk {
            appender.push(fingerprint, None)?;
        }
        appender.finish()?;
    }
    let hpx = Hpx::open(&path)?;
    let open = || Source(ReadAhead::new(hpx.stream(bits.len().max(1 << 18))));
    let mut placed = Vec::with_capacity(stored.len());
    let mut piece = Vec::new();
    let mut source = open();
    while source.next_chunk(&mut piece)? {
        placed.extend_from_slice(&piece);
    }

    let (truth, exact) = cpu(|| -> Result<Vec<Hit>> {
        let mut hits = Vec::new();
        let tables = Batch::new(&bits, PairOptions::within(bound()?)?, &OneThread)?;
        tables.stream(Wanted::All, &mut open(), &OneThread, |hit| {
            hits.push(hit);
            Ok(())
        })?;
        Ok(hits)
    });
    let truth = truth?;
    scan(&bits, &placed, &truth)?;
    let baseline = baseline(&bits, &placed, &truth)?;
    let weak = |wanted: Wanted| -> Result<(Vec<Hit>, f64)> {
        let (hits, seconds) = cpu(|| -> Result<Vec<Hit>> {
            let recall = Recall::new(RECALL).context("a share")?;
            let load =
                Load { queries: bits.len() as u64, stored: hpx.len(), passes: hpx.runs() as u64 };
            let model = learn(&bits, &orders, bound()?, recall, load, &mut open(), &OneThread)?
                .context("too few pairs to learn from, or weak bits do not reach the recall")?;
            let probes =
                Probes::new(&bits, &WeakFlips { model: &model, orders: &orders }, &OneThread)?;
            let mut hits = Vec::new();
            probes.stream(bound()?, wanted, &mut open(), &OneThread, |hit| {
                hits.push(hit);
                Ok(())
            })?;
            Ok(hits)
        });
        Ok((hits?, seconds))
    };
    let (mut found, all) = weak(Wanted::All)?;
    let (answered, first) = weak(Wanted::First)?;
    found.sort_unstable();
    let mut sorted = truth;
    sorted.sort_unstable();
    ensure!(found.iter().all(|hit| sorted.binary_search(hit).is_ok()), "found what is not there");
    let differ = |hits: &[Hit]| hits.iter().filter(|it| it.distance > 0).count() as f64;
    let mut nearest: Vec<(u32, u8)> = sorted.iter().map(|it| (it.query, it.distance)).collect();
    nearest.sort_unstable();
    nearest.dedup_by_key(|it| it.0);
    let matched = nearest.len() as f64 / bits.len().max(1) as f64;
    nearest.retain(|it| it.1 > 0);
    let mut heard: Vec<u32> = answered.iter().map(|it| it.query).collect();
    heard.sort_unstable();
    let hits = nearest.iter().filter(|it| heard.binary_search(&it.0).is_ok()).count();
    std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    Ok(Batched {
        queries: bits.len(),
        stored: stored.len(),
        baseline,
        exact,
        all,
        first,
        recall: differ(&found) / differ(&sorted).max(1.0),
        recall_first: hits as f64 / nearest.len().max(1) as f64,
        matched,
    })
}

/// Checks the hits of some queries with a scan.
fn scan(queries: &[u64], placed: &[u64], hits: &[Hit]) -> Result<()> {
    for query in sampled(queries.len(), SCANNED) {
        let mut expected = 0;
        let _ = Kernel::best().visit_within(placed, queries[query], bound()?, |_, _| {
            expected += 1;
            ControlFlow::Continue(())
        });
        let of_it = hits.iter().filter(|hit| hit.query as usize == query);
        let found: u32 = of_it.map(|hit| hit.copies).sum();
        ensure!(found == expected, "query {query} has {found} hits, a scan finds {expected}");
    }
    Ok(())
}

/// Seconds for the whole file, extrapolated from a sample; its hits there must equal ours.
fn baseline(queries: &[u64], placed: &[u64], truth: &[Hit]) -> Result<f64> {
    let sample: Vec<usize> = sampled(placed.len(), SAMPLE).collect();
    let stored: Vec<u64> = sample.iter().map(|&place| placed[place]).collect();
    let (tables, build) = cpu(|| BatchTables::new(queries));
    let mut found = Vec::new();
    let (_, search) = cpu(|| {
        tables.search(&stored, |query, at| found.push((queries[query as usize], stored[at])));
    });
    found.sort_unstable();
    found.dedup();
    let taken: std::collections::BTreeSet<u64> = stored.iter().copied().collect();
    let mut ours: Vec<(u64, u64)> = truth
        .iter()
        .map(|hit| (queries[hit.query as usize], placed[hit.position as usize]))
        .filter(|pair| taken.contains(&pair.1))
        .collect();
    ours.sort_unstable();
    ours.dedup();
    ensure!(ours == found, "the baseline finds {} pairs, the engine {}", found.len(), ours.len());
    Ok(build + search * placed.len() as f64 / stored.len().max(1) as f64)
}
