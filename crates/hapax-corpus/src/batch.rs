//! A piece of a corpus that one thread decodes.
//!
//! The thread that reads a file splits it into batches of complete, undecoded records; any thread can decode a
//! batch, because it borrows nothing. Damage keeps its place: it is reported after the records before it, so
//! the first error of a run is the same for any number of threads.

use std::collections::VecDeque;
use std::fmt;
use std::mem::{Discriminant, discriminant};
use std::ops::Range;
use std::sync::Arc;

use crate::document::{Bad, Document, Entry, FileId};
use crate::error::Error;
use crate::options::{FieldTable, Format, ReadOptions};
use crate::read::lines::Lines;
use crate::read::parquet::RowGroup;
use crate::read::records::Records;
use crate::read::{archive, json, pages};
use crate::source::Files;
use xxhash_rust::xxh3::xxh3_64;

/// Records of one file, or several files of one document each.
pub struct Batch {
    pub(crate) context: Context,
    pub(crate) payload: Payload,
    /// The error after the records, if any.
    pub(crate) bad: Option<Error>,
    /// Index of the part of the source.
    pub part: usize,
    /// Index of the batch in its part.
    pub index: usize,
    /// Bytes of input that were read for it; 0 if the compression hides them.
    pub input_bytes: u64,
}

/// Everything that decoders need besides the bytes.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) options: Arc<ReadOptions>,
    pub(crate) table: Arc<FieldTable>,
    pub(crate) file: FileId,
    pub(crate) name: Arc<str>,
}

pub(crate) enum Payload {
    Json(Lines),
    Text(Lines),
    Records(Records),
    Rows(RowGroup, Option<u64>),
    /// Files to open, all in this format or each in that of its name.
    Pages(Arc<Files>, Range<u32>, Option<Format>),
    /// A file that turned out to be one document.
    Page(Option<Box<Entry<'static>>>),
    Nothing,
}

impl Context {
    pub(crate) fn path(&self) -> String {
        self.name.to_string()
    }

    /// The id of a document that has neither an id nor a URL.
    pub(crate) fn fallback_id(&self, number: u64) -> String {
        format!("{}:{number}", self.name)
    }
}

impl Batch {
    /// Number of bad records of a kind that are entries of their own.
    pub const BAD_SHOWN: u64 = 8;

    /// The range of the batch in its part: unpacked bytes of the file, rows of a table, or files of
    /// a folder. An unchanged file is always split into the same ranges.
    pub fn extent(&self) -> Range<u64> {
        match &self.payload {
            Payload::Json(lines) | Payload::Text(lines) => lines.chunk.extent(),
            Payload::Records(records) => records.chunk.extent(),
            Payload::Rows(group, _) => group.extent(),
            Payload::Pages(_, ids, _) => u64::from(ids.start)..u64::from(ids.end),
            Payload::Page(_) | Payload::Nothing => 0..0,
        }
    }

    /// A hash of the undecoded records; `None` where they are read only when they are decoded, from a
    /// table or from files of one document each.
    pub fn digest(&self) -> Option<u64> {
        let chunk = match &self.payload {
            Payload::Json(lines) | Payload::Text(lines) => &lines.chunk,
            Payload::Records(records) => &records.chunk,
            Payload::Rows(..) | Payload::Pages(..) | Payload::Page(_) | Payload::Nothing => {
                return None;
            }
        };
        Some(xxh3_64(&chunk.data))
    }

    /// Decodes the batch, in order. Without [`skip_bad`](ReadOptions::skip_bad) the first error
    /// ends it; with it, errors are [`Entry::Bad`], and the only `Err` is a field that the caller
    /// named and no document has. See [`Bad`] for where many of a file come together.
    ///
    /// An error after the records (damage, or a file that cannot be opened) is returned by the
    /// first call only.
    pub fn entries(&mut self) -> impl Iterator<Item = Result<Entry<'_>, Error>> {
        let bad = self.bad.take();
        let page = match &mut self.payload {
            Payload::Page(page) => page.take().map(|page| Ok(*page)),
            _ => None,
        };
        let (context, payload) = (&self.context, &self.payload);
        let decoded: Box<dyn Iterator<Item = Result<Entry<'_>, Error>> + '_> = match payload {
            Payload::Json(lines) => Box::new(lines.entries(context, json::entry)),
            Payload::Text(lines) => Box::new(lines.entries(context, pages::line)),
            Payload::Records(records) => Box::new(
                records.frames.iter().map(move |frame| archive::entry(context, records, frame)),
            ),
            Payload::Rows(group, only_row) => Box::new(group.entries(context, *only_row)),
            Payload::Pages(files, ids, format) => {
                Box::new(pages::entries(files, context, ids.clone(), *format))
            }
            Payload::Page(_) | Payload::Nothing => Box::new(std::iter::empty()),
        };
        let skip_bad = context.options.skip_bad;
        let one_file = !matches!(payload, Payload::Pages(..));
        let (mut stopped, mut kinds) = (false, BadKinds::default());
        let mut decoded = decoded.chain(page).chain(bad.map(Err));
        std::iter::from_fn(move || {
            while !stopped {
                match decoded.next() {
                    Some(Err(error)) if skip_bad && !matches!(error, Error::NoSuchField { .. }) => {
                        let shown = kinds.take(error, one_file);
                        if shown.is_some() {
                            return shown.map(|bad| Ok(Entry::Bad(bad)));
                        }
                    }
                    Some(Ok(entry)) => return Some(Ok(entry)),
                    last => {
                        stopped = true;
                        if last.is_some() {
                            return last;
                        }
                    }
                }
            }
            kinds.others.pop_front().map(|bad| Ok(Entry::Bad(bad)))
        })
    }

    /// The documents only; without [`skip_bad`](ReadOptions::skip_bad) the first error ends them.
    pub fn documents(&mut self) -> impl Iterator<Item = Result<Document<'_>, Error>> {
        self.entries().filter_map(|entry| match entry {
            Ok(Entry::Document(document)) => Some(Ok(document)),
            Ok(Entry::Fact(_) | Entry::Passed { .. } | Entry::Bad(_)) => None,
            Err(error) => Some(Err(error)),
        })
    }
}

/// Counts the bad records of a batch by the kind of their error.
#[derive(Default)]
struct BadKinds {
    seen: Vec<(Discriminant<Error>, u64)>,
    /// Those that are no entries of their own, one for a kind.
    others: VecDeque<Bad>,
}

impl BadKinds {
    /// The record if it is an entry of its own; otherwise it is counted.
    fn take(&mut self, error: Error, one_file: bool) -> Option<Bad> {
        let kind = discriminant(&error);
        let at = self.seen.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.seen.push((kind, 0));
            self.seen.len() - 1
        });
        self.seen[at].1 += 1;
        if !one_file || self.seen[at].1 <= Batch::BAD_SHOWN {
            return Some(Bad { error, records: 1 });
        }
        match self.others.iter_mut().find(|other| discriminant(&other.error) == kind) {
            Some(other) => other.records += 1,
            None => self.others.push_back(Bad { error, records: 1 }),
        }
        None
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch {} of part {} ({})", self.index, self.part, self.context.name)
    }
}
