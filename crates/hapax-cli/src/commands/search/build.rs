//! `hapax search build` and `hapax search add`: add a corpus to an index.
//!
//! Threads read, extract and fingerprint documents; results are processed in corpus order, so of several documents
//! with one name the last counts, for any number of threads. As many threads sort words into the index. Memory is the
//! writer's limit plus a bounded number of documents in progress.

use std::path::PathBuf;

use clap::Args;
use hapax::fingerprint::Fingerprinter;
use hapax_corpus::Source;
use hapax_dedup::stages::signing::AtHand;
use hapax_search::SearchPage;
use hapax_search::rank::scores::Scores;
use hapax_search::tantivy::WriterOptions;

use super::place::{Filling, NewPlaceArguments, PlaceArguments};
use super::scores;
use crate::corpus::ReadArguments;
use crate::failure::Failure;
use crate::leftovers::Making;
use crate::progress::{Progress, say};
use crate::readable;
use crate::reading;
use crate::recipes::RecipeArguments;

/// Make an index of a corpus
///
/// Reads everything `hapax dedup` reads. The index appears when it is complete. Of documents with
/// the same id, or else the same address, the last one is kept.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax search build crawl/*.warc.gz --out index
  hapax search build crawl.parquet --scores pagerank.tsv --out index
  hapax search build crawl.parquet --postgres \"host=/run/postgresql dbname=web\"")]
pub(crate) struct BuildArguments {
    #[command(flatten)]
    what: CorpusToIndex,

    #[command(flatten)]
    place: NewPlaceArguments,
}

/// Add the documents of a corpus to an index, in place of those with the same names
///
/// Takes effect when everything has been read. The recipe must be that of the index.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax search add new.jsonl --index index")]
pub(crate) struct AddArguments {
    #[command(flatten)]
    what: CorpusToIndex,

    #[command(flatten)]
    place: PlaceArguments,
}

/// What both commands take.
#[derive(Args, Debug)]
struct CorpusToIndex {
    /// WARC, WET, ARC, JSONL, Parquet, HTML and text: files, folders, globs, @lists, or `-`
    #[arg(required = true, value_name = "CORPUS")]
    corpus: Vec<String>,

    /// Scores of pages, as `hapax rank` writes them, in place of those of the corpus
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,

    #[command(flatten)]
    recipe: RecipeArguments,

    /// Memory for sorting words, 15MB to 64GB
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = sorting_memory)]
    memory: usize,

    #[command(flatten)]
    reading: ReadArguments,
}

pub(super) fn build(arguments: &BuildArguments) -> Result<(), Failure> {
    let what = &arguments.what;
    let source = what.reading.open(&what.corpus)?;
    let fingerprinter = what.recipe.fingerprinter()?;
    let place = arguments.place.place()?;
    let create = || place.create(fingerprinter.recipe_id(), what.options());
    let (index, _making) = Making::of(create, |index| index.temporary().into_iter().collect())?;
    what.fill(&source, index, &fingerprinter)
}

pub(super) fn add(arguments: &AddArguments) -> Result<(), Failure> {
    let what = &arguments.what;
    let source = what.reading.open(&what.corpus)?;
    let fingerprinter = what.recipe.fingerprinter()?;
    let index = arguments.place.place()?.fill(fingerprinter.recipe_id(), what.options())?;
    what.fill(&source, index, &fingerprinter)
}

impl CorpusToIndex {
    fn options(&self) -> WriterOptions {
        WriterOptions { threads: self.reading.threads().get(), memory: self.memory }
    }

    fn fill(
        &self,
        source: &Source,
        mut index: Filling,
        fingerprinter: &Fingerprinter,
    ) -> Result<(), Failure> {
        let scores = scores(self.scores.as_deref())?;
        let quiet = self.reading.quiet;
        let mut progress = Progress::start(source.single_documents(), quiet, false);
        let mut not_text = 0u64;
        let work = |at_hand: AtHand<'_>| {
            let bytes = at_hand.document.body.content.as_bytes().len() as u64;
            Ok((bytes, page_of(at_hand, scores.as_ref())))
        };
        let take = |(bytes, page): (u64, Option<SearchPage>), progress: &mut Progress| {
            let Some(page) = page else {
                not_text += 1;
                return Ok(());
            };
            progress.page(bytes);
            let read = progress.read();
            read.without_features += u64::from(page.words == 0);
            read.too_short += u64::from(page.words > 0 && page.fingerprint.is_none());
            index.put(&page)
        };
        self.reading.signatures(source, fingerprinter, &mut progress, work, take)?;
        let read = *progress.read();
        if read.pages + read.skipped + not_text == 0 {
            return Err(reading::no_document(&self.corpus));
        }
        index.finish()?;
        progress.finish(source.ignored());
        if not_text > 0 && !quiet {
            say(&format!("{} neither HTML nor text", readable::counted(not_text, "document")));
        }
        Ok(())
    }
}

/// The indexed page of a document; `None` if it has no searchable text.
fn page_of(at_hand: AtHand<'_>, scores: Option<&Scores>) -> Option<SearchPage> {
    let AtHand { document, page, signature } = at_hand;
    let page = page.ok()?;
    let mut new = SearchPage::new(document.id.as_ref(), page.text.as_str(), &signature);
    new.url = document.url.as_deref().unwrap_or_default().to_owned();
    new.title = page.title.clone().unwrap_or_default();
    let language = document.language.as_deref().or(page.language.as_deref());
    new.language = language.unwrap_or_default().to_owned();
    new.score = match scores {
        Some(scores) => scores.get(&new.url, &new.name),
        None => document.score,
    };
    new.fetched = document.fetched.and_then(|fetched| u64::try_from(fetched.seconds()).ok());
    Some(new)
}

fn sorting_memory(text: &str) -> Result<usize, String> {
    let bytes = crate::commands::plan::quantity::bytes(text)?;
    match (15_000_000..=64_000_000_000).contains(&bytes) {
        true => usize::try_from(bytes).map_err(|error| error.to_string()),
        false => Err("it takes 15MB to 64GB".to_owned()),
    }
}
