//! Reads files of fingerprints in every format that `hapax fingerprint` writes.
//!
//! Supports lines, JSON lines, CSV, Parquet and `.hpx`, also segments of version 0.1 and bare 8-byte words.
//! Either every entry of a file states the same recipe or none states one. A file of another kind is an error
//! that names the command that reads it. `lines` (written by [`record`]) and `csv` are text, `table` is
//! Parquet, `stored` is `.hpx` and segments, `kind` recognizes other files, and `list` loads a whole file, as
//! `hapax pairs` needs.

pub mod csv;
mod kind;
mod lines;
mod list;
pub mod record;
mod stored;
pub mod table;

use std::io::{BufRead, BufReader, Read, Seek, stdin};
use std::path::Path;

use hapax::fingerprint::{BitSums, ContentHash, Fingerprint, ParseSketchError, Sketch};

pub use list::Fingerprints;

use super::LinesError;

/// One document of a file of fingerprints.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Line, row or place in the file, from 1.
    pub number: u64,
    /// Any bytes, because paths need not be UTF-8.
    pub name: Option<Vec<u8>>,
    /// Address, if known and different from the name.
    pub url: Option<String>,
    /// `None` for a document without words.
    pub fingerprint: Option<Fingerprint>,
    /// What exact copies share.
    pub content: Option<ContentHash>,
    /// For confirming near-duplicates.
    pub sketch: Option<Sketch>,
    /// Whether the document has too few words for near matches.
    pub too_short: bool,
    /// The SimHash sums behind the fingerprint's bits.
    pub sums: Option<Box<BitSums>>,
}

/// How to read the bytes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Recognize the format by the first bytes.
    #[default]
    Recognized,
    /// 8 bytes per fingerprint, little-endian.
    Binary,
}

/// The recipe of the entries so far: `None` before the first, `Some(None)` if they state none.
#[derive(Debug, Default)]
struct Stated(Option<Option<String>>);

impl Stated {
    /// Checks an entry's recipe against those before.
    fn see(&mut self, found: Option<&str>, line: u64) -> Result<(), LinesError> {
        match &self.0 {
            None => self.0 = Some(found.map(str::to_owned)),
            Some(first) if first.as_deref() == found => {}
            Some(first) => {
                let shown = |it: Option<&str>| it.unwrap_or("not stated").to_owned();
                let (found, first) = (shown(found), shown(first.as_deref()));
                return Err(LinesError::Recipes { line, found, first });
            }
        }
        Ok(())
    }

    fn get(&self) -> Option<&str> {
        self.0.as_ref()?.as_deref()
    }
}

/// Receives the recipe and a document.
pub type Take<'t, E> = &'t mut dyn FnMut(Option<&str>, Listed) -> Result<(), E>;

/// Calls `take` with the recipe and each document of a file, in order; `-` is standard input.
///
/// # Errors
///
/// The file is unreadable or of another kind, an entry is malformed, or recipes are mixed; also any
/// error of `take`.
pub fn each<E: From<LinesError>>(path: &Path, form: Form, take: Take<'_, E>) -> Result<(), E> {
    let io = |source| LinesError::Io { line: 0, source };
    let standard = path.as_os_str() == "-";
    if path.is_dir() {
        return Err(kind::folder().into());
    }
    let mut reader: Box<dyn BufRead> = match standard {
        true => Box::new(stdin().lock()),
        false => {
            Box::new(BufReader::with_capacity(1 << 18, hapax_corpus::open_file(path).map_err(io)?))
        }
    };
    if form == Form::Binary {
        return stored::binary(&mut reader, take);
    }
    let first = reader.fill_buf().map_err(io)?;
    if first.starts_with(table::MAGIC) {
        // Parquet needs random access: its index is at the end.
        let file = if standard {
            let mut copy = tempfile::tempfile().map_err(io)?;
            std::io::copy(&mut reader, &mut copy).and_then(|_| copy.rewind()).map_err(io)?;
            copy
        } else {
            hapax_corpus::open_file(path).map_err(io)?
        };
        return table::each(file, take);
    }
    if first.starts_with(stored::HPX) || first.starts_with(stored::SEGMENT) {
        if standard {
            return Err(
                LinesError::foreign("an index cannot be read from a pipe: name the file").into()
            );
        }
        return if first.starts_with(stored::HPX) {
            stored::hpx(path, take)
        } else {
            stored::segment(path, take)
        };
    }
    if let Some(error) = kind::foreign(first) {
        return Err(error.into());
    }
    if csv::is_header(first) {
        csv::each(&mut reader, take)
    } else {
        lines::each(&mut reader, take)
    }
}

fn read_all(reader: &mut dyn Read) -> Result<Vec<u8>, LinesError> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|source| LinesError::Io { line: 0, source })?;
    Ok(bytes)
}

fn sketch(digits: &str) -> Result<Sketch, String> {
    digits.parse().map_err(|error: ParseSketchError| error.to_string())
}

fn content(digits: &str) -> Result<ContentHash, String> {
    digits.parse().map_err(|_| format!("{digits:?} is not a content hash"))
}

#[cfg(test)]
mod tests;
