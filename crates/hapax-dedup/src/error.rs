//! Why a corpus could not be cleaned.
//!
//! Whatever is said here, nothing appeared in the output folder.
//! Every text names the file or number at fault and what to do.

use std::io;
use std::path::{Path, PathBuf};

use hapax_corpus::Remedy;

/// What went wrong, where, and what can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input is bad, or documents could not be written.
    #[error(transparent)]
    Corpus(#[from] hapax_corpus::Error),
    /// The operating system said no.
    #[error("cannot {action} {path}")]
    Io {
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// Something is there already.
    #[error("{path} is not empty (it holds {found}); name a new folder, or empty this one first")]
    NotEmpty {
        path: PathBuf,
        /// Something in it.
        found: String,
    },
    /// A file where a folder should be.
    #[error("{path} is a file; name a folder")]
    NotAFolder { path: PathBuf },
    /// Revisit records are records of WARC files.
    #[error(
        "revisit records exist in WARC files only, and kept documents would be written as {format}; \
         choose the format warc, warc.gz or warc.zst, or ask for no revisits"
    )]
    Revisits {
        /// The ending of the format.
        format: &'static str,
    },
    /// Two documents have one name and different texts.
    #[error(
        "two documents have the id {id:?} and different contents: {first} and {second}; name \
         a field that tells them apart as the id"
    )]
    DuplicateId {
        id: String,
        /// File and record of the first.
        first: String,
        /// File and record of the second.
        second: String,
    },
    /// More documents than can be numbered.
    #[error("more than {most} documents cannot be cleaned in one job")]
    TooMany { most: usize },
    /// The corpus holds no document.
    #[error("there is no document in {inputs}")]
    NoDocuments { inputs: String },
    /// What an interrupted job left in the output folder does not fit this one.
    #[error(
        "cannot continue the interrupted run in the output folder: {why}; give the inputs and options that it had, or start over"
    )]
    CannotResume {
        /// What it was begun with, and what this job has.
        why: String,
    },
    /// The inputs are not what they were when they were first read.
    #[error("{path} has changed while it was read; nothing was written, start again")]
    Changed { path: String },
    /// The bound is too wide for a join.
    #[error(transparent)]
    Join(#[from] hapax::join::JoinError),
    /// Pages could not be grouped.
    #[error(transparent)]
    Group(#[from] hapax::group::BatchError),
    /// A table could not be written.
    #[error("cannot write {path}: {reason}")]
    Table {
        path: PathBuf,
        /// What the library said.
        reason: String,
    },
    /// A file of signatures cannot be used.
    #[error("cannot use {path}: {what}")]
    Signatures { path: PathBuf, what: String },
    /// A shard is read by a process that sees all inputs.
    #[error("standard input has no shards; name files")]
    OneStream,
    /// Only signatures are at hand.
    #[error(
        "exact confirmation reads texts, and signatures alone are given; decide without it, or clean the corpus in one process"
    )]
    NoTexts,
    /// Own texts alone cannot decide here.
    #[error("own texts alone (frames `own`) do not go with {what}; {instead}, or use frames `on`")]
    OwnTexts { what: &'static str, instead: &'static str },
    /// What was decided cannot be read.
    #[error("cannot read what was decided from {path}: {reason}")]
    Verdicts { path: PathBuf, reason: String },
    /// A document that nothing was decided about.
    #[error("nothing was decided about {id:?} ({file}, record {record}): {what}")]
    Undecided {
        id: String,
        file: String,
        record: u64,
        /// What the decision says instead, and what to do.
        what: &'static str,
    },
    /// Less memory than the documents' signatures take.
    #[error(
        "{given} bytes of memory are not enough: {documents} documents need {needed} bytes, and more with every document; give more"
    )]
    Memory {
        given: u64,
        /// How many documents there are so far.
        documents: usize,
        needed: u64,
    },
    /// A kernel was given rows that it cannot work on.
    #[error("expected {rows} rows: {what}")]
    Rows {
        /// Which rows were expected.
        rows: &'static str,
        what: String,
    },
    /// Another job is at work in the same folder.
    #[error("another job is at work in {path}; wait for it, or name another folder")]
    Busy { path: PathBuf },
    /// The caller wanted no more.
    #[error("the job was stopped; nothing was written")]
    Stopped,
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        threads: usize,
        /// What the system answered.
        reason: String,
    },
}

impl Error {
    /// While reading: may the same job go on later with what it has read?
    pub(crate) fn may_go_on(&self) -> bool {
        match self {
            Self::Stopped | Self::Io { .. } | Self::CannotResume { .. } => true,
            // Networks and credentials come back; a version that was replaced does not.
            Self::Corpus(hapax_corpus::Error::Io { path, source, .. }) => {
                let replaced = source.kind() == io::ErrorKind::StaleNetworkFileHandle;
                hapax_corpus::is_address(path) && !replaced
            }
            _ => false,
        }
    }

    /// An option that would have helped.
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
