//! Writes and merges runs and names.
//!
//! A run is written in one pass although ids precede fingerprints: the blocks of ids have known lengths, so
//! both are written in parallel through separate handles.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::HpxError;
use super::block::{
    ENTRIES, NAMES, ids_length, pack_fingerprints, pack_ids, pack_names, seal, unpack_ids, unseal,
};
use super::layout::{Directory, Names, Run};
use super::lookup::Lookup;
use super::read::{BlockReader, read_at};

const BUFFER: usize = 256 << 10;

/// A position to write at.
pub(super) struct Cursor {
    file: BufWriter<File>,
    path: PathBuf,
    pub(super) at: u64,
}

impl Cursor {
    pub(super) fn new(path: &Path, at: u64) -> Result<Self, HpxError> {
        let open = || {
            let mut file = OpenOptions::new().write(true).open(path)?;
            file.seek(SeekFrom::Start(at))?;
            Ok(file)
        };
        let file = open().map_err(|error| HpxError::io("write", path, error))?;
        Ok(Self { file: BufWriter::with_capacity(BUFFER, file), path: path.to_owned(), at })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), HpxError> {
        self.at += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| HpxError::io("write", &self.path, error))
    }

    /// Flushes to the operating system; returns the end.
    pub(super) fn finish(mut self) -> Result<u64, HpxError> {
        self.file.flush().map_err(|error| HpxError::io("write", &self.path, error))?;
        Ok(self.at)
    }
}

pub(super) struct RunWriter {
    run: Run,
    ids: Cursor,
    fingerprints: Cursor,
    waiting: (Vec<u64>, Vec<u64>),
    bytes: Vec<u8>,
}

impl RunWriter {
    /// A run of exactly `entries` entries with ids below `documents`, at `at`.
    pub(super) fn new(
        path: &Path,
        at: u64,
        entries: u64,
        documents: u64,
    ) -> Result<Self, HpxError> {
        let id_bits = u64::BITS - documents.saturating_sub(1).leading_zeros();
        let mut run =
            Run { entries, id_bits, ids_at: at, fingerprints_at: at, fingerprints_bytes: 0 };
        run.fingerprints_at = at + run.ids_bytes().unwrap_or(0);
        Ok(Self {
            ids: Cursor::new(path, run.ids_at)?,
            fingerprints: Cursor::new(path, run.fingerprints_at)?,
            run,
            waiting: (Vec::with_capacity(ENTRIES), Vec::with_capacity(ENTRIES)),
            bytes: Vec::new(),
        })
    }

    /// Adds an entry; call in sorted order.
    pub(super) fn push(&mut self, fingerprint: u64, id: u64) -> Result<(), HpxError> {
        self.waiting.0.push(fingerprint);
        self.waiting.1.push(id);
        if self.waiting.0.len() == ENTRIES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), HpxError> {
        let (fingerprints, ids) = &mut self.waiting;
        self.bytes.clear();
        pack_fingerprints(fingerprints, self.fingerprints.at, &mut self.bytes);
        self.fingerprints.write(&self.bytes)?;
        self.bytes.clear();
        pack_ids(ids, self.run.id_bits, self.ids.at, &mut self.bytes);
        self.ids.write(&self.bytes)?;
        fingerprints.clear();
        ids.clear();
        Ok(())
    }

    /// The run, and its end.
    pub(super) fn finish(mut self) -> Result<(Run, u64), HpxError> {
        if !self.waiting.0.is_empty() {
            self.write()?;
        }
        self.ids.finish()?;
        let end = self.fingerprints.finish()?;
        self.run.fingerprints_bytes = end - self.run.fingerprints_at;
        Ok((self.run, end))
    }
}

/// Reads the entries of a run in order.
struct RunReader {
    run: Run,
    fingerprints: BlockReader,
    file: Arc<File>,
    path: PathBuf,
    block: u64,
    now: (Vec<u64>, Vec<u64>),
    at: usize,
}

impl RunReader {
    fn new(path: &Path, run: Run) -> Result<Self, HpxError> {
        let file = File::open(path).map_err(|error| HpxError::io("read", path, error))?;
        let file = Arc::new(file);
        let mut fingerprints = BlockReader::new(Arc::clone(&file), path.to_owned(), BUFFER);
        fingerprints.begin(&run);
        let now = (Vec::new(), Vec::new());
        Ok(Self { run, fingerprints, file, path: path.to_owned(), block: 0, now, at: 0 })
    }

