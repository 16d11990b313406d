//! Measures the tables and figures of the five papers again.
//!
//! A [`Paper`] runs its experiments and passes each result to the [`Bench`] as a [`Record`]: the paper's claim, the
//! measurement, charts, and what agrees, differs and why. Records are files (`experiments/data/*.json`); [`gather()`]
//! combines them into `docs/benchmarks/papers.md` and `papers.html`. To add a paper, write a module with a `PAPER`
//! and list it in [`PAPERS`]. The shipped engine runs everything; only a paper's rival method is implemented here.
//! Speeds are ratios within one run.

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

/// A paper with its experiments.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Prefix of its records' names.
    pub key: &'static str,
    /// Authors, title, year.
    pub title: &'static str,
    /// Runs the requested experiments.
    pub run: fn(&Bench<'_>) -> Result<()>,
}

/// All papers, in the order of the document.
pub const PAPERS: &[Paper] = &[pi::PAPER, stream::PAPER, khan::PAPER, sood::PAPER, zhu::PAPER];
