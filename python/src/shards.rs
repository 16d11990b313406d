//! A corpus in shards, for pipelines of processes that share nothing but files.
//!
//! The signatures of a shard into a folder, and a decision from all of them, as `hapax dedup --signatures` and
//! `--from-signatures` do. Every process is given the key, because it sees its own documents only.

use std::path::PathBuf;

use hapax_corpus::Shard;
use hapax_dedup::key;
use hapax_dedup::shards::{dedup_signatures, fingerprint_alone};
use pyo3::prelude::*;
use serde_json::json;

use crate::dedup::{Asked, Callback, asked};
use crate::errors::{of_job, raised};
use crate::fingerprinter::FingerprinterCore;
use crate::workers::interruptible;

/// Writes the signatures of the documents in a file, which tables call `name`; how many documents.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
pub(crate) fn fingerprint_shard(
    py: Python<'_>,
    path: String,
    name: String,
    number: u32,
    of: u32,
    key: &str,
    folder: PathBuf,
    by: &FingerprinterCore,
    #[pyo3(from_py_with = asked)] asked: Asked,
) -> PyResult<u64> {
    let options = asked.options(by)?;
    let wrong = |what: &str| raised("ArgumentError", what.to_owned(), None);
    let shard =
        Shard::new(number, of).ok_or_else(|| wrong("a shard has a number below their count"))?;
    let key = key::from_hex(key).ok_or_else(|| wrong("a key is written in hexadecimal digits"))?;
    let stop = options.stop.clone();
    let mut watch = Callback::new(None, stop.clone());
    interruptible(py, &stop, move || {
        let done = fingerprint_alone(&path, &name, shard, &key, &folder, &options, &mut watch);
        done.map(|done| done.documents).map_err(|error| of_job(&error))
    })
}

/// Decides about all documents whose signatures are in a folder. JSON of what was decided.
#[pyfunction]
pub(crate) fn decide_shards(
    py: Python<'_>,
    folder: PathBuf,
    out: PathBuf,
    by: &FingerprinterCore,
    #[pyo3(from_py_with = asked)] asked: Asked,
) -> PyResult<String> {
    let options = asked.options(by)?;
    let stop = options.stop.clone();
    let mut watch = Callback::new(None, stop.clone());
    interruptible(py, &stop, move || {
        let done = dedup_signatures(&folder, &out, &options, &mut watch);
        done.map(|done| json!(done.summary).to_string()).map_err(|error| of_job(&error))
    })
}
