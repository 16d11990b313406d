//! `hapax near info`: checks and describes a collection.

use super::failed;
use crate::failure::Failure;
use crate::output;
use crate::readable;
use clap::Args;
use hapax_corpus::hpx::Hpx;
use serde::Serialize;
use std::path::PathBuf;

/// Check a collection and describe it
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax near info crawl.hpx")]
pub(super) struct Arguments {
    /// A .hpx file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Info<'a> {
    fingerprints: u64,
    /// Sorted runs; fewer are faster to search.
    runs: usize,
    bytes: u64,
    bytes_per_fingerprint: f64,
    /// Null if the fingerprints stated none.
    recipe: Option<&'a str>,
    /// Number of fingerprints with a name.
    names: u64,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let hpx = Hpx::open(&arguments.file).map_err(failed)?;
    let mut ids = hpx.lookup();
    let mut stream = hpx.stream(1 << 16);
    let (mut piece, mut position) = (Vec::new(), 0);
    while stream.next_piece(&mut piece).map_err(failed)? {
        for _ in &piece {
            ids.id(position).map_err(failed)?;
            position += 1;
        }
    }
    let mut names = 0;
    let mut lookup = hpx.lookup();
    for id in 0..hpx.len() {
        names += u64::from(lookup.name(id).map_err(failed)?.is_some());
    }
    let bytes = hpx.live_bytes();
    let info = Info {
        fingerprints: hpx.len(),
        runs: hpx.runs(),
        bytes,
        bytes_per_fingerprint: bytes as f64 / hpx.len().max(1) as f64,
        recipe: Some(hpx.recipe()).filter(|recipe| !recipe.is_empty()),
        names,
    };
    output::answer(arguments.json, &info, &lines(&info))
}

fn lines(info: &Info<'_>) -> String {
    let names = match info.names {
        0 => "none: matches are called by their numbers".to_owned(),
        names => readable::count(names),
    };
    let (all, runs) = (readable::count(info.fingerprints), info.runs as u64);
    let (bytes, each) = (readable::bytes(info.bytes), info.bytes_per_fingerprint);
    output::columns(&[
        ("fingerprints", format!("{all} in {}", readable::counted(runs, "run"))),
        ("size", format!("{bytes}, {each:.1} bytes a fingerprint")),
        ("recipe", readable::harmless(info.recipe.unwrap_or("not stated")).into_owned()),
        ("names", names),
    ])
}
