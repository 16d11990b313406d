//! Benchmarks of Hapax. Each asserts its answers before it prints a time. Peers are in `bench/compare`.
//!
//! ```text
//! cargo run --release -p hapax-bench -- near --pages 10e6 --within 3
//! cargo run --release -p hapax-bench -- weak --pages 10e6 --within 3,6 --recall 0.95,0.99
//! cargo run --release -p hapax-bench -- recall --pages 10e6
//! cargo run --release -p hapax-bench -- threads --documents 900e3
//! cargo run --release -p hapax-bench -- documents --documents 1e6,2e6,4e6
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints tables")]

mod documents;
mod frames;
mod growth;
mod measure;
mod near;
mod plot;
mod recall;
mod texts;
mod threads;
mod weak;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Benchmarks with asserted answers")]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Exact neighbour search on fingerprints with planted near-duplicates
    Near(near::Arguments),
    /// Growth of time and memory with the number of pages, as a table and a plot
    Growth(growth::Arguments),
    /// Approximate neighbour search with weak bits on fingerprints of documents
    Weak(weak::Arguments),
    /// Cost and recall of `near find --recall`, measured from outside the program
    Recall(recall::Arguments),
    /// Seconds of every stage of `dedup` by number of threads, and the serial share
    Threads(threads::Arguments),
    /// Growth of CPU time and memory of `dedup` with the number of short documents, as a table and
    /// a plot
    Documents(documents::Arguments),
    /// Products and copies that `dedup` removes from a generated shop, with and without frames
    Frames(frames::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().benchmark {
        Benchmark::Near(arguments) => near::run(&arguments),
        Benchmark::Growth(arguments) => growth::run(&arguments),
        Benchmark::Weak(arguments) => weak::run(&arguments),
        Benchmark::Recall(arguments) => recall::run(&arguments),
        Benchmark::Threads(arguments) => threads::run(&arguments),
        Benchmark::Documents(arguments) => documents::run(&arguments),
        Benchmark::Frames(arguments) => frames::run(&arguments),
    }
}
