//! How much of the library's speed is left behind HTTP, and does the service live through an hour?
//!
//! `hapax-bench-serve load` makes a repository, measures the library alone on all cores, then starts
//! the service as a process of its own and asks it over loopback from 64 connections: health,
//! ready fingerprints, real pages, a batch. Every answer is read and its verdict compared with
//! what is known of the page; a wrong one ends the run. `hapax-bench-serve soak` mixes all that,
//! kills and restarts the service, and at the end looks for every page that was acknowledged. `backup` measures
//! what clients wait while a backup is made, `fetchers` what twenty crawlers get.
//!
//! Client and server share the machine's cores, so rates are of both together. Ratios count.
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
    /// Against the library alone, in one run
    Load(load::Options),
    /// Mixed load with kills and restarts
    Soak(soak::Options),
    /// What clients wait before and during a backup, and what an increment holds
    Backup(backup::Options),
    /// Many crawlers with many connections each
    Fetchers(fetchers::Options),
    /// The server process of the others
    #[command(hide = true)]
    Server {
        /// The repository
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
