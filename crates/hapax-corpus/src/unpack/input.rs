//! The raw bytes of a file, in order, with their offset.

use std::io::{self, Read, SeekFrom};

use crate::origin::Seekable;

/// Bytes per read of the operating system.
const BUFFER: usize = 256 << 10;

/// A buffered reader that knows its offset, and can seek if the file can.
pub(crate) struct Input {
    from: From,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// File offset of `buffer[end]`.
    read: u64,
}

enum From {
    Seekable(Box<dyn Seekable>),
    Stream(Box<dyn Read + Send>),
}

impl Input {
    pub(crate) fn seekable(file: Box<dyn Seekable>) -> Self {
        Self::new(From::Seekable(file))
    }

    pub(crate) fn stream(stream: Box<dyn Read + Send>) -> Self {
        Self::new(From::Stream(stream))
    }

    fn new(from: From) -> Self {
        Self { from, buffer: vec![0; BUFFER], start: 0, end: 0, read: 0 }
    }

    /// Offset of the next byte from [`available`](Self::available).
    pub(crate) fn offset(&self) -> u64 {
        self.read - (self.end - self.start) as u64
    }

    /// At least one byte, except at the end of the file.
    pub(crate) fn available(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            self.more()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// At least `count` bytes, except at the end of the file. `count` must be small.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        debug_assert!(count <= BUFFER, "only a header's worth can be looked at");
        if self.buffer.len() - self.start < count {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while self.end - self.start < count && self.more()? > 0 {}
        Ok(&self.buffer[self.start..self.end])
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    /// Continues at `offset`; `false` if the file is not seekable.
    pub(crate) fn seek(&mut self, offset: u64) -> io::Result<bool> {
        match &mut self.from {
            From::Seekable(file) => {
                file.seek(SeekFrom::Start(offset))?;
                (self.start, self.end, self.read) = (0, 0, offset);
                Ok(true)
            }
            From::Stream(_) => Ok(false),
        }
    }

    fn more(&mut self) -> io::Result<usize> {
        let room = &mut self.buffer[self.end..];
        let got = loop {
            let result = match &mut self.from {
                From::Seekable(file) => file.read(room),
                From::Stream(stream) => stream.read(room),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.end += got;
        self.read += got as u64;
        Ok(got)
    }
}

/// For decoders that pull.
impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.available()?;
        let count = bytes.len().min(out.len());
        out[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl io::BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.available()
    }

    fn consume(&mut self, count: usize) {
        Self::consume(self, count);
    }
}
