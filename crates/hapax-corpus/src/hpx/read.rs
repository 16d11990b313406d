//! Opens a file and streams its fingerprints.
//!
//! A stream returns the fingerprints run by run, a *piece* at a time; a piece never crosses the end of a run,
//! so each piece is sorted. Positions are counted over all runs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::HpxError;
use super::block::{CHECKSUM, ENTRIES, MOST_PAYLOAD, PREFIX, prefix, unpack_fingerprints, unseal};
use super::layout::{
    DATA, Directory, Head, MAGIC, MOST_DIRECTORY, Run, Slot, SlotState, TRAILER, VERSION, head,
};
use super::lookup::Lookup;
use crate::origin::open_file;

/// Bytes per read of the operating system.
const READ_AT_ONCE: usize = 1 << 20;

/// An open file, in its state at the time of opening.
#[derive(Debug)]
pub struct Hpx {
    file: Arc<File>,
    pub(super) path: PathBuf,
    pub(super) recipe: String,
    pub(super) directory: Directory,
    pub(super) slot: Slot,
    unreadable: Option<u64>,
}

impl Hpx {
    /// Opens a file and checks header, slots and directory. Blocks are checked when they are read.
    ///
    /// # Errors
    ///
    /// The file has another format, is too new, truncated or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, HpxError> {
        let path = path.as_ref();
        let file = open_file(path).map_err(|error| HpxError::io("open", path, error))?;
        Self::of(&file, path)
    }

    /// From an open file, whose handle is duplicated: reads the same file even if another one
    /// replaced it under its name.
    pub(super) fn of(file: &File, path: &Path) -> Result<Self, HpxError> {
        let io = |error| HpxError::io("read", path, error);
        let length = file.metadata().map_err(io)?.len();
        let mut bytes = vec![0; length.min(DATA) as usize];
        read_at(file, path, 0, &mut bytes)?;
        let name = || path.display().to_string();
        if !bytes.starts_with(MAGIC) {
            return Err(HpxError::Foreign { path: name() });
        }
        if let Some(version) = bytes.get(8..12) {
            let found = version.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
            if found > VERSION {
                return Err(HpxError::TooNew { path: name(), found, newest: VERSION });
            }
        }
        let cut = |needed| HpxError::Truncated { path: name(), length, needed };
        let Some(bytes) = bytes.first_chunk::<{ DATA as usize }>() else { return Err(cut(DATA)) };
        let Head { recipe, state } =
            head(bytes).map_err(|(offset, what)| HpxError::damaged(path, offset, what))?;
        let unreadable = match state {
            SlotState::Known(_) => None,
            SlotState::After { unreadable_at, .. } => Some(unreadable_at),
        };
        let slot = match state {
            SlotState::Known(slot) => slot,
            SlotState::After { other, .. } if other.end() == length => other,
            SlotState::After { other, unreadable_at } => last_of(file, path, length)?
                .filter(|last| last.sequence == other.sequence + 1 && last.at >= other.end())
                .ok_or_else(|| {
                    HpxError::damaged(path, unreadable_at, "a slot fails its checksum")
                })?,
        };
        if slot.end() > length {
            return Err(cut(slot.end()));
        }
        let damaged = |what| HpxError::damaged(path, slot.at, what);
        if slot.at < DATA || slot.bytes > MOST_DIRECTORY {
            return Err(HpxError::damaged(path, slot.place(), "a slot names an impossible place"));
        }
        let mut bytes = vec![0; slot.bytes as usize];
        read_at(file, path, slot.at, &mut bytes)?;
        let directory = Directory::decode(&bytes, slot.at).map_err(damaged)?;
        if directory.sequence != slot.sequence {
            return Err(damaged("the directory is that of another state"));
        }
        let file = Arc::new(file.try_clone().map_err(io)?);
        Ok(Self { file, path: path.to_owned(), recipe, directory, slot, unreadable })
    }

    /// The id of the recipe; empty if none was stated.
    pub fn recipe(&self) -> &str {
        &self.recipe
    }

    /// Number of documents.
    pub fn len(&self) -> u64 {
        self.directory.documents
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of sorted runs.
    pub fn runs(&self) -> usize {
        self.directory.runs.len()
    }

    /// Size of the blocks of fingerprints in bytes: what a whole stream reads.
    pub fn fingerprint_bytes(&self) -> u64 {
        self.directory.runs.iter().map(|run| run.fingerprints_bytes).sum()
    }

    /// Bytes of the file in use.
    pub fn live_bytes(&self) -> u64 {
        DATA + self.directory.live_bytes() + self.slot.bytes
    }

    /// Streams the fingerprints in pieces of about `piece` at most.
    pub fn stream(&self, piece: usize) -> Stream {
        let file = Arc::clone(&self.file);
        Stream {
            reader: BlockReader::new(file, self.path.clone(), READ_AT_ONCE),
            runs: self.directory.runs.clone().into_iter(),
            left: 0,
            last: 0,
            piece: piece.max(1),
        }
    }

    /// Ids and fingerprints of all documents, in stream order.
    ///
    /// # Errors
    ///
    /// A block is unreadable or damaged.
    pub fn entries(&self) -> Result<Vec<(u64, u64)>, HpxError> {
        let mut lookup = self.lookup();
        let mut stream = self.stream(1 << 16);
        // At most what the file can hold, whatever it claims.
        let room = usize::try_from(self.len().min(self.live_bytes())).unwrap_or(0);
        let mut entries = Vec::with_capacity(room);
        let mut piece = Vec::new();
        while stream.next_piece(&mut piece)? {
            for &fingerprint in &piece {
                entries.push((lookup.id(entries.len() as u64)?, fingerprint));
            }
        }
        Ok(entries)
    }

    pub fn lookup(&self) -> Lookup {
        Lookup::new(Arc::clone(&self.file), self.path.clone(), self.directory.clone())
    }

    /// What to write to an unreadable slot: the state itself or, if the slot of the earlier state
    /// is lost, one that cannot be taken for the last.
    pub(super) fn repaired(&self) -> Option<Slot> {
        let lost = self.unreadable?;
        let earlier = Slot { sequence: self.slot.sequence - 1, ..self.slot };
        Some(if lost == self.slot.place() { self.slot } else { earlier })
    }
}

