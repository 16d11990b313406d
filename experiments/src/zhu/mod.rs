//! Zhu, Potapova, Alabduljalil, Liu and Yang, "Clustering and load balancing optimization for
//! redundant content removal", 2012: pages mapped to machines by length, and what that saves.

use anyhow::Result;

use crate::Paper;
use crate::bench::Bench;

/// The paper.
pub const PAPER: Paper = Paper {
    key: "zhu",
    title: "Zhu et al. 2012: Clustering and load balancing optimization for redundant content removal",
    run,
};

fn run(bench: &Bench<'_>) -> Result<()> {
    bench.say("no experiment yet");
    Ok(())
}
