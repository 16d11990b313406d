//! `hapax train`: in how many pages does each feature occur?
//!
//! Every thread counts into its own table; tables add up to the same whole however the pages
//! were shared out, so the file is the same for any number of threads. As soon as an input holds
//! many documents, all inputs are read as `hapax fingerprint` reads them.

use crate::corpus::CorpusArguments;
use crate::failure::Failure;
use crate::inputs::{Extent, InputArguments, Source};
use crate::output::Output;
use crate::overwriting;
use crate::pipeline::{Work, in_order};
use crate::progress::{Progress, say};
use crate::readable;
use crate::reading;
use crate::recipes;
use clap::Args;
use hapax::features::Frequencies;
use hapax::features::frequency::{DEFAULT_WIDTH, ROWS};
use hapax::fingerprint::{FeatureReader, Recipe, Weighting};
use hapax::page::Hints;
use hapax_corpus::{Content, Entry, Kind};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Memory for all threads' tables together, unless a number of threads is asked for.
const TABLES_BYTES: usize = 2 << 30;
/// Pages whose features are remembered, to say something about them at the end.
const SAMPLED_PAGES: usize = 64;
/// Features remembered of a sampled page.
const SAMPLED_FEATURES: usize = 4096;

/// Learn document frequencies for recipes that weigh by TF-IDF
///
/// The table is made for one recipe's features and is refused by others. It is part of the
/// identity of the fingerprints made with it: keep it with them.
///
/// WARC, WET, ARC, JSONL and Parquet files, packed files, globs and @lists of files are read as `hapax
/// dedup` reads them.
#[derive(Args, Debug)]
#[command(after_help = "\
Pages without features are not counted as documents. A table of 2^BITS counters a row needs
12 * 2^BITS bytes of memory for each thread; rare features are counted too high by about
(features of all documents) / 2^BITS.

