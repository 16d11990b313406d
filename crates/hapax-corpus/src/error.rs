//! Errors of reading and writing a corpus.
//!
//! Every error names the file, the place inside it, what was expected and found, and what to do. An option that
//! would help is a [`Remedy`], which a front end puts into its users' words. Data from outside never panics; it
//! becomes one of these values.

use std::fmt;
use std::io;
use std::path::Path;

use crate::options::Format;
use crate::sniff::PAGE_ENDINGS;

/// The place of an error inside a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The file as a whole.
    File,
    /// Offset in bytes.
    Byte(u64),
    /// Inside a compressed member (gzip) or frame (Zstandard).
    Member {
        /// Offset of the member in the file.
        offset: u64,
        /// Offset in the unpacked member.
        within: u64,
    },
    /// A line, from 1.
    Line(u64),
    /// A row, from 1.
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

/// An option that would have avoided the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Skip and count bad records.
    SkipBad,
    /// State the format of the file.
    Format,
    /// Also read the folder's other files; their number.
    AllFiles(u64),
    FollowLinks,
    /// Discard the checkpoint of an interrupted job.
    Restart,
}

/// Reading or writing a corpus failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot {action} {path}")]
    Io {
        /// The operation: "open", "read", ...
        action: &'static str,
        path: String,
        source: io::Error,
    },
    /// A glob matches no file.
    #[error("{pattern} {what}")]
    NoInput {
        /// As given by the caller.
        pattern: String,
        /// "matches no file", ...
        what: &'static str,
    },
    /// A folder has no readable file.
    #[error("folder {folder} holds no pages ({})", page_endings())]
    NoPages {
        folder: String,
        /// Number of files in it that were left out.
        others: u64,
    },
    /// The file has another format than the caller stated.
    #[error(
        "{path} is not {expected}: it looks like {found}; name that format, or none to have it guessed"
    )]
    WrongFormat {
        path: String,
        /// The stated format.
        expected: Format,
        /// What its first bytes look like.
        found: String,
    },
    /// The bytes do not fit the format in the file's name.
    #[error("{path} is not {expected}: it looks like {found}; rename it")]
    Misnamed {
        path: String,
        /// The format in the name.
        expected: Format,
        /// What its first bytes look like.
        found: String,
    },
    /// The format cannot be read in this way.
    #[error("{path}: {what}")]
    Unsupported {
        path: String,
        /// What is not possible, and what to do instead.
        what: String,
    },
    #[error(
        "{path}: CSV and TSV are not read, only WARC, WET, ARC, JSONL, Parquet, HTML, lines and text; make JSONL of it"
    )]
    TextTable { path: String },
    /// A link in a folder leads out of it.
    #[error("{path}: link to a file outside the folder; name that file")]
    OutsideLink { path: String },
    /// The bytes contradict the format.
    #[error("{path}, {at}: {what}")]
    Damaged {
        path: String,
        at: At,
        /// What was expected and found.
        what: String,
    },
    /// Something exceeds a limit on memory.
    #[error("{path}, {at}: {part} of more than {limit} bytes")]
    TooLong {
        path: String,
        /// Where it begins.
        at: At,
        /// What is too long: "a line", "a record", ...
        part: &'static str,
        /// The limit, inclusive.
        limit: u64,
        /// The field of [`Limits`](crate::Limits) with the limit.
        knob: &'static str,
    },
    /// A line is not a JSON object.
    #[error("{path}, line {line}, column {column}: {message}")]
    Json {
        path: String,
        line: u64,
        column: usize,
        /// The parser's message.
        message: String,
    },
    /// A record has none of the fields, or a file none of the columns, that make a document.
    #[error("{path}, {at}: no {wanted}; there are: {found}")]
    Missing {
        path: String,
        /// The line or row, or the whole file.
        at: At,
        /// The names that were tried.
        wanted: String,
        /// The names that exist.
        found: String,
    },
    /// A field has a value of the wrong type.
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
        /// The option that names it.
        by: String,
        name: String,
        /// Whether only the first records of a stream were checked.
        beginning: bool,
        /// The fields of some document; empty if the format has no fields.
        there: Vec<String>,
    },
    /// The output cannot hold a document.
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
    /// The file with the error, if it is one.
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

    /// The place in the file, if known.
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

    /// A field states a time that does not exist.
    pub(crate) fn no_such_time(path: String, at: At, text: &str) -> Self {
        let start: String = text.chars().take(40).collect();
        let what = format!("{start:?} is not a time: that day or hour does not exist");
        Self::Damaged { path, at, what }
    }

    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::Io { action, path: path.as_ref().display().to_string(), source }
    }
}
