//! `hapax page add` and `hapax page check`: find out which page this one duplicates.
//!
//! Reads a corpus on all cores and records it in its order, with a commit for every few thousand pages. Acknowledged
//! pages stay recorded even if the rest of the corpus is bad.

use super::observing::{Observer, RecipeChoice};
use super::score;
use crate::corpus::or_all_cores;
use crate::failure::Failure;
use crate::one_page::Source as File;
use crate::output::{self, Output};
use crate::progress::{Progress, say};
use crate::readable::{count, counted};
use crate::reading;
use crate::repositories::answers::searched;
use crate::repositories::{Done, StoreArguments, failure};
use clap::Args;
use hapax::fingerprint::{Fingerprinter, MaxDistance};
use hapax::group::{Rules, Scope};
use hapax::similarity::MinSimilarity;
use hapax_client::moment;
use hapax_client::prepare::Prepared;
use hapax_client::repository::{Folder, Pages};
use hapax_client::wire::VERDICTS;
use hapax_corpus::{Entry, Fact, ReadOptions, Remedy, Source};
use hapax_store::{Action, Confirm, Frames, Repository, Settings, Wanted};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

const BATCH_SIZE: usize = 5000;

/// Record a page as it was seen, or all pages of a corpus
#[derive(Args, Debug)]
#[command(after_help = "\
With --from, a document without an address is recorded under its id, redirects in archives are
recorded, and images and other media are skipped. --json prints a line for each page.

A corpus is recorded in commits of 5,000 pages; a service records every page that it can. If it
fails, the error says how many pages were recorded. Run the command again: a page that is recorded
twice is not added twice.

