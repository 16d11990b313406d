//! Why cleaning a corpus failed.
//!
//! After any of these errors, the output folder holds no result. Every message names the file or number at
//! fault and what to do.

use std::io;
use std::path::{Path, PathBuf};

use hapax_corpus::Remedy;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input is bad, or documents could not be written.
    #[error(transparent)]
    Corpus(#[from] hapax_corpus::Error),
    #[error("cannot {action} {path}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// The output folder is not empty.
    #[error("{path} is not empty (it holds {found}); name a new folder, or empty this one first")]
    NotEmpty {
        path: PathBuf,
        /// An entry of the folder.
        found: String,
    },
    /// The output path is a file.
    #[error("{path} is a file; name a folder")]
    NotAFolder { path: PathBuf },
    /// Revisit records were asked for in a format other than WARC.
    #[error(
        "revisit records exist in WARC files only, and kept documents would be written as {format}; \
         choose the format warc, warc.gz or warc.zst, or ask for no revisits"
    )]
    Revisits {
        /// File extension of the format.
        format: &'static str,
    },
    /// Two documents share an id and differ in content.
    #[error(
        "two documents have the id {id:?} and different contents: {first} and {second}; name \
         a field that tells them apart as the id"
    )]
    DuplicateId {
        id: String,
        /// File and record.
        first: String,
        /// File and record.
        second: String,
    },
    /// More documents than can be numbered.
    #[error("more than {most} documents cannot be cleaned in one job")]
    TooMany { most: usize },
    #[error("there is no document in {inputs}")]
    NoDocuments { inputs: String },
    /// The checkpoint of an interrupted job does not fit this job.
    #[error(
        "cannot continue the interrupted run in the output folder: {why}; give the inputs and options that it had, or start over"
    )]
    CannotResume {
        /// Which input or option differs.
        why: String,
    },
    /// The inputs changed since the first reading.
    #[error("{path} has changed while it was read; nothing was written, start again")]
    Changed { path: String },
    /// The distance bound is too wide for a join.
    #[error(transparent)]
    Join(#[from] hapax::join::JoinError),
    #[error(transparent)]
    Group(#[from] hapax::group::BatchError),
    #[error("cannot write {path}: {reason}")]
    Table { path: PathBuf, reason: String },
    /// A file of signatures is damaged or does not fit the job.
    #[error("cannot use {path}: {what}")]
    Signatures { path: PathBuf, what: String },
    /// Standard input cannot be split into shards.
    #[error("standard input has no shards; name files")]
    OneStream,
    /// Exact confirmation needs texts, and only signatures are available.
    #[error(
        "exact confirmation reads texts, and signatures alone are given; decide without it, or clean the corpus in one process"
    )]
    NoTexts,
    /// Own texts alone cannot be used in this mode.
    #[error("own texts alone (frames `own`) do not go with {what}; {instead}, or use frames `on`")]
    OwnTexts { what: &'static str, instead: &'static str },
    /// A table of verdicts cannot be read.
    #[error("cannot read what was decided from {path}: {reason}")]
    Verdicts { path: PathBuf, reason: String },
    /// A document has no verdict.
    #[error("nothing was decided about {id:?} ({file}, record {record}): {what}")]
    Undecided {
        id: String,
        file: String,
        record: u64,
        /// What the table says instead, and what to do.
        what: &'static str,
    },
    /// The signatures need more memory than was given.
    #[error(
        "{given} bytes of memory are not enough: {documents} documents need {needed} bytes, and more with every document; give more"
    )]
    Memory {
        given: u64,
        /// Documents read so far.
        documents: usize,
        needed: u64,
    },
    /// A distributed step was given rows that it cannot use.
    #[error("expected {rows} rows: {what}")]
    Rows {
        /// The expected kind of rows.
        rows: &'static str,
        what: String,
    },
    /// Another job is using the same folder.
    #[error("another job is at work in {path}; wait for it, or name another folder")]
    Busy { path: PathBuf },
    /// The caller stopped the job.
    #[error("the job was stopped; nothing was written")]
    Stopped,
    #[error("cannot start {threads} threads: {reason}")]
    Threads { threads: usize, reason: String },
}

impl Error {
    /// Whether a job that failed with this error may be resumed from its checkpoint.
    pub(crate) fn may_go_on(&self) -> bool {
        match self {
            Self::Stopped | Self::Io { .. } | Self::CannotResume { .. } => true,
            // Network and credential failures may pass; a replaced version does not come back.
            Self::Corpus(hapax_corpus::Error::Io { path, source, .. }) => {
                let replaced = source.kind() == io::ErrorKind::StaleNetworkFileHandle;
                hapax_corpus::is_address(path) && !replaced
            }
            _ => false,
        }
    }

    /// An option that would have avoided the error.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Corpus(error) => error.remedy(),
            Self::CannotResume { .. } => Some(Remedy::Restart),
            _ => None,
        }
    }

    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::Io { action, path: path.as_ref().to_owned(), source }
    }
}
