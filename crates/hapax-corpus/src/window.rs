//! A growing window over the unpacked stream, no larger than needed.
//!
//! Readers ask for more until a record or line is complete, then cut it off as a [`Chunk`] for another thread.
//! The checksum is at the end of a member, so bytes are released when their member has ended correctly or, in a
//! long member, when so much follows that damage would have shown. After damage the window returns the data
//! before it; the reader then asks for the error and the place to continue.

use std::fs::Metadata;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::document::{FileId, Place};
use crate::error::{At, Error};
use crate::options::Limits;
use crate::unpack::{Damage, Mark, Packing, Unpack};

/// Bytes requested from the decoder per step.
const STEP: usize = 256 << 10;
/// Bytes of a member that must follow before earlier bytes are trusted without its checksum.
const HOLD: usize = 1 << 20;

pub(crate) struct Window {
    unpack: Unpack,
    pub(crate) data: Vec<u8>,
    /// Stream position of `data[0]`.
    base: u64,
    marks: Vec<Mark>,
    state: StreamState,
    packing: Packing,
    unpacked_limit: u64,
    batch: usize,
    spare: Spare,
}

enum StreamState {
    Open,
    Damaged(Damage),
    Ended,
}

/// Bytes cut from the stream, with what is needed to compute their place.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) data: Vec<u8>,
    base: u64,
    marks: Vec<Mark>,
    packing: Packing,
    spare: Spare,
}

/// Buffers of finished chunks. Reused memory costs nothing; fresh memory costs a fault per page, as
/// much as unpacking gzip into it.
type Spare = Arc<Mutex<Vec<Vec<u8>>>>;

/// Number of spare buffers, and their maximum size.
const SPARE_BUFFERS: usize = 16;
const SPARE_BYTES: usize = 8 << 20;

impl Drop for Chunk {
    fn drop(&mut self) {
        if self.data.capacity() > SPARE_BYTES {
            return;
        }
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_BUFFERS {
            let mut data = std::mem::take(&mut self.data);
            data.clear();
            spare.push(data);
        }
    }
}

impl Window {
    pub(crate) fn new(unpack: Unpack, packing: Packing, limits: &Limits) -> Self {
        let base = unpack.stream();
        Self {
            unpack,
            data: Vec::new(),
            base,
            marks: Vec::new(),
            state: StreamState::Open,
            packing,
            unpacked_limit: limits.unpacked,
            batch: limits.batch.max(1),
            spare: Spare::default(),
        }
    }

    /// A chunk of bytes in memory, for reading one record again.
    pub(crate) fn chunk_of(data: Vec<u8>, place: Place, packing: Packing) -> Chunk {
        let marks = vec![Mark { stream: 0, file: place.member }];
        Chunk { data, base: place.within, marks, packing, spare: Spare::default() }
    }

    /// Reads more. `false` if there is no more: the stream ended, or is damaged here.
    pub(crate) fn more(&mut self) -> bool {
        if !self.is_open() {
            return false;
        }
        let room = STEP.min(self.batch.max(4096));
        let result = self.unpack.read(&mut self.data, room);
        self.marks.extend(self.unpack.take_marks());
        match result {
            Ok(0) => self.state = StreamState::Ended,
            Ok(_) if self.unpack.stream() > self.unpacked_limit => {
                let what = format!("unpacks to more than {} bytes", self.unpacked_limit);
                self.state = StreamState::Damaged(Damage {
                    member: self.member_at(self.data.len()),
                    cause: io::Error::other(what),
                    fatal: true,
                });
            }
            Ok(_) => return true,
            Err(damage) => self.state = StreamState::Damaged(damage),
        }
        false
    }

    /// Number of bytes that may be released.
    pub(crate) fn sound(&self) -> usize {
        let all = self.data.len();
        if self.ended() || !matches!(self.packing, Packing::Gzip | Packing::Zstd) {
            return all;
        }
        let member = self.marks.last().map_or(0, |mark| mark.stream);
        let cut_off = matches!(&self.state, StreamState::Damaged(damage)
            if damage.cause.kind() == io::ErrorKind::UnexpectedEof);
        let end = self.base + all as u64;
        if cut_off && end.saturating_sub(member) > HOLD as u64 {
            // Data before a truncation is as good as the rest of a long member. A short member that
            // seems truncated may as well be damaged and have swallowed its neighbours.
            return all;
        }
        let checked = usize::try_from(member.saturating_sub(self.base)).unwrap_or(all).min(all);
        checked.max(all.saturating_sub(HOLD))
    }

