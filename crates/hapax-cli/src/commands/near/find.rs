//! `hapax near find`: queries in, matches out.
//!
//! `engine` says what answers: the file as it is, or what is built from it first. Batches of queries go to all cores; results come in the order of the queries, then by
//! distance, then by id, whatever the number of threads.

use super::engine::{Wanted, choose, query};
use super::index_file::{names, names_path, stated, view};
use super::names::Names;
use super::records::{Form, Record, Records, Sums, read, read_all};
use crate::commands::plan::quantity::bytes;
use crate::commands::plan::{bound, recall};
use crate::failure::Failure;
use crate::inputs::threads;
use crate::output::Output;
use crate::overwriting;
use crate::pipeline::{Work, in_order};
use crate::progress::say;
use crate::readable;
use clap::Args;
use hapax::fingerprint::MaxDistance;
use hapax::index::segment::SegmentView;
use hapax::index::{HammingIndex, Match, Query, Recall};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

/// Batches for each thread, so that none waits long for another.
const BATCHES: usize = 4;

/// Queries of a batch.
const BATCH: std::ops::RangeInclusive<usize> = 64..=1 << 16;

/// Find what is near: query, match and distance, one line each
#[derive(Args, Debug)]
#[command(after_help = "\
A line is the query's name (or line number), the match's name (or id) and the distance, with tabs
between them; a backslash, tab or line break in a name is written as \\\\ \\t \\n \\r. Lines come in
the order of the queries, nearest match first. With --json each line is a query with its
fingerprint and its matches, and queries without a match are there too.

With --recall below 1 a search may leave matches out. It is quicker, or takes less memory, for
queries with the sums their bits were cut from: `hapax fingerprint --json --sums` writes them. What
answered, and the share it found among matches looked up both ways, is told at the end. Queries
without sums are answered exactly; among others that have some, with more work than those.")]
pub(super) struct Arguments {
    /// Fingerprints: see `hapax near --help`; `-` for standard input
    #[arg(value_name = "QUERIES")]
    queries: PathBuf,

    /// What `hapax near build` made
    #[arg(long, value_name = "FILE")]
    index: PathBuf,

    /// How many bits a match may differ in, inclusive
    #[arg(long, value_name = "K", value_parser = bound, default_value = "3")]
    within: MaxDistance,

    /// Share of the matches that must be found, above 0 and up to 1
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = recall)]
    recall: Recall,

    /// Some match of each query, which need not be the nearest, instead of all
    #[arg(long)]
    first: bool,

    /// How much memory an engine may take beside the file: 2GB, 512MiB [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,

    /// QUERIES are 8 bytes each, little-endian
    #[arg(long)]
    binary: bool,

    /// One JSON object a line
    #[arg(long)]
    json: bool,

    /// Write to a file, which appears when it is complete
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZeroUsize>,

    /// No summary; errors are still told
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
///
/// # Errors
///
/// The index or the queries are bad, were made by different recipes, or results cannot be
/// written.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let started = Instant::now();
    let read_here = [&arguments.queries, &arguments.index, &names_path(&arguments.index)];
    overwriting::refuse("--out", arguments.out.as_deref(), read_here)?;
    let bytes = read_all(&arguments.index)?;
    let view = view(&arguments.index, &bytes)?;
    let names = names(&arguments.index, &view)?;
    let form = if arguments.binary { Form::Binary } else { Form::Text };
    let sums = if arguments.recall < Recall::ALL { Sums::Kept } else { Sums::Checked };
    let queries = read(&arguments.queries, form, sums)?;
    check_recipe(&view, &queries)?;

    let Arguments { within, recall, first, memory, .. } = *arguments;
    let chosen = choose(&Wanted { within, recall, first, memory }, &view, &queries.all)?;
    let index: &(dyn HammingIndex + Sync) = match &chosen.built {
        Some(built) => &**built,
        None => &view,
    };
    let threads = arguments
        .threads
        .or_else(|| std::thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let batch = queries.all.len().div_ceil(threads * BATCHES).clamp(*BATCH.start(), *BATCH.end());
    let stated = (recall < Recall::ALL).then_some(chosen.recall);
    let search = Search { index, names: names.as_ref(), recall: stated, arguments };
    let mut output = Output::open(arguments.out.as_deref())?;
    let (mut matched, mut matches) = (0, 0);
    in_order(&mut queries.all.chunks(batch), vec![search; threads], |found: Found| {
        matched += found.matched;
        matches += found.matches;
        output.write(&found.lines?)
    })?;
    output.finish()?;
    if !arguments.quiet {
        say(&format!(
            "{}, {} with a match, {} in {:.2} s; {}",
            readable::counted(queries.all.len() as u64, "query"),
            readable::count(matched),
            readable::counted(matches, "match"),
            started.elapsed().as_secs_f64(),
            chosen.told,
        ));
    }
    Ok(())
}

