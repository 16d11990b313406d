//! Cleans a corpus: documents in, kept documents, groups and a report out.
//!
//! ```text
//!   inputs --read--> pages --decide--> decision --read again, write--> OUT/
//!            signatures        exact, near,          kept.*  groups.parquet  removed.parquet
//!            on all cores    groups, winners       summary.json  report.html
//! ```
//!
//! # Reading order
//!
//! [`read`](mod@read) makes [`Pages`]; [`decide`](mod@decide) says what becomes of them, with `exact` and `near` for
//! finding copies, `frames` for what is a site's and what a page's own, [`against`] for what earlier jobs kept and `addresses` for redirects. [`shards`] does the same with several processes. [`Options`] is what a caller can ask.
//!
//! # What it promises
//!
//! - The same input and options give the same output bytes for any number of threads, `run.json` aside.
//! - Memory grows by [`Pages::bytes`] and by what documents in groups cost, never by their text.
//! - Time is linear in pages, also when one page comes a million times or a template differs in one
//!   number; sorting aside.
//! - Outputs appear when all are complete, or not at all.
//!
//! # What this crate does not know
//!
//! Arguments, terminals, clocks. How documents are stored is known to `hapax-corpus`, what is alike to
//! `hapax`.

mod addresses;
pub mod against;
mod columns;
mod confirm;
pub mod decide;
pub mod distributed;
mod error;
mod exact;
mod facts;
mod frames;
mod inputs;
mod job;
pub mod key;
mod near;
mod options;
mod outputs;
mod own_texts;
mod pages;
mod passed_over;
pub mod read;
pub mod recipes;
mod report;
pub mod shards;
mod signature;
mod signatures;
pub mod stages;
mod strings;
mod threads;
mod watch;

pub use addresses::Address;
pub use against::Earlier;
pub use decide::{Decision, Effort, Group, Verdict, decide};
pub use error::Error;
pub use frames::HostFrame;
pub use job::{Finished, Run, dedup, dry_run, read_corpus};
pub use options::{Confirm, Frames, KeptFormat, Layout, Options, ParseFormatError};
pub use outputs::{Decided, Settings, Summary};
pub use pages::{NewPage, Pages, Status};
pub use passed_over::{PassedCounts, PassedOver, passed_line};
pub use read::{Corpus, ReadCounts};
pub use report::Made;
pub use signature::{known, sign};
pub use threads::{Stop, Threads};
pub use watch::{Stage, Watch};
