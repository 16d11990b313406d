//! The whole job, watched by Python.
//!
//! The job of `hapax dedup`, with the same options and the same files. Progress goes to a Python
//! function a few times a second; what it raises, or Ctrl-C, stops the job; called again, it
//! continues.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hapax::group::{Outcome, Scope};
use hapax_corpus::{Fields, Format, ReadOptions};
use hapax_dedup::{
    Confirm, Decision, Error, Frames, KeptFormat, Layout, Options, Stage, Stop, Watch, dedup,
    dry_run, key,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::errors::{of_argument, of_job, raised};
use crate::fingerprinter::FingerprinterCore;
use crate::index::{bound, bytes_of};
use crate::stages::{rules, similarity};
use crate::workers::{interruptible, threads};

/// How often progress is reported.
const EVERY: Duration = Duration::from_millis(100);

/// What a caller gives for a job. An error names the option.
pub(crate) fn asked(given: &Bound<'_, PyAny>) -> PyResult<Asked> {
    given.extract().map_err(|error: PyErr| {
        let py = given.py();
        let place = error.value(py).to_string();
        let option = place.rsplit('.').next().unwrap_or_default();
        let cause = error.cause(py).unwrap_or_else(|| error.clone_ref(py));
        raised("ArgumentError", format!("{option}=: {}", cause.value(py)), None)
    })
}

/// What a caller may say about a job; the package always gives all of it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    within: Option<u32>,
    min_similarity: Option<f64>,
    verify: bool,
    key: Option<PathBuf>,
    frames: Option<String>,
    keep: Option<String>,
    scope: Option<String>,
    languages: Vec<String>,
    format: Option<String>,
    shard_size: Option<i64>,
    layout: Option<String>,
    revisits: bool,
    against: Vec<PathBuf>,
    memory: Option<u64>,
    restart: bool,
    threads: i64,
    skip_bad: bool,
    follow_links: bool,
    error_pages: bool,
    input_format: Option<String>,
    id_field: Option<String>,
    url_field: Option<String>,
    html_field: Option<String>,
    text_field: Option<String>,
    score_field: Option<String>,
    fetched_field: Option<String>,
    language_field: Option<String>,
}

impl Asked {
    pub(crate) fn options(self, by: &FingerprinterCore) -> PyResult<Options> {
        let mut options = Options::new(by.engine().clone());
        if let Some(frames) = &self.frames {
            let frames: Result<Frames, _> = frames.parse();
            options.use_frames(frames.map_err(|error| of_argument(&error))?);
        }
        if let Some(within) = self.within {
            options.policy.within = bound(within)?;
        }
        if let Some(least) = self.min_similarity {
            options.policy.min_similarity = similarity(least)?;
        }
        if self.verify {
            options.confirm = Confirm::Exact;
        }
        options.key = self.key.as_deref().map(key::of_run).transpose().map_err(|it| of_job(&it))?;
        if let Some(keep) = &self.keep {
            options.keep = rules(keep)?;
        }
        if let Some(scope) = &self.scope {
            options.scope = scope_of(scope)?;
        }
        if let Some(format) = &self.format {
            let format: Result<KeptFormat, _> = format.parse();
            options.format = Some(format.map_err(|error| of_argument(&error))?);
        }
        if let Some(size) = self.shard_size {
            let refused =
                || raised("ArgumentError", format!("shard_size={size}: at least 1"), None);
            let bytes = u64::try_from(size).ok().and_then(NonZero::new);
            options.layout = Layout::Size(bytes.ok_or_else(refused)?);
        }
        match self.layout.as_deref() {
            None | Some("one") => {}
            Some("as-input") if self.shard_size.is_none() => options.layout = Layout::AsInput,
            Some("as-input") => {
                let what =
                    "layout=\"as-input\" makes a file for each input file; leave out shard_size=";
                return Err(raised("ArgumentError", what.to_owned(), None));
            }
            Some(other) => {
                let what = format!("layout={other:?}: it is \"one\" or \"as-input\"");
                return Err(raised("ArgumentError", what, None));
            }
        }
        options.read = ReadOptions {
            format: self.input_format.as_deref().map(input_format).transpose()?,
            fields: Fields {
                id: self.id_field,
                url: self.url_field,
                html: self.html_field,
                text: self.text_field,
                score: self.score_field,
                fetched: self.fetched_field,
                language: self.language_field,
            },
            keep_error_pages: self.error_pages,
            skip_bad: self.skip_bad,
            follow_links: self.follow_links,
            ..ReadOptions::default()
        };
        options.languages = self.languages;
        options.revisits = self.revisits;
        options.against = self.against;
        options.memory = self.memory;
        options.restart = self.restart;
        options.threads = threads(self.threads)?;
        Ok(options)
    }
}

/// A scope as the caller says it.
pub(crate) fn scope_of(text: &str) -> PyResult<Scope> {
    text.parse().map_err(|error: hapax::group::ParseScopeError| of_argument(&error))
}

fn input_format(name: &str) -> PyResult<Format> {
    Format::named(name).ok_or_else(|| {
        let known = Format::NAMED.map(|(_, known, _)| known).join(", ");
        raised("ArgumentError", format!("input_format {name:?} is none of {known}"), None)
    })
}

/// What became of every document, in columns of bytes: the place of the document that stays (those of earlier jobs
/// count on behind the last), `k`, `e` or `n` for kept, exact and near, distance, similarity, the number of the
/// reason; then the reasons and the ids of earlier documents.
type Rows<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Vec<String>,
    Vec<String>,
);

