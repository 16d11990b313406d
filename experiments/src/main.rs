//! Measures the tables and figures of the five papers again.
//!
//! A [`Paper`] runs its experiments and passes each result to the [`Bench`] as a [`record::Record`]: the claim, the
//! measurement, charts, and what agrees, differs and why. Records are files (`experiments/data/*.json`); [`gather()`]
//! combines them into `docs/benchmarks/papers.md` and `papers.html`. To add a paper, write a module with a `PAPER`
//! and list it in [`PAPERS`]. The shipped engine runs everything; only a paper's rival method is implemented here.
//! Speeds are ratios within one run. Started by `cargo xtask papers`.
#![expect(clippy::print_stderr, reason = "a program that says what it is doing")]

mod bench;
mod clock;
mod gather;
mod khan;
mod pi;
mod real;
mod record;
mod sood;
mod stream;
mod synthetic;
mod zhu;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use bench::{Bench, Size};
use clap::{Parser, Subcommand};
use gather::gather;

/// A paper with its experiments.
#[derive(Clone, Copy, Debug)]
struct Paper {
    /// Prefix of its records' names.
    key: &'static str,
    /// Authors, title, year.
    title: &'static str,
    /// Runs the requested experiments.
    run: fn(&Bench<'_>) -> Result<()>,
}

/// All papers, in the order of the document.
const PAPERS: &[Paper] = &[pi::PAPER, stream::PAPER, khan::PAPER, sood::PAPER, zhu::PAPER];

/// Repeats the measurements of the papers
#[derive(Parser)]
struct Arguments {
    /// Folder of the records
    #[arg(long, value_name = "DIR", default_value = "experiments/data", global = true)]
    out: PathBuf,
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run experiments and write a record for each
    Run {
        /// Papers (zhu) or single records (zhu-figure-4); default: all
        #[arg(value_name = "NAME")]
        only: Vec<String>,
        /// Run for an hour instead of minutes
        #[arg(long)]
        full: bool,
        /// Folder of real pages: SET.jsonl or SET/docs.jsonl.zst
        #[arg(long, value_name = "DIR")]
        pages: Option<PathBuf>,
    },
    /// Write docs/benchmarks/papers.md and docs/benchmarks/papers.html from the records
    Gather {
        /// Folder of the documents
        #[arg(long, value_name = "DIR", default_value = "docs/benchmarks")]
        docs: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let out = arguments.out;
    match arguments.task {
        Task::Run { only, full, pages } => {
            std::fs::create_dir_all(&out)
                .with_context(|| format!("cannot make {}", out.display()))?;
            if let Some(folder) = pages.as_deref().filter(|folder| !folder.is_dir()) {
                bail!("{} is not a folder of pages", folder.display());
            }
            let size = if full { Size::Full } else { Size::Quick };
            let say = |text: &str| eprintln!("{text}");
            let bench = Bench { size, pages, out, only, say: &say, written: 0.into() };
            for paper in PAPERS {
                let named = |it: &String| it.split('-').next() == Some(paper.key);
                if bench.only.is_empty() || bench.only.iter().any(named) {
                    bench.say(paper.title);
                    (paper.run)(&bench).with_context(|| format!("in {}", paper.title))?;
                }
            }
            if bench.written.get() == 0 {
                let keys: Vec<&str> = PAPERS.iter().map(|paper| paper.key).collect();
                bail!("no experiment has such a name; the papers are {}", keys.join(", "));
            }
            Ok(())
        }
        Task::Gather { docs } => {
            let records = gather(&out, &docs, "../../experiments/data")?;
            eprintln!("{records} records in {}", docs.join("papers.md").display());
            Ok(())
        }
    }
}
