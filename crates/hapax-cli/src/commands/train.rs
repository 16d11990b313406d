//! `hapax train`: counts the pages in which each feature occurs.
//!
//! `hapax_dedup::stages::training` counts. The file is the same for any number of threads, and appears atomically.
//! The recipe defines features.

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
use hapax_dedup::stages::training::{Counter, Occurrences};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Memory of all threads' tables together, unless the number of threads is given.
const TABLES_BYTES: usize = 2 << 30;

/// Learn document frequencies for recipes that weigh by TF-IDF
///
/// The table is for one recipe's features; other recipes refuse it. It is part of the identity of
/// the fingerprints made with it, so keep it with them.
#[derive(Args, Debug)]
#[command(after_help = "\
Pages without features are not counted as documents. A table of 2^BITS counters a row needs 12 *
2^BITS bytes of memory for each thread; counts of rare features are too high by about (features of
all documents) / 2^BITS.

Examples:
  hapax train crawl/ --out words.hdf
  hapax train crawl/*.warc.gz --out words.hdf
  hapax fingerprint crawl/ --recipe sood-tfidf --frequencies words.hdf
  hapax train crawl/ --recipe mine.toml --width 22 --out mine.hdf")]
pub(crate) struct Arguments {
    /// Pages, folders, corpora, globs, @lists of files, or `-`: all inputs of `hapax dedup`
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Recipe whose features are counted: a built-in recipe or a .toml file that weighs by TF-IDF
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
    let reader = FeatureReader::new(recipe.clone()).map_err(anyhow::Error::new)?;
    let table = Frequencies::new(recipe.features_key(), arguments.width);
    let table = table.map_err(|e| Failure::Arguments(format!("--width: {e}")))?;
    let first = Counter::new(reader, table);
    let mut progress = Progress::start(source.single_documents(), reading.quiet, false);
    let mut features = Occurrences::default();
    let counters = reading.documents(
        &source,
        threads(arguments),
        || first.clone(),
        &mut progress,
        Counter::count,
        |counted, progress| {
            progress.page(counted.bytes);
            let (read, least) = (progress.read(), u64::from(recipe.min_features));
            read.without_features += u64::from(counted.distinct == 0);
            read.too_short += u64::from(counted.distinct > 0 && counted.all < least);
            read.cut += u64::from(counted.cut);
            features.add(counted);
            Ok(())
        },
    )?;

    let table = first.sum(counters).map_err(anyhow::Error::new)?;
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

/// A table can only be queried for given features, not list them, so those of the first pages are
/// its sample.
fn facts(
    table: &Frequencies,
    features: &Occurrences,
    arguments: &Arguments,
    file_bytes: usize,
) -> String {
    let documents = table.documents();
    let (commonest, single) = features.commonest_and_single(table);
    format!(
        "{}: {}, {:.0} distinct features each on average, {}\n\
         of the features of the first pages, the commonest is in {} ({:.1} %) and {:.1} % are in a \
         single one\n\
         counts are too high by less than {:.2} on average (--width {}; each bit more halves it)",
        readable::path(&arguments.out),
        readable::counted(documents, "document"),
        features.all as f64 / documents as f64,
        readable::bytes(file_bytes as u64),
        readable::counted(commonest, "document"),
        100.0 * commonest as f64 / documents as f64,
        100.0 * single,
        features.all as f64 / (1u64 << arguments.width) as f64,
        arguments.width,
    )
}
