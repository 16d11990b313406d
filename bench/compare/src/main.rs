//! Measures Hapax and its peers from crates.io, each in its own process.
//!
//! `hapax-compare JOB` runs one job, described in JSON, and prints its measurements as one line of JSON. Answers go
//! to the file named by the job; `cargo xtask compare` starts the jobs and checks the answers, so no contender checks
//! its own answers.

#![allow(clippy::print_stdout, reason = "the report of the job goes to standard output")]

mod extract;
mod fingerprint;
mod measure;
mod near;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The job; the family determines its fields.
#[derive(Deserialize)]
#[serde(tag = "family", rename_all = "kebab-case")]
enum Job {
    /// Fingerprints within a distance of queries.
    Near(near::Job),
    Fingerprint(fingerprint::Job),
    Extract(extract::Job),
    /// Converts a folder of HTML files to lines of JSON, decoded by the engine.
    Pages(extract::Folder),
}

fn main() -> Result<()> {
    let job = std::env::args().nth(1).context("usage: hapax-compare JOB")?;
    let report = match serde_json::from_str(&job).context("the job is not understood")? {
        Job::Near(job) => near::run(&job)?,
        Job::Fingerprint(job) => fingerprint::run(&job)?,
        Job::Extract(job) => extract::run(&job)?,
        Job::Pages(folder) => extract::pages(&folder)?,
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// One line of a file of documents.
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
