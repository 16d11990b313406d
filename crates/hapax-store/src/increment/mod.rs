//! What changed in a repository between two commits, as a stream: the one way copies are made.
//!
//! A backup is a file of it, a restore applies the files of a chain, a standby applies them as they come. One that begins
//! with nothing has every row. Guarantees that a stream that is cut, changed or of another repository is refused and
//! nothing of it stays.
//!
//! `stream` is the bytes, `make` writes what a commit has, `apply` brings it into tables. Layout: `docs/internals/store.md`.

pub(crate) mod apply;
mod make;
mod stream;

pub use make::Increment;
pub use stream::{Header, Summary, copy, read_header, verify};
pub(crate) use stream::{Part, Rows};
