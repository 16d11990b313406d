//! A piece of the unpacked stream, large enough for what is being looked for and no larger.
//!
//! Readers ask for more until a record or a line is complete, then cut off what is complete as a
//! [`Chunk`] that can go to another thread. Memory is what the reader asks for, plus one read.
//!
//! Damage does not hide what came before it: the window says that no more can be had, the reader
//! takes what is complete, and only then asks what was wrong and where to go on.

use std::io;

use crate::document::{FileId, Place};
use crate::error::{At, Error};
use crate::options::Limits;
use crate::unpack::{Damage, Mark, Packing, Unpack};

/// How much one step asks the decoder for.
const STEP: usize = 256 << 10;

pub(crate) struct Window {
    unpack: Unpack,
    pub(crate) data: Vec<u8>,
    /// Position in the stream of `data[0]`.
    base: u64,
    marks: Vec<Mark>,
    state: State,
    packing: Packing,
    unpacked_limit: u64,
    batch: usize,
}

enum State {
    Open,
    Damaged(Damage),
    Ended,
}

/// Bytes cut from the stream with what is needed to say where they were.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) data: Vec<u8>,
    base: u64,
    marks: Vec<Mark>,
}

impl Window {
    pub(crate) fn new(unpack: Unpack, packing: Packing, limits: &Limits) -> Self {
        let base = unpack.stream();
        Self {
            unpack,
            data: Vec::new(),
            base,
            marks: Vec::new(),
            state: State::Open,
            packing,
            unpacked_limit: limits.unpacked,
            batch: limits.batch.max(1),
        }
    }

    /// A window over bytes that are in memory already, for reading one record again.
    pub(crate) fn chunk_of(data: Vec<u8>, place: Place) -> Chunk {
        let mark = Mark { stream: 0, file: place.member };
        Chunk { data, base: place.within, marks: vec![mark] }
    }

    /// Reads on. False when nothing more can be had: the stream ended, or is damaged here.
    pub(crate) fn more(&mut self) -> bool {
        if !matches!(self.state, State::Open) {
            return false;
        }
        let room = STEP.min(self.batch.max(4096));
        let result = self.unpack.read(&mut self.data, room);
        self.marks.extend(self.unpack.take_marks());
        match result {
            Ok(0) => self.state = State::Ended,
            Ok(_) if self.unpack.stream() > self.unpacked_limit => {
                let what = format!(
                    "unpacks to more than limits.unpacked = {} bytes",
                    self.unpacked_limit
                );
                self.state = State::Damaged(Damage {
                    member: self.member_at(self.data.len()),
                    cause: io::Error::other(what),
                    fatal: true,
                });
            }
            Ok(_) => return true,
            Err(damage) => self.state = State::Damaged(damage),
        }
        false
    }

    /// The stream is over, and not because of damage.
    pub(crate) fn ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// What stopped [`more`](Self::more), and whether the file can be followed further: then the
    /// window is empty and stands at the start of the next sound member.
    pub(crate) fn recover(&mut self, path: &str) -> Option<Error> {
        let damage = match std::mem::replace(&mut self.state, State::Ended) {
            State::Damaged(damage) => damage,
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
            self.state = State::Open;
        }
        Some(error)
    }

    /// A member's first bytes also occur by chance; one that gives nothing was never a member.
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
        let rest = &self.data[length..];
        let mut next = Vec::with_capacity(rest.len() + self.batch + STEP);
        next.extend_from_slice(rest);
        let data = std::mem::replace(&mut self.data, next);
        let chunk = Chunk { data, base: self.base, marks: self.marks.clone() };
        self.forget(length);
        Chunk { data: truncated(chunk.data, length), ..chunk }
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

    /// Passes over `count` bytes; false when the stream stops before.
    pub(crate) fn discard(&mut self, mut count: u64) -> bool {
        loop {
            let here = usize::try_from(count).unwrap_or(usize::MAX).min(self.data.len());
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

    /// Where `data[index]` is.
    pub(crate) fn at(&self, index: usize) -> At {
        let (member, within) = address(&self.marks, self.base + index as u64);
        match self.packing {
            Packing::Plain => At::Byte(within),
            _ => At::Member { offset: member, within },
        }
    }

    /// Does a member begin at `data[index]`?
    pub(crate) fn member_begins(&self, index: usize) -> bool {
        let stream = self.base + index as u64;
        self.marks.iter().any(|mark| mark.stream == stream)
    }

    /// How far into the file the window has read, as far as the packing shows it.
    pub(crate) fn offset(&self) -> u64 {
        self.unpack.offset()
    }

    fn member_at(&self, index: usize) -> u64 {
        address(&self.marks, self.base + index as u64).0
    }
}

impl Chunk {
    /// The place of `length` bytes from `start`.
    pub(crate) fn place(&self, file: FileId, number: u64, start: usize, length: usize) -> Place {
        let (member, within) = address(&self.marks, self.base + start as u64);
        Place { file, number, member, within, length: u32::try_from(length).unwrap_or(u32::MAX) }
    }

    /// Offset and length in the file of the member that holds exactly `start..end`.
    pub(crate) fn own_member(&self, start: usize, end: usize) -> Option<(u64, u64)> {
        let (start, end) = (self.base + start as u64, self.base + end as u64);
        let first = self.marks.iter().rposition(|mark| mark.stream == start)?;
        let next = self.marks.get(first + 1)?;
        (next.stream == end).then(|| (self.marks[first].file, next.file - self.marks[first].file))
    }
}

/// The member a stream position lies in, and how far into it.
fn address(marks: &[Mark], stream: u64) -> (u64, u64) {
    let after = marks.partition_point(|mark| mark.stream <= stream);
    match after.checked_sub(1).map(|last| marks[last]) {
        Some(mark) => (mark.file, stream - mark.stream),
        None => (0, stream),
    }
}

fn truncated(mut data: Vec<u8>, length: usize) -> Vec<u8> {
    data.truncate(length);
    data
}
