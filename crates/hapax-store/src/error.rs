//! Errors of the store.
//!
//! [`StoreError`] is for callers and names the folder. `Fault` is used inside a transaction, where the folder
//! is unknown, and is converted at the boundary.

use crate::lineage::Role;
use hapax::fingerprint::RecipeId;
use hapax::group::live::LiveError;
use hapax::index::SearchError;
use hapax::index::segment::SegmentBuildError;
use std::io;
use std::path::{Path, PathBuf};

/// What to do about a disk error.
fn way_out(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            "whoever opens a repository, if only to read, needs permission to write in its folder"
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "a repository is a folder, so name one, or a name that is free"
        }
        _ => "the operation was not done; make room or mend the disk, and try again",
    }
}

fn why_not(role: Role) -> &'static str {
    match role {
        Role::Primary | Role::Standby => {
            "it is a standby; write to its primary, or make it the primary with `hapax store promote`"
        }
        Role::Waiting => {
            "it had a standby, which may have become the primary since; if it has not, make this one \
             the primary again with `hapax store promote`"
        }
    }
}

/// An operation failed. No acknowledged data is lost by any of these errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder already has a repository.
    #[error("{} is a repository already; open it, or choose another folder", .folder.display())]
    Exists { folder: PathBuf },
    #[error("{} is missing, so this is not a repository", .file.display())]
    Missing {
        /// The expected file.
        file: PathBuf,
    },
    /// Another process, or another handle in this one, has it open.
    #[error(
        "repository {} is in use; one process opens it at a time, others read a snapshot of it",
        .folder.display()
    )]
    InUse { folder: PathBuf },
    /// The file is not a repository.
    #[error(
        "{} is not a Hapax repository ({what}); if it was one, restore it from a snapshot",
        .file.display()
    )]
    Foreign { file: PathBuf, what: String },
    /// Written by a later version.
    #[error(
        "{} has format {found}, this program reads up to {known}; use a newer Hapax",
        .file.display()
    )]
    Newer {
        file: PathBuf,
        found: u32,
        /// The newest format that this version reads.
        known: u32,
    },
    /// Its fingerprints were made by another recipe.
    #[error(
        "repository {} holds fingerprints of recipe {theirs}, not {ours}; use {theirs}, or feed \
         the pages to a new repository",
        .folder.display()
    )]
    OtherRecipe {
        folder: PathBuf,
        ours: RecipeId,
        /// The recipe of the repository.
        theirs: RecipeId,
    },
    /// It was created with another setting than the requested one.
    #[error(
        "repository {} was made with {setting} {theirs}, not {ours}; leave that out to use what it \
         has, or feed the pages to a new repository",
        .folder.display()
    )]
    OtherSetting { folder: PathBuf, setting: &'static str, ours: String, theirs: String },
    /// The stored data contradicts itself.
    #[error(
        "{} is damaged: {what}; nothing of it is served; save what can be read of it with \
         `hapax inspect --repair`, or restore a snapshot",
        .file.display()
    )]
    Damaged { file: PathBuf, what: String },
    /// The file's metadata is damaged; the tables may be intact.
    #[error(
        "{} is damaged: what it says about its own pages fails its checksums; mend that with \
         `hapax inspect --repair`, or restore a snapshot",
        .file.display()
    )]
    Bookkeeping { file: PathBuf },
    /// A disk error. Earlier acknowledged operations are stored; this one is not.
    #[error("{}: {source}; {}", .file.display(), way_out(.source))]
    Disk { file: PathBuf, source: io::Error },
    /// A redirect from a page to itself.
    #[error("{url} cannot redirect to itself; give the address it leads to, or forget the page")]
    SelfRedirect { url: String },
    /// An address of invalid length.
    #[error("an address must have 1 to {most} bytes, this has {len}: {start}")]
    BadUrl { len: usize, most: usize, start: String },
    /// An invalid name of a market.
    #[error(
        "a market's name is 1 to {most} bytes of letters, digits, `-`, `_` and `.`, not `{name}`"
    )]
    BadMarket {
        /// The name, possibly truncated.
        name: String,
        most: usize,
    },
    #[error("repository {} has no market `{name}`; {known}", .folder.display())]
    NoMarket {
        folder: PathBuf,
        name: String,
        /// The existing markets, for display.
        known: String,
    },
    #[error("repository {} takes no writes: {}", .folder.display(), why_not(*.role))]
    NotPrimary { folder: PathBuf, role: Role },
    /// Two copies with different histories, neither of which continues the other.
    #[error(
        "repository {} and the other copy have different histories: {what}; move one of them away \
         and copy the other",
        .folder.display()
    )]
    OtherHistory {
        folder: PathBuf,
        /// What is known about the other copy.
        what: String,
    },
    /// A copy cannot be written or used.
    #[error("the copy cannot be used: {what}; copy again")]
    Copy { what: String },
    /// A backup does not exist, or its name or place is invalid.
    #[error("{what}")]
    Backup { what: String },
    /// Page or group numbers are used up.
    #[error("repository {} has given out all its numbers for {what}", .folder.display())]
    Full {
        folder: PathBuf,
        /// Which numbers.
        what: &'static str,
    },
}

/// A [`StoreError`] without its folder.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Store(Box<redb::Error>),
    #[error("{0}")]
    Damaged(String),
    #[error("no more numbers for {0}")]
    Full(&'static str),
    #[error("a {} takes no writes", .0.name())]
    NotPrimary(Role),
    #[error("{0}")]
    Copy(String),
    #[error("{0}")]
    OtherHistory(String),
}

pub(crate) type Outcome<T> = Result<T, Fault>;

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Store(Box::new(error.into()))
    }
}

/// A function, because `From` is already implemented for the store's errors.
pub(crate) fn of_groups(error: LiveError<Fault>) -> Fault {
    match error {
        LiveError::Outside(fault) => fault,
        other => Fault::Damaged(other.to_string()),
    }
}

pub(crate) fn of_search(error: SearchError) -> Fault {
    Fault::Damaged(error.to_string())
}

pub(crate) fn of_segment(error: SegmentBuildError) -> Fault {
    Fault::Damaged(format!("the index cannot be built: {error}"))
}

impl Fault {
    pub(crate) fn at(self, file: &Path) -> StoreError {
        let (folder, file) = (file.parent().unwrap_or(file).to_owned(), file.to_owned());
        match self {
            Self::Full(what) => StoreError::Full { folder, what },
            Self::Damaged(what) => StoreError::Damaged { file, what },
            Self::NotPrimary(role) => StoreError::NotPrimary { folder, role },
            Self::Copy(what) => StoreError::Copy { what },
            Self::OtherHistory(what) => StoreError::OtherHistory { folder, what },
            Self::Store(error) => match *error {
                redb::Error::DatabaseAlreadyOpen => StoreError::InUse { folder },
                // The read data differs from what was written.
                redb::Error::Io(source) if source.kind() == io::ErrorKind::InvalidData => {
                    StoreError::Damaged { file, what: source.to_string() }
                }
                redb::Error::Io(source) => StoreError::Disk { file, source },
                redb::Error::PreviousIo => {
                    let source = io::Error::other("an earlier write failed");
                    StoreError::Disk { file, source }
                }
                other => StoreError::Damaged { file, what: other.to_string() },
            },
        }
    }
}

/// Runs code that reads the file, and turns panics into errors: redb panics on some damage that its
/// checksums do not cover. Data used by `work` must not be used after a failure, unless it is valid
/// when left half-way, like a transaction.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    hapax_guard::guarded(work)
        .unwrap_or_else(|text| Err(Fault::Damaged(format!("it cannot be parsed ({text})"))))
}
