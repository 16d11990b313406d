//! `hapax near find`: prints the matches of queries.
//!
//! `hapax_dedup::stages::searching` predicts the fastest method and searches. All exact methods print the same lines,
//! for any number of threads.

use super::results::Results;
use super::{build, failed};
use crate::commands::fingerprint_files::{called, queries, warn_unlabelled};
use crate::commands::plan::quantity::bytes;
use crate::commands::plan::{bound, memory, recall};
use crate::corpus::{or_all_cores, threads};
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::overwriting::ResultFile;
use crate::progress::say;
use crate::readable;
use clap::{Args, ValueEnum};
use hapax::fingerprint::MaxDistance;
use hapax::index::Recall;
use hapax::index::plan::Ways;
use hapax::similarity::Policy;
use hapax_corpus::hpx::{Hpx, HpxError};
use hapax_dedup::stages::fingerprints::Form;
use hapax_dedup::stages::searching::{self, Answers, Asked, Queries, SearchError, ways};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

/// Find near fingerprints: query, match and distance, one line each
#[derive(Args, Debug)]
#[command(after_help = "\
A line is the query's name (or line number), the match's name (or its number in the collection,
from 1) and the distance, with tabs between them; a backslash, tab or line break in a name is
written as \\\\ \\t \\n \\r. Lines are in the order of the queries, nearest match first. With
--json each line is a query with its fingerprint and its matches, including queries without a
match.

A collection is loaded into an index, or streamed past all queries in memory that does not depend
on its size, whichever is predicted to finish first within --memory. --mode forces one of the two,
and --verbose prints the predictions.

With --recall below 1 a search may miss matches. An index then takes about 10 bytes of memory a
stored page, for queries with their bit sums, which `hapax fingerprint --json --sums` writes. The
engine, and the share it found of matches searched both ways, are printed at the end. Queries
without sums are answered exactly, at a higher cost.

Examples:
  hapax near find new.jsonl --index crawl.hpx --within 3
  hapax near find day2.parquet --index crawl.hpx --add
  hapax fingerprint new/ --json --sums | hapax near find - --index crawl.hpx --recall 0.95")]
pub(super) struct Arguments {
    /// Fingerprints: see `hapax near --help`; `-` for standard input
    #[arg(value_name = "QUERIES")]
    queries: PathBuf,

    /// The collection, a .hpx file
    #[arg(long, value_name = "FILE")]
    index: PathBuf,

    /// Bits in which a match may differ, inclusive
    #[arg(long, value_name = "K", value_parser = bound, default_value_t = Policy::default().within)]
    within: MaxDistance,

    /// Share of the matches that must be found, above 0 and up to 1
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = recall)]
    recall: Recall,

    /// One match of each query, not necessarily the nearest, instead of all
    #[arg(long)]
    first: bool,

    /// Load the collection, stream it, or choose
    #[arg(long, value_enum, default_value_t = Mode::Auto)]
    mode: Mode,

    /// Approximate memory for an index or a pass, such as 2GB or 512MiB [default for an index: half of
    /// this machine's, 12 bytes a page with --recall]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,

    /// Add the queries to the collection afterwards; it is created if it does not exist
    #[arg(long)]
    add: bool,

    /// QUERIES are 8 bytes each, little-endian
    #[arg(long)]
    binary: bool,

    /// One JSON object a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    out: ResultFile,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZeroUsize>,

    /// Print the predicted cost of loading and streaming; with --json as an object
    #[arg(long, short)]
    verbose: bool,

    /// No summary and no warnings; errors are still printed
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
}

