//! Measures how much of the library's speed remains over HTTP, and whether the service survives an hour.
//!
//! `load` measures the library alone on all cores, then a service in its own process over loopback: health, ready
//! fingerprints, real pages, a batch. Every verdict is compared with the known one; a wrong one ends the run. `soak`
//! mixes all that, kills and restarts the service, and looks for every acknowledged page at the end. `backup`
//! measures clients' latency during a backup, `fetchers` the throughput of twenty crawlers. Clients and server share
//! the machine's cores, so only ratios count.
#![expect(clippy::print_stdout, reason = "a program that prints its tables")]

mod backup;
mod clients;
mod fetchers;
mod library;
mod load;
mod pages;
mod process;
mod soak;
mod wire;

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// The service under load.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Throughput compared with the library alone, in one run
    Load(load::Options),
    /// Mixed load with kills and restarts
    Soak(soak::Options),
    /// Client latency before and during a backup, and the size of an increment
    Backup(backup::Options),
    /// Many crawlers with many connections each
    Fetchers(fetchers::Options),
    /// The server process of the other benchmarks
    #[command(hide = true)]
    Server {
        /// Folder of the repository
        store: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().benchmark {
        Benchmark::Load(options) => load::run(&options),
        Benchmark::Soak(options) => soak::run(&options),
        Benchmark::Backup(options) => backup::run(&options),
        Benchmark::Fetchers(options) => fetchers::run(&options),
        Benchmark::Server { store } => process::serve(&store),
    }
}
