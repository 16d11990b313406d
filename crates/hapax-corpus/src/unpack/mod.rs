//! Unpacks files, detecting the compression by the first bytes, never by the name.
//!
//! Gzip members and Zstandard frames begin at an offset of the file and can be found again after damage; bzip2
//! and xz are one stream. A mark maps a position in the unpacked stream to the member that begins there, so
//! that the position of a record becomes a file offset. Does not interpret the bytes.
//!
//! ```text
//!   file offsets      0         731              2 104        2 900
//!   members           [ gzip    ][ gzip          ][ gzip      ]
//!   unpacked stream   [ 0..1 800 ][ 1 800..6 144 ][ 6 144.. ]
//!   marks             (0, 0)     (1 800, 731)    (6 144, 2 104)
//! ```

mod file;
mod gzip;
mod input;

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use zstd::stream::raw::{Decoder as ZstdFrame, Operation, OutBuffer};
use zstd::zstd_safe::InBuffer;

pub use file::Unpacked;
use gzip::{Gzip, Step};
pub(crate) use input::Input;

/// Memory limit for xz; its largest common preset needs 64 MiB.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    /// gzip, of one member or many.
    Gzip,
    /// Zstandard, of one frame or many.
    Zstd,
    Bzip2,
    Xz,
}

impl Packing {
    /// Detects the compression by the first bytes of a file.
    pub fn of(first_bytes: &[u8]) -> Self {
        match first_bytes {
            bytes if gzip::begins(bytes) => Self::Gzip,
            bytes if zstd_begins(bytes) => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            _ => Self::Plain,
        }
    }

    /// The compression by the extension of a name.
    pub fn by_name(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            Some("bz2") => Self::Bzip2,
            Some("xz") => Self::Xz,
            _ => Self::Plain,
        }
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        })
    }
}

/// The start of a member: position in the unpacked stream, and offset in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) stream: u64,
    pub(crate) file: u64,
}

/// Compressed data that cannot be unpacked, or a file that cannot be read.
#[derive(Debug)]
pub(crate) struct Damage {
    /// Offset of the member, or in an uncompressed file.
    pub(crate) member: u64,
    pub(crate) cause: io::Error,
    /// Whether it is the system's fault, so that continuing is pointless.
    pub(crate) fatal: bool,
}

/// The unpacked bytes of one file.
pub(crate) struct Unpack {
    codec: Codec,
    marks: Vec<Mark>,
    stream: u64,
    member: u64,
}

enum Codec {
    Plain(Input),
    Gzip(Input, Box<Gzip>),
    Zstd(Input, ZstdFrame<'static>, Frame),
    Stream(Box<dyn Read + Send>),
}

#[derive(PartialEq, Eq)]
enum Frame {
    Between,
    Inside,
}

impl Unpack {
    /// `input` must be at the start of the file or of a member.
    pub(crate) fn new(input: Input, packing: Packing) -> io::Result<Self> {
        let member = input.offset();
        let codec = match packing {
            Packing::Plain => Codec::Plain(input),
            Packing::Gzip => Codec::Gzip(input, Box::new(Gzip::new())),
            Packing::Zstd => Codec::Zstd(input, ZstdFrame::new()?, Frame::Between),
            Packing::Bzip2 => Codec::Stream(Box::new(bzip2::bufread::MultiBzDecoder::new(input))),
            Packing::Xz => Codec::Stream(Box::new(lzma_rust2::XzReader::new_mem_limit(
                input,
                true,
                XZ_MEMORY_KIB,
            ))),
        };
        // In an uncompressed file, stream positions equal file offsets.
        let (first, stream) = match packing {
            Packing::Plain => (Mark { stream: 0, file: 0 }, member),
            _ => (Mark { stream: 0, file: member }, 0),
        };
        Ok(Self { codec, marks: vec![first], stream, member })
    }

    /// The members begun since the last call, including the first one.
    pub(crate) fn take_marks(&mut self) -> impl Iterator<Item = Mark> {
        self.marks.drain(..)
    }

    /// Appends between one byte and about `room` bytes to `out`; 0 at the end of the file. The
    /// number depends only on the file and `room`, because it determines batch boundaries, which
    /// must be reproducible.
    pub(crate) fn read(&mut self, out: &mut Vec<u8>, room: usize) -> Result<usize, Damage> {
        out.reserve(room);
        loop {
            let (wrote, member_ended) = match self.step(out, room) {
                Ok(Some(step)) => step,
                Ok(None) => return Ok(0),
                Err(cause) => return Err(self.damage(cause)),
            };
            self.stream += wrote as u64;
            if member_ended {
                self.member = self.offset();
                self.marks.push(Mark { stream: self.stream, file: self.member });
            }
            if wrote > 0 {
                return Ok(wrote);
            }
        }
    }

    /// One call of a decoder: the number of bytes written and whether a member ended; `None` at the
    /// end.
    fn step(&mut self, out: &mut Vec<u8>, room: usize) -> io::Result<Option<(usize, bool)>> {
        match &mut self.codec {
            Codec::Plain(input) => {
                let bytes = input.available()?;
                let count = bytes.len().min(room);
                out.extend_from_slice(&bytes[..count]);
                input.consume(count);
                Ok((count > 0).then_some((count, false)))
            }
            Codec::Gzip(input, gzip) => Ok(match gzip.read(input, out)? {
                Step::Wrote(count) => Some((count, false)),
                Step::MemberEnd(count) => Some((count, true)),
                Step::FileEnd => None,
            }),
            Codec::Zstd(input, decoder, frame) => zstd_step(input, decoder, frame, out, room),
            Codec::Stream(reader) => {
                let start = out.len();
                out.resize(start + room, 0);
                let got = reader.read(&mut out[start..]);
                out.truncate(start + *got.as_ref().unwrap_or(&0));
                got.map(|count| (count > 0).then_some((count, false)))
            }
        }
    }

