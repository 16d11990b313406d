//! `hapax fingerprint`: pages in, one line or row each out.
//!
//! Pages and folders of pages are read one by one by [`crate::inputs`]. As soon as an input holds many
//! documents, all inputs are read as `hapax dedup` reads them. Results come in input order whatever the
//! number of threads, and memory does not grow with their number.

mod record;
mod sink;

use crate::corpus::CorpusArguments;
use crate::failure::Failure;
use crate::inputs::{Extent, InputArguments, Source};
use crate::overwriting;
use crate::pipeline::{Work, in_order};
use crate::progress::Progress;
use crate::readable;
use crate::reading;
use crate::recipes::RecipeArguments;
use clap::Args;
use hapax::fingerprint::{Fingerprinter, Signature};
use hapax::page::Hints;
use hapax_dedup::stages::signing::{Signed, signature};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(crate) use record::PageRecord;
use sink::{Format, Rendered, Sink};

/// Fingerprint documents: 16 hexadecimal digits and the name, one line each
///
/// A page without a single word has no fingerprint: its line has 16 dashes. A summary on
/// standard error counts such pages, and pages too short to judge.
///
/// WARC, WET, ARC, JSONL and Parquet files, packed files, globs and @lists of files are read as `hapax
/// dedup` reads them; their documents are called by id, URL, or file and line.
#[derive(Args, Debug)]
#[command(after_help = "\
A name with a backslash or a line break is written escaped (\\\\ \\n \\r) and its line begins with a
backslash, as sha256sum does. With --json each line is an object with id, url, recipe, fingerprint (null
without features), content (hash of the text: equal for equal texts), words, features, too_short,
no_features, weak_bits (bit positions, weakest first) and sketch; with --sums also sums, the 64 whole
numbers the bits were cut from, bit 0 first. CSV and Parquet tables have the same columns, CSV without
weak_bits. A .hpx file holds fingerprints, names and the recipe. All of them are read by `hapax near`,
and by `hapax pairs`.