/// How a collection is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The one predicted to finish first
    Auto,
    /// An index in memory
    Load,
    /// The file read past the queries
    Stream,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let started = Instant::now();
    arguments.out.check([&arguments.queries, &arguments.index])?;
    let stored = stored(arguments)?;
    let form = if arguments.binary { Form::Binary } else { Form::Recognized };
    let queries = queries(&arguments.queries, form, arguments.recall < Recall::ALL)?;
    if let Some(stored) = &stored {
        check_recipes(arguments, stored, &queries)?;
    }
    let output = arguments.out.open()?;
    let (described, (matched, matches)) = match &stored {
        Some(stored) => search(arguments, stored, &queries, output)?,
        None => output.finish().map(|()| ("nothing was stored yet".to_owned(), (0, 0)))?,
    };
    let added =
        arguments.add.then(|| build::add_queries(&arguments.index, &queries)).transpose()?;
    if !arguments.quiet {
        say(&format!(
            "{}, {} with a match, {} in {:.2} s; {described}",
            readable::counted(queries.len() as u64, "query"),
            readable::count(matched),
            readable::counted(matches, "match"),
            started.elapsed().as_secs_f64(),
        ));
        match added {
            Some(added) => say(&build::summary(&arguments.index, &added, queries.without)),
            None if queries.without > 0 => say(&format!(
                "{} without a fingerprint left out",
                readable::counted(queries.without, "query")
            )),
            None => {}
        }
    }
    Ok(())
}

/// The collection, which may be missing if it is to be created.
fn stored(arguments: &Arguments) -> Result<Option<Hpx>, Failure> {
    match Hpx::open(&arguments.index) {
        Ok(stored) => Ok(Some(stored)),
        Err(HpxError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound && arguments.add =>
        {
            Ok(None)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Refuses fingerprints of different recipes; warns if one side states none.
fn check_recipes(arguments: &Arguments, stored: &Hpx, queries: &Queries) -> Result<(), Failure> {
    let path = readable::path(&arguments.index);
    match (stored.recipe(), queries.recipe()) {
        _ if stored.is_empty() || queries.is_empty() => {}
        ("", _) if !arguments.quiet => warn_unlabelled(&path),
        (_, None) if !arguments.quiet => warn_unlabelled(&called(&arguments.queries)),
        ("", _) | (_, None) => {}
        (stored, Some(given)) if stored != given => {
            let (stored, given) = (stored.to_owned(), given.to_owned());
            return Err(failed(HpxError::Recipe { path, stored, given }));
        }
        _ => {}
    }
    Ok(())
}

/// Searches with the requested or the cheapest method; returns it with the numbers of queries with
/// a match and of matches.
fn search(
    arguments: &Arguments,
    stored: &Hpx,
    queries: &Queries,
    output: Output,
) -> Result<(String, (u64, u64)), Failure> {
    let Arguments { within, recall, first, memory, .. } = *arguments;
    let machine = memory::of_this_machine();
    let asked = Asked { within, recall, first, memory, machine };
    let ways = ways(&asked, stored.len(), queries);
    let streams = match arguments.mode {
        Mode::Auto => ways.streams(),
        Mode::Load => false,
        Mode::Stream => true,
    };
    if arguments.verbose {
        explain(arguments, &ways, streams)?;
    }
    let mut results = Results::new(queries, stored, output, arguments.json);
    let threads = or_all_cores(arguments.threads);
    let mut take = |answers: Answers<'_>| results.write(&answers);
    let how = searching::search(&asked, queries, stored, &ways, streams, threads, &mut take)?;
    Ok((how, results.finish()?))
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Stored(error) => failed(error),
            other => Self::Run(anyhow::Error::new(other)),
        }
    }
}

/// Prints the chosen method with the reason.
fn explain(arguments: &Arguments, ways: &Ways, streams: bool) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Explained<'a> {
        mode: &'static str,
        reason: &'a str,
        load_seconds: Option<f64>,
        load_bytes: Option<u64>,
        stream_seconds: Option<f64>,
    }
    let mode = if streams { "stream" } else { "load" };
    let mut reason = ways.reason();
    if arguments.mode != Mode::Auto {
        reason.insert_str(0, "--mode says so; ");
    }
    if arguments.json {
        let load = ways.load.as_ref().ok();
        let explained = Explained {
            mode,
            reason: &reason,
            load_seconds: load.map(|load| load.seconds),
            load_bytes: load.map(|load| load.bytes),
            stream_seconds: ways.stream.as_ref().ok().copied(),
        };
        say(&output::json(&explained)?);
    } else {
        say(&format!("mode {mode}: {reason}"));
    }
    Ok(())
}
