//! Measures the tables and figures of the five papers again.
//!
//! A [`Paper`] runs its experiments and hands each result to the [`Bench`] as a [`Record`]: what the paper says,
//! what was measured, charts, and what agrees, differs and why. Records are files (`experiments/data/*.json`);
//! [`gather()`] puts them into `docs/benchmarks/papers.md` and `papers.html`. To add a paper: a module with a
//! `PAPER`, and its line in [`PAPERS`]. Guarantees that the shipped engine runs everything; only a paper's rival
//! method is implemented here. Speeds are ratios within one run.

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
