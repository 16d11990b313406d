//! Splits a stream into runs of complete lines.
//!
//! The reading thread only finds the last newline of its data and counts the others; decoding a batch splits it
//! into lines. A line longer than the limit is skipped without being held in memory.

use crate::batch::Context;
use crate::document::{Entry, Place, Reason};
use crate::error::{At, Error};
use crate::options::Limits;
use crate::window::{Chunk, Window};

/// A run of lines, and the error after it.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) chunk: Chunk,
    /// The number of the first line, from 1.
    pub(crate) first: u64,
    /// The error after the last line, if any.
    pub(crate) bad: Option<Error>,
}

pub(crate) struct LineReader {
    window: Window,
    path: String,
    limits: Limits,
    /// The number of the first line in the window.
    line: u64,
    skip: Skip,
    skip_bad: bool,
}

enum Skip {
    Nothing,
    ToNewline,
    TheRest,
}

/// A line of a batch.
pub(crate) struct Line<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) place: Place,
}

impl LineReader {
    pub(crate) fn new(window: Window, path: String, limits: &Limits, skip_bad: bool) -> Self {
        Self { window, path, limits: limits.clone(), line: 1, skip: Skip::Nothing, skip_bad }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// The next lines, about [`Limits::batch`] bytes; `None` at the end of the file.
    pub(crate) fn next_batch(&mut self) -> Option<Lines> {
        match std::mem::replace(&mut self.skip, Skip::Nothing) {
            Skip::Nothing => {}
            Skip::TheRest => {
                self.skip = Skip::TheRest;
                return None;
            }
            Skip::ToNewline => {
                if let Err(error) = self.pass_line()? {
                    return Some(self.finish(0, Some(error)));
                }
            }
        }
        let mut searched = 0;
        let mut last = None;
        loop {
            let data = &self.window.data[..self.window.sound()];
            if let Some(newline) = memchr::memrchr(b'\n', &data[searched..]) {
                last = Some(searched + newline + 1);
            }
            searched = data.len();
            match last {
                Some(length) if length >= self.limits.batch => {
                    return Some(self.finish(length, None));
                }
                None if searched > self.limits.line() => {
                    self.skip = Skip::ToNewline;
                    let error = too_long(&self.path, self.line, &self.limits);
                    return Some(self.finish(0, Some(error)));
                }
                _ => {}
            }
            if !self.window.more() {
                break;
            }
        }
        if self.window.ended() {
            let length = self.window.data.len();
            return (length > 0).then(|| self.finish(length, None));
        }
        // Data before a truncation is valid only now that it is known to be one.
        let sound = &self.window.data[..self.window.sound()];
        let last = memchr::memrchr(b'\n', sound).map(|newline| newline + 1).or(last);
        let mut lines = self.finish(last.unwrap_or(0), None);
        lines.bad = self.window.recover(&self.path);
        self.line += 1;
        if !self.skip_bad {
            self.skip = Skip::TheRest;
        }
        Some(lines)
    }

    fn finish(&mut self, length: usize, bad: Option<Error>) -> Lines {
        if bad.is_some() && !self.skip_bad {
            self.skip = Skip::TheRest;
        }
        let chunk = self.window.cut(length);
        let first = self.line;
        self.line += memchr::memchr_iter(b'\n', &chunk.data).count() as u64;
        Lines { chunk, first, bad }
    }

    /// Skips to the line after the one that is too long. `None` if the file ends with it.
    fn pass_line(&mut self) -> Option<Result<(), Error>> {
        let mut passed = 0;
        loop {
            let data = &self.window.data;
            if let Some(newline) = memchr::memchr(b'\n', data) {
                self.window.drop_front(newline + 1);
                self.line += 1;
                return Some(Ok(()));
            }
            passed += data.len() as u64;
            self.window.drop_front(data.len());
            if passed > self.limits.passed {
                self.skip = Skip::TheRest;
                return Some(Err(Error::TooLong {
                    path: self.path.clone(),
                    at: At::Line(self.line),
                    part: "a line to be passed over",
                    limit: self.limits.passed,
                    knob: "passed",
                }));
            }
            if !self.window.more() {
                let error = self.window.recover(&self.path)?;
                self.line += 1;
                return Some(Err(error));
            }
        }
    }
}

impl Lines {
    /// Calls `decode` for every line that is not blank. Consecutive blank lines are one entry,
    /// because compressed, a thousand of them take a byte.
    pub(crate) fn entries<'a, F>(
        &'a self,
        context: &'a Context,
        decode: F,
    ) -> impl Iterator<Item = Result<Entry<'a>, Error>>
    where
        F: Fn(&'a Context, Line<'a>) -> Result<Entry<'a>, Error> + 'a,
    {
        let data = &self.chunk.data[..];
        let mut start = 0;
        let mut number = self.first;
        std::iter::from_fn(move || {
            let rest = data.get(start..).filter(|rest| !rest.is_empty())?;
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let mut bytes = &rest[..length];
            let mut at = start;
            start += length + 1;
            let this = number;
            number += 1;
            if this == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
                bytes = &bytes[3..];
                at += 3;
            }
            bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            let place = self.chunk.place(context.file, this, at, bytes.len());
            Some(if bytes.trim_ascii().is_empty() {
                while let Some(length) = data.get(start..).and_then(blank_line) {
                    start += length;
                    number += 1;
                }
                Ok(Entry::Passed { reason: Reason::Blank, place, name: None })
            } else if bytes.len() > context.options.limits.line() {
                Err(too_long(&context.path(), this, &context.options.limits))
            } else {
                decode(context, Line { bytes, place })
            })
        })
    }
}

/// The length of the first line with its newline, if it is blank.
fn blank_line(data: &[u8]) -> Option<usize> {
    let newline = memchr::memchr(b'\n', data)?;
    data[..newline].trim_ascii().is_empty().then_some(newline + 1)
}

fn too_long(path: &str, line: u64, limits: &Limits) -> Error {
    Error::TooLong {
        path: path.to_owned(),
        at: At::Line(line),
        part: "a line",
        limit: limits.line() as u64,
        knob: "line",
    }
}
