//! `hapax near info`: what is in an index file, after checking all of it.

use super::index_file::{names, stated, view};
use super::records::read_all;
use crate::failure::Failure;
use crate::output::Output;
use crate::readable;
use clap::Args;
use hapax::index::HammingIndex;
use hapax::index::segment::Encoding;
use serde::Serialize;
use std::path::PathBuf;

/// Check an index file and say what is in it
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// What `hapax near build` made
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Info<'a> {
    fingerprints: usize,
    different: usize,
    bytes: usize,
    bytes_per_fingerprint: f64,
    encoding: &'static str,
    /// Null when the fingerprints stated none.
    recipe: Option<&'a str>,
    /// Null when matches are called by their ids.
    names: Option<usize>,
    identity: String,
}

/// Runs the command.
///
/// # Errors
///
/// The file is no index, or damaged, or its names are.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let bytes = read_all(&arguments.file)?;
    let view = view(&arguments.file, &bytes)?;
    let names = names(&arguments.file, &view)?;
    let info = Info {
        fingerprints: view.len(),
        different: view.rows(),
        bytes: bytes.len(),
        bytes_per_fingerprint: bytes.len() as f64 / view.len().max(1) as f64,
        encoding: match view.encoding() {
            Encoding::Plain => "plain",
            Encoding::Compressed => "compressed",
        },
        recipe: stated(&view),
        names: names.map(|names| names.len()),
        identity: format!("{:016x}", view.identity()),
    };
    let text = if arguments.json {
        serde_json::to_string(&info).map_err(anyhow::Error::new)? + "\n"
    } else {
        lines(&info)
    };
    let mut output = Output::open(None)?;
    output.write(text.as_bytes())?;
    output.finish()
}

fn lines(info: &Info<'_>) -> String {
    let count = |n: usize| readable::count(n as u64);
    format!(
        "fingerprints  {} ({} different)\n\
         size          {}, {:.1} bytes a fingerprint, {}\n\
         recipe        {}\n\
         names         {}\n\
         identity      {}\n",
        count(info.fingerprints),
        count(info.different),
        readable::bytes(info.bytes as u64),
        info.bytes_per_fingerprint,
        info.encoding,
        readable::harmless(info.recipe.unwrap_or("not stated")),
        info.names.map_or_else(|| "none: matches are called by their ids".to_owned(), count),
        info.identity,
    )
}
