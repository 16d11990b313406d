//! Looks up ids by position, and names by id.
//!
//! Keeps the last block of each kind, so lookups in ascending order read every block once. The list of places
//! of a section's name blocks is checked when the section is first used: a block is valid wherever it is, so a
//! wrong list would return other documents' names.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::HpxError;
use super::block::{
    CHECKSUM, ENTRIES, MOST_NAMES_PAYLOAD, NAMES, PREFIX, ids_length, name, prefix, unpack_ids,
    unseal, word_at,
};
use super::layout::{Directory, Names};
use super::read::read_at;

#[derive(Debug)]
pub struct Lookup {
    file: Arc<File>,
    path: PathBuf,
    directory: Directory,
    ids: Vec<u64>,
    /// The run and block in `ids`.
    ids_of: Option<(usize, u64)>,
    /// A block of names, and its first id.
    names: Vec<u8>,
    names_of: Option<u64>,
    /// Starts of the lists of places that were checked.
    checked: BTreeSet<u64>,
}

/// Bytes of a list of places to read at a time.
const LIST_PIECE: u64 = 64 << 10;

impl Lookup {
    pub(super) fn new(file: Arc<File>, path: PathBuf, directory: Directory) -> Self {
        let (ids, names) = (Vec::new(), Vec::new());
        let checked = BTreeSet::new();
        Self { file, path, directory, ids, ids_of: None, names, names_of: None, checked }
    }

    /// The document at a position of the stream.
    ///
    /// # Errors
    ///
    /// Its block is unreadable or damaged, or the position is beyond the last.
    pub fn id(&mut self, position: u64) -> Result<u64, HpxError> {
        let mut place = position;
        for number in 0..self.directory.runs.len() {
            let entries = self.directory.runs[number].entries;
            if place < entries {
                let block = place / ENTRIES as u64;
                self.load_ids(number, block)?;
                let id = self.ids[(place % ENTRIES as u64) as usize];
                if id >= self.directory.documents {
                    let at = self.directory.runs[number].ids_at;
                    return Err(HpxError::damaged(&self.path, at, "an id is of no document"));
                }
                return Ok(id);
            }
            place -= entries;
        }
        Err(HpxError::damaged(&self.path, 0, "it has fewer fingerprints than were read"))
    }

    fn load_ids(&mut self, number: usize, block: u64) -> Result<(), HpxError> {
        if self.ids_of == Some((number, block)) {
            return Ok(());
        }
        self.ids_of = None;
        let run = &self.directory.runs[number];
        let count = (run.entries - block * ENTRIES as u64).min(ENTRIES as u64) as usize;
        let at = run.ids_at + block * ids_length(ENTRIES, run.id_bits) as u64;
        let mut bytes = vec![0; ids_length(count, run.id_bits)];
        read_at(&self.file, &self.path, at, &mut bytes)?;
        self.ids.clear();
        let right =
            unseal(&bytes, at).is_some() && unpack_ids(&bytes, run.id_bits, count, &mut self.ids);
        if !right {
            return Err(HpxError::damaged(&self.path, at, "a block of ids fails its checksum"));
        }
        self.ids_of = Some((number, block));
        Ok(())
    }

    /// The name of a document, if it has one.
    ///
    /// # Errors
    ///
    /// Its block is unreadable or damaged.
    pub fn name(&mut self, id: u64) -> Result<Option<&[u8]>, HpxError> {
        let after = self.directory.names.partition_point(|names| names.first_id <= id);
        let Some(&section) = after.checked_sub(1).and_then(|i| self.directory.names.get(i)) else {
            return Ok(None);
        };
        let number = id - section.first_id;
        if number >= section.count {
            return Ok(None);
        }
        let block = number / NAMES as u64;
        let at = self.load_names(&section, block)?;
        match name(&self.names, (number % NAMES as u64) as usize) {
            Some([]) => Ok(None),
            Some(name) => Ok(Some(name)),
            None => Err(HpxError::damaged(&self.path, at, "a block of names lacks a name")),
        }
    }

    /// Reads the block unless it was read last; returns its place.
    fn load_names(&mut self, section: &Names, block: u64) -> Result<u64, HpxError> {
        let first = section.first_id + block * NAMES as u64;
        if self.names_of == Some(first) {
            return Ok(section.at);
        }
        self.names_of = None;
        self.check_places(section)?;
        let path = &self.path;
        let mut place = [0; 8];
        read_at(&self.file, path, section.places_at + block * 8, &mut place)?;
        let at = section.at.saturating_add(word_at(&place, 0));
        let wrong = |what| Err(HpxError::damaged(path, at, what));
        let room = section.places_at.saturating_sub(at);
        if room < (PREFIX + CHECKSUM) as u64 {
            return wrong("a block of names is out of place");
        }
        let mut head = [0; PREFIX];
        read_at(&self.file, path, at, &mut head)?;
        let (payload, count) = prefix(&head);
        let length = PREFIX + payload + CHECKSUM;
        let expected = (section.count - block * NAMES as u64).min(NAMES as u64);
        if payload > MOST_NAMES_PAYLOAD || length as u64 > room || count as u64 != expected {
            return wrong("a block of names begins with impossible numbers");
        }
        self.names.resize(length, 0);
        read_at(&self.file, path, at, &mut self.names)?;
        if unseal(&self.names, at).is_none() {
            return wrong("a block of names fails its checksum");
        }
        self.names_of = Some(first);
        Ok(at)
    }

    /// Checks a section's list of places against its checksum, once.
    fn check_places(&mut self, section: &Names) -> Result<(), HpxError> {
        let start = section.places_at;
        if self.checked.contains(&start) {
            return Ok(());
        }
        let mut sum = Xxh3::with_seed(start);
        let end = start + section.count.div_ceil(NAMES as u64) * 8;
        let mut piece = Vec::new();
        let mut at = start;
        while at < end {
            piece.resize((end - at).min(LIST_PIECE) as usize, 0);
            read_at(&self.file, &self.path, at, &mut piece)?;
            sum.update(&piece);
            at += piece.len() as u64;
        }
        let mut written = [0; CHECKSUM];
        read_at(&self.file, &self.path, end, &mut written)?;
        if sum.digest() != u64::from_le_bytes(written) {
            return Err(HpxError::damaged(&self.path, start, "a list of names fails its checksum"));
        }
        self.checked.insert(start);
        Ok(())
    }
}