    /// After damage, moves to the next member. `false` if there is none or it cannot be found.
    pub(crate) fn resynchronise(&mut self) -> io::Result<bool> {
        let bad = self.member;
        let (input, begins): (&mut Input, fn(&[u8]) -> bool) = match &mut self.codec {
            Codec::Plain(_) | Codec::Stream(_) => return Ok(false),
            Codec::Gzip(input, gzip) => {
                gzip.reset();
                (input, gzip::begins)
            }
            Codec::Zstd(input, decoder, frame) => {
                decoder.reinit()?;
                *frame = Frame::Between;
                (input, zstd_begins)
            }
        };
        // A broken member may have swallowed the start of the next, so search from its own start.
        if input.offset() > bad {
            input.seek(bad + 1)?;
        }
        loop {
            let bytes = input.peek(LOOK)?;
            if bytes.len() < 4 {
                return Ok(false);
            }
            let last = bytes.len() - 4;
            match (0..=last).find(|at| begins(&bytes[*at..])) {
                Some(0) if input.offset() == bad => input.consume(1),
                Some(at) => {
                    input.consume(at);
                    self.member = self.offset();
                    self.marks.push(Mark { stream: self.stream, file: self.member });
                    return Ok(true);
                }
                None => input.consume(last + 1),
            }
        }
    }

    /// Position in the unpacked stream.
    pub(crate) fn stream(&self) -> u64 {
        self.stream
    }

    /// Offset in the file.
    pub(crate) fn offset(&self) -> u64 {
        match &self.codec {
            Codec::Plain(input) | Codec::Gzip(input, _) | Codec::Zstd(input, ..) => input.offset(),
            Codec::Stream(_) => 0,
        }
    }

    fn damage(&self, cause: io::Error) -> Damage {
        let fatal = !matches!(
            cause.kind(),
            io::ErrorKind::InvalidData
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::UnexpectedEof
                | io::ErrorKind::Other
                | io::ErrorKind::OutOfMemory
        );
        let member = match &self.codec {
            Codec::Plain(input) => input.offset(),
            _ => self.member,
        };
        Damage { member, cause, fatal }
    }
}

/// How far to search for a member at a time.
const LOOK: usize = 64 << 10;

/// Whether a data frame or a skippable frame begins here.
fn zstd_begins(bytes: &[u8]) -> bool {
    matches!(bytes, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

fn zstd_step(
    input: &mut Input,
    decoder: &mut ZstdFrame<'static>,
    frame: &mut Frame,
    out: &mut Vec<u8>,
    room: usize,
) -> io::Result<Option<(usize, bool)>> {
    if *frame == Frame::Between {
        if input.available()?.is_empty() {
            return Ok(None);
        }
        decoder.reinit()?;
        *frame = Frame::Inside;
    }
    let start = out.len();
    let packed = input.available()?;
    let nothing_follows = packed.is_empty();
    let mut from = InBuffer::around(packed);
    // A slice instead of the buffer, whose spare capacity depends on its history.
    out.resize(start + room, 0);
    let mut to = OutBuffer::around(&mut out[start..]);
    let result = decoder.run(&mut from, &mut to);
    let (consumed, wrote) = (from.pos(), to.pos());
    out.truncate(start + wrote);
    let remaining = result.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    input.consume(consumed);
    if remaining == 0 {
        *frame = Frame::Between;
        return Ok(Some((wrote, true)));
    }
    if nothing_follows && wrote == 0 {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file ends inside a Zstandard frame",
        ));
    }
    Ok(Some((wrote, false)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The lengths of all reads into a buffer of this capacity.
    fn lengths(bytes: &[u8], packing: Packing, capacity: usize) -> Vec<usize> {
        let input = Input::stream(Box::new(io::Cursor::new(bytes.to_vec())));
        let mut unpack = Unpack::new(input, packing).unwrap();
        let mut lengths = Vec::new();
        loop {
            let mut out = Vec::with_capacity(capacity);
            match unpack.read(&mut out, 4096).unwrap() {
                0 => return lengths,
                length => lengths.push(length),
            }
            assert_eq!(lengths.last(), Some(&out.len()));
        }
    }

    #[test]
    fn how_much_is_read_at_a_time_does_not_depend_on_the_buffer() {
        let text: Vec<u8> = (0..500_000_u32).flat_map(|i| (i % 7919).to_le_bytes()).collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bzip2.write_all(&text).unwrap();
        let packed = [
            (Packing::Plain, text.clone()),
            (Packing::Gzip, gzip.finish().unwrap()),
            (Packing::Zstd, zstd::encode_all(&text[..], 3).unwrap()),
            (Packing::Bzip2, bzip2.finish().unwrap()),
        ];
        for (packing, bytes) in packed {
            let expected = lengths(&bytes, packing, 0);
            assert_eq!(expected.iter().sum::<usize>(), text.len(), "{packing}");
            for capacity in [5000, 1 << 16, 1 << 20] {
                assert_eq!(lengths(&bytes, packing, capacity), expected, "{packing}, {capacity}");
            }
        }
    }
}
