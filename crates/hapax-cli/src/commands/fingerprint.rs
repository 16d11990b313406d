//! `hapax fingerprint`: pages in, one line each out.
//!
//! Lines come in input order whatever the number of threads. A thread holds one page at a
//! time, so memory does not grow with their number.

use crate::commands::match_::made::Made;
use crate::failure::Failure;
use crate::inputs::{Extent, InputArguments, Source};
use crate::output::Output;
use crate::pipeline::{Work, in_order};
use crate::progress::Progress;
use crate::readable;
use crate::recipes::RecipeArguments;
use clap::Args;
use hapax::fingerprint::{Fingerprinter, Imprint};
use hapax::page::Hints;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What stands in for the fingerprint of a page that has none.
const NO_FINGERPRINT: &[u8; 16] = b"----------------";

/// Fingerprint pages: 16 hexadecimal digits and the path, one line each
///
/// A page without a single word has no fingerprint: its line has 16 dashes. A summary on
/// standard error counts such pages, and pages too short to judge.
#[derive(Args, Debug)]
#[command(after_help = "\
A path with a backslash or a line break is written escaped (\\\\ \\n \\r) and its line begins with a
backslash, as sha256sum does. With --json each line is an object with id, recipe, fingerprint (null
without features), content (hash of the text: equal for equal texts), words, features, too_short,
no_features, weak_bits (bit positions, weakest first) and sketch.

Examples:
  hapax fingerprint page.html notes.txt
  hapax fingerprint crawl/ --json --out crawl.jsonl --skip-bad
  curl -s https://example.org/ | hapax fingerprint -
  hapax fingerprint crawl/ --recipe sood-tfidf --frequencies words.hdf")]
pub(crate) struct Arguments {
    #[command(flatten)]
    inputs: InputArguments,

    #[command(flatten)]
    recipe: RecipeArguments,

    /// One JSON object a line
    #[arg(long)]
    json: bool,

    /// Write to a file, which appears when it is complete; FILE.hpx is one for `hapax match`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
///
/// An input is bad and bad input is not skipped, or results cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let inputs = &arguments.inputs;
    let fingerprinter = arguments.recipe.fingerprinter()?;
    let mut pages = inputs.pages()?;
    let mut made = Made::open(arguments.out.as_deref(), &fingerprinter.recipe_id().to_string())?;
    let mut output = Output::open(arguments.out.as_deref().filter(|_| made.is_none()))?;
    let format = match (&made, arguments.json) {
        (Some(_), _) => Format::Stored,
        (None, true) => Format::Json,
        (None, false) => Format::Line,
    };
    let workers = (0..inputs.thread_count().get())
        .map(|_| PageWork { fingerprinter: fingerprinter.clone(), bytes: Vec::new(), format })
        .collect();

    let mut progress = Progress::start(inputs.known_total(), inputs.quiet, output.on_screen());
    in_order(&mut pages, workers, |result| match result {
        Ok(done) => {
            progress.page(done.bytes);
            let read = progress.read();
            read.without_features += u64::from(done.no_features);
            read.too_short += u64::from(done.too_short && !done.no_features);
            read.cut += u64::from(done.extent == Extent::Beginning);
            match &mut made {
                Some(made) => made.push(&done.line),
                None => output.write(&done.line),
            }
        }
        Err(why) if inputs.skip_bad => {
            progress.skip(&why);
            Ok(())
        }
        Err(why) => Err(Failure::Run(why)),
    })?;
    output.finish()?;
    made.map_or(Ok(()), Made::finish)?;
    progress.finish(pages.ignored());
    Ok(())
}

#[derive(Clone, Copy)]
enum Format {
    Line,
    Json,
    /// As [`Made`] takes it.
    Stored,
}

/// One thread: reads a page, fingerprints it, and writes its line into memory.
struct PageWork {
    fingerprinter: Fingerprinter,
    bytes: Vec<u8>,
    format: Format,
}

struct Done {
    line: Vec<u8>,
    bytes: u64,
    extent: Extent,
    no_features: bool,
    too_short: bool,
}

impl Work for PageWork {
    type Item = Result<Source, anyhow::Error>;
    type Out = Result<Done, anyhow::Error>;

    fn work(&mut self, item: Self::Item) -> Self::Out {
        let source = item?;
        let extent = source.read(&mut self.bytes)?;
        let hints = Hints { content_type: source.content_type(), url: None };
        let imprint = self
            .fingerprinter
            .page(&self.bytes, &hints)
            .map_err(|e| anyhow::Error::new(e).context(readable::path(source.path())))?;
        let line = match self.format {
            Format::Line => line(source.path(), &imprint),
            Format::Stored => {
                let bits = imprint.mark.as_ref().map(|mark| mark.fingerprint.to_bits());
                Made::entry(bits, source.path())
            }
            Format::Json => {
                let recipe = self.fingerprinter.recipe_id().to_string();
                let record = PageRecord::new(source.path(), &recipe, &imprint);
                let mut line = serde_json::to_vec(&record)?;
                line.push(b'\n');
                line
            }
        };
        Ok(Done {
            line,
            bytes: self.bytes.len() as u64,
            extent,
            no_features: imprint.mark.is_none(),
            too_short: imprint.too_short,
        })
    }
}

/// Fingerprint, two spaces, path.
fn line(path: &Path, imprint: &Imprint) -> Vec<u8> {
    let name = path.as_os_str().as_encoded_bytes();
    let mut line = Vec::with_capacity(name.len() + 20);
    let escaped = name.iter().any(|b| matches!(b, b'\\' | b'\n' | b'\r'));
    if escaped {
        line.push(b'\\');
    }
    match &imprint.mark {
        Some(mark) => line.extend_from_slice(mark.fingerprint.to_string().as_bytes()),
        None => line.extend_from_slice(NO_FINGERPRINT),
    }
    line.extend_from_slice(b"  ");
    for &byte in name {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            _ => line.push(byte),
        }
    }
    line.push(b'\n');
    line
}

/// A page as `--json` shows it.
#[derive(Serialize)]
pub(crate) struct PageRecord<'a> {
    id: String,
    recipe: &'a str,
    fingerprint: Option<String>,
    content: String,
    words: u32,
    features: u32,
    too_short: bool,
    no_features: bool,
    weak_bits: Option<Vec<u8>>,
    sketch: Option<String>,
}

impl<'a> PageRecord<'a> {
    /// Everything an imprint says, under the page's name.
    pub(crate) fn new(path: &Path, recipe: &'a str, imprint: &Imprint) -> Self {
        let mark = imprint.mark.as_ref();
        Self {
            id: path.to_string_lossy().into_owned(),
            recipe,
            fingerprint: mark.map(|m| m.fingerprint.to_string()),
            content: imprint.content.to_string(),
            words: imprint.words,
            features: imprint.features,
            too_short: imprint.too_short,
            no_features: mark.is_none(),
            weak_bits: mark.map(|m| m.sums.weakest_first().to_vec()),
            sketch: mark.map(|m| hexadecimal(&m.sketch.to_bytes())),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