    /// Whether there may be more.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, StreamState::Open)
    }

    /// Whether the stream ended without damage.
    pub(crate) fn ended(&self) -> bool {
        matches!(self.state, StreamState::Ended)
    }

    /// The error that stopped [`more`](Self::more). Afterwards, if the file can be read further,
    /// the window is empty and at the start of the next valid member.
    pub(crate) fn recover(&mut self, path: &str) -> Option<Error> {
        let damage = match std::mem::replace(&mut self.state, StreamState::Ended) {
            StreamState::Damaged(damage) => damage,
            other => {
                self.state = other;
                return None;
            }
        };
        let at = match self.packing {
            Packing::Plain => At::Byte(damage.member),
            _ => At::Member { offset: damage.member, within: 0 },
        };
        let error = if damage.fatal && damage.cause.kind() != io::ErrorKind::Other {
            Error::Io { action: "read", path: path.to_owned(), source: damage.cause }
        } else {
            Error::Damaged { path: path.to_owned(), at, what: damage.cause.to_string() }
        };
        self.data.clear();
        self.base = self.unpack.stream();
        if !damage.fatal && self.next_sound_member() {
            self.state = StreamState::Open;
        }
        Some(error)
    }

    /// The first bytes of a member also occur by chance; a false one yields no data.
    fn next_sound_member(&mut self) -> bool {
        while matches!(self.unpack.resynchronise(), Ok(true)) {
            let result = self.unpack.read(&mut self.data, STEP);
            self.marks.extend(self.unpack.take_marks());
            match result {
                Ok(0) => return false,
                Ok(_) => return true,
                Err(damage) if damage.fatal => return false,
                Err(_) => {}
            }
        }
        false
    }

    /// Cuts off the first `length` bytes.
    pub(crate) fn cut(&mut self, length: usize) -> Chunk {
        let mut next = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let next = next.get_or_insert_default();
        next.extend_from_slice(&self.data[length..]);
        let mut data = std::mem::replace(&mut self.data, std::mem::take(next));
        data.truncate(length);
        let marks = self.marks.clone();
        let (base, packing, spare) = (self.base, self.packing, Arc::clone(&self.spare));
        let chunk = Chunk { data, base, marks, packing, spare };
        self.forget(length);
        chunk
    }

    /// Drops the first `length` bytes.
    pub(crate) fn drop_front(&mut self, length: usize) {
        self.data.drain(..length);
        self.forget(length);
    }

    fn forget(&mut self, length: usize) {
        self.base += length as u64;
        let current = self.marks.partition_point(|mark| mark.stream <= self.base);
        self.marks.drain(..current.saturating_sub(1));
    }

    /// Whether there may be `count` bytes from `data[index]` on, judging by the length of the file.
    pub(crate) fn may_hold(&self, index: usize, count: u64, path: &str) -> bool {
        let length = match self.packing {
            Packing::Plain => {
                std::fs::metadata(path).ok().filter(Metadata::is_file).map(|it| it.len())
            }
            _ => None,
        };
        length.is_none_or(|length| (self.base + index as u64).saturating_add(count) <= length)
    }

    /// Skips `count` bytes, or with `to_member` at most to the next member; `false` if the stream
    /// ends before.
    pub(crate) fn discard(&mut self, mut count: u64, to_member: bool) -> bool {
        loop {
            let here = usize::try_from(count).unwrap_or(usize::MAX).min(self.data.len());
            if let Some(member) = self.member_after(0).filter(|&it| to_member && it < here) {
                self.drop_front(member);
                return true;
            }
            self.drop_front(here);
            count -= here as u64;
            if count == 0 {
                return true;
            }
            if !self.more() {
                return false;
            }
        }
    }

    /// The place of `data[index]`.
    pub(crate) fn at(&self, index: usize) -> At {
        let (member, within) = address(&self.marks, self.base + index as u64);
        at(self.packing, member, within)
    }

    /// Whether a member begins at `data[index]`.
    pub(crate) fn member_begins(&self, index: usize) -> bool {
        let stream = self.base + index as u64;
        self.marks.iter().any(|mark| mark.stream == stream)
    }

    /// The first position after `data[index]` where a member begins.
    pub(crate) fn member_after(&self, index: usize) -> Option<usize> {
        let stream = self.base + index as u64;
        let next = self.marks.iter().find(|mark| mark.stream > stream)?;
        usize::try_from(next.stream - self.base).ok().filter(|at| *at < self.data.len())
    }

    /// File offset that has been read, as far as the compression shows it.
    pub(crate) fn offset(&self) -> u64 {
        self.unpack.offset()
    }

    fn member_at(&self, index: usize) -> u64 {
        address(&self.marks, self.base + index as u64).0
    }
}

/// An uncompressed file has no members, so the offset is that in the file.
pub(crate) fn at(packing: Packing, member: u64, within: u64) -> At {
    match packing {
        Packing::Plain => At::Byte(within),
        _ => At::Member { offset: member, within },
    }
}

impl Chunk {
    /// The range of these bytes in the unpacked stream.
    pub(crate) fn extent(&self) -> Range<u64> {
        self.base..self.base + self.data.len() as u64
    }

    /// A place, for an error.
    pub(crate) fn at(&self, place: Place) -> At {
        at(self.packing, place.member, place.within)
    }

    /// The place of `length` bytes from `start`.
    pub(crate) fn place(&self, file: FileId, number: u64, start: usize, length: usize) -> Place {
        let (member, within) = address(&self.marks, self.base + start as u64);
        Place { file, number, member, within, length: u32::try_from(length).unwrap_or(u32::MAX) }
    }

    /// Offset and length in the file of the member that holds exactly `start..end`, if any.
    pub(crate) fn own_member(&self, start: usize, end: usize) -> Option<(u64, u64)> {
        let (start, end) = (self.base + start as u64, self.base + end as u64);
        let first = self.marks.iter().rposition(|mark| mark.stream == start)?;
        let next = self.marks.get(first + 1)?;
        (next.stream == end).then(|| (self.marks[first].file, next.file - self.marks[first].file))
    }
}

/// The member that contains a stream position, and the offset in it.
fn address(marks: &[Mark], stream: u64) -> (u64, u64) {
    let after = marks.partition_point(|mark| mark.stream <= stream);
    match after.checked_sub(1).map(|last| marks[last]) {
        Some(mark) => (mark.file, stream - mark.stream),
        None => (0, stream),
    }
}
