//! Removes duplicates inside the results of logged queries.
//!
//! ```text
//!   search log --rank--> queries --policy--> top results --fold--> marks --resolve--> removals
//!   links --PageRank--> scores ----------------------------^
//! ```
//!
//! Start at [`clean`], the whole job with its folder of results, and [`engine`], the requirements on a search
//! engine; [`tantivy`] is one in a folder, `postgres` one in a database. [`rank`] computes PageRank, [`log`]
//! reads query logs, [`policy`] defines how strictly results are compared. Does not handle HTTP or arguments.
//!
//! Source: Pi et al. 2009.

pub mod authority;
pub mod choose;
pub mod clean;
pub mod collapse;
pub mod engine;
pub mod fold;
mod guard;
pub mod job;
pub mod log;
pub mod page;
pub mod policy;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod query;
pub mod rank;
pub mod snippet;
pub mod tantivy;
pub mod wire;
pub mod words;

pub use engine::{
    Change, DocumentFacts, DocumentId, Engine, Excerpt, Removing, Results, Scored, Showing, Totals,
};
pub use page::SearchPage;
