//! Measures the pipeline from bytes to bits: SimHash of given tokens, the share of each stage, and the gain of a
//! second thread.
//!
//! Times are CPU seconds of the thread, the best of several rounds; only ratios within one run are meaningful.
//! Answers are asserted: a wrong one stops the run. Peers are in `bench/compare`.
//!
//! ```text
//! cargo run --release -p hapax-bench-fingerprint
//! cargo run --release -p hapax-bench-fingerprint -- --jsonl PAGES.jsonl
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

mod measure;
mod pages;
mod stages;

use anyhow::Result;
use clap::Parser;
use std::path::PathBuf;

/// Measures the pipeline from bytes to bits.
#[derive(Parser)]
struct Arguments {
    /// Pages as JSON lines with a field `html`; without it, the repository's examples.
    #[arg(long)]
    jsonl: Option<PathBuf>,
    /// At most this many pages.
    #[arg(long, default_value_t = 2000)]
    pages: usize,
    /// Rounds, of which the fastest counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let pages = pages::read(arguments.jsonl.as_deref(), arguments.pages)?;
    let bench = measure::Bench { rounds: arguments.rounds, pages: &pages };
    println!("{} pages, {:.1} MB of HTML\n", pages.len(), bench.megabytes());
    stages::accumulation(&bench)?;
    stages::whole_way(&bench)?;
    stages::two_threads(&bench)
}
