//! Matches a batch against a `.hpx` file, compared with the thesis's baseline.
//!
//! Fingerprints are of documents. The file is filled in batches as large as that of the queries, like by a crawler.
//! The baseline runs on a sample of the stored fingerprints and its time is scaled. Before a time is printed, its
//! hits must equal ours, and ours those of a scan.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use hapax::fingerprint::MaxDistance;
use hapax::hamming::Kernel;
use hapax::join::{Batch, Chunks, Executor, Hit, JoinError, OneThread, PairOptions, Wanted};
use hapax_corpus::hpx::{Appender, Hpx, ReadAhead};

use crate::clock::{self, Spent, timed};
use crate::documents::Documents;
use crate::manku::Baseline;
use crate::threads::Threads;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Number of queries
    #[arg(long, default_value = "2e6", value_parser = crate::count)]
    queries: usize,
    /// Number of stored fingerprints
    #[arg(long, default_value = "12e6", value_parser = crate::count)]
    stored: usize,
    /// How many of the stored ones are documents; the others are random numbers
    #[arg(long, default_value = "12e6", value_parser = crate::count)]
    documents: usize,
    /// Number of stored fingerprints for the baseline
    #[arg(long, default_value = "100000", value_parser = crate::count)]
    sample: usize,
    /// Folder that keeps documents for the next run
    #[arg(long)]
    keep: Option<PathBuf>,
}

const SCANNED: usize = 50;

/// Maximum fingerprints per piece; otherwise as many as queries.
const MOST_OF_A_PIECE: usize = 8 << 20;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bound = MaxDistance::new(3).context("three bits")?;
    let documents = Documents::new(
        arguments.queries,
        arguments.stored,
        arguments.documents,
        arguments.keep.as_deref(),
    )?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("stored.hpx");
    let (filled, spent) = timed(|| fill(&path, &documents.stored, arguments.queries));
    filled?;
    let hpx = Hpx::open(&path)?;
    let megabytes = hpx.fingerprint_bytes() as f64 * 1e-6;
    println!(
        "{} queries against {} stored ({} documents) within 3; {} runs; {:.2} bytes a fingerprint and {:.2} an id on disk, filled in {:.1} s",
        documents.queries.len(),
        documents.stored.len(),
        documents.documents,
        hpx.runs(),
        megabytes * 1e6 / hpx.len() as f64,
        hpx.live_bytes() as f64 / hpx.len() as f64 - megabytes * 1e6 / hpx.len() as f64,
        spent.cpu.as_secs_f64(),
    );
    let bench = Bench { documents: &documents, hpx: &hpx, bound };
    let stored = bench.read_alone()?;
    clock::forget_peak();
    let everything = bench.exact(Wanted::All, &OneThread)?;
    let peak_exact = clock::peak_bytes();
    let first = bench.exact(Wanted::First, &OneThread)?;
    check(&documents.queries, &stored, &everything.hits, &first.hits, bound)?;

    let step = stored.len().div_ceil(arguments.sample.max(1)).max(1);
    let sample: Vec<u64> = stored.iter().step_by(step).copied().collect();
    let baseline = Baseline::new(&documents.queries);
    let mut found = Vec::new();
    let (_, searched) =
        timed(|| baseline.search(&sample, |query, place| found.push((query, place * step))));
    agree(&documents.queries, &stored, step, &everything.hits, found)?;
    let scale = stored.len() as f64 / sample.len().max(1) as f64;
    let theirs = baseline.build + searched.cpu.mul_f64(scale);
    drop(baseline);
    println!(
        "baseline     {:.2} s CPU (four tables, binary search; {} of the stored measured)",
        theirs.as_secs_f64(),
        sample.len()
    );
    let row = |name: &str, one: &Searched| {
        println!(
            "{name}  {:.3} s CPU ({:.3} preparing, {:.3} streaming), {:.3} s wall, {:.0} MB/s of file: {:.1} times the baseline; {} hits",
            one.spent.cpu.as_secs_f64(),
            one.preparing.as_secs_f64(),
            (one.spent.cpu.saturating_sub(one.preparing)).as_secs_f64(),
            one.spent.wall.as_secs_f64(),
            megabytes / one.spent.wall.as_secs_f64(),
            theirs.as_secs_f64() / one.spent.cpu.as_secs_f64(),
            one.hits.len(),
        );
    };
    row("exact, all  ", &everything);
    row("exact, first", &first);
    drop(first);

    let threads = Threads::new(2);
    let again = bench.exact(Wanted::All, &threads)?;
    ensure!(again.hits == everything.hits, "two threads find something else");
    let path: Duration = again.spent.cpu + threads.take_path();
    println!(
        "two threads  {:.3} s with a CPU each, {:.3} s wall: {:.2} times one (CPU)",
        path.as_secs_f64(),
        again.spent.wall.as_secs_f64(),
        everything.spent.cpu.as_secs_f64() / path.as_secs_f64()
    );
    println!(
        "peak         {:.2} GB, of which {:.2} are the documents and hits",
        peak_exact as f64 * 1e-9,
        (documents.queries.len() * 8 + stored.len() * 16 + everything.hits.len() * 24) as f64
            * 1e-9,
    );
    println!("load average {}", clock::load());
    Ok(())
}

