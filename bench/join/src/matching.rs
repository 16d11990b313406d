//! A batch against a file of sorted chunks, beside the thesis's baseline.
//!
//! The baseline of the thesis runs beside it on a sample and is scaled; its hits there must be ours.
//! Answers are checked against what was planted and against a scan before a time is printed.

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::{Context, ensure};
use hapax::fingerprint::MaxDistance;
use hapax::hamming::Kernel;
use hapax::join::{Batch, Executor, Hit, OneThread, PairOptions, Wanted};

use crate::clock::{self, Spent, timed};
use crate::files::{ReadAhead, write_numbers};
use crate::manku::Baseline;
use crate::threads::Threads;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many queries
    #[arg(long, default_value = "2e6", value_parser = crate::count)]
    queries: usize,
    /// How many stored fingerprints
    #[arg(long, default_value = "12e6", value_parser = crate::count)]
    stored: usize,
    /// Stored fingerprints that the baseline is measured on
    #[arg(long, default_value = "200000", value_parser = crate::count)]
    sample: usize,
}

const SEED: u64 = 42;
const SHARE: f64 = 0.1;
const SCANNED: usize = 50;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bound = MaxDistance::new(3).context("three bits")?;
    let options = PairOptions::within(bound)?;
    let all = arguments.queries + arguments.stored;
    let fingerprints = hapax_synth::planted(SEED, all as u64, SHARE, 3).fingerprints;
    let (queries, stored) = fingerprints.split_at(arguments.queries);
    let mut stored = stored.to_vec();
    stored.chunks_mut(arguments.queries).for_each(<[u64]>::sort_unstable);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("chunks");
    write_numbers(&path, &stored)?;

    let open = || ReadAhead::new(&path, arguments.queries);
    let (hits, every) = timed(|| search(queries, &options, Wanted::All, open(), &OneThread));
    let hits = hits?;
    let (first, one) = timed(|| search(queries, &options, Wanted::First, open(), &OneThread));
    let first = first?;
    check(queries, &stored, &hits, &first, bound)?;

    let step = stored.len().div_ceil(arguments.sample.max(1)).max(1);
    let sample: Vec<u64> = stored.iter().step_by(step).copied().collect();
    let baseline = Baseline::new(queries);
    let mut found = Vec::new();
    let (_, searched) =
        timed(|| baseline.search(&sample, |query, place| found.push((query, place * step))));
    agree(queries, &stored, step, &hits, found)?;
    let scale = stored.len() as f64 / sample.len().max(1) as f64;
    let theirs = baseline.build + searched.cpu.mul_f64(scale);
    drop(baseline);

    let megabytes = stored.len() as f64 * 8e-6;
    println!(
        "{} queries against {} stored within 3, {} hits; one thread, reading on another",
        queries.len(),
        stored.len(),
        hits.len()
    );
    println!(
        "baseline     {:.2} s CPU (four tables, binary search; {} of the stored measured)",
        theirs.as_secs_f64(),
        sample.len()
    );
    let row = |name: &str, spent: Spent| {
        println!(
            "{name}  {:.3} s CPU, {:.3} s wall, {:.0} MB/s of file (CPU): {:.1} times the baseline",
            spent.cpu.as_secs_f64(),
            spent.wall.as_secs_f64(),
            megabytes / spent.cpu.as_secs_f64(),
            theirs.as_secs_f64() / spent.cpu.as_secs_f64()
        )
    };
    row("find-all   ", every);
    row("find-first ", one);

    let threads = Threads::new(2);
    let (again, spent) = timed(|| search(queries, &options, Wanted::All, open(), &threads));
    ensure!(again? == hits, "two threads find something else");
    let path: Duration = spent.cpu + threads.take_path();
    println!(
        "two threads  {:.3} s with a CPU each, {:.3} s wall: {:.2} times one (CPU)",
        path.as_secs_f64(),
        spent.wall.as_secs_f64(),
        every.cpu.as_secs_f64() / path.as_secs_f64()
    );
    println!("load average {}", clock::load());
    Ok(())
}

fn search(
    queries: &[u64],
    options: &PairOptions,
    wanted: Wanted,
    mut chunks: ReadAhead,
    executor: &impl Executor,
) -> anyhow::Result<Vec<Hit>> {
    let batch = Batch::new(queries, options.clone(), executor)?;
    let mut hits = Vec::new();
    batch.stream(wanted, &mut chunks, executor, |hit| {
        hits.push(hit);
        Ok(())
    })?;
    Ok(hits)
}

/// A sample of queries must have the hits a scan finds, and find-first one of them if there is any.
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

/// Where it looked, at every `step`th of the stored, the baseline must have found the same.
fn agree(
    queries: &[u64],
    stored: &[u64],
    step: usize,
    hits: &[Hit],
    mut found: Vec<(u32, usize)>,
) -> anyhow::Result<()> {
    found.sort_unstable();
    found.dedup();
    // As fingerprints: identical queries and identical stored ones are one hit here.
    let mut theirs: Vec<(u64, u64)> =
        found.into_iter().map(|(query, place)| (queries[query as usize], stored[place])).collect();
    let mut ours: Vec<(u64, u64)> = hits
        .iter()
        .filter(|hit| {
            // The first multiple of the step from the hit's place on.
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
