//! How fast is the way from bytes to bits?
//!
//! ```text
//! cargo run --release -p hapax-bench-fingerprint --features peers
//! cargo run --release -p hapax-bench-fingerprint --features peers -- --jsonl PAGES.jsonl
//! ```
//!
//! Three tables: accumulating SimHash over given tokens beside gaoya; the share of each stage
//! of the whole way; the whole way beside text extraction (selectolax) and extraction plus
//! SimHash (the `simhash` package) in Python. Times are CPU seconds of the thread, best of
//! several rounds, because machines are shared; only the ratios of one run mean something.
//! Answers are asserted: a fast wrong one stops the run.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod measure;
mod pages;
mod peers;
mod stages;

use anyhow::Result;
use clap::Parser;
use std::path::PathBuf;

/// Measures the way from bytes to bits, beside peers.
#[derive(Parser)]
struct Arguments {
    /// Pages as JSON lines with a field `html`; without it, the repository's examples.
    #[arg(long)]
    jsonl: Option<PathBuf>,
    /// At most this many pages.
    #[arg(long, default_value_t = 2000)]
    pages: usize,
    /// Rounds of which the best counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Leave out the peers that run in Python.
    #[arg(long)]
    no_python: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let pages = pages::read(arguments.jsonl.as_deref(), arguments.pages)?;
    let bench = measure::Bench { rounds: arguments.rounds, pages: &pages };
    println!("{} pages, {:.1} MB of HTML\n", pages.len(), bench.megabytes());
    stages::accumulation(&bench)?;
    let whole = stages::whole_way(&bench)?;
    stages::two_threads(&bench)?;
    if arguments.no_python {
        println!("peers in Python: left out as asked");
    } else {
        peers::compare(&bench, whole)?;
    }
    Ok(())
}
