//! `hapax dedup`: removes near-duplicates from a corpus.
//!
//! The job is in the crate `hapax-dedup`. This module turns arguments into its options, its progress into a bar, and
//! its counts into a few lines.

mod recording;
mod shards;
mod summary;

use crate::corpus::ReadArguments;
use crate::failure::Failure;
use crate::output;
use crate::progress::{Progress, say};
use crate::readable;
use crate::reading;
use crate::recipes::RecipeArguments;
use clap::Args;
use hapax::fingerprint::MaxDistance;
use hapax::group::rules::DEFAULT_RULES;
use hapax::group::{Rules, Scope};
use hapax::similarity::MinSimilarity;
use hapax_corpus::Shard;
use hapax_dedup::{
    Confirm, Finished, Frames, KeptFormat, Layout, Made, Options, Stage, Watch, key,
};
use hapax_store::Wanted;
use recording::Recording;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Clean a corpus: remove exact and near duplicates, keep the best copy of each
///
/// Reads WARC, WET, ARC, JSONL, Parquet, folders of HTML and text, and text with a document a
/// line; uncompressed or gzip, zstd, bzip2 or xz. Writes the kept documents, a table of
/// removed documents with the reason for each, and an HTML report.
#[derive(Args, Debug)]
#[command(after_help = "\
The output folder, which appears when all is complete, has:
  kept.*            kept documents, in the input's format (such as kept.jsonl or kept.warc.gz)
  groups.parquet    every document: group, kept document, distance, similarity, deciding rule
  removed.parquet   the removed documents, with the same columns
  kept.signatures   signatures of the kept documents, for --against
  report.html       the same for a browser, with examples side by side
  summary.json      the counts; run.json has time and memory of the run

Winner rules for --keep, most important first:
  score, prefer-host:A|B, avoid-host:A|B, prefer-tld:A|B, avoid-tld:A|B, first-domain, https,
  canonical, static, shortest-url, earliest, latest, longest, shortest

