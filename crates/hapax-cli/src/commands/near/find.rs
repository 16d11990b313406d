//! `hapax near find`: queries in, matches out.
//!
//! A search loads the collection into an engine (`load`) or streams the file past the queries (`stream`);
//! unless told otherwise it loads what fits into memory. Exact searches give the same lines either way,
//! whatever the number of threads.

use super::results::Results;
use super::{build, failed, load, stream};
use crate::commands::fingerprint_files::{called, warn_unlabelled};
use crate::commands::near::queries::Queries;
use crate::commands::plan::quantity::bytes;
use crate::commands::plan::{bound, memory, recall};
use crate::failure::Failure;
use crate::inputs::threads;
use crate::output::Output;
use crate::overwriting;
use crate::progress::say;
use crate::readable;
use clap::{Args, ValueEnum};
use hapax::fingerprint::MaxDistance;
use hapax::index::Recall;
use hapax::index::plan::PlanError;
use hapax::join::PairOptions;
use hapax::similarity::DEFAULT_WITHIN;
use hapax_corpus::hpx::{Hpx, HpxError};
use hapax_dedup::Threads;
use hapax_dedup::stages::fingerprints::Form;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

/// Bytes that a stored fingerprint takes while an index is made of it.
const LOADING: u64 = 32;

/// Find what is near: query, match and distance, one line each
#[derive(Args, Debug)]
#[command(after_help = "\
A line is the query's name (or line number), the match's name (or its number in the collection, from 1)
and the distance, with tabs between them; a backslash, tab or line break in a name is written as
\\\\ \\t \\n \\r. Lines come in the order of the queries, nearest match first. With --json each line is a
query with its fingerprint and its matches, and queries without a match are there too.

A collection that fits into memory is loaded into an index, the one that is done first with so many
queries. A larger one is read once past all queries, in memory that does not depend on its size. --mode
forces one of the two.

With --recall below 1 a search may leave matches out. It is quicker, or takes less memory, for
queries with the sums their bits were cut from: `hapax fingerprint --json --sums` writes them. What
answered, and the share it found among matches looked up both ways, is printed at the end. Queries
without sums are answered exactly; among others that have some, with more work than those.")]
pub(super) struct Arguments {
    /// Fingerprints: see `hapax near --help`; `-` for standard input
    #[arg(value_name = "QUERIES")]
    queries: PathBuf,

    /// The collection, a .hpx file
    #[arg(long, value_name = "FILE")]
    index: PathBuf,

    /// How many bits a match may differ in, inclusive
    #[arg(long, value_name = "K", value_parser = bound, default_value_t = WITHIN)]
    within: MaxDistance,

    /// Share of the matches that must be found, above 0 and up to 1
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = recall)]
    recall: Recall,

    /// Some match of each query, which need not be the nearest, instead of all
    #[arg(long)]
    first: bool,

    /// Load the collection, stream it, or choose
    #[arg(long, value_enum, default_value_t = Mode::Auto)]
    mode: Mode,

    /// About how much memory an index or a pass may take: 2GB, 512MiB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,

    /// Add the queries to the collection afterwards; it is made if there is none
    #[arg(long)]
    add: bool,

    /// QUERIES are 8 bytes each, little-endian
    #[arg(long)]
    binary: bool,

    /// One JSON object a line
    #[arg(long)]
    json: bool,

    /// Write to a file, which appears when it is complete
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    replacing: overwriting::Replacing,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZeroUsize>,

    /// No summary and no warnings; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

/// The engine's default, as a bound.
const WITHIN: MaxDistance = match MaxDistance::new(DEFAULT_WITHIN) {
    Some(within) => within,
    None => panic!("at most 64 bits"),
};

/// How a collection is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Load what fits into --memory, or into half of this machine's
    Auto,
    /// An index in memory
    Load,
    /// The file read past the queries
    Stream,
}

/// What is asked of either.
pub(super) struct Asked {
    pub(super) within: MaxDistance,
    pub(super) recall: Recall,
    pub(super) first: bool,
    pub(super) memory: Option<u64>,
}

/// Runs the command.
///
/// # Errors
///
/// The collection or the queries are bad, were made by different recipes, or results cannot be
/// written.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let started = Instant::now();
    let read_here = [&arguments.queries, &arguments.index];
    overwriting::refuse("--out", arguments.out.as_deref(), read_here)?;
    arguments.replacing.check("--out", arguments.out.as_deref())?;
    let stored = stored(arguments)?;
    let form = if arguments.binary { Form::Binary } else { Form::Recognized };
    let queries = Queries::read(&arguments.queries, form, arguments.recall < Recall::ALL)?;
    if let Some(stored) = &stored {
        check_recipes(arguments, stored, &queries)?;
    }
    let output = Output::open(arguments.out.as_deref())?;
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

/// The collection, which may be absent when it is to be made.
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

/// Fingerprints of different recipes are refused; a side that states none is a warning.
fn check_recipes(arguments: &Arguments, stored: &Hpx, queries: &Queries) -> Result<(), Failure> {
    let path = readable::path(&arguments.index);
    match (stored.recipe(), queries.recipe()) {
        _ if stored.is_empty() || queries.len() == 0 => {}
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

/// Searches by the mode asked for, or the cheaper one; how, queries with a match, and matches.
fn search(
    arguments: &Arguments,
    stored: &Hpx,
    queries: &Queries,
    output: Output,
) -> Result<(String, (u64, u64)), Failure> {
    let Arguments { within, recall, first, memory, .. } = *arguments;
    let asked = Asked { within, recall, first, memory };
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = arguments.threads.unwrap_or_else(all);
    let mut results = Results::new(queries, stored, output, arguments.json);
    let streams = match arguments.mode {
        Mode::Auto => must_stream(&asked, stored.len(), queries),
        Mode::Load => false,
        Mode::Stream => true,
    };
    if !streams {
        return load::search(&asked, queries, stored, threads, results);
    }
    let stated = (recall < Recall::ALL).then_some(1.0);
    results = results.recall(stated);
    let threads = Threads::new(threads).map_err(anyhow::Error::new)?;
    let mut described = stream::search(&asked, queries, stored, &threads, &mut results)?;
    if stated.is_some() {
        described.push_str(", which finds every match");
        described.push_str(if queries.any_sums() { "" } else { load::NEED_SUMS });
    }
    Ok((described, results.finish()?))
}

/// Is there no index that fits into memory? One that does is quicker than reading the file past the
/// queries, which buckets all of it for every key.
fn must_stream(asked: &Asked, stored: u64, queries: &Queries) -> bool {
    // Joins are exact up to a bound only.
    if PairOptions::within(asked.within).is_err() {
        return false;
    }
    match load::planned(asked, stored, queries) {
        Ok(plan) => {
            let needed = plan.choice().total_bytes.saturating_add(stored.saturating_mul(LOADING));
            let there = memory::of_this_machine().unwrap_or(u64::MAX) / 2;
            asked.memory.is_none() && needed > there
        }
        Err(refused) => matches!(refused, PlanError::Memory { .. }),
    }
}
