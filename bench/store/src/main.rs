//! Measures the cost and benefit of a durable repository. Asserts every answer before it prints a time; only ratios
//! within one run count.
//!
//! | command | measures |
//! |---|---|
//! | `bulk` | speed compared with the raw store, syncs, bytes |
//! | `growth` | incremental work compared with starting over, as the repository grows (Zhu, figure 7) |
//! | `recrawl` | the share of a recrawl that is answered in tier 1, and the time saved (figure 8) |
//! | `accuracy` | page by page compared with one all-to-all run (table 1) |
//! | `open` | the time to open a large repository |
//! | `scrub` | that checks of the file under load report no damage that is none |
//! | `kill` | that nothing acknowledged is lost when a process is killed hundreds of times |
#![expect(clippy::print_stdout, reason = "a program that prints its tables")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]

mod accuracy;
mod all_to_all;
mod bulk;
mod growth;
mod kill;
mod opening;
mod pages;
mod plot;
mod recrawl;
mod scrub;
mod web;

use clap::{Parser, Subcommand};

/// The repository under load.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Ready fingerprints in bulk and one by one, compared with the raw store
    Bulk(bulk::Options),
    /// Incremental work compared with recomputing everything
    Growth(growth::Options),
    /// A recrawl of half of the pages after a week
    Recrawl(recrawl::Options),
    /// Page by page compared with all at once
    Accuracy(accuracy::Options),
    /// Opening a large repository
    Open(opening::Options),
    /// Check the file while it is written and read slowly
    Scrub(scrub::Options),
    /// Kill a process that observes, many times
    Kill(kill::Options),
    /// The process that `kill` kills
    #[command(hide = true)]
    Victim(kill::Victim),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().benchmark {
        Benchmark::Bulk(options) => bulk::run(&options),
        Benchmark::Growth(options) => growth::run(&options),
        Benchmark::Recrawl(options) => recrawl::run(&options),
        Benchmark::Accuracy(options) => accuracy::run(&options),
        Benchmark::Open(options) => opening::run(&options),
        Benchmark::Scrub(options) => scrub::run(&options),
        Benchmark::Kill(options) => kill::run(&options),
        Benchmark::Victim(options) => kill::victim(&options),
    }
}
