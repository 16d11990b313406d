//! Tests of the crate's guarantees through its public API.
//!
//! - `golden`: same options give the same bytes for ever
//! - `pages`: documents, addresses, links, languages
//! - `families`: truth, edits and the resulting similarity
//! - `graph`: degrees of the links
//! - `more`: queries, recrawls, bags
//! - `jaccard`: the exact similarity used by tests; no tests

mod families;
mod golden;
mod graph;
mod jaccard;
mod more;
mod pages;
