//! The `hapax` program: finds pages that are almost the same.
//!
//! This file parses, dispatches and turns the outcome into an exit code; everything a command
//! does is in its file under [`commands`].
//!
//! # Reading order
//!
//! [`arguments`] is what a user can type and [`commands`] what it does. [`recipes`] and
//! [`inputs`] turn arguments into a ready fingerprinter and a stream of pages, [`pipeline`]
//! spreads the pages over threads and keeps their order, [`output`] writes results so that
//! nothing half-done is left behind. [`repositories`] is what commands ask of a repository.
//! [`failure`] says which exit code an error is.
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
mod pipeline;
mod progress;
mod readable;
mod recipes;
mod repositories;

use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let typed = repositories::server_first(std::env::args_os());
    let arguments = match arguments::Arguments::try_parse_from(typed) {
        Ok(arguments) => arguments,
        // Help and version are not errors; clap knows which is which.
        Err(refused) => {
            let _ = refused.print();
            return ExitCode::from(u8::try_from(refused.exit_code()).unwrap_or(2));
        }
    };
    match commands::run(arguments.command) {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            progress::say(&format!("error: {failure}"));
            failure.exit_code()
        }
    }
}
