//! `hapax partition`: pages mapped to machines by their lengths.
//!
//! The engine learns, places and evaluates; here documents are read for it and results are written.
//!
//! - `pages` reads documents as `hapax dedup` does.
//! - `learn`, `route` and `evaluate` are the commands; `report` is the page that `evaluate` writes.

mod evaluate;
mod learn;
mod pages;
mod report;
mod route;

use crate::failure::Failure;
use clap::{Args, Subcommand};

/// Learn, use and evaluate a mapping of pages to machines by the lengths of their parts
///
/// A page is stored on one machine, and a new page is sent only to machines that can have
/// near-duplicates of it (Zhu et al. 2012). This holds for the Jaccard similarity of shingles,
/// not for the distance of fingerprints.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax partition learn crawl/*.warc.gz --machines 16 --out mapping.toml
  hapax partition route new.jsonl --mapping mapping.toml
  hapax partition evaluate crawl/*.warc.gz --html partition.html")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: PartitionCommand,
}

#[derive(Subcommand, Debug)]
enum PartitionCommand {
    Learn(learn::Arguments),
    Route(route::Arguments),
    Evaluate(evaluate::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        PartitionCommand::Learn(arguments) => learn::run(arguments),
        PartitionCommand::Route(arguments) => route::run(arguments),
        PartitionCommand::Evaluate(arguments) => evaluate::run(arguments),
    }
}

/// A setting that the engine refuses is a bad argument.
fn refused(error: hapax_partition::PartitionError) -> Failure {
    use hapax_partition::PartitionError;
    match error {
        PartitionError::NoSample => Failure::Run(anyhow::anyhow!(
            "there are too few pages with words to learn from: give more INPUT"
        )),
        other => Failure::Arguments(other.to_string()),
    }
}
