//! `hapax train`: in how many pages does each feature occur?
//!
//! Every thread counts into its own table; tables add up to the same whole however the pages
//! were shared out, so the file is the same for any number of threads.

use crate::corpus::ReadArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::overwriting;
use crate::progress::{Progress, say};
use crate::readable;
use crate::recipes;
use clap::Args;
use hapax::features::Frequencies;
use hapax::features::frequency::{DEFAULT_WIDTH, ROWS};
use hapax::fingerprint::{FeatureReader, Recipe, Weighting};
use hapax_corpus::Document;
use hapax_dedup::known;
use hapax_dedup::stages::signing::not_a_page;
use std::num::NonZeroUsize;
use std::path::PathBuf;

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
    /// Pages, folders, corpora, globs, @lists of files, or `-`: whatever `hapax dedup` reads
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

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
    reading: ReadArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { inputs, reading, .. } = arguments;
    let out = Some(arguments.out.as_path());
    let files = recipes::files(std::slice::from_ref(&arguments.recipe), None);
    overwriting::refuse("--out", out, files)?;
    let recipe = recipe(&arguments.recipe)?;
    reading.spare("--out", out, inputs)?;
    arguments.replacing.check("--out", out)?;
    let source = reading.open(inputs)?;
    let mut output = Output::open(out)?;
    let first = Counter::new(arguments, &recipe)?;
    let mut progress = Progress::start(source.single_documents(), reading.quiet, false);
    let mut features = Features { least: recipe.min_features.into(), ..Features::default() };
    let counters = reading.documents(
        &source,
        threads(arguments),
        || first.clone(),
        &mut progress,
        Counter::count,
        |counted, progress| {
            features.add(counted, progress);
            Ok(())
        },
    )?;

    let table = sum(first, counters)?;
    if table.documents() == 0 {
        return Err(Failure::Run(anyhow::anyhow!(
            "no page has features to count; {} was not written",
            readable::path(&arguments.out)
        )));
    }
    let bytes = table.to_bytes();
    output.write(&bytes)?;
    output.finish()?;
    progress.finish(source.ignored());
    if !reading.quiet {
        say(&facts(&table, &features, arguments, bytes.len()));
    }
    Ok(())
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

fn threads(arguments: &Arguments) -> NonZeroUsize {
    let table_bytes = (ROWS * size_of::<u32>()) << arguments.width;
    let most = NonZeroUsize::new(TABLES_BYTES / table_bytes).unwrap_or(NonZeroUsize::MIN);
    let threads = arguments.reading.threads();
    if arguments.reading.threads.is_some() { threads } else { threads.min(most) }
}

/// One thread: counts the features of documents.
#[derive(Clone)]
struct Counter {
    reader: FeatureReader,
    table: Frequencies,
}

struct Counted {
    bytes: u64,
    /// Of its text, only the beginning counts.
    cut: bool,
    /// Features of the page, repeats included.
    all: u64,
    distinct: u64,
    /// Some of the distinct ones, of the first pages.
    sample: Vec<u64>,
}

impl Counter {
    fn new(arguments: &Arguments, recipe: &Recipe) -> Result<Self, Failure> {
        let reader = FeatureReader::new(recipe.clone()).map_err(anyhow::Error::new)?;
        let table = Frequencies::new(recipe.features_key(), arguments.width);
        let table = table.map_err(|e| Failure::Arguments(format!("--width: {e}")))?;
        Ok(Self { reader, table })
    }

    /// Adds a document to the table. Of a corpus, what is neither HTML nor text is a document without
    /// words.
    fn count(&mut self, document: &Document<'_>) -> Result<Counted, hapax_corpus::Error> {
        let mut none = Vec::new();
        let (cut, features) = match known(document).and_then(|it| self.reader.document(&it)) {
            Ok((page, features)) => (page.truncated, features),
            Err(error) => not_a_page(document, error).map_or(Ok((false, &mut none)), Err)?,
        };
        let all = features.len() as u64;
        if all > 0 {
            // Makes them distinct, too.
            self.table.add_document(features);
        }
        // The first of each file; of these, the first of all are kept.
        let early = document.place.number <= SAMPLED_PAGES as u64;
        let sampled = if early { SAMPLED_FEATURES } else { 0 };
        Ok(Counted {
            bytes: document.body.content.as_bytes().len() as u64,
            cut,
            all,
            distinct: features.len() as u64,
            sample: features.iter().copied().take(sampled).collect(),
        })
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
        read.cut += u64::from(counted.cut);
        self.occurrences += counted.distinct;
        if self.pages < SAMPLED_PAGES {
            self.pages += 1;
            self.sample.extend(counted.sample);
        }
    }
}

fn sum(first: Counter, counters: Vec<Counter>) -> Result<Frequencies, Failure> {
    let mut whole = first.table;
    for counter in counters {
        whole.merge(&counter.table).map_err(anyhow::Error::new)?;
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
