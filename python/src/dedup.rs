//! The whole job, watched by Python.
//!
//! The job of `hapax dedup`, with the same options and the same files. Progress goes to a Python
//! function a few times a second; what it raises, Ctrl-C included, stops the job; called again, it
//! continues.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hapax::group::Scope;
use hapax_corpus::{Fields, Format, ReadOptions};
use hapax_dedup::{Confirm, Error, KeptFormat, Options, Stage, Watch, dedup, dry_run};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::{of_argument, of_job, raised};
use crate::fingerprinter::FingerprinterCore;
use crate::index::bound;
use crate::stages::{rules, similarity};
use crate::workers::threads;

/// How often progress is told.
const EVERY: Duration = Duration::from_millis(100);

/// What a caller may say about a job; the package always gives all of it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    within: Option<u32>,
    min_similarity: Option<f64>,
    verify: bool,
    keep: Option<String>,
    scope: Option<String>,
    languages: Vec<String>,
    format: Option<String>,
    revisits: bool,
    against: Vec<PathBuf>,
    memory: Option<u64>,
    restart: bool,
    threads: usize,
    skip_bad: bool,
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
        if let Some(within) = self.within {
            options.policy.within = bound(within)?;
        }
        if let Some(least) = self.min_similarity {
            options.policy.min_similarity = similarity(least)?;
        }
        if self.verify {
            options.confirm = Confirm::Exact;
        }
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
            ..ReadOptions::default()
        };
        options.languages = self.languages;
        options.revisits = self.revisits;
        options.against = self.against;
        options.memory = self.memory;
        options.restart = self.restart;
        options.threads = threads(self.threads);
        Ok(options)
    }
}

/// A scope as the caller says it.
pub(crate) fn scope_of(text: &str) -> PyResult<Scope> {
    text.parse().map_err(|error: hapax::group::ParseScopeError| of_argument(&error))
}

fn input_format(name: &str) -> PyResult<Format> {
    Ok(match name {
        "warc" => Format::Warc,
        "arc" => Format::Arc,
        "jsonl" => Format::Jsonl,
        "parquet" => Format::Parquet,
        "html" => Format::Html,
        "text" => Format::Text,
        "lines" => Format::Lines,
        other => {
            let known = "warc, arc, jsonl, parquet, html, text, lines";
            let reason = format!("input_format {other:?} is none of {known}");
            return Err(raised("ArgumentError", reason, None));
        }
    })
}

/// Cleans a corpus into a folder, or without one says what would happen. JSON of what it did.
#[pyfunction]
pub(crate) fn run_dedup(
    py: Python<'_>,
    inputs: Vec<String>,
    out: Option<PathBuf>,
    by: &FingerprinterCore,
    asked: Asked,
    told: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options = asked.options(by)?;
    let mut watch = Callback::new(told);
    let finished = py.detach(|| match &out {
        Some(out) => dedup(&inputs, out, &options, &mut watch),
        None => dry_run(&inputs, &options, &mut watch),
    });
    match (finished, watch.raised) {
        (Err(Error::Stopped), Some(error)) => Err(error),
        (Err(error), _) => Err(of_job(&error)),
        (Ok(_), Some(error)) => Err(error),
        (Ok(done), None) => {
            let files: Vec<String> = done.files.iter().map(|f| f.display().to_string()).collect();
            Ok(json!({"summary": done.summary, "run": done.run, "files": files}).to_string())
        }
    }
}

/// Calls a Python function with the stage, documents and input bytes so far.
struct Callback {
    function: Option<Py<PyAny>>,
    stage: &'static str,
    documents: u64,
    bytes: u64,
    last: Instant,
    raised: Option<PyErr>,
}

impl Callback {
    fn new(function: Option<Py<PyAny>>) -> Self {
        let last = Instant::now();
        Self { function, stage: "reading", documents: 0, bytes: 0, last, raised: None }
    }

    fn tell(&mut self) {
        self.last = Instant::now();
        let told = Python::attach(|py| {
            py.check_signals()?;
            match &self.function {
                Some(function) => {
                    function.call1(py, (self.stage, self.documents, self.bytes)).map(drop)
                }
                None => Ok(()),
            }
        });
        if let Err(error) = told {
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
        self.raised.is_some()
    }
}
