//! The bytes of an increment: a header, rows, and an end with a checksum of everything before it. Integers are
//! little-endian. Does not interpret rows.
//!
//! ```text
//!   8  HPXINCR1
//!   4  length of the header
//!      the header: lines of a name and a value
//!      rows: table (1), key (8), length of the value (4; 2^32-1 for a removed row), value
//!      the end: table 255, rows so far (8), XXH3-128 of all bytes before (16)
//! ```

use crate::lineage::{Lineage, Position};
use std::io::{self, Read, Write};
use xxhash_rust::xxh3::Xxh3;

const MAGIC: &[u8; 8] = b"HPXINCR1";
/// Maximum length of the header and of a value.
const LONGEST_HEADER: u32 = 1 << 20;
const LONGEST_VALUE: u32 = 64 << 20;
const REMOVED: u32 = u32::MAX;
const END: u8 = 255;

/// The table of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Part {
    /// Page number to address; the reverse table is derived from it.
    Names,
    Pages,
    Former,
    Places,
    Groups,
    Members,
    Sources,
    Events,
    /// The state of hosts, their frames, and the texts they are learned from.
    Hosts,
    Frames,
    HostTexts,
    /// Names and values, all of them in every increment.
    Meta,
    Secret,
    Counters,
    /// Texts for display, by number.
    Texts,
    /// Clear a table before its new rows.
    Clear,
}

impl Part {
    /// The tables whose changes are logged by key.
    pub(crate) const KEYED: [Self; 11] = [
        Self::Names,
        Self::Pages,
        Self::Former,
        Self::Places,
        Self::Groups,
        Self::Members,
        Self::Sources,
        Self::Events,
        Self::Hosts,
        Self::Frames,
        Self::HostTexts,
    ];

    fn of(number: u8) -> Option<Self> {
        let others = [Self::Meta, Self::Secret, Self::Counters, Self::Texts, Self::Clear];
        Self::KEYED.into_iter().chain(others).find(|part| *part as u8 == number)
    }
}

/// The header of an increment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it can be applied to: a copy at this position or later, up to `to`; `None` for an empty
    /// copy.
    pub from: Option<Position>,
    pub to: Position,
    pub lineage: Lineage,
    /// Creation time in seconds since 1970.
    pub made: u64,
}

impl Header {
    fn text(&self) -> String {
        let from = self.from.map_or("nothing".into(), |from| from.to_string());
        format!("from {from}\nto {}\nlineage {}\nmade {}\n", self.to, self.lineage, self.made)
    }

    fn parse(text: &str) -> Option<Self> {
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Some(Self {
            from: match value("from")? {
                "nothing" => None,
                position => Some(position.parse().ok()?),
            },
            to: value("to")?.parse().ok()?,
            lineage: value("lineage")?.parse().ok()?,
            made: value("made")?.parse().ok()?,
        })
    }
}

/// Totals of an increment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub header: Header,
    pub rows: u64,
    pub bytes: u64,
}

pub(super) struct Out<'w> {
    to: &'w mut dyn Write,
    hash: Xxh3,
    rows: u64,
    bytes: u64,
}

impl<'w> Out<'w> {
    pub(super) fn begin(to: &'w mut dyn Write, header: &Header) -> io::Result<Self> {
        let mut out = Self { to, hash: Xxh3::new(), rows: 0, bytes: 0 };
        let text = header.text();
        out.write(MAGIC)?;
        out.write(&length(text.len())?.to_le_bytes())?;
        out.write(text.as_bytes())?;
        Ok(out)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    /// Writes a row with a value in pieces; `None` for a removed row.
    pub(super) fn row(&mut self, part: Part, key: u64, value: Option<&[&[u8]]>) -> io::Result<()> {
        let mut head = [part as u8; 13];
        head[1..9].copy_from_slice(&key.to_le_bytes());
        let len = match value {
            Some(pieces) => length(pieces.iter().map(|piece| piece.len()).sum())?,
            None => REMOVED,
        };
        head[9..].copy_from_slice(&len.to_le_bytes());
        self.write(&head)?;
        value.into_iter().flatten().try_for_each(|piece| self.write(piece))?;
        self.rows += 1;
        Ok(())
    }

    /// Returns the number of rows and bytes.
    pub(super) fn end(mut self) -> io::Result<(u64, u64)> {
        let rows = self.rows.to_le_bytes();
        self.write(&[END])?;
        self.write(&rows)?;
        let sum = self.hash.digest128().to_le_bytes();
        self.to.write_all(&sum)?;
        self.to.flush()?;
        Ok((self.rows, self.bytes + 16))
    }
}

fn length(len: usize) -> io::Result<u32> {
    let fits = u32::try_from(len).ok().filter(|&len| len <= LONGEST_VALUE);
    fits.ok_or_else(|| wrong(format!("a value has {len} bytes, more than {LONGEST_VALUE}")))
}

/// A row; its value is `None` if it was removed.
pub(crate) struct Row<'r> {
    pub(crate) part: Part,
    pub(crate) key: u64,
    pub(crate) value: Option<&'r [u8]>,
}

pub(crate) struct Rows<'r> {
    from: &'r mut dyn Read,
    hash: Xxh3,
    rows: u64,
    bytes: u64,
    value: Vec<u8>,
}

