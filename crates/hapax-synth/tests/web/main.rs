//! The promises of the crate, checked from outside.
//!
//! - `golden`: same options, same bytes, for ever
//! - `pages`: documents, addresses, links, languages
//! - `families`: truth, edits and the similarity they lead to
//! - `graph`: degrees of the links
//! - `more`: queries, recrawls, bags
//! - `jaccard`: the exact similarity that tests compare with; no tests

mod families;
mod golden;
mod graph;
mod jaccard;
mod more;
mod pages;
