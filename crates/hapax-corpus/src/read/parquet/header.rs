//! Reads the sizes in the header of a Parquet page (Thrift compact protocol).
//!
//! Stricter than the library, which trusts field numbers: a field of the wrong type, out of order or out of
//! range is an error, so both read the same header or it is refused.
//!
//! Source: the Parquet format's `PageHeader`; "Thrift compact protocol encoding".

use std::io::{self, Read};

/// The header of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u64,
    pub(super) unpacked: u64,
    pub(super) packed: u64,
    pub(super) values: u64,
    pub(super) encoding: u64,
    /// Bytes of levels before the compressed part; only in pages of version 2.
    pub(super) levels: u64,
}

/// [`Header::kind`]
pub(super) const DICTIONARY_PAGE: u64 = 2;
/// [`Header::encoding`]: values share prefixes with previous ones.
pub(super) const DELTA_BYTE_ARRAY: u64 = 7;

// Kinds of fields.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const SHORT: u8 = 4;
pub(super) const INT: u8 = 5;
const LONG: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;
const UUID: u8 = 13;

// Structures inside a header, by their field number; 0 is the header itself.
const PAGE: u64 = 0;
const DATA: u64 = 5;
const INDEX: u64 = 6;
const DICTIONARY: u64 = 7;
const DATA_2: u64 = 8;

/// Real headers are nested at most three deep.
const DEEPEST: u32 = 8;

impl Header {
    /// Reads a header; `source` is after it then.
    pub(super) fn read(source: &mut impl Read) -> io::Result<Self> {
        let mut header = Self::default();
        header.fields(source, PAGE, 0)?;
        Ok(header)
    }

    fn fields(&mut self, source: &mut impl Read, within: u64, depth: u32) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(wrong("is nested too deeply"));
        }
        let mut number = 0;
        while let Some(kind) = field(source, &mut number)? {
            let known = expected(within, number);
            if !known.is_empty() && !known.contains(&kind) {
                return Err(wrong("has a field of the wrong kind"));
            }
            match (within, number) {
                (PAGE, 1) => self.kind = int(source)?,
                (PAGE, 2) => self.unpacked = int(source)?,
                (PAGE, 3) => self.packed = int(source)?,
                (PAGE, DATA | INDEX | DICTIONARY | DATA_2) => {
                    self.fields(source, number, depth + 1)?;
                }
                (DATA | DATA_2, 1) => self.values = int(source)?,
                (DATA, 2) | (DATA_2, 4) => self.encoding = int(source)?,
                (DATA_2, 5 | 6) => self.levels += int(source)?,
                _ => skip(source, kind, depth)?,
            }
        }
        Ok(())
    }
}

/// The kind of the next field; `number` is updated to that field. `None` at the end of a structure.
pub(super) fn field(source: &mut impl Read, number: &mut u64) -> io::Result<Option<u8>> {
    let head = byte(source)?;
    let (step, kind) = (head >> 4, head & 15);
    if kind == 0 {
        return Ok(None);
    }
    let next = match step {
        0 => unsigned(zigzag(source)?)?,
        step => *number + u64::from(step),
    };
    if next <= *number {
        return Err(wrong("has its fields out of order"));
    }
    *number = next;
    Ok(Some(kind))
}

/// Skips a field.
pub(super) fn skip(source: &mut impl Read, kind: u8, depth: u32) -> io::Result<()> {
    if depth > DEEPEST {
        return Err(wrong("is nested too deeply"));
    }
    match kind {
        TRUE | FALSE => Ok(()),
        BYTE => byte(source).map(drop),
        SHORT | INT | LONG => varint(source).map(drop),
        DOUBLE => discard(source, 8),
        UUID => discard(source, 16),
        BINARY => {
            let length = varint(source)?;
            discard(source, length)
        }
        LIST | SET => {
            let head = byte(source)?;
            let length = match head >> 4 {
                15 => varint(source)?,
                few => u64::from(few),
            };
            (0..length).try_for_each(|_| skip_element(source, head & 15, depth))
        }
        MAP => {
            let length = varint(source)?;
            let kinds = if length > 0 { byte(source)? } else { 0 };
            (0..length).try_for_each(|_| {
                skip_element(source, kinds >> 4, depth)?;
                skip_element(source, kinds & 15, depth)
            })
        }
        STRUCT => {
            let mut number = 0;
            while let Some(kind) = field(source, &mut number)? {
                skip(source, kind, depth + 1)?;
            }
            Ok(())
        }
        _ => Err(wrong("has a field of no known kind")),
    }
}

