//! Groups judged by slow and obvious versions of themselves.

mod batch;
mod rules;
