//! Checks whether any record of a corpus has a field of a given name, to detect misspelt names.
//!
//! Stops at the first record that has it, usually the first of all. Where no record has it, the cost is one reading
//! without decoding: tables are checked by their columns, and lines without the name are not parsed. Does not know
//! what fields are for.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::de::IgnoredAny;

use crate::batch::{Batch, Payload};
use crate::error::Error;
use crate::options::ReadOptions;
use crate::source::Source;

/// Fields that no record has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The first of the names that are missing.
    pub name: String,
    /// The fields of some record; none where the format has no fields.
    pub there: Vec<String>,
}

/// How many names can be looked for at once.
const MOST_NAMES: usize = 64;

/// Looks for fields in batch after batch.
pub(crate) struct Search {
    names: Vec<String>,
    /// A bit for each name that was seen.
    seen: AtomicU64,
    any: AtomicBool,
    there: Mutex<Vec<String>>,
}

impl Source {
    /// The first of `names`, of which the first 64 count, that is a field of no record: no member
    /// of its object, no column of its table, no header of its archive. A null is there.
    ///
    /// `None` when all are somewhere, and also when that cannot be known: there is no record, a
    /// file is damaged, or something is a stream and could not be read again.
    pub fn absent_field(&self, names: &[&str], threads: NonZero<usize>) -> Option<Absent> {
        if names.is_empty() || self.paths().count() < self.files().len() {
            return None;
        }
        if !self.paths().all(std::path::Path::is_file) {
            return None;
        }
        let search = Search::of(names.iter().copied());
        let skip_bad = self.options.skip_bad;
        let to_the_end = self.in_order(
            threads,
            |mut batch| {
                let bad = batch.bad.is_some() && !skip_bad;
                search.look_into(&mut batch);
                bad
            },
            |bad| if bad || search.missing().is_none() { Err(()) } else { Ok(()) },
        );
        if to_the_end.is_err() { None } else { search.absent() }
    }
}

/// Makes sure, before any work, that some document has each of the fields that the options name. What
/// cannot be read, or only once, is left to the reader.
///
/// # Errors
///
/// [`Error::NoSuchField`], with the fields that documents have.
pub fn check_fields<S: AsRef<Path>>(
    inputs: &[S],
    options: &ReadOptions,
    threads: NonZero<usize>,
) -> Result<(), Error> {
    if options.named.is_empty() || inputs.iter().any(|input| input.as_ref().as_os_str() == "-") {
        return Ok(());
    }
    let unnamed = ReadOptions { named: Vec::new(), ..options.clone() };
    let Ok(source) = Source::open(inputs, unnamed) else { return Ok(()) };
    let names: Vec<&str> = options.named.iter().map(|(_, name)| name.as_str()).collect();
    source.absent_field(&names, threads).map_or(Ok(()), |absent| Err(absent.error(options, false)))
}

impl Absent {
    /// As an error, in the words that name the field.
    pub(crate) fn error(self, options: &ReadOptions, beginning: bool) -> Error {
        let named = options.named.iter().find(|(_, name)| *name == self.name);
        let by = named.map_or_else(String::new, |(by, _)| by.clone());
        Error::NoSuchField { by, name: self.name, beginning, there: self.there }
    }
}

impl Search {
    /// For these names, of which the first 64 count.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        Self {
            names: names.take(MOST_NAMES).map(str::to_owned).collect(),
            seen: AtomicU64::new(0),
            any: AtomicBool::new(false),
            there: Mutex::new(Vec::new()),
        }
    }

    /// The first name that no record had, if there was any record.
    pub(crate) fn absent(&self) -> Option<Absent> {
        let name = self.missing()?.to_owned();
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        let there = self.there.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(Absent { name, there })
    }

    fn missing(&self) -> Option<&str> {
        let seen = self.seen.load(Ordering::Relaxed);
        self.names
            .iter()
            .enumerate()
            .find(|(i, _)| seen >> i & 1 == 0)
            .map(|(_, name)| name.as_str())
    }

    /// Notes a record, by its fields.
    fn note<'f>(&self, has: impl Fn(&str) -> bool, all: impl Iterator<Item = &'f str>) {
        let found = self.names.iter().enumerate().filter(|(_, name)| has(name));
        let bits = found.fold(0u64, |bits, (i, _)| bits | 1 << i);
        self.seen.fetch_or(bits, Ordering::Relaxed);
        self.any.store(true, Ordering::Relaxed);
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        if there.is_empty() {
            there.extend(all.map(str::to_owned));
        }
    }

    /// Notes the records of a batch, which stays as it is.
    pub(crate) fn look_into(&self, batch: &mut Batch) {
        match &batch.payload {
            Payload::Json(lines) => self.lines(&lines.chunk.data),
            Payload::Rows(group, _) => {
                let columns: Vec<&str> = group.columns().collect();
                self.note(|name| columns.contains(&name), columns.iter().copied());
            }
            Payload::Records(_) if self.missing().is_none() => {}
            Payload::Records(_) => {
                let bad = batch.bad.take();
                for document in batch.documents().flatten() {
                    self.note(|name| document.field(name).is_some(), std::iter::empty());
                }
                batch.bad = bad;
            }
            Payload::Text(_) | Payload::Pages(..) | Payload::Page(_) => {
                self.any.store(true, Ordering::Relaxed);
            }
            Payload::Nothing => {}
        }
    }

    fn lines(&self, data: &[u8]) {
        let mut first = !self.any.load(Ordering::Relaxed);
        for line in data.split(|byte| *byte == b'\n') {
            let Some(missing) = self.missing() else { return };
            // Anything but ASCII may be written in escapes.
            let may_be_there =
                !missing.is_ascii() || memchr::memmem::find(line, missing.as_bytes()).is_some();
            if !first && !may_be_there {
                continue;
            }
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            let Ok(object) = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(line) else {
                continue;
            };
            first = false;
            self.note(|name| object.contains_key(name), object.keys().map(String::as_str));
        }
    }
}
