//! The `hapax` program: finds pages that are almost the same.
//!
//! A library so that the program can also be started from elsewhere, such as the Python package;
//! [`run`] is all of it. This file parses, dispatches and turns the outcome into an exit code;
//! everything a command does is in its file under `commands`.
//!
//! # Reading order
//!
//! `arguments` is what a user can type and `commands` what it does. `recipes` and
//! `inputs` turn arguments into a ready fingerprinter and a stream of pages, `pipeline`
//! spreads the pages over threads and keeps their order, `output` writes results so that
//! nothing half-done is left behind, and `overwriting` that nothing read is replaced. `repositories` is what commands ask of a repository.
//! `failure` says which exit code an error is.
//!
//! # What this program does not know
//!
//! Algorithms. The engine is the `hapax` crate.

mod arguments;
mod commands;
mod corpus;
mod failure;
mod inputs;
mod output;
mod overwriting;
mod pipeline;
mod progress;
mod readable;
mod reading;
mod recipes;
mod repositories;

use clap::{CommandFactory, Parser};
use failure::Failure;
use std::ffi::OsString;

/// Runs the program with these words, the program's own name first, and gives the exit code: 0
/// done, 1 bad input or a failed run, 2 bad arguments.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words = repositories::server_first(words);
    let arguments = match arguments::Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        // Help and version are not errors; clap knows which is which.
        Err(refused) => {
            let _ = refused.print();
            return u8::try_from(refused.exit_code()).unwrap_or(2);
        }
    };
    match commands::run(arguments.command) {
        Ok(()) | Err(Failure::ClosedPipe) => 0,
        Err(failure) => {
            progress::say(&format!("error: {failure}"));
            failure.exit_code()
        }
    }
}

/// Everything that can be typed, for manuals, completions and tests.
#[must_use]
pub fn command() -> clap::Command {
    arguments::Arguments::command()
}