Examples:
  hapax dedup crawl/*.warc.gz --out clean
  hapax dedup pages.jsonl.zst --text-field article --keep \"score, longest\" --out clean
  hapax dedup next/*.warc.gz --against clean --out clean-2
  hapax dedup crawl/*.warc.gz --into seen
  hapax dedup site/ --scope host --min-similarity 0.9 --out clean
  hapax dedup @files.txt --dry-run
  hapax dedup 's3://bucket/crawl/*.warc.gz' --shard-size 1GB --out s3://bucket/clean
  hapax dedup crawl/*.warc.gz --signatures seen --shard 3/16
  hapax dedup --from-signatures seen --out decided")]
pub(crate) struct Arguments {
    /// Files, folders, globs, @lists of files, addresses (s3://, gs://, az://, https://,
    /// hf://datasets/), or `-` for standard input
    #[arg(required_unless_present = "from_signatures", value_name = "INPUT")]
    inputs: Vec<String>,

    /// The folder for results, or its address in an object store; it must be new or empty
    #[arg(long, value_name = "DIR", required_unless_present_any = ["dry_run", "into", "signatures"])]
    out: Option<PathBuf>,

    /// Only read the documents, and write their signatures to this folder for --from-signatures
    ///
    /// The first of three steps that clean a corpus with several processes; the third is `hapax apply`. Give
    /// every process the same inputs and options, and --shard.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "out", "into", "dry_run", "restart", "within", "min_similarity", "verify", "keep", "format", "shard_size", "layout",
        "revisits", "memory",
    ])]
    signatures: Option<PathBuf>,

    /// Read only this run of the files: the K-th of N, from 0
    #[arg(long, value_name = "K/N", requires = "signatures", conflicts_with_all = ["out", "into", "dry_run"])]
    shard: Option<Shard>,

    /// Decide from the signatures of all shards, and read no documents
    ///
    /// Writes all results but the kept documents, as one process would; `hapax apply` writes those.
    /// Give the options that the shards were fingerprinted with.
    #[arg(long, value_name = "DIR", requires = "out", conflicts_with_all = [
        "inputs", "signatures", "into", "dry_run", "restart", "verify", "format", "shard_size", "layout", "revisits",
    ])]
    from_signatures: Option<PathBuf>,

    /// Also record the documents in this repository, or only there without --out; made if it does
    /// not exist
    #[arg(long, value_name = "STORE", conflicts_with = "dry_run")]
    into: Option<PathBuf>,

    /// Output folder of an earlier run, or its address: remove what matches a document it kept;
    /// may be given several times
    ///
    /// A folder that --signatures made stands for all documents that were fingerprinted.
    #[arg(long, value_name = "DIR")]
    against: Vec<PathBuf>,

    /// Start over instead of continuing an interrupted run in the same output folder
    #[arg(long, requires = "out")]
    restart: bool,

    /// Local folder for results before they are uploaded, and for what an interrupted run
    /// continues with, if --out is an address [default: ~/.cache/hapax]
    #[arg(long, value_name = "DIR", requires = "out")]
    work: Option<PathBuf>,

    /// Report what would be removed, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Bits in which fingerprints of near-duplicates may differ, 0 to 16 [default: 6; 10 for main
    /// content, 14 for own texts]
    #[arg(long, value_name = "K", value_parser = super::plan::near_bound)]
    within: Option<MaxDistance>,

    /// Least similarity of their texts: Jaccard similarity of runs of 5 words, 0 to 1 [default:
    /// 0.84; 0.5 for main content and own texts]
    ///
    /// Estimated from sketches with a standard error of 0.02 at 0.8; the estimate must reach the
    /// bound.
    #[arg(long, value_name = "J")]
    min_similarity: Option<MinSimilarity>,

    /// Check every near-duplicate exactly against the kept document
    ///
    /// Reads both texts again and keeps documents whose exact similarity is below the bound.
    /// Without it, texts are compared by sketches under a key that their authors cannot know.
    #[arg(long)]
    verify: bool,

    /// Also compare what pages of one host say beyond the frame they share, such as menus: on or
    /// off; or compare nothing else: own [default: on]
    ///
    /// The frame is the text that many pages of a host share. With `on`, products of a shop are
    /// kept although their pages are nearly the same; copies of a page are still removed. With
    /// `own`, an article is removed if another site has it in another frame; the corpus is read
    /// once more.
    #[arg(long, value_name = "WHETHER")]
    frames: Option<Frames>,

    /// Key to confirm matches with: the output folder of an earlier run, or a file with 64 hexadecimal
    /// digits [default: that of the first --against, or random]
    ///
    /// Two runs on the same inputs with one key give the same bytes, kept.signatures included. The
    /// other results do not depend on it, except for a few near-duplicates with --min-similarity
    /// below 0.5.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["against", "from_signatures"])]
    key: Option<PathBuf>,

    /// Which copy to keep: rules, most important first
    ///
    /// [default: score, first-domain, https, canonical, static, shortest-url]
    #[arg(long, value_name = "RULES", value_parser = rules)]
    keep: Option<Rules>,

    /// Compare only within: none, host, domain, language, field:NAME [default: none]
    #[arg(long, value_name = "SCOPE")]
    scope: Option<Scope>,

    /// Compare only documents that state one of these languages (`en,de`) or none; keep all others
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    language: Vec<String>,

    #[command(flatten)]
    recipe: RecipeArguments,

    /// Compare the main content of pages, without navigation, header and footer
    #[arg(long)]
    main_content: bool,

    /// Write kept documents as jsonl, jsonl.gz, jsonl.zst, parquet, warc, warc.gz or warc.zst
    /// [default: that of the inputs; gzip for bzip2 and xz]
    #[arg(long, value_name = "FORMAT")]
    format: Option<KeptFormat>,

    /// Write kept documents to files of about this size, such as 1GB: kept-00000.jsonl,
    /// kept-00001.jsonl and so on [default: one file]
    #[arg(long, value_name = "SIZE", value_parser = shard_size, requires = "out")]
    shard_size: Option<NonZero<u64>>,

    /// With as-input, write a file of kept documents for each input file, in the same order:
    /// kept-00000.jsonl for the first [default: one file]
    #[arg(long, value_name = "LAYOUT", requires = "out", conflicts_with = "shard_size")]
    layout: Option<LayoutArgument>,

    /// In WARC output, write a revisit record in place of each removed document
    #[arg(long)]
    revisits: bool,

    #[command(flatten)]
    reading: ReadArguments,

    /// Approximate memory for documents and joins, such as 4GB: joins that need more use temporary
    /// files, documents that need more are refused [default: as much as it takes]
    #[arg(long, value_name = "SIZE", value_parser = super::plan::quantity::bytes)]
    memory: Option<u64>,

    /// Write the summary to standard output, as JSON
    #[arg(long)]
    json: bool,
}

/// How kept documents are laid out in files.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LayoutArgument {
    /// One file
    One,
    /// A file for each input file; pages in a folder share one file for every 64 pages
    AsInput,
}

/// The current time, and the command line without credentials of addresses.
fn made() -> Made {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = hapax_corpus::Timestamp::from_seconds(i64::try_from(now).unwrap_or(0));
    let typed = std::env::args().skip_while(|argument| argument != "dedup");
    let typed = typed.map(|argument| quoted(hapax_corpus::shown(&argument).into_owned()));
    let command = std::iter::once("hapax".to_owned()).chain(typed).collect::<Vec<_>>().join(" ");
    Made { at: now.to_string(), command }
}

/// Quotes an argument for a shell.
fn quoted(argument: String) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@+%".contains(c);
    match !argument.is_empty() && argument.chars().all(plain) {
        true => argument,
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    }
}

/// Parses a minimum similarity.
pub(crate) fn similarity(text: &str) -> Result<f64, String> {
    text.parse::<MinSimilarity>().map(MinSimilarity::jaccard).map_err(|error| error.to_string())
}

pub(super) fn shard_size(text: &str) -> Result<NonZero<u64>, String> {
    let size = super::plan::quantity::bytes(text)?;
    NonZero::new(size).ok_or_else(|| "a file has at least one byte; 1GB is usual".to_owned())
}

/// Parses a list of rules. Unlike the library, refuses an empty list.
pub(crate) fn rules(text: &str) -> Result<Rules, String> {
    if text.trim().is_empty() {
        return Err(format!("no rule is named; the default is {DEFAULT_RULES:?}"));
    }
    text.parse::<Rules>().map_err(|error| error.to_string())
}

impl Arguments {
    fn options(&self) -> Result<Options, Failure> {
        let fingerprinter = self.recipe.fingerprinter_of(self.main_content)?;
        let mut options = Options::new(fingerprinter);
        options.use_frames(self.frames.unwrap_or(Frames::On));
        options.read = self.reading.options();
        let policy = &mut options.policy;
        policy.within = self.within.unwrap_or(policy.within);
        policy.min_similarity = self.min_similarity.unwrap_or(policy.min_similarity);
        if self.verify {
            options.confirm = Confirm::Exact;
        }
        options.key = self.key.as_deref().map(key::of_run).transpose().map_err(failure)?;
        options.keep = self.keep.clone().unwrap_or_default();
        options.scope = self.scope.clone().unwrap_or(Scope::None);
        options.languages = self.language.clone();
        options.format = self.format;
        options.layout = match (self.layout, self.shard_size) {
            (Some(LayoutArgument::AsInput), _) => Layout::AsInput,
            (_, Some(size)) => Layout::Size(size),
            (Some(LayoutArgument::One) | None, None) => Layout::One,
        };
        options.revisits = self.revisits;
        options.against = self.against.clone();
        options.memory = self.memory;
        options.restart = self.restart;
        options.work = self.work.clone();
        options.made = Some(made());
        if let Some(threads) = self.reading.threads {
            options.threads = threads;
        }
        Ok(options)
    }

    /// The settings given for the repository of --into.
    fn wanted(&self) -> Wanted {
        Wanted {
            within: self.within,
            min_similarity: self.min_similarity,
            rules: self.keep.clone(),
            scope: self.scope.clone(),
            confirm: None,
            frames: self.frames.and_then(|frames| match frames {
                Frames::On => Some(hapax_store::Frames::On),
                Frames::Off => Some(hapax_store::Frames::Off),
                // Conflicts with --into.
                Frames::Own => None,
            }),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut options = arguments.options()?;
    if let Scope::Field(name) = &options.scope {
        options.read.named.push((format!("--scope field:{name}"), name.clone()));
    }
    if let (Some(folder), Some(out)) = (&arguments.from_signatures, &arguments.out) {
        return shards::decide(arguments, &options, folder, out);
    }
    hapax_corpus::check_fields(&arguments.inputs, &options.read, arguments.reading.threads())?;
    if let Some(folder) = &arguments.signatures {
        return shards::write(arguments, &options, folder);
    }
    if arguments.into.is_some() && options.frames == Frames::Own {
        let (what, instead) = ("--into, which records whole pages", "record them by themselves");
        return Err(failure(hapax_dedup::Error::OwnTexts { what, instead }));
    }
    let twice = arguments.into.is_some() && arguments.out.is_some();
    if twice && arguments.inputs.iter().any(|input| input == "-") {
        let what =
            "standard input can be read only once; save it to a file, or leave out --out or --into";
        return Err(Failure::Arguments(what.to_owned()));
    }
    if let Some(store) = &arguments.into {
        super::page::add::must_be(&arguments.wanted(), store)?;
    }
    match &arguments.into {
        Some(store) if arguments.out.is_none() => recording::record(arguments, &options, store),
        Some(_) | None => clean(arguments, &options),
    }
}

/// Cleans the corpus. The documents are recorded before the results appear, so a run that is
/// interrupted while it records can be continued: recording a page twice does not add it twice. It
/// can give a page another group, where the frame of its host was learned in between.
fn clean(arguments: &Arguments, options: &Options) -> Result<(), Failure> {
    let mut shown = Shown::start(arguments.reading.quiet);
    let into = arguments.into.as_deref();
    shown.recording = into.map(|store| Recording::new(arguments, options, store));
    let finished = match &arguments.out {
        Some(out) if !arguments.dry_run => {
            hapax_dedup::dedup(&arguments.inputs, out, options, &mut shown)
        }
        _ => hapax_dedup::dry_run(&arguments.inputs, options, &mut shown),
    };
    shown.progress.clear();
    if let Some(failed) = shown.failed {
        return Err(failed);
    }
    let finished = finished.map_err(failure)?;
    print_summary(arguments, &finished)
}

pub(crate) fn failure(error: hapax_dedup::Error) -> Failure {
    let remedy = error.remedy();
    reading::failure(error, remedy)
}

fn print_summary(arguments: &Arguments, finished: &Finished) -> Result<(), Failure> {
    if arguments.json {
        output::print_json(&finished.summary)?;
    }
    if arguments.reading.quiet {
        return Ok(());
    }
    let mut text = summary::text(finished);
    if let Some(line) =
        reading::ignored_line(&reading::ignored(&arguments.inputs, arguments.reading.options()))
    {
        text.push_str(&line);
        text.push('\n');
    }
    if arguments.dry_run && !arguments.json {
        return output::print(&text);
    }
    say(text.trim_end());
    Ok(())
}

/// Shows the job's progress on the terminal.
pub(crate) struct Shown<'a> {
    pub(crate) progress: Progress,
    step: &'static str,
    inputs: Option<Inputs>,
    /// Records the documents before the results appear.
    recording: Option<Recording<'a>>,
    /// Why it failed.
    failed: Option<Failure>,
}

/// Input read in the current step.
struct Inputs {
    files: u64,
    bytes: Option<u64>,
    files_done: u64,
    bytes_done: u64,
}

impl Inputs {
    fn shown(&self) -> String {
        let done = readable::bytes(self.bytes_done);
        let bytes = match self.bytes {
            Some(all) => format!("{done} of {}", readable::bytes(all)),
            None => done,
        };
        let count = readable::count;
        match self.files {
            1 => bytes,
            files => format!("{bytes}, {} of {} files", count(self.files_done), count(files)),
        }
    }
}

impl Shown<'_> {
    pub(crate) fn start(quiet: bool) -> Self {
        let progress = Progress::start(None, quiet, false);
        Self { progress, step: "", inputs: None, recording: None, failed: None }
    }
}

impl Watch for Shown<'_> {
    fn made(&mut self) -> bool {
        let Some(recording) = self.recording.take() else { return true };
        self.progress.clear();
        self.failed = recording.finish().err();
        self.failed.is_none()
    }

    fn stage(&mut self, stage: Stage) {
        self.step = match stage {
            Stage::Reading => "reading",
            Stage::Deciding => "finding duplicates",
            Stage::Writing => "writing",
        };
        self.progress.step(self.step);
        if let (Stage::Writing, Some(recording)) = (stage, &mut self.recording) {
            recording.open();
        }
        if let Some(inputs) = &mut self.inputs {
            (inputs.files_done, inputs.bytes_done) = (0, 0);
        }
    }

    fn inputs(&mut self, files: u64, bytes: Option<u64>) {
        self.inputs = Some(Inputs { files, bytes, files_done: 0, bytes_done: 0 });
    }

    fn files_done(&mut self, files: u64) {
        if let Some(inputs) = &mut self.inputs {
            inputs.files_done = files;
        }
    }

    fn progress(&mut self, documents: u64, input_bytes: u64) {
        self.progress.pages(documents);
        if let Some(inputs) = &mut self.inputs {
            inputs.bytes_done += input_bytes;
            self.progress.message(|| format!("{} {}", self.step, inputs.shown()));
        }
    }

    fn resumed(&mut self, documents: u64) {
        let documents = readable::counted(documents, "document");
        let note = format!("continuing an interrupted run: {documents} already read");
        self.progress.note(&note);
    }

    fn skipped(&mut self, bad: &hapax_corpus::Bad) {
        self.progress.skip(bad);
    }
}
