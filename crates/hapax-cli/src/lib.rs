//! The `hapax` program: finds and removes near-duplicate web pages. A library, so that tests can read the arguments;
//! [`run`] is the whole program.
//!
//! This file parses, dispatches and turns the outcome into an exit code; each command is a file under `commands`.
//! `arguments` defines the command line and `overview` the help, `failure` maps errors to exit codes. Contains no
//! algorithms: the engine is the `hapax` crate.

mod arguments;
mod commands;
mod corpus;
mod failure;
mod leftovers;
mod one_page;
mod output;
mod overview;
mod overwriting;
mod progress;
mod readable;
mod reading;
mod recipes;
mod repositories;

pub use leftovers::remove_when_interrupted;

use clap::{CommandFactory, FromArgMatches};
use failure::Failure;
use std::ffi::OsString;

/// Runs the program with these arguments, starting with its own name, and returns the exit code: 0
/// for success, 1 for bad input or a failed run, 2 for bad arguments.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words = repositories::server_first(words);
    let understood = command().try_get_matches_from(words);
    let understood = understood.and_then(|it| arguments::Arguments::from_arg_matches(&it));
    let arguments = match understood {
        Ok(arguments) => arguments,
        // Help and version are not errors; clap distinguishes them.
        Err(refused) => {
            return match refused.print() {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => 1,
                _ => u8::try_from(refused.exit_code()).unwrap_or(2),
            };
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

/// The definition of all arguments, for manuals, completions and tests.
#[must_use]
pub fn command() -> clap::Command {
    overview::by_task(readable_help(arguments::Arguments::command()))
}

/// Settings of every command: a negative number is the value of the flag before it, and thus
/// refused as out of range; and the text below the options is wrapped to the reader's terminal.
fn readable_help(command: clap::Command) -> clap::Command {
    let notes = command.get_after_help().map(|notes| unwrapped(&notes.to_string()));
    let command = command.mut_args(|argument| match argument.get_action().takes_values() {
        true if !argument.is_positional() => {
            overview::with_short(argument.allow_negative_numbers(true))
        }
        _ => argument,
    });
    let command = match notes {
        Some(notes) => command.after_help(notes),
        None => command,
    };
    command.mut_subcommands(readable_help)
}

/// Joins each paragraph into one line; keeps indented lines and the lines before them.
fn unwrapped(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        let stays = |line: &str| line.is_empty() || line.starts_with(' ');
        out.push(match lines.peek() {
            Some(next) if !stays(line) && !stays(next) => ' ',
            Some(_) => '\n',
            None => break,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::unwrapped;

    #[test]
    fn paragraphs_are_joined_and_examples_keep_their_lines() {
        let text = "One thing\nand another.\n\nExamples:\n  hapax a\n  hapax b\nThe end\nis near.";
        let expected =
            "One thing and another.\n\nExamples:\n  hapax a\n  hapax b\nThe end is near.";
        assert_eq!(unwrapped(text), expected);
    }
}
