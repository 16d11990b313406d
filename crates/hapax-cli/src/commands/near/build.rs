//! `hapax near build`: fingerprints in, an index file out.
//!
//! The file is a segment of the engine. Ids are what a match is called by: a second column of
//! whole numbers is taken as it is; other names go into a file beside the index, and ids count
//! them from 0; without names an id is the line, counted from 1.

use super::index_file::{names_path, recipe_or_unstated};
use super::names::{self, is_names};
use super::records::{Form, Record, Records, Sums, read};
use crate::commands::plan::{bound, recall};
use crate::failure::Failure;
use crate::output::Output;
use crate::overwriting;
use crate::progress::say;
use crate::readable;
use clap::Args;
use hapax::fingerprint::MaxDistance;
use hapax::index::plan::{Machine, Request, plan};
use hapax::index::segment::{Encoding, Segment, SegmentEngine, SegmentView};
use hapax::index::{Entry, Recall};
use std::path::{Path, PathBuf};

/// Make an index of fingerprints
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Fingerprints: see `hapax near --help`; `-` for standard input
    #[arg(value_name = "FINGERPRINTS")]
    input: PathBuf,

    /// The index, which appears when it is complete; names go to FILE.names
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// The distance you are going to ask for, to be told what a search will take; the index
    /// answers any
    #[arg(long, value_name = "K", value_parser = bound, default_value = "3")]
    within: MaxDistance,

    /// The share of the matches you are going to ask for, likewise
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = recall)]
    recall: Recall,

    /// FINGERPRINTS are 8 bytes each, little-endian
    #[arg(long)]
    binary: bool,

    /// A smaller file that is slower to search in place
    #[arg(long)]
    compressed: bool,

    /// No summary; errors are still told
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
///
/// # Errors
///
/// The input is bad, two fingerprints have the same id, or the index cannot be written.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let beside = names_path(&arguments.out);
    for out in [&arguments.out, &beside] {
        overwriting::refuse("--out", Some(out), [&arguments.input])?;
    }
    let form = if arguments.binary { Form::Binary } else { Form::Text };
    let records = read(&arguments.input, form, Sums::Checked)?;
    let bad = |wrong: anyhow::Error| Failure::Run(wrong.context(readable::path(&arguments.input)));
    let (entries, naming) = entries(&records).map_err(|wrong| bad(anyhow::anyhow!(wrong)))?;
    let engine = SegmentEngine::Scan;
    let segment = Segment::build(entries, engine, arguments.within).map_err(|e| bad(e.into()))?;
    let encoding = if arguments.compressed { Encoding::Compressed } else { Encoding::Plain };
    let recipe = recipe_or_unstated(records.recipe.as_ref())?;
    let bytes = segment.to_bytes(&recipe, encoding).map_err(|e| bad(e.into()))?;
    let view = SegmentView::open(&bytes).map_err(|e| bad(e.into()))?;

    let mut index = Output::open(Some(&arguments.out))?;
    index.write(&bytes)?;
    match naming {
        Naming::Beside => {
            let all = records.all.iter().filter_map(|record| record.name.as_deref());
            let mut names = Output::open(Some(&beside))?;
            names.write(&names::encode(view.identity(), all))?;
            // Both are complete before either appears; names of another index are refused.
            names.finish()?;
            index.finish()?;
        }
        Naming::Ids | Naming::Lines => {
            index.finish()?;
            remove_names(&beside)?;
        }
    }
    if !arguments.quiet {
        say(&summary(&records, &view, bytes.len(), naming));
        let request =
            Request::new(records.all.len() as u64, arguments.within).recall(arguments.recall);
        if let Ok(plan) = plan(&request, &Machine::typical()) {
            say(&format!("many queries within {}: {}", arguments.within, plan.reason));
        }
    }
    Ok(())
}

/// What a match is called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// The second column, all whole numbers.
    Ids,
    /// The second column, in a file beside the index.
    Beside,
    /// The line.
    Lines,
}

fn entries(records: &Records) -> Result<(Vec<Entry>, Naming), String> {
    let named = records.all.iter().filter(|record| record.name.is_some()).count();
    if named > 0
        && let Some(nameless) = records.all.iter().find(|record| record.name.is_none())
    {
        return Err(format!(
            "line {} has no name and {} others have one; name all of them or none",
            nameless.line, named
        ));
    }
    let entry = |record: &Record, id| Entry { fingerprint: record.fingerprint, id };
    if named == 0 {
        let entries = records.all.iter().map(|record| entry(record, record.line)).collect();
        return Ok((entries, Naming::Lines));
    }
    let numbered = records.all.iter().map(|record| Some(entry(record, id(record)?)));
    if let Some(entries) = numbered.collect() {
        return Ok((entries, Naming::Ids));
    }
    let entries = records.all.iter().zip(0..).map(|(record, id)| entry(record, id)).collect();
    Ok((entries, Naming::Beside))
}

/// A name that is a whole number and looks like one: `07` would come back as `7`.
fn id(record: &Record) -> Option<u64> {
    let text = std::str::from_utf8(record.name.as_deref()?).ok()?;
    let id: u64 = text.parse().ok()?;
    (id.to_string() == text).then_some(id)
}

/// Names of an index that was there before would be refused from now on.
fn remove_names(path: &Path) -> Result<(), Failure> {
    if path.is_file() && is_names(&super::records::read_all(path)?) {
        std::fs::remove_file(path).map_err(|e| Failure::io("remove", path, e))?;
    }
    Ok(())
}

fn summary(records: &Records, view: &SegmentView<'_>, bytes: usize, naming: Naming) -> String {
    let entries = records.all.len() as u64;
    let mut line = format!(
        "{} ({} different) in {}, {:.1} bytes each",
        readable::counted(entries, "fingerprint"),
        readable::count(view.rows() as u64),
        readable::bytes(bytes as u64),
        bytes as f64 / entries.max(1) as f64,
    );
    if records.without > 0 {
        line.push_str(&format!("; {} without one left out", readable::count(records.without)));
    }
    line.push_str(match naming {
        Naming::Ids => "; ids are those of the input",
        Naming::Beside => "; names in the file beside it, .names",
        Naming::Lines => "; ids are line numbers, from 1",
    });
    line
}
