//! Stores the fingerprints of a collection in one file, `.hpx`, as sorted runs for sequential reading.
//! `docs/reference/hpx.md` specifies every byte.
//!
//! ```text
//!   header, two slots | ids, fingerprints of a run | names | ... | directory | another run ...
//! ```
//!
//! A *run* is sorted by fingerprint; fingerprints and ids are stored separately, because a search streams the
//! former and looks up the latter for matches only. An append writes after the existing data and then one slot,
//! so a killed append changes nothing. Runs of similar size are merged: `n` entries added in batches of `b`
//! make about `log2(n / b)` runs. Guarantees that any bytes give a collection or an error with file and place,
//! in memory bounded by block sizes; every read is checked. Does not search.

mod ahead;
mod append;
mod block;
mod layout;
mod lookup;
mod read;
mod run;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

pub use ahead::ReadAhead;
pub use append::{Appended, Appender};
pub use block::LONGEST_NAME;
pub use lookup::Lookup;
pub use read::{Hpx, Stream};

/// Reading or writing a file of fingerprints failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HpxError {
    #[error("cannot {action} {path}")]
    Io { action: &'static str, path: String, source: io::Error },
    /// The file has another format.
    #[error("{path} is not a .hpx file: it does not begin with hapaxHPX")]
    Foreign { path: String },
    /// A folder, pipe or device, which cannot be replaced by a finished file.
    #[error(
        "cannot write {path}: a .hpx file takes its place when it is complete, and this is not a file"
    )]
    NotAFile { path: String },
    /// Written by a later release.
    #[error("{path}: format {found} is newer than {newest}, the last one this build reads")]
    TooNew { path: String, found: u32, newest: u32 },
    #[error("{path} is cut at byte {length}: {needed} bytes belong to it; take a copy of it")]
    Truncated { path: String, length: u64, needed: u64 },
    /// The bytes contradict their checksum or each other.
    #[error("{path}, byte {offset}: {what}; take a copy of the file, or make it again")]
    Damaged {
        path: String,
        /// Offset of the damaged part.
        offset: u64,
        what: &'static str,
    },
    /// The fingerprints were made by another recipe.
    #[error("{path} holds fingerprints of recipe {stored}, not of {given}")]
    Recipe { path: String, stored: String, given: String },
    /// Another process is appending.
    #[error("{path} is being written by another process; try again when it is done")]
    Locked { path: String },
    /// A name or recipe exceeds the format's limit.
    #[error("{what} of {given} bytes is longer than {most}, the longest a .hpx file holds")]
    TooLong { what: &'static str, given: usize, most: usize },
}

impl HpxError {
    fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.display().to_string(), source }
    }

    fn damaged(path: &Path, offset: u64, what: &'static str) -> Self {
        Self::Damaged { path: path.display().to_string(), offset, what }
    }
}
