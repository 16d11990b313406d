//! Measures the cost of changing an index while it is searched, and of segments as files.
//!
//! `hapax-bench-live load` searches a live index at rest, then while another thread inserts as fast as possible and
//! merges, then at rest again, in one run. `hapax-bench-live files` compares the engines and encodings of one
//! segment: bytes, opening, searching. Fingerprints are random with planted near-duplicates; answers are compared
//! with a scan's before a time is printed.
#![expect(clippy::print_stdout, reason = "a program that prints its tables")]

mod files;
mod load;
mod timing;

use anyhow::Context;
use clap::{Parser, Subcommand};
use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::index::Entry;

/// The live index under load, and segments as files.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
    /// Entries in the index, or in the segment
    #[arg(long, global = true, default_value_t = 1_000_000)]
    entries: u64,
    /// Distance of the searches in bits
    #[arg(long, global = true, default_value_t = 6)]
    within: u8,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Search while inserting
    Load(load::Options),
    /// Engines and encodings of one segment
    Files,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let bound = MaxDistance::new(arguments.within).context("--within is at most 64")?;
    match arguments.benchmark {
        Benchmark::Load(options) => load::run(arguments.entries, bound, &options),
        Benchmark::Files => files::run(arguments.entries, bound),
    }
}

/// Share of the rows that have a planted near-duplicate.
const SHARE: f64 = 0.1;
const SEED: u64 = 3;

/// Entries with ids from 0, and queries, which are copies, so that each has an answer.
fn data(entries: u64, more: u64, bound: MaxDistance) -> (Vec<Entry>, Vec<Fingerprint>) {
    let flips = bound.bits().max(1);
    let planted = hapax_synth::planted(SEED, entries + more, SHARE, flips);
    let all: Vec<Entry> = (0..)
        .zip(&planted.fingerprints)
        .map(|(id, &bits)| Entry { fingerprint: Fingerprint::from_bits(bits), id })
        .collect();
    let copies = planted
        .pairs()
        .filter(|&(row, parent, _)| u64::from(row) < entries && u64::from(parent) < entries);
    let queries = copies
        .map(|(row, ..)| Fingerprint::from_bits(planted.fingerprints[row as usize]))
        .take(QUERIES)
        .collect();
    (all, queries)
}

/// Number of queries that pass through an engine together, several times.
const QUERIES: usize = 2048;
