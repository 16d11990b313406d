//! Finds the records of a WARC or ARC file: start, header, block.
//!
//! ```text
//!   header               empty line   block (as long as the header says)   newlines
//!   WARC/1.0 CRLF ...    CRLF         ...                                  CRLF CRLF
//!   http://a/ 1.2.3.4 20080619093439 text/html 612 LF   ...                LF
//! ```
//!
//! Lines may end in LF alone, with any number of newlines between records. A record is returned once the byte
//! after it has been seen or the file has ended, which shows whether a gzip member ends there, too. After
//! damage the search continues at the next gzip member or the next line that looks like a record. Every retry
//! asks for a longer window, so no input causes a loop. Does not interpret records; see
//! [`archive`](super::archive).
//!
//! Formats: ISO 28500:2017 (WARC 1.1); the Internet Archive's "Arc File Format" of 1996.

use crate::error::{At, Error};
use crate::options::Limits;
use crate::window::{Chunk, Window};

use super::arc::ArcLine;
use super::headers::{Headers, header_length, split_line};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Warc,
    Arc,
}

/// A record inside a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) start: usize,
    /// Length of the header, including the empty line.
    pub(crate) header: usize,
    pub(crate) block: usize,
    /// End, including the newlines after the block.
    pub(crate) end: usize,
    /// Number of the record in the file, from 1.
    pub(crate) number: u64,
}

/// A run of records, and the error after it.
#[derive(Debug)]
pub(crate) struct Records {
    pub(crate) style: Style,
    pub(crate) chunk: Chunk,
    pub(crate) frames: Vec<Frame>,
    /// The error after the last frame, if any.
    pub(crate) bad: Option<Error>,
}

pub(crate) struct RecordReader {
    window: Window,
    style: Style,
    path: String,
    limits: Limits,
    number: u64,
    skip: Skip,
    skip_bad: bool,
}

/// What to skip before the next record.
#[derive(Clone, Copy)]
enum Skip {
    Nothing,
    /// This many bytes; for a record at the start of a member, at most to the next member.
    Bytes {
        claimed: u64,
        own_member: bool,
    },
    /// To the next record that begins at least this many bytes from here.
    ToRecord {
        from: usize,
    },
    TheRest,
}

/// What is at a position of the window.
enum Look {
    Record(Frame),
    /// Undecided; more bytes are needed.
    More,
    Bad(Error, Skip),
}

impl RecordReader {
    pub(crate) fn new(
        window: Window,
        style: Style,
        path: String,
        limits: &Limits,
        skip_bad: bool,
    ) -> Self {
        let limits = limits.clone();
        Self { window, style, path, limits, number: 0, skip: Skip::Nothing, skip_bad }
    }

    /// Starts in the middle of a file; the next record has this number.
    pub(crate) fn numbered_from(mut self, number: u64) -> Self {
        self.number = number.saturating_sub(1);
        self
    }

    pub(crate) fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// The next records, about [`Limits::batch`] bytes; `None` at the end of the file.
    pub(crate) fn next_batch(&mut self) -> Option<Records> {
        if let Err(error) = self.pass_over()? {
            return Some(self.finish(Vec::new(), 0, Some(error)));
        }
        let mut frames = Vec::new();
        let mut at = 0;
        while at < self.limits.batch.max(1) {
            at += newlines(&self.window.data[at..]);
            match self.look(at) {
                Look::Record(frame) => {
                    at = frame.end;
                    self.number = frame.number;
                    frames.push(frame);
                }
                // The end of the stream is information, too: it completes the last record.
                Look::More if self.window.is_open() => {
                    self.window.more();
                }
                Look::More if self.window.ended() && at == self.window.data.len() => break,
                Look::More => return Some(self.cut_off(frames, at)),
                Look::Bad(error, skip) => {
                    self.skip = skip;
                    return Some(self.finish(frames, at, Some(error)));
                }
            }
        }
        (!frames.is_empty()).then(|| self.finish(frames, at, None))
    }

    fn finish(&mut self, frames: Vec<Frame>, length: usize, bad: Option<Error>) -> Records {
        if bad.is_some() && !self.skip_bad {
            self.skip = Skip::TheRest;
        }
        Records { style: self.style, chunk: self.window.cut(length), frames, bad }
    }

    /// The stream ends inside the record at `at`: because of damage, because the file was
    /// truncated, or because the record claims to be longer than it is and others follow.
    fn cut_off(&mut self, frames: Vec<Frame>, at: usize) -> Records {
        let (place, unfinished) = (self.window.at(at), self.window.data.len() - at);
        let mut records = self.finish(frames, at, None);
        let from_damage = self.window.recover(&self.path);
        self.skip = match (&from_damage, self.skip_bad) {
            (_, false) => Skip::TheRest,
            (Some(_), true) => Skip::ToRecord { from: 0 },
            (None, true) => Skip::ToRecord { from: 1 },
        };
        records.bad = Some(from_damage.unwrap_or_else(|| {
            let what = format!("the file ends {unfinished} bytes into a record: it was cut off");
            self.damaged(place, what)
        }));
        records
    }

