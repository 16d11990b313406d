//! The project's development tools, run as `cargo xtask`.
//!
//! `test` runs every part in order, or only the named ones; [`parts`] lists them. `tidy` checks the house rules,
//! `readme` runs the documentation's examples, `papers` repeats the papers' measurements, `compare` measures peers,
//! `pictures` makes the documentation's pictures. Exit codes: 0 for success, 1 for a failure, 2 for bad arguments.
#![expect(clippy::print_stdout, reason = "a program that talks to the person who started it")]
#![expect(clippy::print_stderr, reason = "a failure is reported where errors belong")]

mod compare;
mod console;
mod dist;
mod fuzz;
mod licences;
mod markdown;
mod needs;
mod package;
mod papers;
mod parts;
mod pictures;
mod release;
mod service;
mod tidy;
mod wheel;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// The project's own tooling.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run everything that must pass before a change goes in, or only the named parts
    Test {
        /// Parts to run, in the order of the list; all of them when none is named
        #[arg(value_name = "PART", value_parser = PossibleValuesParser::new(parts::names()))]
        parts: Vec<String>,
        /// List the parts and what each one does
        #[arg(long)]
        list: bool,
        /// Run the one named part in this process, and leave its outcome in a file
        #[arg(long, value_name = "FILE", hide = true)]
        outcome: Option<PathBuf>,
    },
    /// Check the house rules: headers, sizes, paths in Markdown, stated defaults, licences
    Tidy,
    /// Measure beside the peers that install from PyPI and crates.io, and write a record
    Compare(compare::Arguments),
    /// Make everything a release consists of, with checksums: archive, wheel, crates
    Dist(dist::Arguments),
    /// Check the licences of all dependencies, and the file that lists them
    Licences {
        /// Write the list anew
        #[arg(long)]
        update: bool,
    },
    /// Make the pictures of the documentation that show the program
    Pictures,
    /// Measure the papers' tables and figures again and write docs/benchmarks/papers.md and .html
    Papers {
        /// Papers (zhu) or single records (zhu-figure-4); all when none is named
        #[arg(value_name = "NAME")]
        only: Vec<String>,
        /// Take an hour instead of minutes
        #[arg(long)]
        full: bool,
        /// Folder of real pages: SET.jsonl or SET/docs.jsonl.zst
        #[arg(long, value_name = "DIR")]
        pages: Option<PathBuf>,
        /// Run nothing; only write the documents from the records that are there
        #[arg(long)]
        gather: bool,
    },
    /// Run the fuzz targets under libFuzzer, for as long as asked
    Fuzz {
        /// Targets; all of them when none is named
        #[arg(value_name = "TARGET")]
        targets: Vec<String>,
        /// Minutes for each target
        #[arg(long, default_value_t = 2.0)]
        minutes: f64,
        /// Targets at a time
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        jobs: u32,
    },
    /// Run a repository under faults against a model: kills, full and slow disks, clock jumps
    Soak {
        /// Decides everything but the moment of a kill
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Minutes
        #[arg(long, default_value_t = 10.0)]
        minutes: f64,
    },
    /// Attack a running service, and print the time and memory of each attack
    Hostile {
        /// Only attacks whose name has this in it
        word: Option<String>,
    },
    /// Run what is tried before a release and too long for the tests, or only the named steps
    Release {
        /// Steps; all of them when none is named
        #[arg(value_name = "STEP", value_parser = PossibleValuesParser::new(release::names()))]
        steps: Vec<String>,
    },
    /// Run the console examples of the documentation
    Readme {
        /// Rewrite the shown output where it differs from the real one
        #[arg(long)]
        update: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments.task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether the task succeeded.
fn run(task: &Task) -> anyhow::Result<bool> {
    let workspace = Workspace::locate()?;
    match task {
        Task::Test { list: true, .. } => {
            print!("{}", parts::list());
            Ok(true)
        }
        Task::Test { parts, outcome: Some(file), .. } => parts::test_one(&workspace, parts, file),
        Task::Test { parts, .. } => parts::test(&workspace, parts),
        Task::Fuzz { targets, minutes, jobs } => fuzz::long(&workspace, targets, *minutes, *jobs),
        Task::Soak { seed, minutes } => fuzz::soak(&workspace, *seed, *minutes),
        Task::Release { steps } => release::release(&workspace, steps),
        Task::Hostile { word } => fuzz::hostile(&workspace, word.as_deref()),
        Task::Tidy => tidy::check(&workspace),
        Task::Compare(arguments) => compare::compare(&workspace, arguments),
        Task::Dist(arguments) => dist::dist(&workspace, arguments).map(|()| true),
        Task::Licences { update } => {
            let wrong = licences::check(&workspace, *update)?;
            wrong.iter().for_each(|what| println!("{}: {what}", licences::FILE));
            Ok(wrong.is_empty())
        }
        Task::Papers { only, full, pages, gather } => {
            let run = (!gather).then_some(papers::Run { only, full: *full, pages });
            papers::papers(&workspace, run.as_ref()).map(|()| true)
        }
        Task::Pictures => pictures::pictures(&workspace).map(|()| true),
        Task::Readme { update } => {
            let mode = if *update { console::Mode::Update } else { console::Mode::Check };
            Ok(console::run(&workspace, mode)?.failed == 0)
        }
    }
}