/// Appends the fingerprints in batches.
fn fill(path: &std::path::Path, stored: &[u64], batch: usize) -> anyhow::Result<()> {
    for batch in stored.chunks(batch.max(1)) {
        let mut appender = Appender::open(path, "")?.memory(1 << 30);
        for &fingerprint in batch {
            appender.push(fingerprint, None)?;
        }
        appender.finish()?;
    }
    Ok(())
}

struct Bench<'a> {
    documents: &'a Documents,
    hpx: &'a Hpx,
    bound: MaxDistance,
}

/// The result of a search with its cost.
struct Searched {
    hits: Vec<Hit>,
    spent: Spent,
    preparing: Duration,
}

impl Bench<'_> {
    fn open(&self) -> Source {
        let piece = self.documents.queries.len().clamp(1 << 20, MOST_OF_A_PIECE);
        Source(ReadAhead::new(self.hpx.stream(piece)))
    }

    /// Reads the whole file in order, without a search, as a lower bound.
    fn read_alone(&self) -> anyhow::Result<Vec<u64>> {
        let mut all = Vec::with_capacity(self.hpx.len() as usize);
        let mut stream = self.hpx.stream(1 << 20);
        let mut piece = Vec::new();
        let mut spent = Duration::ZERO;
        loop {
            let started = Instant::now();
            let more = stream.next_piece(&mut piece)?;
            spent += started.elapsed();
            if !more {
                break;
            }
            all.extend_from_slice(&piece);
        }
        println!(
            "reading alone, from the page cache: {:.0} MB/s of file, {:.0} million fingerprints a second",
            self.hpx.fingerprint_bytes() as f64 * 1e-6 / spent.as_secs_f64(),
            all.len() as f64 * 1e-6 / spent.as_secs_f64()
        );
        Ok(all)
    }

    fn exact(&self, wanted: Wanted, executor: &dyn Executor) -> anyhow::Result<Searched> {
        let options = PairOptions::within(self.bound)?;
        let mut hits = Vec::new();
        let mut preparing = Duration::ZERO;
        let (done, spent) = timed(|| -> anyhow::Result<()> {
            let mut source = self.open();
            let (batch, took) = timed(|| Batch::new(&self.documents.queries, options, executor));
            let batch = batch?;
            preparing = took.cpu;
            batch.stream(wanted, &mut source, executor, |hit| {
                hits.push(hit);
                Ok(())
            })?;
            Ok(())
        });
        done?;
        Ok(Searched { hits, spent, preparing })
    }
}

/// The file as a source for the engine.
struct Source(ReadAhead);

impl Chunks for Source {
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError> {
        let next = self.0.next_piece(fingerprints);
        next.map_err(|error| JoinError::Source { source: Box::new(error) })
    }
}

/// For a sample of queries, checks that hits equal those of a scan, and that find-first returns one
/// of them.
fn check(
    queries: &[u64],
    stored: &[u64],
    hits: &[Hit],
    first: &[Hit],
    bound: MaxDistance,
) -> anyhow::Result<()> {
    let mut sample: Vec<u32> =
        hits.iter().step_by((hits.len() / SCANNED).max(1)).map(|hit| hit.query).collect();
    sample.extend((0..queries.len() as u32).step_by((queries.len() / SCANNED).max(1)));
    for query in sample {
        let mut expected = 0;
        let _ = Kernel::best().visit_within(stored, queries[query as usize], bound, |_, _| {
            expected += 1;
            ControlFlow::Continue(())
        });
        let found: u32 = hits.iter().filter(|hit| hit.query == query).map(|hit| hit.copies).sum();
        let twin = queries[..query as usize].contains(&queries[query as usize]);
        ensure!(twin || found == expected, "query {query} has {found} hits, not {expected}");
    }
    let mut answered: Vec<u32> = hits.iter().map(|hit| hit.query).collect();
    answered.sort_unstable();
    answered.dedup();
    ensure!(
        answered.len() == first.len(),
        "find-first answers {} of {} queries",
        first.len(),
        answered.len()
    );
    println!(
        "{} answerable queries, all answered; {} queries agree with a scan",
        answered.len(),
        2 * SCANNED
    );
    Ok(())
}

/// Checks that the baseline found the same among every `step`th stored fingerprint.
fn agree(
    queries: &[u64],
    stored: &[u64],
    step: usize,
    hits: &[Hit],
    mut found: Vec<(u32, usize)>,
) -> anyhow::Result<()> {
    found.sort_unstable();
    found.dedup();
    // Compares fingerprints, because equal queries and equal stored ones are one hit here.
    let mut theirs: Vec<(u64, u64)> =
        found.into_iter().map(|(query, place)| (queries[query as usize], stored[place])).collect();
    let mut ours: Vec<(u64, u64)> = hits
        .iter()
        .filter(|hit| {
            // The first multiple of the step at or after the hit's position.
            let seen = hit.position.next_multiple_of(step as u64);
            seen < hit.position + u64::from(hit.copies)
        })
        .map(|hit| (queries[hit.query as usize], stored[hit.position as usize]))
        .collect();
    for pairs in [&mut theirs, &mut ours] {
        pairs.sort_unstable();
        pairs.dedup();
    }
    ensure!(
        ours == theirs,
        "the baseline finds {} hits in the sample, we {}",
        theirs.len(),
        ours.len()
    );
    Ok(())
}
