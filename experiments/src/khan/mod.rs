//! Khan and Ali, "Detection of duplicate and near-duplicate content for web crawlers", 2015: similarity in percent,
//! and the time per page.
//!
//! `similarity` is Figures 11 to 13, `timing` Figures 14 to 16. Figures 1 to 10 explain SimHash and the
//! system.

mod similarity;
mod timing;

use anyhow::Result;

use crate::Paper;
use crate::bench::Bench;
use crate::real::real_sets;

pub(crate) const PAPER: Paper = Paper {
    key: "khan",
    title: "Khan and Ali 2015: Detection of duplicate and near-duplicate content for web crawlers",
    run,
};

fn run(bench: &Bench<'_>) -> Result<()> {
    let sets = real_sets(bench, bench.size.of(400, 4000))?;
    similarity::run(bench, &sets)?;
    timing::run(bench, &sets)
}