    fn look(&self, at: usize) -> Look {
        let data = &self.window.data[at..];
        let (header, block) = match self.header(at, data) {
            Ok(Some(found)) => found,
            Ok(None) => return Look::More,
            Err(error) => return Look::Bad(error, Skip::ToRecord { from: 1 }),
        };
        if block > self.limits.record() as u64 {
            let limit = self.limits.record() as u64;
            let error = self.too_long(self.window.at(at), "a record", limit, "record");
            let claimed = block.saturating_add(header as u64);
            // An impossible claim does not help to find the next record. For a possible one,
            // anything inside that looks like a record is part of a page.
            let skip = match claimed <= self.limits.passed
                && self.window.may_hold(at, claimed, &self.path)
            {
                true => Skip::Bytes { claimed, own_member: self.window.member_begins(at) },
                false => Skip::ToRecord { from: 1 },
            };
            return Look::Bad(error, skip);
        }
        let block = block as usize;
        let Some(after) = data.get(header + block..) else { return Look::More };
        let end = at + header + block + newlines(after);
        let seen_behind = end < self.window.data.len()
            || !self.window.is_open()
            || self.window.member_begins(end);
        if end > self.window.sound() || !seen_behind {
            return Look::More;
        }
        Look::Record(Frame { start: at, header, block, end, number: self.number + 1 })
    }

    /// Length of the header and of the block it announces; `None` if more must be read.
    fn header(&self, at: usize, data: &[u8]) -> Result<Option<(usize, u64)>, Error> {
        let visible = &data[..data.len().min(self.limits.header)];
        let found = match self.style {
            Style::Warc => {
                let start = &data[..data.len().min(5)];
                if start != &b"WARC/"[..start.len()] {
                    return Err(self.expected(at, "a record that begins with WARC/", data));
                }
                header_length(visible)
            }
            Style::Arc => memchr::memchr(b'\n', visible).map(|newline| newline + 1),
        };
        let Some(length) = found else {
            if visible.len() < self.limits.header {
                return Ok(None);
            }
            let limit = self.limits.header as u64;
            return Err(self.too_long(self.window.at(at), "a header", limit, "header"));
        };
        let header = &data[..length];
        let block = match self.style {
            Style::Warc => Headers::after_first_line(header)
                .get("Content-Length")
                .and_then(|value| value.parse().ok())
                .ok_or_else(|| {
                    let what = "the record has no Content-Length that is a number".to_owned();
                    self.damaged(self.window.at(at), what)
                })?,
            Style::Arc => {
                ArcLine::parse(split_line(header).0)
                    .ok_or_else(|| {
                        self.expected(at, "a line of URL, address, date, type and length", data)
                    })?
                    .length
            }
        };
        Ok(Some((length, block)))
    }

    /// Skips what could not be read. `None` at the end of the file.
    fn pass_over(&mut self) -> Option<Result<(), Error>> {
        match std::mem::replace(&mut self.skip, Skip::Nothing) {
            Skip::Nothing => Some(Ok(())),
            Skip::TheRest => {
                self.skip = Skip::TheRest;
                None
            }
            Skip::Bytes { claimed, own_member } => {
                self.skip = Skip::ToRecord { from: 0 };
                if self.window.discard(claimed, own_member) {
                    return self.pass_over();
                }
                self.window.recover(&self.path).map(Err)
            }
            Skip::ToRecord { from } => self.find_record(from),
        }
    }

    fn find_record(&mut self, mut from: usize) -> Option<Result<(), Error>> {
        let mut passed = 0;
        loop {
            if let Some(found) = self.next_start(from) {
                self.window.drop_front(found);
                return Some(Ok(()));
            }
            // Keep the last line, because it may be the beginning of a record.
            let data = &self.window.data;
            let line = memchr::memrchr(b'\n', data).unwrap_or(0);
            let keep = if data.len() - line > self.limits.header { data.len() } else { line };
            if keep > 0 {
                passed += keep as u64;
                self.window.drop_front(keep);
                from = 1;
            }
            if passed > self.limits.passed {
                return Some(Err(self.give_up()));
            }
            if !self.window.more() {
                let error = self.window.recover(&self.path)?;
                self.skip = Skip::ToRecord { from: 0 };
                return Some(Err(error));
            }
        }
    }

    /// The next line or member, at `from` or later, that looks like the start of a record.
    fn next_start(&self, from: usize) -> Option<usize> {
        let data = &self.window.data;
        let mut at = from;
        loop {
            let rest = data.get(at..).filter(|rest| !rest.is_empty())?;
            let line_begins = at == 0 || data[at - 1] == b'\n' || self.window.member_begins(at);
            let looks_right = match self.style {
                Style::Warc => matches!(rest, [b'W', b'A', b'R', b'C', b'/', b'0'..=b'9', ..]),
                Style::Arc => memchr::memchr(b'\n', rest)
                    .is_some_and(|end| ArcLine::parse(split_line(&rest[..=end]).0).is_some()),
            };
            if line_begins && looks_right {
                return Some(at);
            }
            let line = memchr::memchr(b'\n', rest).map(|newline| at + newline + 1);
            let member = self.window.member_after(at);
            at = line.into_iter().chain(member).min()?;
        }
    }

    fn give_up(&mut self) -> Error {
        self.skip = Skip::TheRest;
        let limit = self.limits.passed;
        self.too_long(self.window.at(0), "something to be passed over", limit, "passed")
    }

    fn expected(&self, at: usize, expected: &str, found: &[u8]) -> Error {
        let found = found[..found.len().min(24)].escape_ascii();
        self.damaged(self.window.at(at), format!("expected {expected}, found \"{found}\""))
    }

    fn damaged(&self, at: At, what: String) -> Error {
        Error::Damaged { path: self.path.clone(), at, what }
    }

    fn too_long(&self, at: At, part: &'static str, limit: u64, knob: &'static str) -> Error {
        Error::TooLong { path: self.path.clone(), at, part, limit, knob }
    }
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}
