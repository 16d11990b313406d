//! Joins a set with planted near-duplicates.
//!
//! The unit of time is sorting the same fingerprints on the same thread. Before a time is printed, every planted pair
//! must be found, and a sample must agree with a scan.

use std::ops::ControlFlow;

use anyhow::{Context, ensure};
use hapax::fingerprint::MaxDistance;
use hapax::hamming::Kernel;
use hapax::join::{Joined, OneThread, Pair, PairOptions, Record, pairs};

use crate::clock::{self, timed};
use crate::threads::Threads;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Number of fingerprints
    #[arg(long, default_value = "16e6", value_parser = crate::count)]
    count: usize,
    /// Distance in bits, inclusive
    #[arg(long, default_value_t = 3)]
    within: u8,
    /// Number of blocks of a fingerprint, instead of the cheapest
    #[arg(long)]
    blocks: Option<u32>,
    /// Kernel, instead of the best
    #[arg(long)]
    kernel: Option<String>,
    /// Runs, of which the fastest counts
    #[arg(long, default_value_t = 2)]
    runs: usize,
    /// Memory in megabytes for an additional join out of core
    #[arg(long)]
    memory: Option<usize>,
}

const SEED: u64 = 42;
const SHARE: f64 = 0.1;
const SAMPLE: usize = 50;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bound = MaxDistance::new(arguments.within).context("at most 64 bits")?;
    let mut options = PairOptions::within(bound)?;
    if let Some(blocks) = arguments.blocks {
        options = options.blocks(blocks);
    }
    if let Some(name) = &arguments.kernel {
        let known = Kernel::available().into_iter().find(|kernel| kernel.name() == name);
        options = options.kernel(known.context("no such kernel here")?);
    }
    let planted =
        hapax_synth::planted(SEED, arguments.count as u64, SHARE, arguments.within.max(1).into());
    let fingerprints = planted.fingerprints;
    drop(planted.parents);

    let mut best = clock::Spent::default();
    let mut joined = None;
    let mut peak = 0;
    for _ in 0..arguments.runs.max(1) {
        drop(joined.take());
        let records = records(&fingerprints);
        let before = clock::resident_bytes() - 12 * arguments.count as u64;
        clock::forget_peak();
        let (found, spent) = timed(|| pairs(records, &options, &OneThread));
        peak = clock::peak_bytes() - before;
        if joined.is_none() && best.cpu.is_zero() || spent.cpu < best.cpu {
            best = spent;
        }
        joined = Some(found);
    }
    let joined = joined.context("no run")?;
    check(&fingerprints, &joined, bound, arguments)?;

    let mut sorted = fingerprints.clone();
    let (_, sort) = timed(|| sorted.sort_unstable());
    drop(sorted);
    let plan = options.plan(arguments.count);
    println!(
        "{} fingerprints within {}: {} blocks, {} keys; {} pairs, {} twins",
        arguments.count,
        arguments.within,
        plan.blocks(),
        plan.keys(),
        joined.pairs().len(),
        joined.twins().len(),
    );
    let sorts = best.cpu.as_secs_f64() / sort.cpu.as_secs_f64();
    println!(
        "one thread   {:.3} s CPU, {:.3} s wall, {sorts:.2} sorts of {:.3} s CPU",
        best.cpu.as_secs_f64(),
        best.wall.as_secs_f64(),
        sort.cpu.as_secs_f64()
    );
    println!(
        "peak         {:.1} bytes a fingerprint, records and result included",
        peak as f64 / arguments.count as f64
    );
    two_threads(&fingerprints, &options, &joined, best)?;
    if let Some(megabytes) = arguments.memory {
        crate::spilled::run(fingerprints, joined, &options, megabytes, best)?;
    }
    println!("load average {}", clock::load());
    Ok(())
}

fn two_threads(
    fingerprints: &[u64],
    options: &PairOptions,
    expected: &Joined<u32>,
    one: clock::Spent,
) -> anyhow::Result<()> {
    let threads = Threads::new(2);
    let records = records(fingerprints);
    let (found, spent) = timed(|| pairs(records, options, &threads));
    ensure!(found == *expected, "two threads find something else");
    let path = spent.cpu + threads.take_path();
    println!(
        "two threads  {:.3} s with a CPU each, {:.3} s of it on one; {:.3} s wall: {:.2} times one (CPU), {:.2} (wall)",
        path.as_secs_f64(),
        spent.cpu.as_secs_f64(),
        spent.wall.as_secs_f64(),
        one.cpu.as_secs_f64() / path.as_secs_f64(),
        one.wall.as_secs_f64() / spent.wall.as_secs_f64()
    );
    Ok(())
}

fn records(fingerprints: &[u64]) -> Vec<Record<u32>> {
    (0u32..).zip(fingerprints).map(|(id, &fingerprint)| Record { fingerprint, id }).collect()
}

/// Checks that all planted pairs were found, directly or through twins, and that a sample of
/// documents has exactly the partners found by a scan.
fn check(
    fingerprints: &[u64],
    joined: &Joined<u32>,
    bound: MaxDistance,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let mut kept: Vec<u32> = (0..fingerprints.len() as u32).collect();
    for twin in joined.twins() {
        kept[twin.b as usize] = twin.a;
    }
    let planted =
        hapax_synth::planted(SEED, arguments.count as u64, SHARE, arguments.within.max(1).into());
    let mut missing = 0;
    let mut all = 0;
    for (row, parent, distance) in planted.pairs() {
        let (a, b) = (kept[row as usize], kept[parent as usize]);
        all += 1;
        let pair = Pair { a: a.min(b), b: a.max(b), distance: distance as u8 };
        missing += usize::from(a != b && joined.pairs().binary_search(&pair).is_err());
    }
    ensure!(missing == 0, "{missing} of {all} planted pairs were not found");
    let mut partners = vec![Vec::new(); SAMPLE];
    let sampled = |id: u32| (id as usize).is_multiple_of((fingerprints.len() / SAMPLE).max(1));
    let slot = |id: u32| id as usize / (fingerprints.len() / SAMPLE).max(1);
    for pair in joined.pairs() {
        for (one, other) in [(pair.a, pair.b), (pair.b, pair.a)] {
            if sampled(one) && slot(one) < SAMPLE {
                partners[slot(one)].push(other);
            }
        }
    }
    let mut scanned = 0;
    for (number, partners) in partners.iter_mut().enumerate() {
        let id = number * (fingerprints.len() / SAMPLE).max(1);
        if id >= fingerprints.len() || kept[id] as usize != id {
            continue;
        }
        let mut expected = Vec::new();
        let _ = Kernel::best().visit_within(fingerprints, fingerprints[id], bound, |other, _| {
            expected.extend((kept[other] as usize == other && other != id).then_some(other as u32));
            ControlFlow::Continue(())
        });
        partners.sort_unstable();
        ensure!(*partners == expected, "document {id} has partners {partners:?}, not {expected:?}");
        scanned += expected.len();
    }
    println!(
        "all {all} planted pairs found; {SAMPLE} documents with {scanned} partners agree with a scan"
    );
    Ok(())
}
