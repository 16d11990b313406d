//! Runs the whole job.
//!
//! Reads the corpus twice: the first reading makes signatures and keeps only what comparing needs, the second
//! writes. The decision in between does not depend on the number of threads.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use cpu_time::ProcessTime;
use hapax::group::Outcome;
use hapax_corpus::Source;
use rayon::prelude::*;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::against::{self, Earlier, KEPT_SIGNATURES};
use crate::confirm::confirm;
use crate::decide::{Decision, decide};
use crate::error::Error;
use crate::inputs::{self, STANDARD_INPUT, StreamName};
use crate::key::with_key;
use crate::options::{Confirm, KeptFormat, Options};
use crate::outputs::{GROUPS, LAST, OutFolder, REMOVED, Shown, Summary, Writing, kept_name};
use crate::pages::Pages;
use crate::read::{Corpus, read};
use crate::report::{self, Contents, Counted, Examples};
use crate::signatures::checkpoint::CHECKPOINT;
use crate::threads::Threads;
use crate::watch::{Stage, Watch};

pub(crate) const RUN: &str = "run.json";
pub(crate) const REPORT: &str = "report.html";

/// The result of a job.
#[derive(Clone, Debug)]
pub struct Finished {
    pub summary: Summary,
    pub run: Run,
    /// The files that were written.
    pub files: Vec<PathBuf>,
}

/// Time and memory of a run, written as `run.json`. Differs from run to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Run {
    pub threads: usize,
    /// Wall seconds to read and fingerprint; `reading_cpu_seconds` is CPU time over all threads.
    pub reading_seconds: f64,
    pub reading_cpu_seconds: f64,
    /// Wall seconds to find pairs and groups.
    pub deciding_seconds: f64,
    pub deciding_cpu_seconds: f64,
    /// Wall seconds to read near-duplicates again and compare their texts; 0 without exact
    /// confirmation.
    pub confirming_seconds: f64,
    pub confirming_cpu_seconds: f64,
    /// Wall seconds to read again and write; 0 for a dry run.
    pub writing_seconds: f64,
    pub writing_cpu_seconds: f64,
    /// Bytes of memory per document between the two readings.
    pub bytes_per_document: f64,
    /// Peak resident memory of the process in bytes; `None` where the system does not report it.
    pub peak_memory: Option<u64>,
    pub version: &'static str,
}

