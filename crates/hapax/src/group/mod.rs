//! Forms groups of duplicates and chooses their winners: which copy is kept, which are removable, and why.
//!
//! ```text
//!   pages that match in a chain      groups, the winner first
//!
//!   A -- B -- C -- D                 (A) -- B     (C) -- D
//! ```
//!
//! Similarity is not transitive: A matches B and B matches C, yet A and C may share little. So a page is
//! *removable* only if it matches the winner of its group itself. [`batch`] groups all pages at once, [`live`]
//! updates groups incrementally; [`rules`] orders copies by preference. Does not compare contents: pairs must
//! be confirmed.
//!
//! Source: Zhu et al. 2012, sections 3 and 5.

pub mod batch;
pub mod facts;
pub mod live;
pub mod reason;
pub mod rules;
pub mod scope;
#[cfg(test)]
mod tests;

pub use batch::{BatchError, BatchInput, Family, Grouping, NearPair, Outcome, Placement, Star};
pub use facts::{PageFacts, set_domain_places};
pub use live::{LiveError, LiveGroups, LiveOptions};
pub use reason::{DecidedBy, Reason};
pub use rules::{ParseRulesError, Rule, Rules};
pub use scope::{ParseScopeError, Scope, ScopeFacts, ScopeKey};
