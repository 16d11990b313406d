//! The two modes of `hapax dedup` for corpora that several processes clean: write the signatures of one shard, or
//! decide from the signatures of all shards. `hapax apply` does the rest.

use super::{Arguments, Shown, failure, print_summary};
use crate::failure::Failure;
use crate::output;
use crate::progress::say;
use crate::readable::{self, counted};
use hapax_corpus::Shard;
use hapax_dedup::Options;
use hapax_dedup::shards::{dedup_signatures, fingerprint};
use std::path::Path;

/// Writes the signatures of one shard, or of the whole corpus as a single shard.
pub(super) fn write(
    arguments: &Arguments,
    options: &Options,
    folder: &Path,
) -> Result<(), Failure> {
    let shard = arguments.shard.unwrap_or(Shard::WHOLE);
    let mut shown = Shown::start(arguments.reading.quiet);
    let made = fingerprint(&arguments.inputs, shard, folder, options, &mut shown);
    shown.progress.clear();
    let made = made.map_err(failure)?;
    if arguments.json {
        output::print_json(&made)?;
    }
    if !arguments.reading.quiet {
        say(&format!(
            "shard {shard}: {} fingerprinted, {} passed over\n{}",
            counted(made.documents, "document"),
            counted(made.passed_over, "record"),
            readable::path(&made.file),
        ));
    }
    Ok(())
}

/// Decides from signatures, without texts.
pub(super) fn decide(
    arguments: &Arguments,
    options: &Options,
    folder: &Path,
    out: &Path,
) -> Result<(), Failure> {
    let mut shown = Shown::start(arguments.reading.quiet);
    let finished = dedup_signatures(folder, out, options, &mut shown);
    shown.progress.clear();
    print_summary(arguments, &finished.map_err(failure)?)
}
