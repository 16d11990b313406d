//! Checks the size and nesting of a Parquet file's schema before the library parses it.
//!
//! The library recurses over the schema, so 12 kB nested 1,450 deep would overflow the stack, which cannot be
//! caught. Here the footer's list is walked without recursion. Guarantees at most [`MOST`] elements,
//! [`DEEPEST`] deep. Stricter than the library, like [`header`](super::header): fields out of order are
//! refused.
//!
//! Source: the Parquet format's `FileMetaData` and `SchemaElement`.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use super::claims::Refusal;
use super::header::{INT, LIST, STRUCT, byte, field, skip, varint, zigzag};

/// Real schemas are nested less than twenty deep.
const DEEPEST: usize = 64;
/// Maximum number of columns and groups.
const MOST: u64 = 100_000;
/// Bytes at the end of a file: the length of the footer, and the magic.
const END: u64 = 8;

/// Checks the schema of a file; a file without footer is left to the library.
pub(super) fn check(file: &File) -> Result<(), Refusal> {
    let mut file = file;
    let length = file.seek(SeekFrom::End(0)).map_err(Refusal::Io)?;
    let mut end = [0; END as usize];
    if length < END {
        return Ok(());
    }
    file.seek(SeekFrom::Start(length - END)).map_err(Refusal::Io)?;
    file.read_exact(&mut end).map_err(Refusal::Io)?;
    let [a, b, c, d, magic @ ..] = end;
    let footer = u64::from(u32::from_le_bytes([a, b, c, d]));
    if &magic != b"PAR1" || footer > length - END {
        return Ok(());
    }
    file.seek(SeekFrom::Start(length - END - footer)).map_err(Refusal::Io)?;
    walk(&mut BufReader::new(file).take(footer)).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            Refusal::Damaged(format!("the footer cannot be read: {error}"))
        }
        _ => Refusal::Io(error),
    })
}

fn walk(source: &mut impl Read) -> io::Result<()> {
    let mut last = 0;
    while let Some(kind) = field(source, &mut last)? {
        match (last, kind) {
            (2, LIST) => elements(source)?,
            (2, _) => return Err(wrong("its schema is not a list".to_owned())),
            _ => skip(source, kind, 0)?,
        }
    }
    Ok(())
}

/// Walks the elements of a schema, parents first.
fn elements(source: &mut impl Read) -> io::Result<()> {
    let head = byte(source)?;
    let count = match head >> 4 {
        15 => varint(source)?,
        few => u64::from(few),
    };
    if count > MOST {
        return Err(wrong(format!("the schema has {count} elements, and at most {MOST} are read")));
    }
    if count > 0 && head & 15 != STRUCT {
        return Err(wrong("its schema has an element that is not a structure".to_owned()));
    }
    // The number of remaining elements at each depth.
    let mut open: Vec<u64> = Vec::new();
    for _ in 0..count {
        let mut children = 0;
        let mut last = 0;
        while let Some(kind) = field(source, &mut last)? {
            match (last, kind) {
                (5, INT) => children = u64::try_from(zigzag(source)?).unwrap_or(0),
                _ => skip(source, kind, 1)?,
            }
        }
        while open.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > DEEPEST {
            let what = format!("the schema is nested more than {DEEPEST} deep");
            return Err(wrong(what));
        }
    }
    Ok(())
}

fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer whose schema has these numbers of children, `None` for a column.
    fn footer(children: &[Option<u8>]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xfc];
        let mut count = children.len();
        while count >= 128 {
            bytes.push(count as u8 | 128);
            count >>= 7;
        }
        bytes.push(count as u8);
        for children in children {
            bytes.extend([0x48, 1, b'x']);
            bytes.extend(children.iter().flat_map(|&children| [0x15, 2 * children]));
            bytes.push(0);
        }
        bytes.extend([0x16, 0, 0]);
        bytes
    }

    #[test]
    fn wide_and_ordinary_schemas_pass() {
        let wide = [&[Some(60)][..], &[None; 60]].concat();
        let nested = [Some(2), Some(1), Some(1), None, Some(1), None];
        let many: Vec<Option<u8>> = [Some(1), None].repeat(40_000);
        for children in [&wide[..], &nested, &many, &[]] {
            walk(&mut &footer(children)[..]).unwrap();
        }
    }

    #[test]
    fn a_deep_or_endless_schema_is_refused() {
        let deep = vec![Some(1); 1_450];
        assert!(walk(&mut &footer(&deep)[..]).unwrap_err().to_string().contains("64 deep"));
        let deepest = [&vec![Some(1); DEEPEST][..], &[None]].concat();
        walk(&mut &footer(&deepest)[..]).unwrap();
        let endless = [0x29, 0xfc, 0xff, 0xff, 0xff, 0x7f];
        assert!(walk(&mut &endless[..]).unwrap_err().to_string().contains("elements"));
        // A second schema after the first.
        let twice = [&footer(&[None])[..4], &[0x05, 4, 2]].concat();
        assert!(walk(&mut &twice[..]).is_err());
    }

    #[test]
    fn a_footer_cut_short_is_an_error_and_never_a_panic() {
        let whole = footer(&[Some(2), None, None]);
        for length in 0..whole.len() {
            assert!(walk(&mut &whole[..length]).is_err(), "{length}");
        }
    }
}