/// Bytes that a thread takes of a caller's data, which are in the same process already: less than of
/// files.
const ROWS_BATCH: usize = 256 << 10;

/// Cleans a corpus into a folder, or without one says what would happen. JSON of what it did, and with
/// `rows` what became of every document.
#[pyfunction]
pub(crate) fn run_dedup<'py>(
    py: Python<'py>,
    inputs: Vec<String>,
    out: Option<PathBuf>,
    by: &FingerprinterCore,
    #[pyo3(from_py_with = asked)] asked: Asked,
    progress: Option<Py<PyAny>>,
    rows: bool,
) -> PyResult<(String, Option<Rows<'py>>)> {
    let mut options = asked.options(by)?;
    if rows {
        options.read.limits.batch = ROWS_BATCH;
    }
    let stop = options.stop.clone();
    let mut watch = Callback::new(progress, stop.clone());
    watch.decided = rows.then(Decided::default);
    let (answer, decided) = interruptible(py, &stop, move || {
        let finished = match &out {
            Some(out) => dedup(&inputs, out, &options, &mut watch),
            None => dry_run(&inputs, &options, &mut watch),
        };
        match (finished, watch.raised) {
            (Err(Error::Stopped), Some(error)) => Err(error),
            (Err(error), _) => Err(of_job(&error)),
            (Ok(_), Some(error)) => Err(error),
            (Ok(done), None) => {
                let files = done.files.iter().map(|file| file.display().to_string());
                let files: Vec<String> = files.collect();
                let answer = json!({"summary": done.summary, "run": done.run, "files": files});
                Ok((answer.to_string(), watch.decided))
            }
        }
    })?;
    Ok((answer, decided.map(|decided| decided.rows(py))))
}

/// What became of every document.
#[derive(Default)]
struct Decided {
    winners: Vec<u64>,
    outcomes: Vec<u8>,
    distances: Vec<u8>,
    similarities: Vec<u8>,
    reasons: Vec<u8>,
    distinct: Vec<String>,
    earlier: Vec<String>,
}

/// The number of a document without a reason.
const NO_REASON: u32 = u32::MAX;

impl Decided {
    fn of(decision: &Decision<'_>) -> Self {
        let mut this = Self::default();
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let documents = decision.pages().len() as u32;
        for page in 0..documents {
            let verdict = decision.verdict(page);
            this.winners.push(match verdict.earlier {
                false => u64::from(verdict.winner),
                true => {
                    let (pages, winner) = decision.winner(&verdict);
                    this.earlier.push(pages.id(winner).to_owned());
                    u64::from(documents) + this.earlier.len() as u64 - 1
                }
            });
            this.outcomes.push(match verdict.outcome {
                Outcome::Kept => b'k',
                Outcome::Exact => b'e',
                Outcome::Near | Outcome::Redirect => b'n',
            });
            this.distances.push(verdict.distance);
            this.similarities.extend(verdict.similarity.to_le_bytes());
            let number = decision.reason(page).map_or(NO_REASON, |reason| {
                let next = numbers.len() as u32;
                *numbers.entry(reason.to_string()).or_insert(next)
            });
            this.reasons.extend(number.to_le_bytes());
        }
        let mut distinct: Vec<(u32, String)> = numbers.into_iter().map(|(a, b)| (b, a)).collect();
        distinct.sort_unstable();
        this.distinct = distinct.into_iter().map(|(_, reason)| reason).collect();
        this
    }

    fn rows(self, py: Python<'_>) -> Rows<'_> {
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
        (
            bytes(&bytes_of(self.winners.into_iter())),
            bytes(&self.outcomes),
            bytes(&self.distances),
            bytes(&self.similarities),
            bytes(&self.reasons),
            self.distinct,
            self.earlier,
        )
    }
}

/// Calls a Python function with the stage, documents and input bytes so far.
pub(crate) struct Callback {
    function: Option<Py<PyAny>>,
    stop: Stop,
    /// `None` when nobody asks for it.
    decided: Option<Decided>,
    stage: &'static str,
    documents: u64,
    bytes: u64,
    last: Instant,
    raised: Option<PyErr>,
}

impl Callback {
    pub(crate) fn new(function: Option<Py<PyAny>>, stop: Stop) -> Self {
        Self {
            function,
            stop,
            decided: None,
            stage: "reading",
            documents: 0,
            bytes: 0,
            last: Instant::now(),
            raised: None,
        }
    }

    fn tell(&mut self) {
        self.last = Instant::now();
        let Some(function) = &self.function else { return };
        let (stage, documents, bytes) = (self.stage, self.documents, self.bytes);
        let called = Python::attach(|py| function.call1(py, (stage, documents, bytes)).map(drop));
        if let Err(error) = called {
            self.raised.get_or_insert(error);
        }
    }
}

impl Watch for Callback {
    fn stage(&mut self, stage: Stage) {
        // The end of the stage before.
        self.tell();
        (self.documents, self.bytes) = (0, 0);
        self.stage = match stage {
            Stage::Reading => "reading",
            Stage::Deciding => "finding duplicates",
            Stage::Writing => "writing",
        };
        self.tell();
    }

    fn progress(&mut self, documents: u64, input_bytes: u64) {
        self.documents += documents;
        self.bytes += input_bytes;
        if self.last.elapsed() >= EVERY {
            self.tell();
        }
    }

    fn stopped(&self) -> bool {
        self.raised.is_some() || self.stop.is_set()
    }

    fn decided(&mut self, decision: &Decision<'_>) {
        if let Some(decided) = &mut self.decided {
            *decided = Decided::of(decision);
        }
    }
}
