//! Measures how correct the answers are: precision, recall and their intervals.
//!
//! ```no_run
//! use hapax::fingerprint::{Fingerprinter, Recipe};
//! use hapax_eval::{Evaluation, Truth};
//!
//! let by = Fingerprinter::new(Recipe::built_in("web-2")?, None)?;
//! let mut evaluation = Evaluation::new(vec!["docs.jsonl".into()], by);
//! evaluation.truth = Some((Truth::read("pairs.tsv".as_ref(), None)?, "pairs.tsv".into()));
//! let report = evaluation.run(&mut ())?;
//! println!("{:?}", report.runs[0].pairs);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Guarantees that the same input gives the same numbers, intervals included, and that it measures the job of
//! `hapax-dedup` itself. [`truth`] reads labels, [`metrics`] compares them with a [`prediction`],
//! [`reference`](mod@reference) computes the exact similarity, [`evaluate`] makes a [`report`]. Does not handle
//! arguments and terminals.

mod connect;
pub mod curves;
mod error;
pub mod evaluate;
pub mod metrics;
pub mod page;
pub mod prediction;
pub mod reference;
pub mod report;
pub mod steps;
pub mod truth;

pub use error::Error;
pub use evaluate::Evaluation;
pub use metrics::Score;
pub use report::{Report, Run};
pub use truth::{Truth, TruthKind};
