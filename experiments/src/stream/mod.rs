//! "Detecting near-duplicates in document streams": ten tables of two blocks each, and the candidates of lookups.
//!
//! The text has no table and no figure. It claims that a lookup finds few candidates "even for billions of
//! fingerprints", and that lookups keep up with a stream: both are measured, the first is extrapolated to billions by
//! the planner's model.

mod candidates;
mod lookups;

use anyhow::{Context, Result};
use hapax::fingerprint::{Fingerprinter, MaxDistance, Recipe};
use hapax::index::{Collection, Design, Entry};
use rayon::prelude::*;

use crate::Paper;
use crate::bench::Bench;
use crate::real::RealSet;

pub(crate) const PAPER: Paper =
    Paper { key: "stream", title: "Stream: Detecting near-duplicates in document streams", run };

fn run(bench: &Bench<'_>) -> Result<()> {
    candidates::run(bench)?;
    lookups::run(bench)
}

/// Three bits.
fn bound() -> Result<MaxDistance> {
    MaxDistance::new(3).context("a fingerprint has 64 bits")
}

/// Blocks of 13, 13, 13, 13 and 12 bits, two of which form a key.
fn ten_tables() -> Result<Design> {
    Ok(Design::blocks(5, bound()?)?)
}

fn collection(fingerprints: &[u64]) -> Result<Collection> {
    let entry = |(&bits, id): (&u64, u64)| Entry {
        fingerprint: hapax::fingerprint::Fingerprint::from_bits(bits),
        id,
    };
    Ok(Collection::new(fingerprints.iter().zip(0..).map(entry))?)
}

/// The distinct fingerprints of real pages, by the paper's recipe.
fn fingerprints(set: &RealSet) -> Result<Vec<u64>> {
    let fingerprinter = Fingerprinter::new(Recipe::built_in("stream-words")?, None)?;
    let of = |by: &mut Fingerprinter, html: &str| -> Result<Option<u64>> {
        Ok(by.html(html)?.comparable.map(|it| it.fingerprint.to_bits()))
    };
    let all: Result<Vec<Option<u64>>> = set
        .pages
        .par_iter()
        .map_init(|| fingerprinter.clone(), |by, page| of(by, &page.html))
        .collect();
    Ok(distinct(all?.into_iter().flatten().collect()))
}

fn distinct(mut fingerprints: Vec<u64>) -> Vec<u64> {
    fingerprints.sort_unstable();
    fingerprints.dedup();
    fingerprints
}
