//! Increments: the changes of a repository between two commits as a stream, from which all copies are made.
//!
//! A backup is a file with such a stream, a restore applies a chain of these files, and a standby applies them
//! as they arrive. A complete one has every row. Guarantees that a stream that is truncated, changed or from
//! another repository is refused without leaving anything behind.
//!
//! `stream` defines the bytes, `make` writes a commit, `apply` updates tables. Layout:
//! `docs/internals/store.md`.

pub(crate) mod apply;
mod make;
mod stream;

pub use make::Increment;
pub use stream::{Header, Summary, copy, read_header, verify};
pub(crate) use stream::{Part, Rows};