/// Fingerprints of different recipes are not comparable. Where one side states none, the user
/// answers for it.
fn check_recipe(view: &SegmentView<'_>, queries: &Records) -> Result<(), Failure> {
    match &queries.recipe {
        Some(recipe) if stated(view).is_some() => {
            view.must_be(recipe).map_err(|error| Failure::Run(error.into()))
        }
        _ => Ok(()),
    }
}

/// One thread.
#[derive(Clone, Copy)]
struct Search<'a> {
    index: &'a (dyn HammingIndex + Sync),
    names: Option<&'a Names>,
    /// The share of the matches that is found, when not all were asked for.
    recall: Option<f64>,
    arguments: &'a Arguments,
}

/// What became of a batch.
struct Found {
    lines: Result<Vec<u8>, Failure>,
    matched: u64,
    matches: u64,
}

impl<'a> Work for Search<'a> {
    type Item = &'a [Record];
    type Out = Found;

    fn work(&mut self, batch: Self::Item) -> Found {
        let (mut matched, mut matches) = (0, 0);
        let lines = self.answer(batch, |found| {
            matched += u64::from(!found.is_empty());
            matches += found.len() as u64;
        });
        Found { lines, matched, matches }
    }
}

impl Search<'_> {
    fn answer(
        &self,
        batch: &[Record],
        mut count: impl FnMut(&[Match]),
    ) -> Result<Vec<u8>, Failure> {
        let queries: Vec<Query<'_>> = batch.iter().map(query).collect();
        let within = self.arguments.within;
        let mut lines = Vec::new();
        let mut line = |record: &Record, found: &[Match]| {
            count(found);
            if self.arguments.json {
                self.json(&mut lines, record, found)
            } else {
                self.plain(&mut lines, record, found);
                Ok(())
            }
        };
        if self.arguments.first {
            let first =
                self.index.find_first_batch(&queries, within).map_err(anyhow::Error::new)?;
            for (record, found) in batch.iter().zip(&first) {
                line(record, found.as_slice())?;
            }
        } else {
            let all = self.index.find_all_batch(&queries, within).map_err(anyhow::Error::new)?;
            for (record, found) in batch.iter().zip(all.iter()) {
                line(record, found)?;
            }
        }
        Ok(lines)
    }

    fn plain(&self, lines: &mut Vec<u8>, record: &Record, found: &[Match]) {
        for m in found {
            match &record.name {
                Some(name) => push_escaped(lines, name),
                None => lines.extend_from_slice(record.line.to_string().as_bytes()),
            }
            lines.push(b'\t');
            match self.name(m.id) {
                Some(name) => push_escaped(lines, name),
                None => lines.extend_from_slice(m.id.to_string().as_bytes()),
            }
            lines.extend_from_slice(format!("\t{}\n", m.distance).as_bytes());
        }
    }

    fn json(&self, lines: &mut Vec<u8>, record: &Record, found: &[Match]) -> Result<(), Failure> {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let matches = found.iter().map(|m| MatchRecord {
            id: m.id,
            name: self.name(m.id).map(text),
            distance: m.distance,
        });
        let query = QueryRecord {
            query: record.name.as_deref().map_or_else(|| record.line.to_string(), text),
            fingerprint: record.fingerprint.to_string(),
            recall: self.recall,
            matches: matches.collect(),
        };
        serde_json::to_writer(&mut *lines, &query).map_err(anyhow::Error::new)?;
        lines.push(b'\n');
        Ok(())
    }

    fn name(&self, id: u64) -> Option<&[u8]> {
        self.names.and_then(|names| names.get(id))
    }
}

#[derive(Serialize)]
struct QueryRecord {
    query: String,
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    recall: Option<f64>,
    matches: Vec<MatchRecord>,
}

#[derive(Serialize)]
struct MatchRecord {
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    distance: u32,
}

fn push_escaped(line: &mut Vec<u8>, name: &[u8]) {
    for &byte in name {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            b'\t' => line.extend_from_slice(b"\\t"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            _ => line.push(byte),
        }
    }
}