/// Cleans a corpus into a new or empty folder, or a folder of an object store, given by its
/// address.
///
/// A job that was killed or stopped resumes when it is called again with the same inputs and
/// options; see [`Options::restart`].
pub fn dedup(
    inputs: &[String],
    out: &Path,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Finished, Error> {
    options.format.map_or(Ok(()), |format| format.check_revisits(options.revisits))?;
    options.check_frames(None)?;
    let earlier = Earlier::load(&options.against, options)?;
    let mut folder = OutFolder::open(out, options.work.as_deref(), options.restart)?;
    let (source, names) =
        inputs::open(inputs, &options.read, options.threads, || folder.making(STANDARD_INPUT))?;
    // Standard input can be read only once, so such a job cannot be resumed.
    let checkpoint = names.is_none().then(|| folder.making(CHECKPOINT));
    let checkpoint = checkpoint.as_deref();
    let options = &with_key(options, earlier.key(), checkpoint)?;
    let threads = &Threads::new(options.threads)?.until(&options.stop);
    let mut clock = Clock::start();
    let scratch = folder.making("");
    let places = (checkpoint, &*scratch);
    let read = read_all((&source, &names), inputs, options, places, threads, watch, &mut clock);
    let resumable = checkpoint.is_some() && read.as_ref().err().is_none_or(Error::may_go_on);
    folder.keep_checkpoint(resumable);
    let (corpus, mut run) = read?;
    let format = options.format.unwrap_or_else(|| as_read(&corpus, source.files()));
    format.check_revisits(options.revisits)?;
    let mut decision = decide_all(&corpus, &earlier, options, &scratch, threads, watch)?;
    (run.deciding_seconds, run.deciding_cpu_seconds) = clock.lap();
    let confirmed = confirm(&source, &names, &corpus, &mut decision, options, &scratch, watch);
    if matches!(confirmed, Err(Error::Changed { .. })) {
        folder.keep_checkpoint(false);
    }
    confirmed?;
    watch.decided(&decision);
    (run.confirming_seconds, run.confirming_cpu_seconds) = clock.lap();

    watch.stage(Stage::Writing);
    let kept = kept_name(format, options.layout);
    let mut shown = Shown {
        examples: Examples::choose(&decision),
        passed: Vec::new(),
        frames: report::Frames::new(&corpus.frames),
    };
    let work = Writing {
        source: &source,
        names: &names,
        corpus: &corpus,
        decision: &decision,
        folder: &folder,
        kept: &kept,
        options,
    };
    // Neither is needed by the writer, so both run at the same time.
    let background = |threads: &Threads| {
        let signatures = || write_signatures(&decision, &folder, options, threads);
        let summary = || Summary::of(&corpus, &decision, options, format, inputs);
        let (signed, counted) = rayon::join(signatures, || Counted::of(summary, &decision));
        signed.map(|()| counted)
    };
    let (written, counted) = thread::scope(|scope| {
        let counted = scope.spawn(|| threads.run(background));
        let written = work.write(&mut shown, watch);
        (written, counted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    if matches!(written, Err(Error::Changed { .. })) {
        // The checkpoint describes files that no longer exist.
        folder.keep_checkpoint(false);
    }
    let kept = written?;
    let counted = counted?;
    let summary = counted.summary.clone();
    let contents = Contents::of(counted, &decision, shown, options.made.clone());
    let report = report::page(&contents, &options.fingerprinter);
    folder.make(REPORT, report.as_bytes())?;
    folder.make(LAST, &json(&summary))?;
    (run.writing_seconds, run.writing_cpu_seconds) = clock.lap();
    run.peak_memory = peak_memory();
    folder.make(RUN, &json(&run))?;
    let mut names: Vec<&str> = kept.iter().map(String::as_str).collect();
    names.extend([KEPT_SIGNATURES, GROUPS, REMOVED, REPORT, RUN, LAST]);
    if !watch.made() {
        return Err(Error::Stopped);
    }
    let files = folder.publish(&names, watch)?;
    Ok(Finished { summary, run, files })
}

/// Writes the signatures of kept documents, for [`Options::against`] of later jobs.
pub(crate) fn write_signatures(
    decision: &Decision<'_>,
    folder: &OutFolder,
    options: &Options,
    threads: &Threads,
) -> Result<(), Error> {
    let pages = decision.pages();
    let stays = |page: &u32| decision.verdict(*page).outcome == Outcome::Kept;
    let stay: Vec<u32> = (0..pages.len() as u32).into_par_iter().filter(stays).collect();
    against::write(&folder.making(KEPT_SIGNATURES), options, pages, &stay, threads)
}

/// The output format of documents read from these files.
pub(crate) fn as_read(
    corpus: &Corpus,
    files: impl IntoIterator<Item = impl AsRef<Path>>,
) -> KeptFormat {
    let counts = &corpus.counts;
    let documents = corpus.pages.len() as u64;
    KeptFormat::as_read(documents, (counts.archived, counts.rows), files)
}

/// Reports what [`dedup`] would do, without writing.
pub fn dry_run(
    inputs: &[String],
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Finished, Error> {
    options.check_frames(once(inputs))?;
    let earlier = Earlier::load(&options.against, options)?;
    let source = Source::open(inputs, options.read.clone())?;
    let mut options = with_key(options, earlier.key(), None)?;
    // Standard input can be read only once, so its removals are reported without exact
    // confirmation.
    if options.confirm == Confirm::Exact && inputs.iter().any(|input| input == "-") {
        options.confirm = Confirm::Keyed;
    }
    let options = &options;
    let threads = &Threads::new(options.threads)?.until(&options.stop);
    let names = StreamName::default();
    let mut clock = Clock::start();
    let scratch = scratch()?;
    let places = (None, scratch.path());
    let read = (&source, &names);
    let (corpus, mut run) = read_all(read, inputs, options, places, threads, watch, &mut clock)?;
    let format = options.format.unwrap_or_else(|| as_read(&corpus, source.files()));
    format.check_revisits(options.revisits)?;
    let mut decision = decide_all(&corpus, &earlier, options, scratch.path(), threads, watch)?;
    (run.deciding_seconds, run.deciding_cpu_seconds) = clock.lap();
    confirm(&source, &names, &corpus, &mut decision, options, scratch.path(), watch)?;
    watch.decided(&decision);
    (run.confirming_seconds, run.confirming_cpu_seconds) = clock.lap();
    run.peak_memory = peak_memory();
    let summary = Summary::of(&corpus, &decision, options, format, inputs);
    Ok(Finished { summary, run, files: Vec::new() })
}

/// Reads a corpus as [`dedup`] does, without deciding, for callers that call
/// [`decide`](crate::decide()) several times.
///
/// # Errors
///
/// An input is bad, or the corpus has no document.
pub fn read_corpus(
    inputs: &[String],
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Corpus, Error> {
    options.check_frames(once(inputs))?;
    let source = Source::open(inputs, options.read.clone())?;
    let options = &with_key(options, None, None)?;
    let threads = &Threads::new(options.threads)?.until(&options.stop);
    let mut clock = Clock::start();
    let names = StreamName::default();
    let scratch = scratch()?;
    let places = (None, scratch.path());
    let read = (&source, &names);
    let (corpus, _) = read_all(read, inputs, options, places, threads, watch, &mut clock)?;
    Ok(corpus)
}

/// Why own texts alone cannot be learned from inputs that can be read only once, and what to do
/// instead.
fn once(inputs: &[String]) -> Option<(&'static str, &'static str)> {
    let why = ("standard input that is not copied and comes once", "name files");
    inputs.iter().any(|input| input == "-").then_some(why)
}

fn read_all(
    (source, names): (&Source, &StreamName),
    inputs: &[String],
    options: &Options,
    (checkpoint, scratch): (Option<&Path>, &Path),
    threads: &Threads,
    watch: &mut dyn Watch,
    clock: &mut Clock,
) -> Result<(Corpus, Run), Error> {
    watch.inputs(source.files().len() as u64, source.input_bytes());
    watch.stage(Stage::Reading);
    let corpus = read(source, names, options, checkpoint, scratch, threads, watch)?;
    if corpus.pages.is_empty() {
        return Err(Error::NoDocuments { inputs: shown(inputs).join(", ") });
    }
    if let Some((first, second)) = threads.run(|_| Ok(one_id_twice(&corpus.pages)))? {
        let id = corpus.pages.id(first).to_owned();
        let [first, second] = [first, second].map(|page| place_of(source, names, page));
        return Err(Error::DuplicateId { id, first: first?, second: second? });
    }
    let run = run_of(&corpus, options, clock);
    Ok((corpus, run))
}

/// Time and memory of the reading.
pub(crate) fn run_of(corpus: &Corpus, options: &Options, clock: &mut Clock) -> Run {
    let (reading_seconds, reading_cpu_seconds) = clock.lap();
    Run {
        threads: options.threads.get(),
        reading_seconds,
        reading_cpu_seconds,
        bytes_per_document: corpus.pages.bytes() as f64 / corpus.pages.len() as f64,
        version: env!("CARGO_PKG_VERSION"),
        ..Run::default()
    }
}

/// Paths and addresses without credentials, as they may be printed.
pub(crate) fn shown(inputs: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    inputs.into_iter().map(|input| hapax_corpus::shown(input.as_ref()).into_owned()).collect()
}

pub(crate) fn decide_all<'p>(
    corpus: &'p Corpus,
    earlier: &'p Earlier,
    options: &'p Options,
    scratch: &Path,
    threads: &Threads,
    watch: &mut dyn Watch,
) -> Result<Decision<'p>, Error> {
    watch.stage(Stage::Deciding);
    threads.run(|threads| decide(&corpus.pages, &corpus.facts, earlier, options, threads, scratch))
}

/// A folder for temporary files where there is no output folder. Its name is unpredictable and only
/// the owner may enter it, because the parent folder is shared by all users.
fn scratch() -> Result<tempfile::TempDir, Error> {
    tempfile::tempdir()
        .map_err(|error| Error::io("create a folder in", std::env::temp_dir(), error))
}

/// Finds two documents with one id and different contents: removals could not be told apart by id.
/// An address that was crawled twice may have changed and is no mistake. Returns the first document
/// with the id of an earlier one, second.
pub(crate) fn one_id_twice(pages: &Pages) -> Option<(u32, u32)> {
    // Sorting hashes is many times faster than sorting names; names are compared where hashes are
    // equal.
    let named =
        (0..pages.len() as u32).into_par_iter().filter(|&page| !pages.is_named_by_url(page));
    let mut order: Vec<(u64, u32)> =
        named.map(|page| (xxh3_64(pages.id(page).as_bytes()), page)).collect();
    order.par_sort_unstable();
    let mut twice: Option<(u32, u32)> = None;
    for same in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        same.sort_unstable_by_key(|&(_, page)| (pages.id(page), page));
        for two in same.windows(2) {
            let (first, second) = (two[0].1, two[1].1);
            if pages.id(first) == pages.id(second)
                && pages.content(first) != pages.content(second)
                && twice.is_none_or(|(_, earlier)| second < earlier)
            {
                twice = Some((first, second));
            }
        }
    }
    twice
}

/// File and record of a document. Reads the corpus from the start, so it is for errors only.
fn place_of(source: &Source, names: &StreamName, page: u32) -> Result<String, Error> {
    let mut left = page;
    for mut batch in source.batches() {
        for document in batch.documents() {
            let document = document?;
            if left == 0 {
                let place = document.place;
                let file = source.files().nth(place.file.0 as usize).unwrap_or_default();
                return Ok(format!("{}, record {}", names.clean(&file), place.number));
            }
            left -= 1;
        }
    }
    Ok(format!("document {page}"))
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    // Cannot fail: maps have string or number keys, and numbers are finite.
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

pub(crate) struct Clock(Instant, ProcessTime);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now(), ProcessTime::now())
    }

    /// Wall and CPU seconds since the last lap, rounded to a thousandth.
    pub(crate) fn lap(&mut self) -> (f64, f64) {
        let lap = [self.0.elapsed(), self.1.elapsed()];
        *self = Self::start();
        let [wall, cpu] = lap.map(|it| (it.as_secs_f64() * 1000.0).round() / 1000.0);
        (wall, cpu)
    }
}

/// Peak resident memory of this process in bytes.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
