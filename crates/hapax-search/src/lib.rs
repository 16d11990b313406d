//! Duplicates where people look first: inside the results of the queries they really ask.
//!
//! ```text
//!   search log --rank--> queries --policy--> top results --fold--> marks --settle--> removals
//!   links --PageRank--> scores ----------------------------^
//! ```
//!
//! # Reading order
//!
//! [`rank`] gives every page an authority. [`log`] turns what people typed into ranked queries,
//! [`policy`] says how strictly the results of each are judged. [`fold`](mod@fold) finds the
//! duplicates inside one list of results; [`job`] does so for all queries, one after the other or
//! all at once. [`choose`] orders queries so that each brings documents not yet examined.
//! [`clean`] is the whole, with a folder for results, [`authority`] puts scores of a file in.
//!
//! [`engine`] is what a search engine must do for that. [`tantivy`] is one that lives in a folder:
//! [`page`] is what it keeps of a page, [`words`] and [`query`] how texts and queries become words.
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
pub mod engine;
pub mod fold;
pub mod job;
pub mod log;
pub mod page;
pub mod policy;
pub mod query;
pub mod rank;
pub mod tantivy;
pub mod words;

pub use engine::{Change, DocumentFacts, DocumentId, Engine, Removing, Results};
pub use page::SearchPage;