impl<'r> Rows<'r> {
    pub(crate) fn begin(from: &'r mut dyn Read) -> io::Result<(Header, Self)> {
        let mut rows = Self { from, hash: Xxh3::new(), rows: 0, bytes: 0, value: Vec::new() };
        if rows.take::<8>()? != *MAGIC {
            return Err(wrong("it is not an increment of a repository".into()));
        }
        let len = u32::from_le_bytes(rows.take()?);
        if len > LONGEST_HEADER {
            return Err(wrong(format!("its header claims {len} bytes")));
        }
        rows.fill(len)?;
        let text = str::from_utf8(&rows.value).ok();
        let header = text.and_then(Header::parse);
        Ok((header.ok_or_else(|| wrong("its header cannot be read".into()))?, rows))
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(cut)?;
        self.hash.update(&bytes);
        self.bytes += N as u64;
        Ok(bytes)
    }

    /// Reads a value. Allocates no more than the bytes that arrive.
    fn fill(&mut self, len: u32) -> io::Result<()> {
        self.value.clear();
        let read = (&mut *self.from).take(u64::from(len)).read_to_end(&mut self.value)?;
        if read as u64 != u64::from(len) {
            return Err(cut(io::ErrorKind::UnexpectedEof.into()));
        }
        self.hash.update(&self.value);
        self.bytes += u64::from(len);
        Ok(())
    }

    /// The next row; `None` at the end, after checking the checksum.
    pub(crate) fn next(&mut self) -> io::Result<Option<Row<'_>>> {
        let [part] = self.take()?;
        if part == END {
            let rows = u64::from_le_bytes(self.take()?);
            let expected = self.hash.digest128();
            let sum = u128::from_le_bytes(self.take()?);
            return match rows == self.rows && sum == expected {
                true => Ok(None),
                false => Err(wrong("its checksum is not that of its bytes".into())),
            };
        }
        let known = Part::of(part);
        let part =
            known.ok_or_else(|| wrong(format!("it has rows of an unknown table, {part}")))?;
        let key = u64::from_le_bytes(self.take()?);
        let len = u32::from_le_bytes(self.take()?);
        self.rows += 1;
        if len == REMOVED {
            return Ok(Some(Row { part, key, value: None }));
        }
        if len > LONGEST_VALUE {
            return Err(wrong(format!("a value claims {len} bytes, more than {LONGEST_VALUE}")));
        }
        self.fill(len)?;
        Ok(Some(Row { part, key, value: Some(&self.value) }))
    }
}

pub(super) fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn cut(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => wrong("it ends before its end".into()),
        _ => error,
    }
}

/// Reads the header of an increment, not the rest.
///
/// # Errors
///
/// Not an increment, or unreadable.
pub fn read_header(from: &mut dyn Read) -> io::Result<Header> {
    Rows::begin(from).map(|(header, _)| header)
}

/// Reads a whole increment and compares it with its checksum.
///
/// # Errors
///
/// Truncated, changed or not an increment.
pub fn verify(from: &mut dyn Read) -> io::Result<Summary> {
    let (header, mut rows) = Rows::begin(from)?;
    while rows.next()?.is_some() {}
    Ok(Summary { header, rows: rows.rows, bytes: rows.bytes })
}

/// Copies an increment while verifying it like [`verify`], and nothing after its end.
///
/// # Errors
///
/// As [`verify`], or `to` fails.
pub fn copy(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<Summary> {
    struct Through<'c>(&'c mut dyn Read, &'c mut dyn Write);
    impl Read for Through<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(bytes)?;
            self.1.write_all(&bytes[..read])?;
            Ok(read)
        }
    }
    let summary = verify(&mut Through(from, to))?;
    to.flush()?;
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let to = Position { epoch: 1, commit: 2, event: 3, texts: (0, 0) };
        let lineage = Lineage(vec![crate::lineage::Epoch { id: 1, commit: 0, event: 0 }]);
        Header { from: None, to, lineage, made: 99 }
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut out = Out::begin(&mut bytes, &header()).unwrap();
        out.row(Part::Names, 7, Some(&[b"http://", b"a/"])).unwrap();
        out.row(Part::Members, u64::MAX, Some(&[])).unwrap();
        out.row(Part::Pages, 8, None).unwrap();
        let (rows, len) = out.end().unwrap();
        assert_eq!((rows, len), (3, bytes.len() as u64));
        bytes
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = written();
        let summary = verify(&mut bytes.as_slice()).unwrap();
        let (more, mut copied) = ([&bytes[..], b"more"].concat(), Vec::new());
        assert_eq!(copy(&mut more.as_slice(), &mut copied).unwrap(), summary);
        assert_eq!(copied, bytes);
        assert_eq!(summary, Summary { header: header(), rows: 3, bytes: bytes.len() as u64 });
        let mut from = bytes.as_slice();
        let (_, mut rows) = Rows::begin(&mut from).unwrap();
        let row = rows.next().unwrap().unwrap();
        assert_eq!((row.part, row.key, row.value), (Part::Names, 7, Some(&b"http://a/"[..])));
    }

    #[test]
    fn whatever_is_cut_or_changed_is_refused() {
        let bytes = written();
        for cut in 0..bytes.len() {
            assert!(verify(&mut &bytes[..cut]).is_err(), "{cut} bytes of {}", bytes.len());
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(verify(&mut changed.as_slice()).is_err(), "byte {at}");
        }
    }
}
