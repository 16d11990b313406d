//! Measures time, memory and recall of `hapax near find --recall` from outside the program.
//!
//! Writes a collection and queries with sums as files. The program answers once with each recall and once exactly;
//! the system reports its peak memory. Bytes per page are that peak divided by the pages, and the same minus the peak
//! with an empty collection. Recall is over *all* matches of the exact run, and again without those identical to
//! their query. A line that the exact run lacks is an error.
//!
//! ```text
//! cargo build --release -p hapax-cli
//! cargo run --release -p hapax-bench -- recall --pages 10e6 --within 3,6 --recall 0.9,0.95,0.99
//! ```

mod program;
mod sets;

use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::path::PathBuf;

use program::{Program, Run};
use sets::Set;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Number of stored pages
    #[arg(long, default_value = "10e6", value_parser = crate::near::count)]
    pages: usize,
    /// Number of queries
    #[arg(long, default_value = "20e3", value_parser = crate::near::count)]
    queries: usize,
    /// Distances
    #[arg(long, value_delimiter = ',', default_value = "3,6")]
    within: Vec<u8>,
    /// Recalls to request
    #[arg(long, value_delimiter = ',', default_value = "0.9,0.95,0.99")]
    recall: Vec<f64>,
    /// Sources of the fingerprints
    #[arg(long, value_enum, value_delimiter = ',', default_value = "uniform,documents")]
    sets: Vec<Set>,
    /// `--mode` of the program
    #[arg(long, default_value = "load")]
    mode: String,
    /// The `hapax` program
    #[arg(long, default_value = "target/release/hapax")]
    hapax: PathBuf,
    /// Folder that keeps the files for the next run
    #[arg(long, default_value = "bench/out/recall")]
    keep: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    for &set in &arguments.sets {
        let files = set.files(&arguments.keep, arguments.pages, arguments.queries)?;
        let program = Program { path: &arguments.hapax, queries: &files.queries };
        println!(
            "\n{} queries against {} pages, {set:?}; `--mode {}`",
            arguments.queries, arguments.pages, arguments.mode
        );
        println!(
            "| k | asked | answered by | stated | of all matches | of unequal ones | matches | bytes/page | with everything | seconds | exact run's |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|");
        for &within in &arguments.within {
            let exact = program.find(&files.stored, within, &["--mode", "stream"])?;
            let truth: BTreeSet<&str> = exact.lines().collect();
            for recall in &arguments.recall {
                let share = recall.to_string();
                let options = ["--mode", &arguments.mode, "--recall", &share];
                let empty = program.find(&files.empty, within, &options)?;
                let found = program.find(&files.stored, within, &options)?;
                print_row(arguments, within, &share, &truth, [&found, &empty, &exact])?;
            }
        }
    }
    Ok(())
}

fn print_row(
    arguments: &Arguments,
    within: u8,
    asked: &str,
    truth: &BTreeSet<&str>,
    [found, empty, exact]: [&Run; 3],
) -> anyhow::Result<()> {
    let lines: BTreeSet<&str> = found.lines().collect();
    ensure!(lines.is_subset(truth), "the answer has a line that the exact one has not");
    let share = |counts: &dyn Fn(&str) -> bool| {
        let count = |lines: &BTreeSet<&str>| lines.iter().filter(|line| counts(line)).count();
        count(&lines) as f64 / count(truth).max(1) as f64
    };
    let a_page = |bytes: u64| bytes as f64 / arguments.pages as f64;
    let (by, stated) = found.summary().context("the program prints no summary")?;
    println!(
        "| {within} | {asked} | {by} | {stated} | {:.4} | {:.4} | {} | {:.2} | {:.2} | {:.1} | {:.1} |",
        share(&|_| true),
        share(&|line| !line.ends_with("\t0")),
        truth.len(),
        a_page(found.peak_bytes.saturating_sub(empty.peak_bytes)),
        a_page(found.peak_bytes),
        found.seconds,
        exact.seconds,
    );
    Ok(())
}
