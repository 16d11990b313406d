//! Cleans a corpus: documents in; kept documents, groups and a report out.
//!
//! ```text
//!   inputs --read--> pages --decide--> decision --read again, write--> OUT/
//!            signatures        exact, near,          kept.*  groups.parquet  removed.parquet
//!            on all cores    groups, winners       summary.json  report.html
//! ```
//!
//! Guarantees: the same input and options give the same bytes with any number of threads, `run.json` aside. Memory
//! grows by [`Pages::bytes`] and by the documents in groups, never by their text. Time is linear in pages apart
//! from sorting, also when one page comes a million times or a template differs in one number. All outputs appear
//! when all are complete.
//!
//! Start at [`read`](mod@read), which makes [`Pages`], and [`decide`](mod@decide). Does not handle arguments,
//! terminals, clocks, formats (`hapax-corpus`) or similarity (`hapax`).

mod addresses;
pub mod against;
mod columns;
mod confirm;
pub mod decide;
mod digest;
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
