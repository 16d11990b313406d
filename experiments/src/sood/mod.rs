//! Sood, "Probabilistic simhash matching", 2011: which bits flip, and the savings from trying those first.
//!
//! `vectors` is a set of documents as weighted words, used by `cosine` (Table II, Figure 6) and `differences`
//! (Figure 1, with `normality`). `attempts` counts flips (Figures 2, 5, 8), `online` measures searches in memory
//! (Figures 5, 7, 8), `batch` those over a file (Figure 10), both compared with the thesis's `baseline`; `headline`
//! multiplies the factors. Figures 3, 4, 9 and Table I have no numbers to measure.

mod attempts;
mod baseline;
mod batch;
mod cosine;
mod differences;
mod flips;
mod headline;
mod join;
mod normality;
mod online;
mod preparing;
mod scale;
mod vectors;

use anyhow::{Context, Result};
use hapax::fingerprint::MaxDistance;
use hapax_synth::{Web, WebOptions};

use crate::Paper;
use crate::bench::Bench;
use crate::real::real_sets;

pub(crate) const PAPER: Paper =
    Paper { key: "sood", title: "Sood 2011: Probabilistic simhash matching", run };

/// The thesis's target recall.
const RECALL: f64 = 0.95;

/// Skips pages of less than 5 kB, as in the thesis.
const LEAST_BYTES: usize = 5 << 10;

fn run(bench: &Bench<'_>) -> Result<()> {
    let small = ["sood-table-2", "sood-figure-1", "sood-figure-2", "sood-figure-6"];
    if small.iter().any(|name| bench.wants(name)) {
        let mut sets = Vec::new();
        for mut set in real_sets(bench, bench.size.of(2000, 8000))? {
            set.pages.retain(|page| page.html.len() >= LEAST_BYTES);
            sets.push(vectors::Vectors::of_real(&set)?);
        }
        let web = Web::new(WebOptions::new(2, bench.size.of(20_000, 100_000)));
        sets.push(vectors::Vectors::of_web(&web));
        cosine::table_2(bench, &sets)?;
        cosine::figure_6(bench, &sets)?;
        differences::figure_1(bench, &sets)?;
        flips::figure_2(bench, &sets)?;
    }
    preparing::figure_7a(bench)?;
    let large = ["sood-figure-5", "sood-figure-7-bc", "sood-figure-8", "sood-headline"];
    let online = match large.iter().any(|name| bench.wants(name)) {
        true => Some(online::Online::new(bench)?),
        false => None,
    };
    if let Some(online) = &online {
        scale::figure_5(bench, online)?;
        scale::figure_7bc(bench, online)?;
        scale::figure_8(bench, online)?;
    }
    let batched = match bench.wants("sood-figure-10") || bench.wants("sood-headline") {
        true => Some(batch::figure_10(bench)?),
        false => None,
    };
    if let (Some(online), Some(batched)) = (online, batched) {
        headline::run(bench, &online, &batched)?;
    }
    Ok(())
}

/// Three bits.
fn bound() -> Result<MaxDistance> {
    MaxDistance::new(3).context("a fingerprint has 64 bits")
}
