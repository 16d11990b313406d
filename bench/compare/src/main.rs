//! Measures Hapax and its peers from crates.io, each alone in a process of its own.
//!
//! `hapax-compare JOB` runs one job, described in JSON, and prints its measurements as one line of JSON. Answers go
//! to the file that the job names; `cargo xtask compare` starts the jobs and checks the answers, so no contender
//! checks its own work.

#![allow(clippy::print_stdout, reason = "the report of the job goes to standard output")]

mod fingerprint;
mod measure;
mod near;
mod purify;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// What to do; the family says which fields there are.
#[derive(Deserialize)]
#[serde(tag = "family", rename_all = "kebab-case")]
enum Job {
    /// Fingerprints within a distance of queries.
    Near(near::Job),
    Fingerprint(fingerprint::Job),
    Purify(purify::Job),
    /// A folder of HTML files as lines of JSON, decoded as the engine decodes them.
    Pages(purify::Folder),
}

fn main() -> Result<()> {
    let job = std::env::args().nth(1).context("usage: hapax-compare JOB")?;
    let report = match serde_json::from_str(&job).context("the job is not understood")? {
        Job::Near(job) => near::run(&job)?,
        Job::Fingerprint(job) => fingerprint::run(&job)?,
        Job::Purify(job) => purify::run(&job)?,
        Job::Pages(folder) => purify::pages(&folder)?,
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// A document as it lies in a file of lines.
#[derive(Deserialize, Serialize)]
struct Document {
    id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    html: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    text: String,
}

fn read_documents(path: &Path) -> Result<Vec<Document>> {
    let lines = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let documents: Result<_, _> = lines.lines().map(serde_json::from_str).collect();
    documents.with_context(|| path.display().to_string())
}