Examples:
  hapax fingerprint page.html notes.txt
  hapax fingerprint crawl/ --json --out crawl.jsonl --skip-bad
  hapax fingerprint crawl/*.warc.gz --out crawl.parquet
  curl -s https://example.org/ | hapax fingerprint -
  hapax fingerprint crawl/ --recipe sood-tfidf --frequencies words.hdf")]
pub(crate) struct Arguments {
    #[command(flatten)]
    inputs: InputArguments,

    #[command(flatten)]
    recipe: RecipeArguments,

    /// Judge pages by their main content, without navigation, header and footer
    #[arg(long)]
    main_content: bool,

    /// One JSON object a line
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Write the sums of the bits too: `hapax near find --recall` wants them
    #[arg(long, requires = "json")]
    sums: bool,

    /// Format of the output [default: by the ending of --out, otherwise lines]
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<Format>,

    /// Write to a file, which appears when it is complete; FILE.hpx is one for `hapax near`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    replacing: overwriting::Replacing,

    #[command(flatten)]
    corpus: CorpusArguments,
}

impl Arguments {
    fn format(&self) -> Result<Format, Failure> {
        let ending = self.out.as_deref().and_then(|out| out.extension()).and_then(OsStr::to_str);
        Ok(match (self.format, self.json, ending) {
            (Some(format), _, _) => format,
            (None, true, _) if self.sums => Format::JsonlWithSums,
            (None, true, _) | (None, false, Some("jsonl" | "ndjson")) => Format::Jsonl,
            (None, false, Some("parquet")) => Format::Parquet,
            (None, false, Some("hpx")) => Format::Hpx,
            (None, false, Some("csv")) => Format::Csv,
            (None, false, None | Some("txt" | "tsv" | "lines" | "list")) => Format::Lines,
            (None, false, Some(ending)) if self.out.as_deref().is_some_and(is_new_or_file) => {
                return Err(Failure::Arguments(format!(
                    "--out: fingerprints are not written as .{ending}: known endings are .txt (lines), \
                     .jsonl, .csv, .parquet and .hpx; --format names one for any other"
                )));
            }
            (None, false, Some(_)) => Format::Lines,
        })
    }
}

/// Pipes and devices may be called anything.
fn is_new_or_file(path: &Path) -> bool {
    path.metadata().map_or(true, |there| there.is_file())
}

/// Runs the command.
///
/// # Errors
///
/// An input is bad and bad input is not skipped, or results cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let inputs = &arguments.inputs;
    let out = arguments.out.as_deref();
    overwriting::refuse("--out", out, arguments.recipe.files())?;
    let fingerprinter = arguments.recipe.fingerprinter_of(arguments.main_content)?;
    match inputs.collections(arguments.corpus.any())? {
        Some(named) => {
            overwriting::refuse_corpus("--out", out, &named)?;
            arguments.replacing.check("--out", out)?;
            corpus(arguments, &named, &fingerprinter)
        }
        None => {
            inputs.spare("--out", out)?;
            arguments.replacing.check("--out", out)?;
            pages(arguments, &fingerprinter)
        }
    }
}

/// Documents of a corpus.
fn corpus(
    arguments: &Arguments,
    named: &[String],
    fingerprinter: &Fingerprinter,
) -> Result<(), Failure> {
    let inputs = &arguments.inputs;
    let options = arguments.corpus.read_options(inputs.skip_bad);
    reading::check_fields(named, &options, inputs.threads)?;
    let source = hapax_corpus::Source::open(named, options).map_err(reading::failure)?;
    let format = arguments.format()?;
    let recipe = fingerprinter.recipe_id().to_string();
    let mut sink = Sink::open(format, arguments.out.as_deref(), &recipe)?;
    let mut progress = Progress::start(None, inputs.quiet, sink.on_screen());
    let work = |it: Signed| {
        let (bytes, done) = (it.bytes, Counted::of(&it.signature));
        (bytes, done, Rendered::of(format, it.id.as_bytes(), it.url, &recipe, it.signature))
    };
    signature(&source, fingerprinter, inputs.thread_count(), work, |result| {
        match result {
            Ok((bytes, done, rendered)) => {
                progress.page(bytes);
                done.count(&mut progress);
                sink.add(rendered?, &recipe).map_err(Stopped::Failed)?;
            }
            Err(why) => {
                progress.skip(&anyhow::anyhow!("{}", reading::skipped(&why)));
            }
        }
        Ok(())
    })
    .map_err(|stopped| match stopped {
        Stopped::Failed(failure) => failure,
        Stopped::Bad(error) => reading::failure(error),
    })?;
    let read = *progress.read();
    if read.pages + read.skipped == 0 {
        return Err(reading::no_document(named));
    }
    sink.finish()?;
    progress.finish_corpus(source.ignored());
    Ok(())
}

/// Why a corpus was not read to its end.
enum Stopped {
    Bad(hapax_corpus::Error),
    Failed(Failure),
}

impl From<hapax_corpus::Error> for Stopped {
    fn from(error: hapax_corpus::Error) -> Self {
        Self::Bad(error)
    }
}

impl From<anyhow::Error> for Stopped {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Pages one by one.
fn pages(arguments: &Arguments, fingerprinter: &Fingerprinter) -> Result<(), Failure> {
    let inputs = &arguments.inputs;
    let mut pages = inputs.pages()?;
    let format = arguments.format()?;
    let recipe = fingerprinter.recipe_id().to_string();
    let mut sink = Sink::open(format, arguments.out.as_deref(), &recipe)?;
    let workers = (0..inputs.thread_count().get())
        .map(|_| PageWork {
            fingerprinter: fingerprinter.clone(),
            recipe: recipe.clone(),
            bytes: Vec::new(),
            format,
        })
        .collect();

    let mut progress = Progress::start(inputs.known_total(), inputs.quiet, sink.on_screen());
    in_order(&mut pages, workers, |result| match result {
        Ok(done) => {
            progress.page(done.bytes);
            done.counted.count(&mut progress);
            progress.read().cut += u64::from(done.extent == Extent::Beginning);
            sink.add(done.rendered, &recipe)
        }
        Err(why) if inputs.skip_bad => {
            progress.skip(&why);
            Ok(())
        }
        Err(why) => Err(Failure::Run(why)),
    })?;
    sink.finish()?;
    progress.finish(pages.ignored());
    Ok(())
}

/// One thread: reads a page, fingerprints it, and writes its line into memory.
struct PageWork {
    fingerprinter: Fingerprinter,
    recipe: String,
    bytes: Vec<u8>,
    format: Format,
}

struct Done {
    rendered: Rendered,
    bytes: u64,
    extent: Extent,
    counted: Counted,
}

/// What the summary counts.
struct Counted {
    no_features: bool,
    too_short: bool,
}

impl Counted {
    fn of(signature: &Signature) -> Self {
        Self { no_features: signature.mark.is_none(), too_short: signature.too_short }
    }

    fn count(&self, progress: &mut Progress) {
        let read = progress.read();
        read.without_features += u64::from(self.no_features);
        read.too_short += u64::from(self.too_short && !self.no_features);
    }
}

impl Work for PageWork {
    type Item = Result<Source, anyhow::Error>;
    type Out = Result<Done, anyhow::Error>;

    fn work(&mut self, item: Self::Item) -> Self::Out {
        let source = item?;
        let extent = source.read(&mut self.bytes)?;
        let hints = Hints { content_type: source.content_type(), url: None };
        let signature = self
            .fingerprinter
            .page(&self.bytes, &hints)
            .map_err(|e| anyhow::Error::new(e).context(readable::path(source.path())))?;
        let counted = Counted::of(&signature);
        let name = source.path().as_os_str().as_encoded_bytes();
        let rendered = Rendered::of(self.format, name, None, &self.recipe, signature)?;
        Ok(Done { rendered, bytes: self.bytes.len() as u64, extent, counted })
    }
}
