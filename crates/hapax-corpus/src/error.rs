//! What can be wrong with a corpus, said so that it can be put right.
//!
//! Every error names the file, the place inside it, what was expected there, and what can be done.
//! An option that would help is a [`Remedy`]: a front end says it in its users' words. Nothing read
//! from outside panics; it becomes one of these values.

use std::fmt;
use std::io;
use std::path::Path;

use crate::options::Format;
use crate::sniff::PAGE_ENDINGS;

/// Where inside a file something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Nowhere in particular.
    File,
    /// So many bytes from the start of the file.
    Byte(u64),
    /// Inside a compressed member (gzip) or frame (Zstandard).
    Member {
        /// Where the member begins, in bytes of the file.
        offset: u64,
        /// How many unpacked bytes into the member.
        within: u64,
    },
    /// A line, counted from 1.
    Line(u64),
    /// A row, counted from 1.
    Row(u64),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => write!(f, "the whole file"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Member { offset, within: 0 } => write!(f, "member at byte {offset}"),
            Self::Member { offset, within } => {
                write!(f, "member at byte {offset}, {within} unpacked bytes into it")
            }
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// An option that would have helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// To count what is bad and pass over it.
    SkipBad,
    /// To say which format a file has.
    Format,
    /// To read the folder's other files, too; how many there are.
    AllFiles(u64),
    FollowLinks,
    /// To forget what an interrupted job has done.
    Restart,
}

/// Why a corpus could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system said no.
    #[error("cannot {action} {path}")]
    Io {
        /// What was tried: "open", "read", ...
        action: &'static str,
        path: String,
        /// What the system answered.
        source: io::Error,
    },
    /// A glob stands for no file at all.
    #[error("{pattern} {what}")]
    NoInput {
        /// As the caller wrote it.
        pattern: String,
        /// "matches no file", ...
        what: &'static str,
    },
    /// A folder has no file that counts.
    #[error("folder {folder} holds no pages ({})", page_endings())]
    NoPages {
        folder: String,
        /// Files in it that do not count.
        others: u64,
    },
    /// The caller named a format and the file has another.
    #[error(
        "{path} is not {expected}: it looks like {found}; name that format, or none to have it guessed"
    )]
    WrongFormat {
        path: String,
        /// What the caller asked for.
        expected: Format,
        /// What its first bytes look like.
        found: String,
    },
    /// A file's name promises a format, and its bytes are something else.
    #[error("{path} is not {expected}: it looks like {found}; rename it")]
    Misnamed {
        path: String,
        /// What its name promises.
        expected: Format,
        /// What its first bytes look like.
        found: String,
    },
    /// The format cannot be read in this way.
    #[error("{path}: {what}")]
    Unsupported {
        path: String,
        /// What cannot be done, and what can be done instead.
        what: String,
    },
    #[error(
        "{path}: CSV and TSV are not read, only WARC, WET, ARC, JSONL, Parquet, HTML, lines and text; make JSONL of it"
    )]
    TextTable { path: String },
    /// A folder has a link that leads out of it.
    #[error("{path}: link to a file outside the folder; name that file")]
    OutsideLink { path: String },
    /// The bytes contradict the format.
    #[error("{path}, {at}: {what}")]
    Damaged {
        path: String,
        at: At,
        /// What was expected and what was there.
        what: String,
    },
    /// Something is longer than the caller is ready to hold in memory.
    #[error("{path}, {at}: {part} of more than {limit} bytes")]
    TooLong {
        path: String,
        /// Where it begins.
        at: At,
        /// What is too long: "a line", "a record", ...
        part: &'static str,
        /// The longest that is read, inclusive.
        limit: u64,
        /// The field of [`Limits`](crate::Limits) that holds the bound.
        knob: &'static str,
    },
    /// A line is not a JSON object.
    #[error("{path}, line {line}, column {column}: {message}")]
    Json {
        path: String,
        line: u64,
        column: usize,
        /// What the parser expected.
        message: String,
    },
    /// A record has none of the fields, or a file none of the columns, a document is made from.
    #[error("{path}, {at}: no {wanted}; there are: {found}")]
    Missing {
        path: String,
        /// The line or row, or the whole file.
        at: At,
        /// The names that were looked for.
        wanted: String,
        /// The names that are there.
        found: String,
    },
    /// A field holds another kind of value than a document needs there.
    #[error("{path}, {at}: {field} is {found}, not {expected}")]
    WrongType {
        path: String,
        /// The line, row or whole file.
        at: At,
        field: String,
        found: String,
        expected: &'static str,
    },
    /// No document has a field that the caller named.
    #[error("{by}: no document{} has a field {name}{}", looked_at(*beginning), listed(there))]
    NoSuchField {
        /// The words that name it.
        by: String,
        name: String,
        /// Whether only the first records of a stream were looked at.
        beginning: bool,
        /// The fields of some document; none where the format has no fields.
        there: Vec<String>,
    },
    /// A document cannot go into this output.
    #[error("{path}: {what}")]
    Output {
        path: String,
        /// Why, and what to do.
        what: String,
    },
}

fn looked_at(beginning: bool) -> &'static str {
    if beginning { " at the beginning of the stream" } else { "" }
}

fn listed(there: &[String]) -> String {
    if there.is_empty() { String::new() } else { format!("; there are: {}", there.join(", ")) }
}

fn page_endings() -> String {
    PAGE_ENDINGS.map(|(ending, _)| format!(".{ending}")).join(" ")
}

impl Error {
    /// The file that is wrong, where it is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Io { path, .. }
            | Self::WrongFormat { path, .. }
            | Self::Misnamed { path, .. }
            | Self::Unsupported { path, .. }
            | Self::TextTable { path }
            | Self::OutsideLink { path }
            | Self::Damaged { path, .. }
            | Self::TooLong { path, .. }
            | Self::Json { path, .. }
            | Self::Missing { path, .. }
            | Self::WrongType { path, .. }
            | Self::Output { path, .. } => Some(path),
            Self::NoInput { .. } | Self::NoPages { .. } | Self::NoSuchField { .. } => None,
        }
    }

    /// Where in the file, as far as that is known.
    pub fn at(&self) -> Option<At> {
        match self {
            Self::Damaged { at, .. }
            | Self::TooLong { at, .. }
            | Self::Missing { at, .. }
            | Self::WrongType { at, .. } => Some(*at),
            Self::Json { line, .. } => Some(At::Line(*line)),
            _ => None,
        }
    }

    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Damaged { .. } | Self::TooLong { .. } | Self::Json { .. } => {
                Some(Remedy::SkipBad)
            }
            Self::Misnamed { .. } | Self::TextTable { .. } => Some(Remedy::Format),
            Self::NoPages { others, .. } if *others > 0 => Some(Remedy::AllFiles(*others)),
            Self::OutsideLink { .. } => Some(Remedy::FollowLinks),
            _ => None,
        }
    }

    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::Io { action, path: path.as_ref().display().to_string(), source }
    }
}