/// The directory at the end of the file, if there is one.
fn last_of(file: &File, path: &Path, length: u64) -> Result<Option<Slot>, HpxError> {
    let Some(start) = length.checked_sub(TRAILER as u64).filter(|&start| start >= DATA) else {
        return Ok(None);
    };
    let mut trailer = [0; TRAILER];
    read_at(file, path, start, &mut trailer)?;
    let bytes = super::block::word_at(&trailer, 0);
    let sequence = super::block::word_at(&trailer, 8);
    let at = length.checked_sub(bytes).filter(|&at| at >= DATA && bytes <= MOST_DIRECTORY);
    let Some(at) = at else { return Ok(None) };
    let mut directory = vec![0; bytes as usize];
    read_at(file, path, at, &mut directory)?;
    let found = Directory::decode(&directory, at).is_ok_and(|found| found.sequence == sequence);
    Ok(found.then_some(Slot { sequence, at, bytes }))
}

/// Fills `bytes` from `offset` on.
pub(super) fn read_at(
    file: &File,
    path: &Path,
    offset: u64,
    bytes: &mut [u8],
) -> Result<(), HpxError> {
    exactly_at(file, offset, bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => HpxError::Truncated {
            path: path.display().to_string(),
            length: file.metadata().map_or(offset, |it| it.len()),
            needed: offset + bytes.len() as u64,
        },
        _ => HpxError::io("read", path, error),
    })
}

#[cfg(unix)]
fn exactly_at(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn exactly_at(file: &File, mut offset: u64, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        offset += read as u64;
        bytes = &mut bytes[read..];
    }
    Ok(())
}

/// Reads consecutive blocks of fingerprints.
#[derive(Debug)]
pub(super) struct BlockReader {
    file: Arc<File>,
    path: PathBuf,
    buffer: Vec<u8>,
    /// Range of the buffer that was read but not used yet.
    start: usize,
    end: usize,
    /// The file offset of `start`, and the end of the blocks.
    offset: u64,
    limit: u64,
    pub(super) bytes_read: u64,
}

