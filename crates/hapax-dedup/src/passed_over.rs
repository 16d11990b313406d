//! Records that are not documents: their reasons and places.
//!
//! Every input record is a kept document, a removed document or passed over; the counts of
//! [`Summary`](crate::Summary) add up to the records read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hapax_corpus::{At, Bad, Entry, Fact, FileId, Reason};
use serde::{Deserialize, Serialize};

/// Why a record was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassedOver {
    /// The page or text is null.
    NullText,
    /// A blank line of a JSONL or text file.
    BlankLine,
    /// A record about other records: warcinfo, request, metadata, the head of an ARC file.
    NotAPage,
    /// A response whose status says that there is no document.
    HttpStatus,
    /// A response that redirects to another address.
    Redirect,
    /// A record that refers to an earlier one with the same content.
    Revisit,
    /// A continuation of a segmented record.
    Continuation,
    /// Unreadable, and the options skip damaged records.
    Damaged,
}

/// Number of records passed over, by reason.
pub type PassedCounts = BTreeMap<PassedOver, u64>;

/// A record that was passed over, or many damaged ones together ([`Bad`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassedRecord<'a> {
    pub(crate) why: PassedOver,
    /// The reason, with details of this record.
    pub(crate) reason: Cow<'static, str>,
    /// Id or address, if the record has one.
    pub(crate) name: Option<Cow<'a, str>>,
    /// The file; of a damaged record its name.
    pub(crate) file: Result<FileId, String>,
    /// Line, row or record of the file, from 1; `None` if damage hides it.
    pub(crate) record: Option<u64>,
}

impl PassedOver {
    /// All reasons in the order of reports.
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

    /// The name in files.
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

    /// The name for people.
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

/// The message without the file, which has its own column.
fn without_place(bad: &Bad) -> String {
    let text = bad.to_string();
    let path = bad.error.path().unwrap_or_default();
    text.strip_prefix(path).unwrap_or(&text).trim_start_matches([',', ':', ' ']).to_owned()
}

impl<'a> PassedRecord<'a> {
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
            Entry::Bad(bad) => Self {
                why: PassedOver::Damaged,
                reason: format!("damaged: {}", without_place(bad)).into(),
                name: None,
                file: Err(bad.error.path().unwrap_or_default().to_owned()),
                record: match bad.error.at() {
                    Some(At::Line(number) | At::Row(number)) => Some(number),
                    _ => None,
                },
            },
        })
    }

    /// Copies what was borrowed from the entry.
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
        // One record cannot tell which of the two applies.
        let reason = format!("{what}: no document is there, or this address already has one");
        let name = Some(Cow::Owned(fact.addresses().0.to_owned()));
        let (file, record) = (Ok(place.file), Some(place.number));
        Self { why, reason: reason.into(), name, file, record }
    }

    /// The name in a table, given the name of its file: its own name, or file and number.
    pub(crate) fn called(&self, file: &str) -> Cow<'_, str> {
        match (&self.name, self.record) {
            (Some(name), _) => Cow::Borrowed(name),
            (None, Some(record)) => Cow::Owned(format!("{file}:{record}")),
            (None, None) => Cow::Owned(file.to_owned()),
        }
    }
}