/// Unlike a field, a boolean element takes a byte. So every element takes at least one, and a list
/// ends with its source, whatever it claims.
fn skip_element(source: &mut impl Read, kind: u8, depth: u32) -> io::Result<()> {
    match kind {
        TRUE | FALSE => byte(source).map(drop),
        kind => skip(source, kind, depth + 1),
    }
}

/// The valid kinds of a field; empty for unknown fields.
fn expected(within: u64, number: u64) -> &'static [u8] {
    match (within, number) {
        (PAGE, 1..=4) | (DATA, 1..=4) | (DICTIONARY, 1..=2) | (DATA_2, 1..=6) => &[INT],
        (PAGE, DATA | INDEX | DICTIONARY | DATA_2) | (DATA, 5) | (DATA_2, 8) => &[STRUCT],
        (DICTIONARY, 3) | (DATA_2, 7) => &[TRUE, FALSE],
        _ => &[],
    }
}

pub(super) fn byte(source: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    source.read_exact(&mut byte)?;
    Ok(byte[0])
}

pub(super) fn varint(source: &mut impl Read) -> io::Result<u64> {
    let mut value = 0;
    for place in 0..10 {
        let byte = byte(source)?;
        value |= u64::from(byte & 127) << (7 * place);
        if byte < 128 {
            return Ok(value);
        }
    }
    Err(wrong("has a number without end"))
}

pub(super) fn zigzag(source: &mut impl Read) -> io::Result<i64> {
    let value = varint(source)?;
    Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

/// A size: not negative, 32 bits.
fn int(source: &mut impl Read) -> io::Result<u64> {
    let value = unsigned(zigzag(source)?)?;
    if value > i32::MAX as u64 {
        return Err(wrong("has a number that is too large"));
    }
    Ok(value)
}

fn unsigned(value: i64) -> io::Result<u64> {
    u64::try_from(value).map_err(|_| wrong("has a number below zero"))
}

fn discard(source: &mut impl Read, length: u64) -> io::Result<()> {
    if io::copy(&mut source.take(length), &mut io::sink())? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a header {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8]) -> (io::Result<Header>, usize) {
        let header = Header::read(&mut bytes);
        (header, bytes.len())
    }

    /// A data page of 300 bytes, 70 compressed, 9 values, with statistics and an unknown field.
    const PLAIN: &[u8] = &[
        0x15, 0, // kind 0
        0x15, 0xd8, 0x04, // unpacked 300
        0x15, 0x8c, 0x01, // packed 70
        0x2c, // field 5, a structure
        0x15, 18, 0x15, 14, 0x15, 6, 0x15, 6, // 9 values, encoding 7
        0x1c, 0x18, 2, b'h', b'i', 0, // statistics, ended
        0, // the structure ended
        0x49, 0x21, 1, 2, // field 9, a list of two booleans
        0,
    ];

    #[test]
    fn a_header_is_read_to_its_end() {
        let followed = [PLAIN, b"page"].concat();
        let (header, left) = read(&followed);
        let expected =
            Header { unpacked: 300, packed: 70, values: 9, encoding: 7, ..Header::default() };
        assert_eq!((header.unwrap(), left), (expected, 4));
    }

    #[test]
    fn a_header_cut_short_is_an_error_and_never_a_panic() {
        for length in 0..PLAIN.len() {
            assert!(read(&PLAIN[..length]).0.is_err(), "{length}");
        }
    }

    #[test]
    fn headers_that_the_library_might_read_differently_are_refused() {
        // A size that is a string, a negative size, one beyond 32 bits, a repeated field.
        for bytes in [
            &[0x28, 1, b'x', 0][..],
            &[0x25, 1, 0],
            &[0x25, 0x80, 0x80, 0x80, 0x80, 0x10, 0],
            &[0x25, 2, 0x05, 4, 2, 0],
        ] {
            assert_eq!(read(bytes).0.unwrap_err().kind(), io::ErrorKind::InvalidData, "{bytes:?}");
        }
        let deep = [&[0x9c][..], &[0x1c; 100]].concat();
        assert!(read(&deep).0.unwrap_err().to_string().contains("too deeply"));
    }

    #[test]
    fn a_list_that_claims_to_be_endless_ends_with_its_bytes() {
        let list = [&[0x99, 0xf1][..], &[0xff; 9], &[0x01], &[1; 64]].concat();
        assert_eq!(read(&list).0.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
