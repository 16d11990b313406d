//! Zhu, Potapova, Alabduljalil, Liu and Yang, "Clustering and load balancing optimization for
//! redundant content removal", 2012: pages mapped to machines by length, groups kept while pages
//! change, and what that saves.
//!
//! The paper's 100 million pages of Ask.com are not to be had. Figures 4 and 5 and the adaptation run on a
//! synthetic web of which only the lengths are made, and on real pages where there are some;
//! Figure 6 compares real feature sets. Machines are played one after another: a machine's time is
//! the processor time of its comparisons, and the slowest machine's counts.
//!
//! `corpus` makes pages; `balance` has Figures 4 to 6 and the adaptation; `crawl` plays a
//! crawl through the live groups for `incremental` (Figures 7 and 8, Table 1); `cost` is Figure 9.

mod balance;
mod corpus;
mod cost;
mod crawl;
mod incremental;
mod speed;

use anyhow::Result;

use crate::Paper;
use crate::bench::Bench;

pub const PAPER: Paper = Paper {
    key: "zhu",
    title: "Zhu et al. 2012: Clustering and load balancing optimization for redundant content removal",
    run,
};

/// The threshold of all experiments.
const TAU: f64 = 0.8;
/// The enlarging factor: within the range the paper tried, 1 to 1.3.
const RHO: f64 = 1.1;
/// The paper's numbers of machines.
const MACHINES: [u32; 6] = [2, 4, 8, 16, 32, 64];

fn run(bench: &Bench<'_>) -> Result<()> {
    balance::run(bench)?;
    speed::run(bench)?;
    incremental::run(bench)?;
    cost::run(bench)
}
