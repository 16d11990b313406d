//! `hapax fingerprint`: reads pages and writes one line or row per page.
//!
//! Results are in input order for any number of threads, and memory does not grow with their number. A file that is
//! neither HTML nor text is an error; such a record of an archive has no fingerprint.

mod sink;

use crate::corpus::ReadArguments;
use crate::failure::Failure;
use crate::overwriting;
use crate::progress::Progress;
use crate::reading;
use crate::recipes::RecipeArguments;
use clap::Args;
use hapax_dedup::stages::signing::{AtHand, not_a_page};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use sink::{Format, Rendered, Sink};

/// Fingerprint documents: 16 hexadecimal digits and the name, one line each
///
/// A page without a single word has no fingerprint: its line has 16 dashes. A summary on
/// standard error counts such pages, and pages too short to compare.
#[derive(Args, Debug)]
#[command(after_help = "\
A name with a backslash or a line break is written escaped (\\\\ \\n \\r) and its line begins with
a backslash, as sha256sum does. With --json each line is an object with id, url, recipe,
fingerprint (null without features), content (hash of the text: equal for equal texts), words,
features, too_short, no_features, hidden_bytes (text that the page's own markup hides, without
white space), hides_most (more is hidden than shown), weak_bits (bit positions, weakest first) and
sketch; with --sums also sums, the 64 whole numbers the bits were cut from, bit 0 first. CSV and
Parquet tables have the same columns but hidden_bytes and hides_most, CSV without weak_bits. A .hpx
file holds fingerprints, names and the recipe. All of them are read by `hapax near`, and by `hapax
pairs`.

Examples:
  hapax fingerprint page.html notes.txt
  hapax fingerprint crawl/ --json --out crawl.jsonl --skip-bad
  hapax fingerprint crawl/*.warc.gz --out crawl.parquet
  curl -s https://example.org/ | hapax fingerprint -
  hapax fingerprint crawl/ --recipe sood-tfidf --frequencies words.hdf")]
pub(crate) struct Arguments {
    /// Pages, folders, corpora, globs, @lists of files, or `-` for standard input
    ///
    /// HTML, text, WARC, WET, ARC, JSONL and Parquet, compressed or not, as `hapax dedup` reads
    /// them; a file that you name is read whatever its name. The name of a page is its path, of a
    /// document in a corpus its id, URL, or file and line.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    recipe: RecipeArguments,

    /// Compare the main content of pages, without navigation, header and footer
    #[arg(long)]
    main_content: bool,

    /// One JSON object a line
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Also write the bit sums, which `hapax near find --recall` needs
    #[arg(long, requires = "json")]
    sums: bool,

    /// Format of the output [default: by the ending of --out, otherwise lines]
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<Format>,

    /// Write to a file, which appears when it is complete; FILE.hpx is a collection for `hapax near`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    replacing: overwriting::Replacing,

    #[command(flatten)]
    reading: ReadArguments,
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

/// Skips the check for pipes and devices, whose names say nothing about the format.
fn is_new_or_file(path: &Path) -> bool {
    path.metadata().map_or(true, |there| there.is_file())
}

/// The result of a document.
struct Done {
    rendered: Result<Rendered, anyhow::Error>,
    bytes: u64,
    no_features: bool,
    too_short: bool,
    hides_most: bool,
    /// Whether the text exceeded the limit, so that only its beginning counts.
    cut: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { inputs, reading, .. } = arguments;
    let out = arguments.out.as_deref();
    overwriting::refuse("--out", out, arguments.recipe.files())?;
    let fingerprinter = arguments.recipe.fingerprinter_of(arguments.main_content)?;
    reading.spare("--out", out, inputs)?;
    arguments.replacing.check("--out", out)?;
    let source = reading.open(inputs)?;
    let format = arguments.format()?;
    let recipe = fingerprinter.recipe_id().to_string();
    let mut sink = Sink::open(format, out, &recipe)?;
    let mut progress = Progress::start(source.single_documents(), reading.quiet, sink.on_screen());
    let work = |AtHand { document, page, signature }: AtHand<'_>| {
        let cut = match page {
            Ok(page) => page.truncated,
            Err(error) => not_a_page(document, error).map_or(Ok(false), Err)?,
        };
        let url = document.url.as_deref().map(str::to_owned);
        Ok(Done {
            bytes: document.body.content.as_bytes().len() as u64,
            no_features: signature.comparable.is_none(),
            too_short: signature.too_short,
            hides_most: signature.hides_most,
            cut,
            rendered: Rendered::of(format, document.id.as_bytes(), url, &recipe, signature),
        })
    };
    reading.signatures(&source, &fingerprinter, &mut progress, work, |done, progress| {
        progress.page(done.bytes);
        let read = progress.read();
        read.without_features += u64::from(done.no_features);
        read.too_short += u64::from(done.too_short && !done.no_features);
        read.hiding += u64::from(done.hides_most);
        read.cut += u64::from(done.cut);
        sink.add(done.rendered?, &recipe)
    })?;
    let read = *progress.read();
    if read.pages + read.skipped == 0 {
        return Err(reading::no_document(inputs));
    }
    sink.finish()?;
    progress.finish(source.ignored());
    Ok(())
}
