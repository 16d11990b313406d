//! Reads an object in order, with read-ahead.
//!
//! The first range is short, because many callers read only the beginning; the following ranges grow and are
//! requested several at a time. Holds at most [`IN_FLIGHT`] ranges of [`PIECE`] bytes. After a failure, only the
//! failed range is requested again.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use bytes::{Buf, Bytes};
use tokio::task::JoinHandle;

use crate::object::{Object, PIECE};
use crate::runtime::runtime;

/// Number of concurrent requests.
const IN_FLIGHT: usize = 4;
const FIRST: u64 = 256 << 10;
/// Objects up to this size in bytes are requested as a whole.
const SHORT: u64 = 1 << 20;

/// Requested ranges, in order.
#[derive(Default)]
pub(crate) struct Ahead(VecDeque<(Range<u64>, JoinHandle<io::Result<Bytes>>)>);

impl Ahead {
    pub(crate) fn has_room(&self) -> bool {
        self.0.len() < IN_FLIGHT
    }

    pub(crate) fn ask(&mut self, object: &Object, range: Range<u64>) -> io::Result<()> {
        let asked = object.ask(range.clone())?;
        self.0.push_back((range, asked));
        Ok(())
    }

    /// Waits for the first range.
    pub(crate) fn next(&mut self) -> io::Result<Option<(Range<u64>, Bytes)>> {
        let Some((range, asked)) = self.0.pop_front() else { return Ok(None) };
        let bytes = runtime()?.block_on(asked).map_err(io::Error::other)??;
        Ok(Some((range, bytes)))
    }
}

/// The bytes of an object; can seek.
pub struct Reader {
    object: Object,
    /// Received bytes that follow `at`.
    ready: Bytes,
    at: u64,
    ahead: Ahead,
    /// End of the requested ranges.
    asked: u64,
    /// Length of the next range.
    step: u64,
    /// Number of ranges read in a row.
    row: usize,
}

impl Reader {
    pub(crate) fn new(object: Object) -> Self {
        let mut reader = Self {
            object,
            ready: Bytes::new(),
            at: 0,
            ahead: Ahead::default(),
            asked: 0,
            step: 0,
            row: 0,
        };
        reader.begin(0);
        reader
    }

    fn begin(&mut self, at: u64) {
        let size = self.object.size();
        self.ready = Bytes::new();
        self.ahead = Ahead::default();
        (self.at, self.asked, self.row) = (at, at, 0);
        self.step = if size <= SHORT { SHORT } else { FIRST };
    }

    /// Requests as many ranges as may be in flight.
    pub(crate) fn ask(&mut self) -> io::Result<()> {
        let size = self.object.size();
        // The first range alone, then two at a time, and so on.
        while self.asked < size && self.ahead.has_room() && self.ahead.0.len() <= self.row {
            let end = size.min(self.asked + self.step);
            self.ahead.ask(&self.object, self.asked..end)?;
            self.asked = end;
            if self.row > 0 {
                self.step = (self.step * 2).min(PIECE);
            }
        }
        Ok(())
    }

    /// Waits for the next bytes; leaves none at the end.
    fn fill(&mut self) -> io::Result<()> {
        if self.at >= self.object.size() {
            return Ok(());
        }
        self.ask()?;
        if let Some((range, mut bytes)) = self.ahead.next()? {
            // After a seek inside the range.
            bytes.advance((self.at - range.start) as usize);
            self.ready = bytes;
            self.row += 1;
        }
        Ok(())
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() && !out.is_empty() {
            self.fill()?;
        }
        let count = self.ready.len().min(out.len());
        self.ready.copy_to_slice(&mut out[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Reader {
    /// Seeking inside the requested ranges costs nothing.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.object.size().checked_add_signed(by),
        };
        let to = to.ok_or(io::ErrorKind::InvalidInput)?;
        if to >= self.at && to - self.at <= self.ready.len() as u64 {
            self.ready.advance((to - self.at) as usize);
            self.at = to;
        } else if to > self.at && to < self.asked {
            self.ready = Bytes::new();
            self.at = to;
            while self.ahead.0.front().is_some_and(|(range, _)| range.end <= to) {
                self.ahead.0.pop_front();
                self.row += 1;
            }
        } else {
            self.begin(to);
        }
        Ok(self.at)
    }
}
