//! Groups compared with slow and obvious reference implementations.
//!
//! `rules` and `batch` stand for themselves. `line` is a world of pages on a line, where
//! chains are everywhere; `model` is the paper's rules over plain sets; `live` sets the live
//! groups against it, `stories` has single cases.

mod batch;
mod line;
mod live;
mod model;
mod rules;
mod stories;
