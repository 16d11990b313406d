//! How right are the answers?
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
//! # Reading order
//!
//! [`truth`] is what is known, [`prediction`] what was said, [`metrics`] how well the two agree;
//! [`evaluate`] brings them together into a [`report`], and [`page`] shows it. [`reference`](mod@reference)
//! is the exact similarity that truth is stated in. [`steps`] is a
//! measurement of its own: the estimate against texts that change in steps.
//!
//! # What it promises
//!
//! The same input gives the same numbers, intervals included. What is judged is the job of `hapax-dedup`
//! itself.
//!
//! # What this crate does not know
//!
//! Arguments and terminals; how anything is compared.

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
