//! Zhu, Potapova, Alabduljalil, Liu and Yang, "Clustering and load balancing optimization for redundant content
//! removal", 2012.
//!
//! The paper's 100 million pages of Ask.com are not available. Figures 4 and 5 and the adaptation use lengths of a
//! synthetic web, and real pages where present; Figure 6 compares real feature sets. Machines run one after
//! another, and the slowest machine's CPU time counts. `balance` has Figures 4 to 6 and the adaptation,
//! `incremental` Figures 7, 8 and Table 1 on the crawl of `crawl`, `cost` Figure 9.

mod balance;
mod corpus;
mod cost;
mod crawl;
mod incremental;
mod speed;

use anyhow::Result;

use crate::Paper;
use crate::bench::Bench;

pub(crate) const PAPER: Paper = Paper {
    key: "zhu",
    title: "Zhu et al. 2012: Clustering and load balancing optimization for redundant content removal",
    run,
};

/// The threshold of all experiments.
const TAU: f64 = 0.8;
/// The widening factor, within the range that the paper tried, 1 to 1.3.
const RHO: f64 = 1.1;
/// The paper's numbers of machines.
const MACHINES: [u32; 6] = [2, 4, 8, 16, 32, 64];

fn run(bench: &Bench<'_>) -> Result<()> {
    balance::run(bench)?;
    speed::run(bench)?;
    incremental::run(bench)?;
    cost::run(bench)
}
