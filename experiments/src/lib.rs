//! The tables and figures of the five papers, measured again.
//!
//! A [`Paper`] runs its experiments and hands each result to the [`Bench`] as a [`Record`]: what
//! the paper says, what was measured on what, charts, and one sentence on what agrees, what
//! differs and why. Records are files (`experiments/data/*.json`), written as they come, so
//! papers can be run one by one; [`gather()`] puts all that are there into `docs/benchmarks/papers.md` and
//! `docs/benchmarks/papers.html`.
//!
//! # Reading order
//!
//! [`record`] is what a result is, [`bench`](mod@bench) what an experiment is given, [`gather`](mod@gather)
//! how results become a document; [`clock`] measures, [`real`] and [`synthetic`] are what most papers
//! are measured on; then a module for each paper. To add one: a module with a
//! `PAPER`, and its line in [`PAPERS`].
//!
//! # What it promises
//!
//! Everything is run by the engine that ships; an experiment has no algorithm of its own unless
//! it is the paper's rival method, and says so. What depends on the speed of the machine is told
//! as a ratio within one run.

pub mod bench;
pub mod clock;
pub mod gather;
pub mod khan;
pub mod pi;
pub mod real;
pub mod record;
pub mod sood;
pub mod stream;
pub mod synthetic;
pub mod zhu;

pub use bench::{Bench, Size};
pub use gather::gather;
pub use record::{Record, Table, Verdict};

use anyhow::Result;

/// A paper and how to repeat its measurements.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// What its records' names begin with.
    pub key: &'static str,
    /// Authors, title, year.
    pub title: &'static str,
    /// Runs those of its experiments that the bench wants.
    pub run: fn(&Bench<'_>) -> Result<()>,
}

/// All papers, in the order of the document.
pub const PAPERS: &[Paper] = &[pi::PAPER, stream::PAPER, khan::PAPER, sood::PAPER, zhu::PAPER];
