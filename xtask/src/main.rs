//! The project's own tooling, run as `cargo xtask`.
//!
//! `test` is the gate: every part in order, or the named ones alone. `tidy` checks the house
//! rules that no compiler knows. `readme` runs the examples in the documentation and can
//! rewrite the output they show. `compare` measures beside the peers.
//!
//! # Reading order
//!
//! [`parts`] is the list of what the gate does; a new part is one entry there. [`needs`]
//! provides what a part wants from outside Rust. [`tidy`] holds the rules, [`console`] the
//! examples, [`service`] what is tested in a browser and over HTTP, [`wheel`] the Python package,
//! [`package`] what is published, [`compare`] the measurement beside the peers.
//! [`workspace`] knows where the repository is and how to start a command in it.
//!
//! Exit codes: 0 done, 1 something failed, 2 bad arguments.
#![expect(clippy::print_stdout, reason = "a program that talks to the person who started it")]
#![expect(clippy::print_stderr, reason = "a failure is reported where errors belong")]

mod compare;
mod console;
mod markdown;
mod needs;
mod package;
mod parts;
mod service;
mod tidy;
mod wheel;
mod workspace;

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
    },
    /// Check the house rules: headers, sizes, paths in Markdown, stated defaults
    Tidy,
    /// Measure beside the peers that install from PyPI and crates.io, and write a record
    Compare(compare::Arguments),
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

/// Whether the task found everything in order.
fn run(task: &Task) -> anyhow::Result<bool> {
    let workspace = Workspace::locate()?;
    match task {
        Task::Test { list: true, parts: _ } => {
            print!("{}", parts::list());
            Ok(true)
        }
        Task::Test { list: false, parts } => parts::test(&workspace, parts),
        Task::Tidy => tidy::check(&workspace),
        Task::Compare(arguments) => compare::compare(&workspace, arguments),
        Task::Readme { update } => {
            let mode = if *update { console::Mode::Update } else { console::Mode::Check };
            Ok(console::run(&workspace, mode)?.failed == 0)
        }
    }
}
