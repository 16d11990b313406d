//! Formats, each with two halves: one that finds records in a stream, and one that decodes them.
//!
//! The first half runs on the thread that reads a file and does as little as possible; the second
//! runs wherever the batch went.

pub(crate) mod arc;
pub(crate) mod archive;
mod cell;
mod flat;
pub(crate) mod headers;
mod http;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod pages;
pub(crate) mod parquet;
pub(crate) mod records;
