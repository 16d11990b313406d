//! Measures what a durable repository costs and saves. Every answer is asserted before its time is printed; only
//! ratios of one run count.
//!
//! | command | question |
//! |---|---|
//! | `bulk` | how fast against the raw store, how many syncs, how many bytes |
//! | `growth` | incremental against all over again, as the repository grows (Zhu, figure 7) |
//! | `recrawl` | how much of a recrawl is answered in tier 1, and what that saves (figure 8) |
//! | `accuracy` | page by page against one all-to-all run (table 1) |
//! | `open` | how long opening a large repository takes |
//! | `kill` | a process killed hundreds of times: what it acknowledged is there |
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
    /// Ready fingerprints in bulk and one by one, against the raw store
    Bulk(bulk::Options),
    /// Incremental against recomputing everything
    Growth(growth::Options),
    /// Half the pages again, a week later
    Recrawl(recrawl::Options),
    /// Page by page against all at once
    Accuracy(accuracy::Options),
    /// Opening
    Open(opening::Options),
    /// Kill a process that observes, many times
    Kill(kill::Options),
    /// What `kill` kills
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
        Benchmark::Kill(options) => kill::run(&options),
        Benchmark::Victim(options) => kill::victim(&options),
    }
}