    fn next(&mut self) -> Result<Option<(u64, u64)>, HpxError> {
        if self.at == self.now.0.len() {
            let before = self.block * ENTRIES as u64;
            if before >= self.run.entries {
                return Ok(None);
            }
            let count = (self.run.entries - before).min(ENTRIES as u64) as usize;
            self.now.0.clear();
            self.now.1.clear();
            self.fingerprints.block(count, &mut self.now.0)?;
            let width = self.run.id_bits;
            let at = self.run.ids_at + self.block * ids_length(ENTRIES, width) as u64;
            let mut bytes = vec![0; ids_length(count, width)];
            read_at(&self.file, &self.path, at, &mut bytes)?;
            if unseal(&bytes, at).is_none() || !unpack_ids(&bytes, width, count, &mut self.now.1) {
                return Err(HpxError::damaged(&self.path, at, "a block of ids fails its checksum"));
            }
            self.block += 1;
            self.at = 0;
        }
        self.at += 1;
        Ok(Some((self.now.0[self.at - 1], self.now.1[self.at - 1])))
    }
}

/// Merges the runs of `from` into one run of `to`, at `at`.
pub(super) fn merge(
    from: &Path,
    runs: &[Run],
    to: &Path,
    at: u64,
    documents: u64,
) -> Result<(Run, u64), HpxError> {
    let entries = runs.iter().map(|run| run.entries).sum();
    let mut writer = RunWriter::new(to, at, entries, documents)?;
    let mut readers = Vec::new();
    let mut firsts = BinaryHeap::new();
    for (number, &run) in runs.iter().enumerate() {
        let mut reader = RunReader::new(from, run)?;
        firsts.extend(reader.next()?.map(|first| Reverse((first, number))));
        readers.push(reader);
    }
    while let Some(mut least) = firsts.peek_mut() {
        let Reverse(((fingerprint, id), number)) = *least;
        match readers[number].next()? {
            Some(next) if next.0 < fingerprint => {
                let at = runs[number].fingerprints_at;
                return Err(HpxError::damaged(from, at, "a run is not in order"));
            }
            Some(next) => *least = Reverse((next, number)),
            None => drop(PeekMut::pop(least)),
        }
        writer.push(fingerprint, id)?;
    }
    writer.finish()
}

/// Writes the names of consecutive documents.
pub(super) struct NamesWriter {
    section: Names,
    cursor: Cursor,
    ends: Vec<u32>,
    text: Vec<u8>,
    places: Vec<u8>,
}

impl NamesWriter {
    pub(super) fn new(path: &Path, at: u64, first_id: u64) -> Result<Self, HpxError> {
        let section = Names { first_id, count: 0, at, bytes: 0, places_at: at };
        let cursor = Cursor::new(path, at)?;
        Ok(Self { section, cursor, ends: Vec::new(), text: Vec::new(), places: Vec::new() })
    }

    pub(super) fn push(&mut self, name: &[u8]) -> Result<(), HpxError> {
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len() as u32);
        self.section.count += 1;
        if self.ends.len() == NAMES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), HpxError> {
        let place = self.cursor.at - self.section.at;
        self.places.extend_from_slice(&place.to_le_bytes());
        let mut bytes = Vec::new();
        pack_names(&self.ends, &self.text, self.cursor.at, &mut bytes);
        self.ends.clear();
        self.text.clear();
        self.cursor.write(&bytes)
    }

    /// The section, and its end; `None` without names.
    pub(super) fn finish(mut self) -> Result<(Option<Names>, u64), HpxError> {
        if self.section.count == 0 {
            return Ok((None, self.cursor.finish()?));
        }
        if !self.ends.is_empty() {
            self.write()?;
        }
        self.section.places_at = self.cursor.at;
        let mut places = std::mem::take(&mut self.places);
        seal(&mut places, 0, self.cursor.at);
        self.cursor.write(&places)?;
        let end = self.cursor.finish()?;
        self.section.bytes = end - self.section.at;
        Ok((Some(self.section), end))
    }
}

/// Merges these sections of `from` into one section of `to`, at `at`, with empty names for
/// documents in between.
pub(super) fn merge_names(
    from: &Path,
    directory: &Directory,
    sections: &[Names],
    to: &Path,
    at: u64,
) -> Result<(Option<Names>, u64), HpxError> {
    let (Some(first), Some(last)) = (sections.first(), sections.last()) else {
        return Ok((None, at));
    };
    let file = File::open(from).map_err(|error| HpxError::io("read", from, error))?;
    let mut lookup = Lookup::new(Arc::new(file), from.to_owned(), directory.clone());
    let mut writer = NamesWriter::new(to, at, first.first_id)?;
    for id in first.first_id..last.first_id + last.count {
        writer.push(lookup.name(id)?.unwrap_or_default())?;
    }
    writer.finish()
}
