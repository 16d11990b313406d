//! Checks whether any record of a corpus has a field of a given name, to detect misspelt names.
//!
//! Stops at the first record that has the field, usually the first of all. If no record has it, this costs one
//! reading without decoding: tables are checked by their columns, and lines that do not contain the name are
//! not parsed. Does not know how fields are used.

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

/// A field that no record has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The first missing name.
    pub name: String,
    /// The fields of some record; empty if the format has no fields.
    pub there: Vec<String>,
}

/// Maximum number of names to search for at once.
const MOST_NAMES: usize = 64;

/// Searches for fields, batch by batch.
pub(crate) struct Search {
    names: Vec<String>,
    /// A bit for each name that was found.
    seen: AtomicU64,
    any: AtomicBool,
    there: Mutex<Vec<String>>,
}

impl Source {
    /// The first of `names` (of which the first 64 count) that no record has as a member of its
    /// object, a column of its table or a header of its archive. A null counts as present.
    ///
    /// `None` if all occur, or if it cannot be known: there are no records, a file is damaged, or
    /// an input is a stream and could not be read again.
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

/// Checks in advance that some document has each of the fields named in the options. Skips inputs
/// that are unreadable or can be read only once.
///
/// # Errors
///
/// [`Error::NoSuchField`], with the existing fields.
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
    /// The error, with the option that names the field.
    pub(crate) fn error(self, options: &ReadOptions, beginning: bool) -> Error {
        let named = options.named.iter().find(|(_, name)| *name == self.name);
        let by = named.map_or_else(String::new, |(by, _)| by.clone());
        Error::NoSuchField { by, name: self.name, beginning, there: self.there }
    }
}

impl Search {
    /// Searches for these names, of which the first 64 count.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        Self {
            names: names.take(MOST_NAMES).map(str::to_owned).collect(),
            seen: AtomicU64::new(0),
            any: AtomicBool::new(false),
            there: Mutex::new(Vec::new()),
        }
    }

    /// The first name that no record had; `None` if there were no records.
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

    /// Records the fields of a record.
    fn add_record<'f>(&self, has: impl Fn(&str) -> bool, all: impl Iterator<Item = &'f str>) {
        let found = self.names.iter().enumerate().filter(|(_, name)| has(name));
        let bits = found.fold(0u64, |bits, (i, _)| bits | 1 << i);
        self.seen.fetch_or(bits, Ordering::Relaxed);
        self.any.store(true, Ordering::Relaxed);
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        if there.is_empty() {
            there.extend(all.map(str::to_owned));
        }
    }

    /// Records the fields of a batch, without changing it.
    pub(crate) fn look_into(&self, batch: &mut Batch) {
        match &batch.payload {
            Payload::Json(lines) => self.lines(&lines.chunk.data),
            Payload::Rows(group, _) => {
                let columns: Vec<&str> = group.columns().collect();
                self.add_record(|name| columns.contains(&name), columns.iter().copied());
            }
            Payload::Records(_) if self.missing().is_none() => {}
            Payload::Records(_) => {
                let bad = batch.bad.take();
                for document in batch.documents().flatten() {
                    self.add_record(|name| document.field(name).is_some(), std::iter::empty());
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
            // Names beyond ASCII may be written with escapes.
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
            self.add_record(|name| object.contains_key(name), object.keys().map(String::as_str));
        }
    }
}
