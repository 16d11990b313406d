//! `hapax match`: a batch of queries against a file larger than memory.
//!
//! - `queries` reads the batch and keeps it small.
//! - `search` chooses the method and streams the file past the batch.
//! - `made` is the file as the output of another command.
//! - `results` finds the names of what was found and writes lines.

pub(crate) mod made;
mod queries;
mod results;
mod search;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use hapax::fingerprint::MaxDistance;
use hapax::index::Recall;
use hapax_corpus::hpx::{Appended, Appender, Hpx, HpxError};
use hapax_dedup::Threads;

use self::queries::Queries;
use self::search::{Search, Searched};
use crate::commands::plan::bound;
use crate::commands::plan::quantity::bytes;
use crate::failure::Failure;
use crate::output::Output;
use crate::overwriting;
use crate::progress::say;
use crate::readable;

/// Match a batch of fingerprints against a file larger than memory
///
/// The file streams by once while all cores search. Every match within the bound is found, or with
/// --recall the stated share of them by weak bits, where the queries come with them.
#[derive(Args, Debug)]
#[command(after_help = "\
QUERIES are lines of a fingerprint (16 hexadecimal digits, 0x and up to 16, or a decimal number) and
perhaps a name, what `hapax fingerprint` writes, with or without --json, or a .hpx file. Weak bits come
with --json lines only; batches without them are matched exactly, whatever --recall says.

A line is the query's name (or line number), the document's name (or number in the file, from 0) and
the distance, with tabs between them; a backslash, tab or line break in a name is written as \\\\ \\t \\n
\\r. With --json, objects of query, document and distance. Lines come in the order of the queries,
nearest match first. Of documents that share a fingerprint, the first 32 are told.

Examples:
  hapax match day1.jsonl --against crawl.hpx --append      makes crawl.hpx if there is none
  hapax match day2.jsonl --against crawl.hpx --append      what of day 2 was there on day 1
  hapax match day2.jsonl --against crawl.hpx --first --recall 0.95")]
pub(crate) struct Arguments {
    /// Fingerprints, or `-` for standard input
    #[arg(value_name = "QUERIES")]
    queries: PathBuf,

    /// The stored fingerprints, a .hpx file
    #[arg(long, value_name = "FILE")]
    against: PathBuf,

    /// How many bits a match may differ in, 0 to 16, inclusive
    #[arg(long, value_name = "K", value_parser = bound, default_value = "3")]
    within: MaxDistance,

    /// Some match of each query instead of all; reading stops when every query has one
    #[arg(long)]
    first: bool,

    /// The share of the matches to be found, above 0 and up to 1
    #[arg(long, value_name = "R", value_parser = recall, default_value = "1")]
    recall: Recall,

    /// About how much memory to take: 2GB, 512MiB; the file is read more than once if the batch
    /// does not fit [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,

    /// Add the queries to FILE afterwards; it is made if there is none
    #[arg(long)]
    append: bool,

    /// One JSON object a line
    #[arg(long)]
    json: bool,

    /// Write to a file, which appears when it is complete
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = crate::inputs::threads)]
    threads: Option<NonZeroUsize>,

    /// No summary; errors are still told
    #[arg(long, short)]
    quiet: bool,
}

fn recall(text: &str) -> Result<Recall, String> {
    let recall = text.parse().ok().and_then(Recall::new);
    recall.ok_or_else(|| "recall is a number above 0 and up to 1".to_owned())
}

/// Runs the command.
///
/// # Errors
///
/// The file or the queries are bad or of different recipes, or results cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let started = Instant::now();
    let read_here = [&arguments.queries, &arguments.against];
    overwriting::refuse("--out", arguments.out.as_deref(), read_here)?;
    let stored = stored(arguments)?;
    let queries = Queries::read(&arguments.queries)?;
    if let Some(stored) = &stored {
        check_recipe(&arguments.against, stored, &queries)?;
    }
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads =
        Threads::new(arguments.threads.unwrap_or_else(all)).map_err(anyhow::Error::new)?;
    let mut output = Output::open(arguments.out.as_deref())?;
    let mut told = String::from("nothing was stored yet");
    let (mut matched, mut matches) = (0, 0);
    if let Some(stored) = &stored {
        let search = Search {
            within: arguments.within,
            first: arguments.first,
            recall: arguments.recall,
            memory: arguments.memory,
        };
        let searched = search.run(&queries, stored, &threads)?;
        let rows = results::rows(&searched, stored, arguments.first)?;
        matches = rows.len() as u64;
        matched = rows.chunk_by(|a, b| a.query == b.query).count() as u64;
        results::write(&rows, &queries, stored, arguments.json, &mut output)?;
        told = told_of(&searched);
    }
    output.finish()?;
    let appended = arguments.append.then(|| append(&arguments.against, &queries)).transpose()?;
    if !arguments.quiet {
        say(&format!(
            "{}, {} with a match, {} in {:.2} s; {told}",
            readable::counted(queries.len() as u64, "query"),
            readable::count(matched),
            readable::counted(matches, "match"),
            started.elapsed().as_secs_f64(),
        ));
        if queries.without > 0 {
            say(&format!("{} without a fingerprint left out", readable::count(queries.without)));
        }
        if let Some(appended) = appended {
            say(&appended_line(&arguments.against, &appended));
        }
    }
    Ok(())
}

/// The file, which may be absent when it is to be made.
fn stored(arguments: &Arguments) -> Result<Option<Hpx>, Failure> {
    match Hpx::open(&arguments.against) {
        Ok(stored) => Ok(Some(stored)),
        Err(HpxError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound && arguments.append =>
        {
            Ok(None)
        }
        Err(error) => Err(failed(error)),
    }
}

fn failed(error: HpxError) -> Failure {
    Failure::Run(anyhow::Error::new(error))
}

/// Fingerprints of different recipes are not comparable. Where one side states none, the user
/// answers for it.
fn check_recipe(path: &Path, stored: &Hpx, queries: &Queries) -> Result<(), Failure> {
    match queries.recipe() {
        Some(given) if !stored.recipe().is_empty() && stored.recipe() != given => {
            let (path, stored) = (readable::path(path), stored.recipe().to_owned());
            Err(failed(HpxError::Recipe { path, stored, given }))
        }
        _ => Ok(()),
    }
}

fn append(path: &Path, queries: &Queries) -> Result<Appended, Failure> {
    let recipe = queries.recipe().unwrap_or_default();
    let mut appender = Appender::open(path, &recipe).map_err(failed)?;
    for (number, &fingerprint) in queries.fingerprints().iter().enumerate() {
        appender.push(fingerprint, queries.name(number)).map_err(failed)?;
    }
    appender.finish().map_err(failed)
}

fn told_of(searched: &Searched) -> String {
    let seconds = searched.streaming.as_secs_f64().max(1e-9);
    let read = readable::bytes(searched.bytes_read);
    let speed = searched.bytes_read as f64 * 1e-6 / seconds;
    let method = &searched.method;
    let times = match searched.passes {
        1 => String::new(),
        passes => format!(" in {passes} passes"),
    };
    format!("{method}; read {read}{times} at {speed:.0} MB/s")
}

fn appended_line(path: &Path, appended: &Appended) -> String {
    format!(
        "{}: {} added, {} now in {}, {}",
        readable::path(path),
        readable::count(appended.added),
        readable::counted(appended.documents, "document"),
        readable::counted(appended.runs as u64, "run"),
        readable::bytes(appended.bytes),
    )
}
