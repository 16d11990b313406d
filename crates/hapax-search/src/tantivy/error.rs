//! Errors of an index in a folder.
//!
//! Every error names the folder or the file. Errors of the operating system are distinguished from damage, even
//! if the library wraps them; panics of the library count as damage.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hapax::fingerprint::RecipeId;
use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError};

use crate::guard::guarded;

/// An index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder has no index of this program.
    #[error("{} is not a search index; make one with `hapax search build`", path.display())]
    Missing { path: PathBuf },
    /// The place of a new index is taken.
    #[error("{} exists already; name a new folder, or use `hapax search add`", path.display())]
    Exists { path: PathBuf },
    /// Made by another release.
    #[error(
        "the search index {} has format {found}, this release reads {readable}; build it again",
        path.display()
    )]
    Format { path: PathBuf, found: String, readable: String },
    /// Its fingerprints were made by another recipe.
    #[error(
        "the search index {} was built with recipe {stored}, {asked} is asked for; use that recipe \
         or build it again",
        path.display()
    )]
    Recipe {
        path: PathBuf,
        /// The recipe of the index.
        stored: RecipeId,
        asked: RecipeId,
    },
    /// Another process is changing it.
    #[error("the search index {} is being changed by another process", path.display())]
    Locked { path: PathBuf },
    /// A file is inconsistent, or its checksum is wrong.
    #[error("{} is damaged: {what}; build the search index again", path.display())]
    Damaged { path: PathBuf, what: String },
    /// An unknown document number.
    #[error("the search index {} has no document {id}", path.display())]
    Unknown { path: PathBuf, id: u64 },
    /// A writing thread has stopped.
    #[error(
        "the search index {} could not be written, often because the disk is full; it is as it was \
         committed last ({what})",
        path.display()
    )]
    Stopped { path: PathBuf, what: String },
    #[error("the search index {} failed", path.display())]
    Tantivy { path: PathBuf, source: Box<TantivyError> },
    /// Permission to read is denied.
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} failed", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl Error {
    pub(super) fn tantivy(path: &Path, source: impl Into<TantivyError>) -> Self {
        match source.into() {
            TantivyError::LockFailure(LockError::IoError(error), _) => Self::io(path, owned(error)),
            TantivyError::LockFailure(..) => Self::Locked { path: path.to_owned() },
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath })
                if io_error.raw_os_error().is_some() =>
            {
                Self::unreadable(&path.join(filepath), owned(io_error))
            }
            TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. }) => {
                Self::unreadable(path, owned(io_error))
            }
            // A file is truncated, changed or missing, so only rebuilding helps.
            damage @ (TantivyError::DataCorruption(_)
            | TantivyError::OpenReadError(_)
            | TantivyError::IncompatibleIndex(_)) => {
                Self::Damaged { path: path.to_owned(), what: damage.to_string() }
            }
            stopped @ TantivyError::ErrorInThread(_) => {
                Self::Stopped { path: path.to_owned(), what: stopped.to_string() }
            }
            source => Self::Tantivy { path: path.to_owned(), source: Box::new(source) },
        }
    }

    pub(super) fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), source }
    }

    /// Runs code that may panic on damaged files.
    pub(super) fn guarded<T>(
        path: &Path,
        work: impl FnOnce() -> Result<T, Self>,
    ) -> Result<T, Self> {
        guarded(work, |what| Self::Damaged { path: path.to_owned(), what })
    }

    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// An error of the operating system that the library shares by reference.
fn owned(error: Arc<io::Error>) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error),
    }
}
