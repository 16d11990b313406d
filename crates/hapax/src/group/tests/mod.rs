//! Grouping, compared with slow and obvious reference implementations.
//!
//! `rules` and `batch` are self-contained. `line` is a world of pages on a line, where chains are everywhere;
//! `model` implements the paper's rules over plain sets; `live` compares live groups with it, `stories` has
//! single cases.

mod batch;
mod line;
mod live;
mod model;
mod rules;
mod stories;
