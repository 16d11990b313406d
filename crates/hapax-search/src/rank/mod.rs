//! How much authority the links of a web give each of its pages.
//!
//! [`Graph`] holds who links to whom, [`pagerank`](pagerank()) computes the scores.
//!
//! # What it promises
//!
//! The same graph gives the same scores, to the last bit, for any number of threads and any order
//! of its edges.
//!
//! # What this module does not know
//!
//! Addresses: pages are numbers from 0.

mod graph;
mod names;
mod pagerank;

pub use graph::{Graph, GraphError};
pub use names::{LinksError, NamedLinks};
pub use pagerank::{
    DEFAULT_DAMPING, DEFAULT_MOST_ITERATIONS, DEFAULT_TOLERANCE, RankError, RankSettings, Ranks,
    pagerank,
};