Examples:
  hapax train crawl/ --out words.hdf
  hapax train crawl/*.warc.gz --out words.hdf
  hapax fingerprint crawl/ --recipe sood-tfidf --frequencies words.hdf
  hapax train crawl/ --recipe mine.toml --width 22 --out mine.hdf")]
pub(crate) struct Arguments {
    #[command(flatten)]
    inputs: InputArguments,

    /// Whose features are counted: a built-in recipe or a .toml file, weighing by TF-IDF
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "sood-tfidf")]
    recipe: String,

    /// Table to write; it appears when it is complete
    #[arg(long, value_name = "TABLE")]
    out: PathBuf,

    #[command(flatten)]
    replacing: overwriting::Replacing,

    /// 2^BITS counters a row, 10 to 28
    #[arg(long, value_name = "BITS", default_value_t = DEFAULT_WIDTH,
          value_parser = clap::value_parser!(u8).range(10..=28))]
    width: u8,

    #[command(flatten)]
    corpus: CorpusArguments,
}

/// Runs the command.
///
/// # Errors
///
/// An input is bad and bad input is not skipped, or the table cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let inputs = &arguments.inputs;
    let out = Some(arguments.out.as_path());
    let files = recipes::files(std::slice::from_ref(&arguments.recipe), None);
    overwriting::refuse("--out", out, files)?;
    let recipe = recipe(&arguments.recipe)?;
    let collections = inputs.collections(arguments.corpus.any())?;
    match &collections {
        Some(named) => overwriting::refuse_corpus("--out", out, named)?,
        None => inputs.spare("--out", out)?,
    }
    arguments.replacing.check("--out", out)?;
    let mut output = Output::open(out)?;
    let workers = workers(arguments, &recipe)?;
    let total = inputs.known_total().filter(|_| collections.is_none());
    let mut progress = Progress::start(total, inputs.quiet, false);
    let mut features = Features { least: recipe.min_features.into(), ..Features::default() };
    let (workers, ignored) = match &collections {
        Some(named) => corpus(arguments, named, workers, &mut progress, &mut features)?,
        None => pages(arguments, workers, &mut progress, &mut features)?,
    };

    let table = sum(workers)?;
    if table.documents() == 0 {
        return Err(Failure::Run(anyhow::anyhow!(
            "no page has features to count; {} was not written",
            readable::path(&arguments.out)
        )));
    }
    let bytes = table.to_bytes();
    output.write(&bytes)?;
    output.finish()?;
    match collections {
        Some(_) => progress.finish_corpus(ignored),
        None => progress.finish(ignored),
    }
    if !inputs.quiet {
        say(&facts(&table, &features, arguments, bytes.len()));
    }
    Ok(())
}

/// Pages one by one; gives the workers back, and how many files in folders are none.
fn pages(
    arguments: &Arguments,
    workers: Vec<PageWork>,
    progress: &mut Progress,
    features: &mut Features,
) -> Result<(Vec<PageWork>, u64), Failure> {
    let mut pages = arguments.inputs.pages()?;
    let workers = in_order(&mut pages.by_ref().enumerate(), workers, |result| match result {
        Ok(counted) => {
            features.add(counted, progress);
            Ok(())
        }
        Err(why) if arguments.inputs.skip_bad => {
            progress.skip(&why);
            Ok(())
        }
        Err(why) => Err(Failure::Run(why)),
    })?;
    Ok((workers, pages.ignored()))
}

/// Documents of a corpus, likewise.
fn corpus(
    arguments: &Arguments,
    named: &[String],
    workers: Vec<PageWork>,
    progress: &mut Progress,
    features: &mut Features,
) -> Result<(Vec<PageWork>, u64), Failure> {
    let options = arguments.corpus.read_options(arguments.inputs.skip_bad);
    reading::check_fields(named, &options, arguments.inputs.threads)?;
    let source = hapax_corpus::Source::open(named, options).map_err(reading::failure)?;
    let threads = NonZeroUsize::new(workers.len()).unwrap_or(NonZeroUsize::MIN);
    let idle = Mutex::new(workers);
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    source.in_order(
        threads,
        |mut batch| {
            // There are as many workers as threads.
            let worker = lock().pop();
            let Some(mut worker) = worker else { return Vec::new() };
            let counted = batch.entries().filter_map(|entry| worker.entry(entry)).collect();
            lock().push(worker);
            counted
        },
        |counted: Vec<Result<Counted, Bad>>| {
            for result in counted {
                match result {
                    Ok(counted) => features.add(counted, progress),
                    Err(Bad::Skipped(why)) => {
                        progress.skip(&anyhow::anyhow!("{}", reading::skipped(&why)));
                    }
                    Err(Bad::Stops(why)) => return Err(reading::failure(why)),
                }
            }
            Ok(())
        },
    )?;
    Ok((idle.into_inner().unwrap_or_else(PoisonError::into_inner), source.ignored()))
}

/// A record that is damaged.
enum Bad {
    Skipped(hapax_corpus::Error),
    Stops(hapax_corpus::Error),
}

fn recipe(given: &str) -> Result<Recipe, Failure> {
    let recipe = recipes::named("--recipe", given)?;
    match recipe.weighting {
        Weighting::TfIdf => Ok(recipe),
        Weighting::Presence | Weighting::Count => Err(Failure::Arguments(format!(
            "--recipe {} does not weigh by frequency, so a table is of no use to it: use one \
             with weight = \"tf-idf\", such as sood-tfidf",
            recipe.name
        ))),
    }
}

fn workers(arguments: &Arguments, recipe: &Recipe) -> Result<Vec<PageWork>, Failure> {
    let table_bytes = (ROWS * size_of::<u32>()) << arguments.width;
    let threads = match arguments.inputs.threads {
        Some(asked) => asked.get(),
        None => arguments.inputs.thread_count().get().min((TABLES_BYTES / table_bytes).max(1)),
    };
    let ready = || {
        let reader = FeatureReader::new(recipe.clone()).map_err(anyhow::Error::new)?;
        let table = Frequencies::new(recipe.features_key(), arguments.width);
        let table = table.map_err(|e| Failure::Arguments(format!("--width: {e}")))?;
        Ok(PageWork { reader, table, bytes: Vec::new() })
    };
    (0..threads).map(|_| ready()).collect()
}

/// One thread: reads pages and counts their features.
struct PageWork {
    reader: FeatureReader,
    table: Frequencies,
    bytes: Vec<u8>,
}

struct Counted {
    bytes: u64,
    extent: Extent,
    /// Features of the page, repeats included.
    all: u64,
    distinct: u64,
    /// Some of the distinct ones, of the first pages.
    sample: Vec<u64>,
}

impl Work for PageWork {
    type Item = (usize, Result<Source, anyhow::Error>);
    type Out = Result<Counted, anyhow::Error>;

    fn work(&mut self, (number, item): Self::Item) -> Self::Out {
        let source = item?;
        let extent = source.read(&mut self.bytes)?;
        let hints = Hints { content_type: source.content_type(), url: None };
        let features = self
            .reader
            .page(&self.bytes, &hints)
            .map_err(|e| anyhow::Error::new(e).context(readable::path(source.path())))?;
        let sampled = if number < SAMPLED_PAGES { SAMPLED_FEATURES } else { 0 };
        let counted = Counted::of(features, &mut self.table, sampled);
        Ok(Counted { bytes: self.bytes.len() as u64, extent, ..counted })
    }
}

impl PageWork {
    /// Counts what a corpus has; nothing for what is no document.
    fn entry(
        &mut self,
        entry: Result<Entry<'_>, hapax_corpus::Error>,
    ) -> Option<Result<Counted, Bad>> {
        let document = match entry {
            Ok(Entry::Document(document)) => document,
            Ok(Entry::Bad(why)) => return Some(Err(Bad::Skipped(why))),
            Ok(Entry::Fact(_) | Entry::Passed { .. }) => return None,
            Err(why) => return Some(Err(Bad::Stops(why))),
        };
        let stated = match (&document.body.content, document.body.kind) {
            (_, Kind::Other) => None,
            (Content::Str(_), Kind::Html) => Some("text/html; charset=utf-8"),
            (Content::Str(_), Kind::Text) => Some("text/plain; charset=utf-8"),
            (Content::Bytes(_), kind) => Some(match &document.content_type {
                Some(stated) => stated,
                None if kind == Kind::Html => "text/html",
                None => "text/plain",
            }),
        };
        let bytes = document.body.content.as_bytes();
        let hints = Hints { content_type: stated, url: document.url.as_deref() };
        // Neither HTML nor text: a document without words.
        let features = stated.and_then(|_| self.reader.page(bytes, &hints).ok());
        let mut none = Vec::new();
        // The first of each file; of these, the first of all are kept.
        let early = document.place.number <= SAMPLED_PAGES as u64;
        let sampled = if early { SAMPLED_FEATURES } else { 0 };
        let counted = Counted::of(features.unwrap_or(&mut none), &mut self.table, sampled);
        Some(Ok(Counted { bytes: bytes.len() as u64, ..counted }))
    }
}

impl Counted {
    /// Adds a document to the table.
    fn of(features: &mut Vec<u64>, table: &mut Frequencies, sampled: usize) -> Self {
        let all = features.len() as u64;
        if all > 0 {
            // Makes them distinct, too.
            table.add_document(features);
        }
        Self {
            bytes: 0,
            extent: Extent::Whole,
            all,
            distinct: features.len() as u64,
            sample: features.iter().copied().take(sampled).collect(),
        }
    }
}

/// What is known about the features beyond the table.
#[derive(Default)]
struct Features {
    /// Distinct features of each page, added up.
    occurrences: u64,
    sample: Vec<u64>,
    /// How many pages it is of.
    pages: usize,
    /// So many features make a page long enough to be judged.
    least: u64,
}

impl Features {
    fn add(&mut self, counted: Counted, progress: &mut Progress) {
        progress.page(counted.bytes);
        let read = progress.read();
        read.without_features += u64::from(counted.distinct == 0);
        read.too_short += u64::from(counted.distinct > 0 && counted.all < self.least);
        read.cut += u64::from(counted.extent == Extent::Beginning);
        self.occurrences += counted.distinct;
        if self.pages < SAMPLED_PAGES {
            self.pages += 1;
            self.sample.extend(counted.sample);
        }
    }
}

fn sum(workers: Vec<PageWork>) -> Result<Frequencies, Failure> {
    let mut tables = workers.into_iter().map(|worker| worker.table);
    let mut whole = tables.next().ok_or_else(|| anyhow::anyhow!("no thread was started"))?;
    for table in tables {
        whole.merge(&table).map_err(anyhow::Error::new)?;
    }
    Ok(whole)
}

/// A table cannot be asked which features it holds, only about given ones: those of the
/// first pages stand for all.
fn facts(
    table: &Frequencies,
    features: &Features,
    arguments: &Arguments,
    file_bytes: usize,
) -> String {
    let documents = table.documents();
    let mut sample = features.sample.clone();
    sample.sort_unstable();
    sample.dedup();
    let frequencies: Vec<u32> = sample.iter().map(|&f| table.frequency(f)).collect();
    let commonest = u64::from(frequencies.iter().copied().max().unwrap_or(0));
    let single = frequencies.iter().filter(|&&n| n <= 1).count();
    format!(
        "{}: {}, {:.0} distinct features each on average, {}\n\
         of the features of the first pages, the commonest is in {} ({:.1} %) and {:.1} % are in a \
         single one\n\
         counts are too high by less than {:.2} on average (--width {}; each bit more halves it)",
        readable::path(&arguments.out),
        readable::counted(documents, "document"),
        features.occurrences as f64 / documents as f64,
        readable::bytes(file_bytes as u64),
        readable::counted(commonest, "document"),
        100.0 * commonest as f64 / documents as f64,
        100.0 * single as f64 / sample.len().max(1) as f64,
        features.occurrences as f64 / (1u64 << arguments.width) as f64,
        arguments.width,
    )
}
