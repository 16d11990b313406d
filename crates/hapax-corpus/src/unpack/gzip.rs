//! Unpacks one gzip member at a time, with its start and end.
//!
//! Archives put every record into its own member, so a member's offset is the address of a record. General
//! decoders hide the boundaries of members; this one stops at each.
//!
//! Format: RFC 1952. flate2 does the deflate part (RFC 1951) and the checksum.

use std::io;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::input::Input;

/// Maximum length of a header; names and comments in it are not used.
const LONGEST_HEADER: usize = 64 << 10;

pub(crate) struct Gzip {
    inflate: Decompress,
    crc: Crc,
    inside: bool,
    /// The decoder needs initialized memory. Clearing the spare capacity of a long buffer for every
    /// short member would cost more than copying from here.
    unpacked: Box<[u8]>,
}

/// The result of a call to [`Gzip::read`].
pub(crate) enum Step {
    /// This many bytes were appended, possibly none.
    Wrote(usize),
    /// The member ended with a correct checksum; this many bytes were appended.
    MemberEnd(usize),
    FileEnd,
}

impl Gzip {
    pub(crate) fn new() -> Self {
        Self {
            inflate: Decompress::new(false),
            crc: Crc::new(),
            inside: false,
            unpacked: vec![0; 64 << 10].into(),
        }
    }

    /// Drops a half-read member.
    pub(crate) fn reset(&mut self) {
        self.inside = false;
    }

    /// Appends to `out`. Errors of kind `InvalidData` or `UnexpectedEof` are the file's fault,
    /// others the system's.
    pub(crate) fn read(&mut self, input: &mut Input, out: &mut Vec<u8>) -> io::Result<Step> {
        if !self.inside {
            if input.available()?.is_empty() {
                return Ok(Step::FileEnd);
            }
            if only_zeros_follow(input)? {
                return Ok(Step::FileEnd);
            }
            // Most headers are the fixed ten bytes.
            let plain = matches!(input.peek(10)?, [_, _, _, flags, ..] if flags & 0x1e == 0);
            let length = header_length(input.peek(if plain { 10 } else { LONGEST_HEADER })?)?;
            input.consume(length);
            self.inflate.reset(false);
            self.crc.reset();
            self.inside = true;
        }
        let packed = input.available()?;
        let nothing_follows = packed.is_empty();
        let (read_before, wrote_before) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(packed, &mut self.unpacked, FlushDecompress::None)
            .map_err(|_| invalid("the deflate data is not valid"))?;
        input.consume((self.inflate.total_in() - read_before) as usize);
        let wrote = (self.inflate.total_out() - wrote_before) as usize;
        let unpacked = &self.unpacked[..wrote];
        self.crc.update(unpacked);
        out.extend_from_slice(unpacked);
        match status {
            Status::StreamEnd => {
                self.inside = false;
                self.trailer(input)?;
                Ok(Step::MemberEnd(wrote))
            }
            Status::Ok | Status::BufError if nothing_follows && wrote == 0 => {
                Err(truncated("the file ends inside a gzip member"))
            }
            Status::Ok | Status::BufError => Ok(Step::Wrote(wrote)),
        }
    }

    fn trailer(&self, input: &mut Input) -> io::Result<()> {
        let bytes = input.peek(8)?;
        let Some((trailer, _)) = bytes.split_first_chunk::<8>() else {
            return Err(truncated("the file ends inside the checksum of a gzip member"));
        };
        let word = |at: usize| {
            u32::from_le_bytes([trailer[at], trailer[at + 1], trailer[at + 2], trailer[at + 3]])
        };
        let (stored, length) = (word(0), word(4));
        input.consume(8);
        if stored != self.crc.sum() {
            let found = self.crc.sum();
            return Err(invalid(&format!(
                "checksum {found:08x} instead of the stored {stored:08x} for a gzip member"
            )));
        }
        if length != self.crc.amount() {
            return Err(invalid("a gzip member's stored length is wrong"));
        }
        Ok(())
    }
}

/// Whether a member could begin with these bytes.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    matches!(bytes, [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0)
}

/// Tapes and some writers pad the last block with zeros.
fn only_zeros_follow(input: &mut Input) -> io::Result<bool> {
    if input.available()?.first() != Some(&0) {
        return Ok(false);
    }
    loop {
        let bytes = input.available()?;
        if bytes.is_empty() {
            return Ok(true);
        }
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let all = zeros == bytes.len();
        input.consume(zeros);
        if !all {
            return Ok(false);
        }
    }
}

fn header_length(bytes: &[u8]) -> io::Result<usize> {
    if !begins(bytes) {
        return Err(if bytes.len() < 10 && bytes.first() == Some(&0x1f) {
            truncated("the file ends inside the header of a gzip member")
        } else {
            invalid("expected a gzip member (1f 8b 08)")
        });
    }
    let end = || truncated("the header of a gzip member has no end");
    let flags = bytes[3];
    let mut at = 10;
    if flags & 4 != 0 {
        let field = bytes.get(at..at + 2).ok_or_else(end)?;
        at += 2 + usize::from(u16::from_le_bytes([field[0], field[1]]));
    }
    // A file name, then a comment, each terminated by zero.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let rest = bytes.get(at..).ok_or_else(end)?;
            at += memchr::memchr(0, rest).ok_or_else(end)? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    if at > bytes.len() { Err(end()) } else { Ok(at) }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn truncated(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, what)
}