impl BlockReader {
    pub(super) fn new(file: Arc<File>, path: PathBuf, at_once: usize) -> Self {
        let room = at_once.max(PREFIX + MOST_PAYLOAD + CHECKSUM);
        let buffer = vec![0; room];
        Self { file, path, buffer, start: 0, end: 0, offset: 0, limit: 0, bytes_read: 0 }
    }

    /// Continues with the blocks of a run.
    pub(super) fn begin(&mut self, run: &Run) {
        (self.start, self.end, self.offset) = (0, 0, run.fingerprints_at);
        self.limit = run.fingerprints_at + run.fingerprints_bytes;
    }

    /// Appends the next block, which must have `expected` fingerprints.
    pub(super) fn block(&mut self, expected: usize, into: &mut Vec<u64>) -> Result<(), HpxError> {
        let damaged = |path: &Path, offset, what| Err(HpxError::damaged(path, offset, what));
        self.need(PREFIX)?;
        let Some(head) = self.buffer[self.start..self.end].first_chunk::<PREFIX>() else {
            return damaged(&self.path, self.offset, "the run ends before its last block");
        };
        let (payload, entries) = prefix(head);
        if payload > MOST_PAYLOAD || entries != expected {
            return damaged(&self.path, self.offset, "a block begins with impossible numbers");
        }
        let length = PREFIX + payload + CHECKSUM;
        self.need(length)?;
        if self.end - self.start < length {
            return damaged(&self.path, self.offset, "the run ends inside a block");
        }
        let bytes = &self.buffer[self.start..self.start + length];
        if unseal(bytes, self.offset).is_none() {
            return damaged(&self.path, self.offset, "a block of fingerprints fails its checksum");
        }
        if !unpack_fingerprints(bytes, into) {
            return damaged(&self.path, self.offset, "a block is not what a writer writes");
        }
        self.start += length;
        self.offset += length as u64;
        Ok(())
    }

    /// Whether every byte has been used.
    pub(super) fn is_at_end(&self) -> bool {
        self.offset == self.limit
    }

    /// Reads until `length` bytes are buffered, or until the end.
    fn need(&mut self, length: usize) -> Result<(), HpxError> {
        if self.end - self.start >= length {
            return Ok(());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let from = self.offset + self.end as u64;
        let wanted = (self.buffer.len() - self.end).min((self.limit - from) as usize);
        read_at(&self.file, &self.path, from, &mut self.buffer[self.end..self.end + wanted])?;
        self.end += wanted;
        self.bytes_read += wanted as u64;
        Ok(())
    }
}

/// Streams the fingerprints of a file, piece by piece.
#[derive(Debug)]
pub struct Stream {
    reader: BlockReader,
    runs: std::vec::IntoIter<Run>,
    /// Unread entries of the run.
    left: u64,
    last: u64,
    piece: usize,
}

impl Stream {
    /// Replaces the contents of `fingerprints` by the next piece; `false` at the end.
    ///
    /// # Errors
    ///
    /// A block is unreadable or damaged.
    pub fn next_piece(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, HpxError> {
        fingerprints.clear();
        if self.left == 0 {
            let Some(run) = self.runs.next() else { return Ok(false) };
            self.reader.begin(&run);
            (self.left, self.last) = (run.entries, 0);
        }
        while self.left > 0 && fingerprints.len() + ENTRIES.min(self.piece) <= self.piece {
            let expected = self.left.min(ENTRIES as u64) as usize;
            let offset = self.reader.offset;
            let before = fingerprints.len();
            self.reader.block(expected, fingerprints)?;
            if fingerprints[before] < self.last {
                return Err(HpxError::damaged(&self.reader.path, offset, "a run is not in order"));
            }
            self.last = fingerprints.last().copied().unwrap_or(self.last);
            self.left -= expected as u64;
        }
        if self.left == 0 && !self.reader.is_at_end() {
            let what = "a run has more bytes than blocks";
            return Err(HpxError::damaged(&self.reader.path, self.reader.offset, what));
        }
        Ok(true)
    }

    /// Number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.reader.bytes_read
    }
}
