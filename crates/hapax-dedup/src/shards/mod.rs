//! Cleans one corpus with several processes that share nothing but files.
//!
//! ```text
//!   shard 0 --fingerprint--> signatures --+                   +--apply--> kept documents of shard 0
//!   shard 1 --fingerprint--> signatures --+--decide--> tables +--apply--> kept documents of shard 1
//!   ...                                   |                   |
//! ```
//!
//! Guarantees that kept documents and signatures, concatenated in the order of the shards, are byte for byte those
//! of one process ([`dedup`](crate::dedup())), and the rows of tables too. Shards may be read in any order and more
//! than once. Does not handle exact confirmation, which needs texts: it is refused.

mod apply;
mod decide;
mod fingerprint;
mod verdicts;

pub use apply::{Applied, Applying, apply};
pub use decide::dedup_signatures;
pub use fingerprint::{Fingerprinted, fingerprint, fingerprint_alone};

/// How the name of a file with the signatures of a shard ends.
const ENDING: &str = ".signatures";
