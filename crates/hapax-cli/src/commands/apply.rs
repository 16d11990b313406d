//! `hapax apply`: writes the documents of a shard that a decision keeps.
//!
//! `hapax dedup` made the decision. This file turns arguments into options of the crate `hapax-dedup` and prints a
//! line with its counts.

use super::dedup::{Shown, failure, shard_size};
use crate::corpus::ReadArguments;
use crate::failure::Failure;
use crate::output;
use crate::progress::say;
use crate::readable::{self, count, counted};
use clap::Args;
use hapax_corpus::Shard;
use hapax_dedup::KeptFormat;
use hapax_dedup::shards::Applying;
use std::num::NonZero;
use std::path::PathBuf;

/// Write the kept documents of a shard
///
/// The last of three steps that clean a corpus with several processes: `hapax dedup --signatures`
/// for every shard, `hapax dedup --from-signatures` once, `hapax apply` for every shard. The kept
/// documents of all shards, in order, are those that one `hapax dedup` writes.
#[derive(Args, Debug)]
#[command(after_help = "\
The output folder, which appears when all is complete, has:
  kept.*         kept documents, in the input's format (such as kept.jsonl or kept.warc.gz)
  summary.json   the counts

Every document must be part of the decision, with the same file name and place; otherwise nothing
is written. Use the reading options of the fingerprinting run.

Examples:
  hapax apply decided crawl/*.warc.gz --shard 3/16 --out clean/3
  hapax apply decided crawl/0007.warc.gz --out clean/0007")]
pub(crate) struct Arguments {
    /// The output folder of `hapax dedup --from-signatures`, or of any `hapax dedup`
    decided: PathBuf,

    /// Files, folders, globs or @lists of files that the decision is about
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,

    /// The folder for results; it must be new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Take only this run of the inputs: the K-th of N, from 0 [default: all]
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,

    /// Write kept documents as jsonl, jsonl.gz, jsonl.zst, parquet, warc, warc.gz or warc.zst
    /// [default: the format of all inputs, if they have one]
    #[arg(long, value_name = "FORMAT")]
    format: Option<KeptFormat>,

    /// Write kept documents to files of about this size, such as 1GB [default: one file]
    #[arg(long, value_name = "SIZE", value_parser = shard_size)]
    shard_size: Option<NonZero<u64>>,

    #[command(flatten)]
    reading: ReadArguments,

    /// Write the summary to standard output, as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let applying = Applying {
        read: arguments.reading.options(),
        shard: arguments.shard,
        threads: arguments.reading.threads(),
        format: arguments.format,
        shard_size: arguments.shard_size,
    };
    let quiet = arguments.reading.quiet;
    let mut shown = Shown::start(quiet);
    let Arguments { decided, inputs, out, .. } = arguments;
    let applied = hapax_dedup::shards::apply(decided, inputs, out, &applying, &mut shown);
    shown.progress.clear();
    let applied = applied.map_err(failure)?;
    if arguments.json {
        output::print_json(&applied)?;
    }
    if !quiet {
        let mut text = format!(
            "{} read · {} kept · {} removed: {} exact, {}",
            counted(applied.documents, "document"),
            count(applied.kept),
            count(applied.exact + applied.near),
            count(applied.exact),
            counted(applied.near, "near-duplicate"),
        );
        for file in &applied.files {
            text.push('\n');
            text.push_str(&readable::path(file));
        }
        say(&text);
    }
    Ok(())
}
