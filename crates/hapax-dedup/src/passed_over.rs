//! Records that are not documents: why, and where they are.
//!
//! Every record of the inputs is a document, which is kept or removed, or is passed over: the counts of
//! [`Summary`](crate::Summary) add up to the records that were read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hapax_corpus::{At, Entry, Fact, FileId, Reason};
use serde::{Deserialize, Serialize};

/// Why a record was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassedOver {
    /// Its page or text is null.
    NullText,
    /// A line of a JSONL or text file with nothing on it.
    BlankLine,
    /// A record about records: warcinfo, request, metadata, the head of an ARC file.
    NotAPage,
    /// A response without a document: its status says that there is none.
    HttpStatus,
    /// A response that names another address.
    Redirect,
    /// A record that says that another has the content.
    Revisit,
    /// A later piece of a segmented record.
    Continuation,
    /// It cannot be read, and damaged records were to be skipped.
    Damaged,
}

/// How many records were passed over for which reason.
pub type PassedCounts = BTreeMap<PassedOver, u64>;

/// A record that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassedRecord<'a> {
    pub(crate) why: PassedOver,
    /// The reason with what is known about this record.
    pub(crate) reason: Cow<'static, str>,
    /// Its id or address, where it states one.
    pub(crate) name: Option<Cow<'a, str>>,
    /// The file; of a damaged record the name of it.
    pub(crate) file: Result<FileId, String>,
    /// Which line, row or record of the file, from 1; `None` where damage hides it.
    pub(crate) record: Option<u64>,
}

impl PassedOver {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 8] = [
        Self::NullText,
        Self::BlankLine,
        Self::NotAPage,
        Self::HttpStatus,
        Self::Redirect,
        Self::Revisit,
        Self::Continuation,
        Self::Damaged,
    ];

    /// As files call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NullText => "null_text",
            Self::BlankLine => "blank_line",
            Self::NotAPage => "not_a_page",
            Self::HttpStatus => "http_status",
            Self::Redirect => "redirect",
            Self::Revisit => "revisit",
            Self::Continuation => "continuation",
            Self::Damaged => "damaged",
        }
    }

    /// As people read it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NullText => "null text",
            Self::BlankLine => "blank line",
            Self::NotAPage => "not a page",
            Self::HttpStatus => "HTTP status",
            Self::Redirect => "redirect",
            Self::Revisit => "revisit",
            Self::Continuation => "continuation",
            Self::Damaged => "damaged",
        }
    }
}

/// Reasons and numbers in one line: `null text: 2, blank line: 1`.
pub fn passed_line(counts: &PassedCounts) -> String {
    let one = |(why, count): (&PassedOver, &u64)| {
        format!("{}: {}", why.label(), hapax_report::grouped(*count))
    };
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What is wrong, without the file, which has a column of its own.
fn without_place(error: &hapax_corpus::Error) -> String {
    let text = error.to_string();
    let path = error.path().unwrap_or_default();
    text.strip_prefix(path).unwrap_or(&text).trim_start_matches([',', ':', ' ']).to_owned()
}

impl<'a> PassedRecord<'a> {
    /// `None` for a document.
    pub(crate) fn of(entry: &Entry<'a>) -> Option<Self> {
        Some(match entry {
            Entry::Document(_) => return None,
            Entry::Fact(fact) => Self::fact(fact),
            Entry::Passed { reason, place, name } => {
                let (why, reason): (_, Cow<'static, str>) = match reason {
                    Reason::NotAPage => (PassedOver::NotAPage, "not a page but about one".into()),
                    Reason::Revisit => {
                        (PassedOver::Revisit, "a revisit that names no other address".into())
                    }
                    Reason::Status(status) => {
                        (PassedOver::HttpStatus, format!("HTTP status {status}").into())
                    }
                    Reason::Continuation => {
                        (PassedOver::Continuation, "a later piece of a segmented record".into())
                    }
                    Reason::Blank => (PassedOver::BlankLine, "blank line".into()),
                    Reason::NoBody => (PassedOver::NullText, "its text is null".into()),
                };
                Self {
                    why,
                    reason,
                    name: name.clone(),
                    file: Ok(place.file),
                    record: Some(place.number),
                }
            }
            Entry::Bad(error) => Self {
                why: PassedOver::Damaged,
                reason: format!("damaged: {}", without_place(error)).into(),
                name: None,
                file: Err(error.path().unwrap_or_default().to_owned()),
                record: match error.at() {
                    Some(At::Line(number) | At::Row(number)) => Some(number),
                    _ => None,
                },
            },
        })
    }

    /// Without a tie to the entry.
    pub(crate) fn into_owned(self) -> PassedRecord<'static> {
        let Self { why, reason, name, file, record } = self;
        let name = name.map(|name| Cow::Owned(name.into_owned()));
        PassedRecord { why, reason, name, file, record }
    }

    pub(crate) fn fact(fact: &Fact) -> Self {
        let (why, place, what) = match fact {
            Fact::Redirect { to, place, .. } => {
                (PassedOver::Redirect, place, format!("redirects to {to}"))
            }
            Fact::Revisit { to, place, .. } => {
                (PassedOver::Revisit, place, format!("revisit of {to}"))
            }
        };
        // Which of both, one record does not know.
        let reason = format!("{what}: no document is there, or this address already has one");
        let name = Some(Cow::Owned(fact.addresses().0.to_owned()));
        let (file, record) = (Ok(place.file), Some(place.number));
        Self { why, reason: reason.into(), name, file, record }
    }

    /// What it is called in a table, when its file is called so: its name, or file and number.
    pub(crate) fn called(&self, file: &str) -> Cow<'_, str> {
        match (&self.name, self.record) {
            (Some(name), _) => Cow::Borrowed(name),
            (None, Some(record)) => Cow::Owned(format!("{file}:{record}")),
            (None, None) => Cow::Owned(file.to_owned()),
        }
    }
}
