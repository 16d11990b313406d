//! `hapax near build` and `hapax near add`: write fingerprints in any format to a `.hpx` file.
//!
//! Documents are written as they are read; memory does not grow with their number, except 16 bytes per document of an
//! input `.hpx` file.

use super::failed;
use crate::commands::fingerprint_files::{called, each, warn_unlabelled};
use crate::failure::Failure;
use crate::leftovers::Making;
use crate::output::Growing;
use crate::overwriting;
use crate::progress::say;
use crate::readable;
use clap::Args;
use hapax_corpus::hpx::{Appended, Appender};
use hapax_dedup::stages::fingerprints::{Form, Listed};
use hapax_dedup::stages::searching::Queries;
use std::path::{Path, PathBuf};

/// Make a collection of fingerprints
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax near build day1.jsonl --out crawl.hpx
  hapax near build prints.bin --binary --out prints.hpx")]
pub(super) struct Build {
    #[command(flatten)]
    input: Input,

    /// The .hpx file, which appears when it is complete
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    #[command(flatten)]
    replacing: overwriting::Replacing,
}

/// Add fingerprints to a collection
///
/// A killed run leaves the collection as it was.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax near add day2.jsonl --index crawl.hpx")]
pub(super) struct Add {
    #[command(flatten)]
    input: Input,

    /// The .hpx file; it is created if it does not exist
    #[arg(long, value_name = "FILE")]
    index: PathBuf,
}

#[derive(Args, Debug)]
struct Input {
    /// Fingerprints: see `hapax near --help`; `-` for standard input
    #[arg(value_name = "FINGERPRINTS")]
    path: PathBuf,

    /// FINGERPRINTS are 8 bytes each, little-endian
    #[arg(long)]
    binary: bool,

    /// No summary and no warnings; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn build(arguments: &Build) -> Result<(), Failure> {
    overwriting::refuse("--out", Some(&arguments.out), [&arguments.input.path])?;
    arguments.replacing.check("--out", Some(&arguments.out))?;
    let growing = Growing::of(&arguments.out)?;
    let create = |recipe: &str| Appender::create(growing.path(), recipe).map_err(failed);
    let line = write(&arguments.input, &arguments.out, &create)?;
    growing.finish()?;
    line.iter().for_each(|line| say(line));
    Ok(())
}

pub(super) fn add(arguments: &Add) -> Result<(), Failure> {
    overwriting::refuse("--index", Some(&arguments.index), [&arguments.input.path])?;
    let open = |recipe: &str| append_to(&arguments.index, recipe);
    let line = write(&arguments.input, &arguments.index, &open)?;
    line.iter().for_each(|line| say(line));
    Ok(())
}

/// Opens a collection for appending.
fn append_to(path: &Path, recipe: &str) -> Result<Appender, Failure> {
    if path.to_str().is_some_and(hapax_corpus::is_address) {
        return Err(Failure::Arguments(format!(
            "--index {}: a collection is extended in place, which an object cannot be; extend a local file",
            readable::path(path)
        )));
    }
    Appender::open(path, recipe).map_err(failed)
}

/// Writes a collection; returns the summary to print.
fn write(
    input: &Input,
    to: &Path,
    open: &dyn Fn(&str) -> Result<Appender, Failure>,
) -> Result<Option<String>, Failure> {
    let form = if input.binary { Form::Binary } else { Form::Recognized };
    let (mut appender, mut making) = (None, None);
    let (mut without, mut labelled) = (0u64, false);
    each(&input.path, form, &mut |recipe, Listed { name, fingerprint, .. }| {
        labelled |= recipe.is_some();
        let Some(fingerprint) = fingerprint else {
            without += 1;
            return Ok(());
        };
        let appender = match &mut appender {
            Some(appender) => appender,
            // The first document determines the recipe.
            nothing => {
                let recipe = recipe.unwrap_or_default();
                let (opened, temporary) = Making::of(|| open(recipe), Appender::temporaries)?;
                making = Some(temporary);
                nothing.insert(opened)
            }
        };
        appender.push(fingerprint.to_bits(), name.as_deref()).map(drop).map_err(failed)
    })?;
    let appender = match appender {
        Some(appender) => appender,
        None => open("")?,
    };
    let stated = !appender.recipe().is_empty();
    let appended = appender.finish().map_err(failed)?;
    drop(making);
    if input.quiet {
        return Ok(None);
    }
    if !labelled && appended.added > 0 {
        warn_unlabelled(&called(&input.path));
    } else if labelled && !stated {
        warn_unlabelled(&readable::path(to));
    }
    Ok(Some(summary(to, &appended, without)))
}

/// Adds queries to a collection, which is created if it does not exist.
pub(super) fn add_queries(path: &Path, queries: &Queries) -> Result<Appended, Failure> {
    let recipe = queries.recipe().unwrap_or_default();
    let open = || append_to(path, recipe);
    let (mut appender, _making) = Making::of(open, Appender::temporaries)?;
    for (number, &fingerprint) in queries.fingerprints().iter().enumerate() {
        appender.push(fingerprint, queries.name(number)).map_err(failed)?;
    }
    appender.finish().map_err(failed)
}

pub(super) fn summary(path: &Path, appended: &Appended, without: u64) -> String {
    let mut line = format!(
        "{}: {} added, {} now in {}, {}",
        readable::path(path),
        readable::count(appended.added),
        readable::counted(appended.documents, "fingerprint"),
        readable::counted(appended.runs as u64, "run"),
        readable::bytes(appended.bytes),
    );
    if without > 0 {
        line.push_str(&format!("; {} without a fingerprint left out", readable::count(without)));
    }
    line
}
