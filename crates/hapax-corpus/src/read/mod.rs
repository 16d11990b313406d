//! Formats. Each has two parts: one finds records in a stream, the other decodes them.
//!
//! The first runs on the thread that reads a file and does as little as possible; the second runs on the thread
//! that decodes the batch.

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
