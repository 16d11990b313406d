//! The second reading of a shard: writes its kept documents according to a decision.
//!
//! Every document must be in the decision at its place, and every decided document must occur. Uses the
//! encoders of [`dedup`](crate::dedup()). Does not write revisit records: they need address and time of the
//! winner, which may be in another shard.

use std::io::{self, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use hapax::group::Outcome;
use hapax_corpus::write::{Encoder, Piece};
use hapax_corpus::{Batch, Entry, ReadOptions, Shard, Source};
use serde::Serialize;

use super::verdicts::Verdicts;
use crate::error::Error;
use crate::job;
use crate::options::{KeptFormat, Layout};
use crate::outputs::{AHEAD, GROUPS, KeptFiles, LAST, OutFolder, Summary, kept_name};
use crate::watch::{Stage, Watch};

/// Options of [`apply`].
#[derive(Clone, Debug)]
pub struct Applying {
    /// How the inputs are read; must be as when they were fingerprinted.
    pub read: ReadOptions,
    /// Part of the inputs; `None` for all.
    pub shard: Option<Shard>,
    pub threads: NonZero<usize>,
    /// `None` for the default that all documents of the decision would get.
    pub format: Option<KeptFormat>,
    /// Approximate size of an output file in bytes; `None` for one file.
    pub shard_size: Option<NonZero<u64>>,
}

/// Counts of the written documents; `summary.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Documents read: kept and removed.
    pub documents: u64,
    pub kept: u64,
    /// Documents removed because another has the same text.
    pub exact: u64,
    /// Documents removed because another has nearly the same text.
    pub near: u64,
    /// The decision's path, as given.
    pub decided: String,
    pub inputs: Vec<String>,
    pub shard: Option<String>,
    #[serde(skip)]
    pub files: Vec<PathBuf>,
}

/// Writes the documents of `inputs` that a decision keeps to a new or empty folder.
///
/// # Errors
///
/// The decision is unreadable or about other documents, or an input is bad.
pub fn apply(
    decided: &Path,
    inputs: &[String],
    out: &Path,
    applying: &Applying,
    watch: &mut dyn Watch,
) -> Result<Applied, Error> {
    let whole = Source::open(inputs, applying.read.clone())?;
    let source = match applying.shard {
        Some(shard) => whole.shard(shard),
        None => whole,
    };
    let format = match applying.format {
        Some(format) => format,
        None => format_of(&decided.join(LAST))?,
    };
    let files: Vec<String> = source.files().collect();
    let range = source.file_range();
    let mine = files[range.start as usize..range.end as usize].iter().cloned();
    let verdicts = Verdicts::read(&decided.join(GROUPS), mine)?;
    let folder = OutFolder::open(out, None, true)?;
    let layout = applying.shard_size.map_or(Layout::One, Layout::Size);
    let pattern = kept_name(format, layout);
    let path = folder.making(&pattern);
    let mut kept = KeptFiles::create(&folder, &pattern, layout, applying.threads)?;
    let mut applied = Applied {
        decided: decided.display().to_string(),
        inputs: job::shown(inputs),
        shard: applying.shard.map(|shard| shard.to_string()),
        ..Applied::default()
    };
    watch.stage(Stage::Writing);
    source.in_order_ahead(
        applying.threads,
        AHEAD,
        |batch| Written::of(batch, &source, &path, &files, &verdicts),
        |written: Result<Written, Error>| {
            let written = written?;
            kept.add(written.piece)?;
            let [stay, exact, near] = written.counts;
            let documents = stay + exact + near;
            applied.documents += documents;
            applied.kept += stay;
            applied.exact += exact;
            applied.near += near;
            watch.progress(documents, written.input_bytes);
            if watch.stopped() { Err(Error::Stopped) } else { Ok(()) }
        },
    )?;
    if applied.documents != verdicts.len() {
        return Err(Error::Changed { path: job::shown(inputs).join(", ") });
    }
    let mut names = kept.finish()?;
    folder.make(LAST, &job::json(&applied))?;
    names.push(LAST.to_owned());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    applied.files = folder.publish(&names, watch)?;
    Ok(applied)
}

/// The default output format for all kept documents of a decision.
fn format_of(path: &Path) -> Result<KeptFormat, Error> {
    let wrong = |reason: String| Error::Verdicts { path: path.to_owned(), reason };
    let read = || {
        let mut text = Vec::new();
        hapax_corpus::open_file(path)?.read_to_end(&mut text).map(|_| text)
    };
    let text = read().map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            wrong("there is no such file; name the output folder of a finished job".to_owned())
        }
        _ => Error::io("read", path, error),
    })?;
    let summary: Summary = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
    let ending = summary.settings.kept.split_once('.').map_or("", |(_, ending)| ending);
    ending.parse().map_err(|error: crate::ParseFormatError| wrong(error.to_string()))
}

struct Written {
    piece: Piece,
    /// Numbers of kept, exact and near documents.
    counts: [u64; 3],
    input_bytes: u64,
}

impl Written {
    fn of(
        mut batch: Batch,
        source: &Source,
        path: &Path,
        files: &[String],
        verdicts: &Verdicts,
    ) -> Result<Self, Error> {
        let mut encoder = Encoder::new(path, Some(source))?;
        let mut counts = [0; 3];
        let input_bytes = batch.input_bytes;
        for entry in batch.entries() {
            let Entry::Document(document) = entry? else { continue };
            let file = &files[document.place.file.0 as usize];
            match verdicts.of(file, document.place.number, &document.id)? {
                Outcome::Kept => {
                    encoder.write(&document)?;
                    counts[0] += 1;
                }
                Outcome::Exact => counts[1] += 1,
                Outcome::Near | Outcome::Redirect => counts[2] += 1,
            }
        }
        Ok(Self { piece: encoder.piece()?, counts, input_bytes })
    }
}
