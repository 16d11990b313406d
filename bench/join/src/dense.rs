//! Many distinct fingerprints with a shared key, as produced by a template page with a number.
//!
//! All fingerprints have the same first bits, so that the first keys of a plan distinguish nothing. Planted pairs
//! must be found; the tests of the join compare a smaller set with a scan.

use anyhow::{Context, ensure};
use hapax::fingerprint::MaxDistance;
use hapax::join::{OneThread, Pair, PairOptions, Record, pairs};

use crate::clock::{self, timed};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Number of fingerprints
    #[arg(long, default_value = "1e6", value_parser = crate::count)]
    count: usize,
    /// Number of shared leading bits, at most 40
    #[arg(long, default_value_t = 32)]
    shared: u32,
    /// Distance in bits, inclusive
    #[arg(long, default_value_t = 3)]
    within: u8,
    /// Buckets with at least this many records are keyed again, instead of the default
    #[arg(long)]
    limit: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bound = MaxDistance::new(arguments.within).context("at most 64 bits")?;
    let mut options = PairOptions::within(bound)?;
    if let Some(limit) = arguments.limit {
        options = options.cluster(limit);
    }
    let shared = arguments.shared.min(40);
    let mixed = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let tail = |i: u64| mixed(mixed(i) ^ i) >> shared;
    let head = if shared == 0 { 0 } else { 0xfeed_5eed_dead_beef << (64 - shared) };
    let records: Vec<Record<u32>> = (0..arguments.count as u32)
        .map(|id| {
            // Every tenth is its predecessor with one bit flipped.
            let fingerprint = match id % 10 {
                9 => tail(u64::from(id) - 1) ^ 1 << (id / 10 % (64 - shared)),
                _ => tail(id.into()),
            };
            Record { fingerprint: head | fingerprint, id }
        })
        .collect();
    let (joined, spent) = timed(|| pairs(records.clone(), &options, &OneThread));
    let mut kept: Vec<u32> = (0..arguments.count as u32).collect();
    for twin in joined.twins() {
        kept[twin.b as usize] = twin.a;
    }
    for id in (9..arguments.count).step_by(10) {
        let (one, other) = (kept[id - 1], kept[id]);
        let pair = Pair { a: one.min(other), b: one.max(other), distance: 1 };
        let found = joined.pairs().binary_search(&pair).is_ok();
        ensure!(found, "the pair of {} and {id} is missing", id - 1);
    }
    println!(
        "{} fingerprints sharing {shared} bits, within {}: {} pairs, {:.3} s CPU, {:.0} ns each",
        arguments.count,
        arguments.within,
        joined.pairs().len(),
        spent.cpu.as_secs_f64(),
        spent.cpu.as_nanos() as f64 / arguments.count as f64,
    );
    println!("load average {}", clock::load());
    Ok(())
}
