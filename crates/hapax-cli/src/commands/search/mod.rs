//! `hapax search`: a search index of the user's pages that can fold near-duplicates.
//!
//! - `build` creates an index and adds to it.
//! - `change` removes, restores and deletes documents.
//! - `place` is the location of an index: a folder or a database.
//! - `query` searches, `info` describes.

mod build;
mod change;
mod info;
pub(crate) mod place;
mod query;

use crate::failure::Failure;
use crate::readable;
use clap::{Args, Subcommand};
use hapax_search::policy::Policy;
use hapax_search::rank::scores::Scores;
use std::path::Path;

/// Build, change and query a search index
///
/// The index keeps the words and the signature of every page, so `hapax query-dedup` and `search
/// query --collapse` never read a page again.
#[derive(Args, Debug)]
#[command(after_help = "\
A query is a list of words; pages with more and rarer ones come first. \"several words\" is a
phrase, +word is required, -word is excluded, site:example.org and lang:de narrow the results.

Examples:
  hapax search build crawl/*.warc.gz --out index --scores pagerank.tsv
  hapax search query --index index harbour crane
  hapax search query --index index --collapse \"harbour crane\" site:example.org
  hapax search add new.jsonl --index index
  hapax search remove --index index http://example.org/old
  hapax search info --index index
  hapax search build crawl.parquet --postgres \"host=/run/postgresql dbname=web\"")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: SearchCommand,
}

#[derive(Subcommand, Debug)]
enum SearchCommand {
    Build(Box<build::BuildArguments>),
    Add(Box<build::AddArguments>),
    Query(query::Arguments),
    Remove(change::Arguments),
    Restore(change::RestoreArguments),
    Compact(change::CompactArguments),
    Info(info::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        SearchCommand::Build(arguments) => build::build(arguments),
        SearchCommand::Add(arguments) => build::add(arguments),
        SearchCommand::Query(arguments) => query::run(arguments),
        SearchCommand::Remove(arguments) => change::remove(arguments),
        SearchCommand::Restore(arguments) => change::restore(arguments),
        SearchCommand::Compact(arguments) => change::compact(arguments),
        SearchCommand::Info(arguments) => info::run(arguments),
    }
}

/// Converts an engine's error.
pub(crate) fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::Run(anyhow::Error::new(error))
}

pub(crate) fn policy(path: &Path) -> Result<Policy, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::io("read", path, error))?;
    let named = |error| anyhow::Error::new(error).context(readable::path(path));
    Ok(Policy::from_toml(&text).map_err(named)?)
}

/// Reads a file of scores, if one is named.
pub(crate) fn scores(path: Option<&Path>) -> Result<Option<Scores>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let named = |error| anyhow::Error::new(error).context(readable::path(path));
    Ok(Some(Scores::read(path).map_err(named)?))
}
