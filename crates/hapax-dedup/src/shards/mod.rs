//! One corpus, cleaned by several processes that share nothing but files.
//!
//! ```text
//!   shard 0 --fingerprint--> signatures --+                   +--apply--> kept documents of shard 0
//!   shard 1 --fingerprint--> signatures --+--decide--> tables +--apply--> kept documents of shard 1
//!   ...                                   |                   |
//! ```
//!
//! Tables, signatures and kept documents, put together in the order of the shards, are byte for byte what one process
//! writes ([`dedup`](crate::dedup())); of tables, the rows are. Shards may be read in any order and more than once. Exact
//! confirmation needs texts, which the deciding process does not have, and is refused.

mod apply;
mod decide;
mod fingerprint;
mod verdicts;

pub use apply::{Applied, Applying, apply};
pub use decide::dedup_signatures;
pub use fingerprint::{Fingerprinted, fingerprint, fingerprint_alone};

/// How the name of a file with the signatures of a shard ends.
const ENDING: &str = ".signatures";
