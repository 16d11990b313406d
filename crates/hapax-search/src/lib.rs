//! Duplicates where people look first: inside the results of the queries they really ask.
//!
//! ```text
//!   search log --rank--> queries --policy--> top results --fold--> marks --resolve--> removals
//!   links --PageRank--> scores ----------------------------^
//! ```
//!
//! # Reading order
//!
//! [`rank`] gives every page an authority. [`log`] turns what people typed into ranked queries,
//! [`policy`] says how strictly the results of each are judged. [`fold`](mod@fold) finds the
//! duplicates inside one list of results, [`collapse`](mod@collapse) shows such a list; [`job`] does
//! so for all queries, one after the other or all at once. [`choose`] orders queries so that each brings documents not yet examined.
//! [`clean`] is the whole, with a folder for results, [`authority`] puts scores of a file in.
//!
//! [`engine`] is what a search engine must do for that. [`tantivy`] is one that lives in a folder,
//! `postgres` one that lives in a database: [`page`] is what they keep of a page, [`words`] and
//! [`query`] how texts and queries become words for both, [`wire`] how results are written.
//!
//! # What this crate does not know
//!
//! HTTP and arguments; and, outside the engines, how a search engine works: it is asked through
//! [`Engine`].
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
