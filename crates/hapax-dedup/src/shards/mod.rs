//! Cleans one corpus with several processes that share only files.
//!
//! ```text
//!   shard 0 --fingerprint--> signatures --+                   +--apply--> kept documents of shard 0
//!   shard 1 --fingerprint--> signatures --+--decide--> tables +--apply--> kept documents of shard 1
//!   ...                                   |                   |
//! ```
//!
//! Guarantees that kept documents and signatures, concatenated in shard order, equal those of one process
//! ([`dedup`](crate::dedup())) byte for byte, and so do the rows of tables. Shards may be read in any order and
//! more than once. Does not support exact confirmation, which needs texts.

mod apply;
mod decide;
mod fingerprint;
mod verdicts;

pub use apply::{Applied, Applying, apply};
pub use decide::dedup_signatures;
pub use fingerprint::{Fingerprinted, fingerprint, fingerprint_alone};

/// File extension of a shard's signatures.
const ENDING: &str = ".signatures";