Examples:
  hapax page add seen https://example.org/tea tea.html --create
  curl -s URL | hapax page add seen URL
  hapax page add seen --from crawl/*.warc.gz")]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,

    #[command(flatten)]
    page: PageArguments,

    /// Files, folders, globs or @lists to record, in any format that `hapax dedup` reads
    #[arg(long, value_name = "INPUT", num_args = 1.., conflicts_with_all = ["url", "fetched", "score"])]
    from: Vec<String>,

    /// With --from, count and leave out damaged records, instead of stopping at the first
    #[arg(long, requires = "from")]
    skip_bad: bool,

    /// With --from, number of threads [default: all cores]
    #[arg(long, value_name = "N", requires = "from", value_parser = crate::corpus::threads)]
    threads: Option<NonZeroUsize>,

    /// Make the repository if it does not exist
    #[arg(long)]
    create: bool,

    #[command(flatten)]
    making: Making,

    #[command(flatten)]
    recipe: RecipeChoice,

    /// One JSON object a page
    #[arg(long)]
    json: bool,

    /// No progress and no summary; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

/// What a page is and where.
#[derive(Args, Debug)]
struct PageArguments {
    /// The page's address
    #[arg(value_name = "URL", required_unless_present = "from")]
    url: Option<String>,

    /// Its HTML or text; standard input without it
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// PageRank, clicks or another number; higher is better
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = score)]
    score: Option<f64>,

    /// When it was fetched [default: now]
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    fetched: Option<u64>,

    /// Its language, for repositories with that scope [default: as the page states it]
    #[arg(long, value_name = "CODE")]
    language: Option<String>,

    /// The value of the scope's field, for repositories with that scope
    #[arg(long, value_name = "VALUE")]
    field: Option<String>,
}

const MAKING: &str = "For a new repository";

/// Decided when a repository is made.
#[derive(Args, Debug)]
struct Making {
    /// Bits in which fingerprints of near-duplicates may differ, 0 to 16 [default: 6]
    #[arg(long, value_name = "K", requires = "create", value_parser = crate::commands::plan::near_bound, help_heading = MAKING)]
    within: Option<MaxDistance>,

    /// Least similarity of their texts, 0 to 1 [default: 0.84]
    #[arg(long, value_name = "J", requires = "create", help_heading = MAKING)]
    min_similarity: Option<MinSimilarity>,

    /// Which copy to keep: rules, most important first
    #[arg(long, value_name = "RULES", requires = "create", value_parser = crate::commands::dedup::rules, help_heading = MAKING)]
    keep: Option<Rules>,

    /// Compare only within: none, host, domain, language, field:NAME
    #[arg(long, value_name = "SCOPE", requires = "create", help_heading = MAKING)]
    scope: Option<Scope>,

    /// Whether pages sent as signatures, without their texts, can be near-duplicates of pages on
    /// other domains: no, because that needs their text (keyed), or yes (public) [default: keyed]
    #[arg(long, value_name = "HOW", requires = "create", help_heading = MAKING)]
    confirm: Option<Confirm>,

    /// Compare pages of one host beyond the frame that they share, too (on), or as whole pages
    /// (off) [default: on]
    #[arg(long, value_name = "WHETHER", requires = "create", help_heading = MAKING)]
    frames: Option<Frames>,
}

impl Making {
    fn wanted(&self) -> Wanted {
        Wanted {
            within: self.within,
            min_similarity: self.min_similarity,
            rules: self.keep.clone(),
            scope: self.scope.clone(),
            confirm: self.confirm,
            frames: self.frames,
        }
    }
}

/// Refuses settings that differ from those of an existing repository.
pub(crate) fn must_be(wanted: &Wanted, folder: &Path) -> Result<(), Failure> {
    if *wanted == Wanted::default() || !folder.join("pages.redb").exists() {
        return Ok(());
    }
    let store = Repository::open(folder, None).map_err(failure)?;
    wanted.must_be(&store.settings(), folder).map_err(failure)
}

/// Ask what a page duplicates, without recording it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax page check seen https://example.org/new new.html
  curl -s URL | hapax page check --server http://127.0.0.1:8017 URL")]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    store: StoreArguments,

    #[command(flatten)]
    page: PageArguments,

    #[command(flatten)]
    recipe: RecipeChoice,

    /// The answer as JSON
    #[arg(long)]
    json: bool,

    // `PageArguments` asks for an address unless this is there.
    #[arg(long, hide = true, num_args = 0..)]
    from: Option<Vec<String>>,
}

impl PageArguments {
    /// The content of the page.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or standard input is empty: a program that failed would look like a
    /// page that became empty.
    fn read(&self) -> Result<(File, Vec<u8>), Failure> {
        let url = self.url.as_deref().unwrap_or_default();
        if self.file.is_none() && Path::new(url).is_file() {
            return Err(Failure::Arguments(format!(
                "{} is a file and stands where the page's address belongs: the order is STORE URL \
                 FILE",
                crate::readable::harmless(url)
            )));
        }
        let file = File::new(self.file.clone().unwrap_or_else(|| PathBuf::from("-")));
        if file == File::Standard && std::io::stdin().is_terminal() {
            say("reading the page from standard input");
        }
        let (bytes, _) = file.read()?;
        if bytes.is_empty() && file == File::Standard {
            return Err(Failure::Run(anyhow::anyhow!(
                "nothing was read from standard input, so {} stays as it was; a page that is \
                 really empty can be given as a FILE",
                crate::readable::harmless(url)
            )));
        }
        Ok((file, bytes))
    }

    fn observe(
        &self,
        (file, bytes): &(File, Vec<u8>),
        observer: &mut Observer,
    ) -> Result<Prepared, Failure> {
        let url = self.url.as_deref().unwrap_or_default();
        let (mut seen, text) = observer.file(url, file, bytes)?;
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        seen.fetched = Some(self.fetched.unwrap_or_else(now));
        seen.score = self.score;
        if let Some(language) = &self.language {
            seen.language.clone_from(language);
        }
        seen.field = self.field.clone().unwrap_or_default();
        Ok(Prepared { text, ..Action::Observe(Box::new(seen)).into() })
    }
}

pub(crate) fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    if arguments.from.is_some() {
        return Err(Failure::Arguments(
            "a page is checked by itself: give its URL and FILE. `hapax page add --from` records a \
             corpus, and `hapax dedup --dry-run` says what is duplicate in one"
                .to_owned(),
        ));
    }
    let store = arguments.store.open()?;
    let fingerprinter = arguments.recipe.fingerprinter(Some(&store.recipe()?))?;
    let mut observer = Observer::new(&fingerprinter, &*store)?;
    let page = arguments.page.read()?;
    let answer = store.check(arguments.page.observe(&page, &mut observer)?)?;
    output::answer(arguments.json, &answer, &searched(&answer))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = &arguments.store.store;
    if arguments.create {
        arguments.store.folder("--create")?;
    }
    let mut options = ReadOptions { skip_bad: arguments.skip_bad, ..ReadOptions::default() };
    if let Some(Scope::Field(name)) = &arguments.making.scope {
        options.named.push((format!("--scope field:{name}"), name.clone()));
    }
    hapax_corpus::check_fields(&arguments.from, &options, or_all_cores(arguments.threads))?;
    let new = arguments.create && !folder.join("pages.redb").exists();
    let read = || match arguments.from.is_empty() {
        true => arguments.page.read().map(Some),
        false => Ok(None),
    };
    let (mut store, fingerprinter, page): (Box<dyn Pages>, _, _) = if new {
        let fingerprinter = arguments.recipe.fingerprinter(None)?;
        let settings = Settings::new(fingerprinter.recipe_id().clone());
        let settings = arguments.making.wanted().made_of(settings);
        let page = read()?;
        if let Some(page) = &page {
            // A refused page must not create a repository.
            arguments.page.observe(page, &mut Observer::trying(&fingerprinter, &settings.scope))?;
        }
        let store = Repository::create(folder, settings).map_err(failure)?;
        (Box::new(Folder { store }), fingerprinter, page)
    } else {
        if arguments.create {
            must_be(&arguments.making.wanted(), folder)?;
        }
        let store = arguments.store.open()?;
        let fingerprinter = arguments.recipe.fingerprinter(Some(&store.recipe()?))?;
        (store, fingerprinter, read()?)
    };
    let observer = Observer::new(&fingerprinter, &*store)?;
    let Some(page) = page else {
        let corpus = Corpus {
            inputs: &arguments.from,
            source: &open(&arguments.from, options)?,
            threads: arguments.threads,
            json: arguments.json,
            quiet: arguments.quiet,
        };
        return many(corpus, &mut *store, &observer);
    };
    let seen = arguments.page.observe(&page, &mut observer.clone())?;
    match store.apply(vec![seen])?.pop() {
        Some(Done::Verdict(answer)) => output::answer(arguments.json, &*answer, &searched(&answer)),
        Some(Done::Known(_)) | None => Ok(()),
    }
}

/// The observations from a batch of a corpus.
#[derive(Default)]
struct Batch {
    actions: Vec<Prepared>,
    passed: u64,
    bad: Vec<hapax_corpus::Bad>,
    stopped: Option<hapax_corpus::Error>,
}

/// Opens the inputs of a corpus.
pub(crate) fn open(inputs: &[String], options: ReadOptions) -> Result<Source, Failure> {
    Source::open(inputs, options).map_err(corpus_failure)
}

/// A corpus, and how to read and report it.
pub(crate) struct Corpus<'a> {
    pub(crate) inputs: &'a [String],
    pub(crate) source: &'a Source,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

/// Records a corpus in a repository, which is created with these settings if it does not exist.
pub(crate) fn record(
    corpus: Corpus<'_>,
    folder: &Path,
    fingerprinter: &Fingerprinter,
    settings: Settings,
) -> Result<(), Failure> {
    let store = match folder.join("pages.redb").exists() {
        true => Repository::open(folder, Some(fingerprinter.recipe_id())),
        false => Repository::create(folder, settings),
    };
    let mut store = Folder { store: store.map_err(failure)? };
    let observer = Observer::new(fingerprinter, &store)?;
    many(corpus, &mut store, &observer)
}

fn many(corpus: Corpus<'_>, store: &mut dyn Pages, observer: &Observer) -> Result<(), Failure> {
    let source = corpus.source;
    let threads = or_all_cores(corpus.threads);
    let idle = Mutex::new(vec![observer.clone()]);
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let mut recorder = Recorder {
        store,
        output: Output::open(None)?,
        json: corpus.json,
        waiting: Vec::new(),
        committed: 0,
        counts: BTreeMap::new(),
    };
    let mut progress = Progress::start(None, corpus.quiet, recorder.output.on_screen());
    let mut passed = 0;
    let read_all = source.in_order(
        threads,
        |batch| {
            let ready = lock().pop();
            let mut observer = ready.unwrap_or_else(|| observer.clone());
            let read = read(batch, &mut observer);
            lock().push(observer);
            read
        },
        |batch| {
            batch.bad.iter().for_each(|bad| progress.skip(bad));
            passed += batch.passed;
            progress.pages(batch.actions.len() as u64);
            recorder.waiting.extend(batch.actions);
            if recorder.waiting.len() >= BATCH_SIZE || batch.stopped.is_some() {
                recorder.commit()?;
            }
            batch.stopped.map_or(Ok(()), |error| Err(corpus_failure(error)))
        },
    );
    let recorded_all = read_all.and_then(|()| recorder.commit());
    recorded_all.map_err(|failure| recorder.with_recorded(failure))?;
    progress.clear();
    recorder.output.finish()?;
    let skipped = progress.read().skipped;
    if progress.read().pages + passed + skipped == 0 {
        return Err(reading::no_document(corpus.inputs));
    }
    if !corpus.quiet {
        let counts = &recorder.counts;
        let worded = |verdict| counts.get(verdict).map(|n| format!("{} {verdict}", count(*n)));
        let verdicts: Vec<String> = VERDICTS.into_iter().filter_map(worded).collect();
        let pages = counted(recorder.counts.values().sum(), "page");
        let (passed, skipped) = (count(passed), count(skipped));
        let verdicts = match verdicts.is_empty() {
            true => String::new(),
            false => format!(": {}", verdicts.join(", ")),
        };
        say(&format!(
            "{pages} recorded{verdicts}; {passed} records passed over, {skipped} skipped"
        ));
        if let Some(line) = reading::without_advice(source.ignored()) {
            say(&line);
        }
    }
    Ok(())
}

fn read(mut batch: hapax_corpus::Batch, observer: &mut Observer) -> Batch {
    let mut read = Batch::default();
    for entry in batch.entries() {
        match entry {
            Ok(Entry::Document(document)) => match observer.document(&document) {
                Some(seen) => read.actions.push(seen),
                None => read.passed += 1,
            },
            Ok(Entry::Fact(Fact::Redirect { from, to, .. })) if from == to => read.passed += 1,
            Ok(Entry::Fact(Fact::Redirect { from, to, .. })) => {
                read.actions.push(Action::Redirect { from, to, fetched: None }.into());
            }
            Ok(Entry::Fact(Fact::Revisit { .. }) | Entry::Passed { .. }) => read.passed += 1,
            Ok(Entry::Bad(bad)) => read.bad.push(bad),
            Err(error) => read.stopped = Some(error),
        }
    }
    read
}

fn corpus_failure(error: hapax_corpus::Error) -> Failure {
    // These commands have no flag for the format.
    let remedy = error.remedy().filter(|it| *it != Remedy::Format);
    reading::failure(error, remedy)
}

/// Collects pages and records them in batches.
struct Recorder<'a> {
    store: &'a mut dyn Pages,
    output: Output,
    json: bool,
    waiting: Vec<Prepared>,
    /// Number of committed pages and redirects.
    committed: u64,
    counts: BTreeMap<String, u64>,
}

impl Recorder<'_> {
    fn commit(&mut self) -> Result<(), Failure> {
        let actions = std::mem::take(&mut self.waiting);
        if actions.is_empty() {
            return Ok(());
        }
        let count = actions.len() as u64;
        let done = self.store.apply(actions)?;
        self.committed += count;
        for done in done {
            let Done::Verdict(answer) = done else { continue };
            *self.counts.entry(answer.verdict.clone()).or_default() += 1;
            if self.json {
                self.output.line(&output::json(&answer)?)?;
            }
        }
        Ok(())
    }

    /// Adds the number of recorded pages to a failure.
    fn with_recorded(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Run(_) | Failure::Refused(_) if self.committed > 0 => {
                let pages = counted(self.committed, "page");
                Failure::Run(anyhow::anyhow!("{failure}; the {pages} before were recorded"))
            }
            failure => failure,
        }
    }
}
