//! `hapax partition`: maps pages to machines by their lengths.
//!
//! The crate `hapax-partition` learns, places and evaluates; this module reads documents and writes results.
//!
//! - `pages` reads documents like `hapax dedup`.
//! - `learn`, `route` and `evaluate` are the commands.

mod evaluate;
mod learn;
mod pages;
mod route;

use crate::commands::dedup::similarity;
use crate::failure::Failure;
use clap::{Args, Subcommand};
use hapax_partition::grid::DEFAULT_TAU;

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

/// Which pages may be alike, for learning and for evaluating.
#[derive(Args, Debug)]
struct BoundArguments {
    /// Least Jaccard similarity of shingles; less similar pages need not be compared
    #[arg(long, value_name = "J", default_value_t = DEFAULT_TAU, value_parser = similarity)]
    tau: f64,

    /// Factor that widens the range of lengths [default: what the sample shows, at most
    /// 1.3]
    #[arg(long, value_name = "R")]
    rho: Option<f64>,

    /// Do not split pages by language first
    #[arg(long)]
    one_language: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        PartitionCommand::Learn(arguments) => learn::run(arguments),
        PartitionCommand::Route(arguments) => route::run(arguments),
        PartitionCommand::Evaluate(arguments) => evaluate::run(arguments),
    }
}

/// A setting that the crate refuses is a bad argument.
fn refused(error: hapax_partition::PartitionError) -> Failure {
    use hapax_partition::PartitionError;
    match error {
        PartitionError::NoSample => Failure::Run(anyhow::anyhow!(
            "there are too few pages with words to learn from: give more INPUT"
        )),
        other => Failure::Arguments(other.to_string()),
    }
}
