//! `hapax train`: in how many pages does each feature occur?
//!
//! Every thread counts into its own table; tables add up to the same whole however the pages
//! were shared out, so the file is the same for any number of threads.

use crate::failure::Failure;
use crate::inputs::{Extent, InputArguments, Source};
use crate::output::Output;
use crate::pipeline::{Work, in_order};
use crate::progress::{Progress, say};
use crate::readable;
use crate::recipes;
use clap::Args;
use hapax::features::Frequencies;
use hapax::features::frequency::{DEFAULT_WIDTH, ROWS};
use hapax::fingerprint::{FeatureReader, Recipe, Weighting};
use hapax::page::Hints;
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

    /// 2^BITS counters a row, 10 to 28
    #[arg(long, value_name = "BITS", default_value_t = DEFAULT_WIDTH,
          value_parser = clap::value_parser!(u8).range(10..=28))]
    width: u8,
}

/// Runs the command.
///
/// # Errors
///
/// An input is bad and bad input is not skipped, or the table cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let inputs = &arguments.inputs;
    let recipe = recipe(&arguments.recipe)?;
    let mut pages = inputs.pages()?;
    let mut output = Output::open(Some(&arguments.out))?;
    let workers = workers(arguments, &recipe)?;

    let mut progress = Progress::start(inputs.known_total(), inputs.quiet, false);
    let mut features = Features::default();
    let workers = in_order(&mut pages.by_ref().enumerate(), workers, |result| match result {
        Ok(counted) => {
            progress.page(counted.bytes);
            let read = progress.read();
            read.without_features += u64::from(counted.distinct == 0);
            let short = counted.distinct > 0 && counted.all < u64::from(recipe.min_features);
            read.too_short += u64::from(short);
            read.cut += u64::from(counted.extent == Extent::Beginning);
            features.add(counted);
            Ok(())
        }
        Err(why) if inputs.skip_bad => {
            progress.skip(&why);
            Ok(())
        }
        Err(why) => Err(Failure::Run(why)),
    })?;

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
    progress.finish(pages.ignored());
    if !inputs.quiet {
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
        let all = features.len() as u64;
        if all > 0 {
            // Makes them distinct, too.
            self.table.add_document(features);
        }
        let sampled = if number < SAMPLED_PAGES { SAMPLED_FEATURES } else { 0 };
        Ok(Counted {
            bytes: self.bytes.len() as u64,
            extent,
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
}

impl Features {
    fn add(&mut self, counted: Counted) {
        self.occurrences += counted.distinct;
        self.sample.extend(counted.sample);
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
