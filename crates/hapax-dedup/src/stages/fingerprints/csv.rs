//! Fingerprints as CSV (RFC 4180): a header, then one record per document.
//!
//! Writes `id,url,recipe,fingerprint,content,words,features,too_short,sketch`. Reads any file whose header has
//! a column `fingerprint`; `id`, `url`, `recipe`, `content`, `too_short` and `sketch` are optional.

use std::io::BufRead;

use hapax::fingerprint::{RecipeId, Signature};

use super::super::{LONGEST_LINE, LinesError};
use super::lines::fingerprint;
use super::{Listed, Stated, Take, content, sketch};

/// The first line of a file.
pub const HEADER: &str = "id,url,recipe,fingerprint,content,words,features,too_short,sketch\r\n";

/// A document as a record.
pub fn record(id: &str, url: Option<&str>, recipe: &str, signature: &Signature) -> String {
    let comparable = signature.comparable.as_ref();
    let cells = [
        quoted(id),
        quoted(url.unwrap_or_default()),
        quoted(recipe),
        comparable.map(|it| it.fingerprint.to_string()).unwrap_or_default(),
        signature.content.to_string(),
        signature.words.to_string(),
        signature.features.to_string(),
        signature.too_short.to_string(),
        comparable.map(|it| it.sketch.to_string()).unwrap_or_default(),
    ];
    cells.join(",") + "\r\n"
}

fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Whether a file with this beginning has a header with a column `fingerprint`.
pub(super) fn is_header(first: &[u8]) -> bool {
    let line = first.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let named = |cell: &[u8]| {
        cell.strip_prefix(b"\"").map_or(cell, |it| &it[..it.len() - 1]) == b"fingerprint"
    };
    line.split(|&byte| byte == b',').filter(|cell| cell.len() > 2).any(named)
}

/// Calls `take` for every record.
pub(super) fn each<E: From<LinesError>>(
    reader: &mut dyn BufRead,
    take: Take<'_, E>,
) -> Result<(), E> {
    let mut records = Records { reader, line: 1 };
    let mut cells = Vec::new();
    records.next(&mut cells)?;
    let column = |name: &str| cells.iter().position(|cell| cell == name.as_bytes());
    let columns =
        ["fingerprint", "id", "url", "recipe", "content", "sketch", "too_short"].map(column);
    let width = cells.len();
    let mut stated = Stated::default();
    loop {
        let number = records.line;
        if !records.next(&mut cells)? {
            return Ok(());
        }
        let bad = |what| LinesError::Bad { line: number, what };
        if cells.len() != width {
            let what = format!("{} cells, and the header has {width}", cells.len());
            return Err(bad(what).into());
        }
        let [bits, name, url, recipe, hash, sketched, short] =
            columns.map(|at| at.map(|at| cells[at].as_slice()).filter(|cell| !cell.is_empty()));
        let text = |cell| text(cell).map_err(bad);
        let recipe = text(recipe)?;
        if let Some(stated) = recipe {
            stated.parse::<RecipeId>().map_err(|error| bad(error.to_string()))?;
        }
        stated.see(recipe, number)?;
        let listed = Listed {
            number,
            name: name.map(<[u8]>::to_vec),
            url: text(url)?.map(str::to_owned),
            fingerprint: bits.map(fingerprint).transpose().map_err(bad)?,
            content: text(hash)?.map(content).transpose().map_err(bad)?,
            sketch: text(sketched)?.map(sketch).transpose().map_err(bad)?,
            too_short: short == Some(b"true"),
            sums: None,
        };
        take(stated.get(), listed)?;
    }
}

fn text(cell: Option<&[u8]>) -> Result<Option<&str>, String> {
    cell.map(std::str::from_utf8).transpose().map_err(|_| "not UTF-8".to_owned())
}

struct Records<'a> {
    reader: &'a mut dyn BufRead,
    /// The line on which the next record begins, from 1.
    line: u64,
}

impl Records<'_> {
    /// Replaces `cells` by those of the next record; skips blank lines.
    fn next(&mut self, cells: &mut Vec<Vec<u8>>) -> Result<bool, LinesError> {
        cells.clear();
        let (mut cell, mut bytes, mut within_quotes) = (Vec::new(), Vec::new(), false);
        let first = self.line;
        loop {
            bytes.clear();
            let mut limited = std::io::Read::take(&mut *self.reader, LONGEST_LINE as u64 + 1);
            let line = self.line;
            let read = limited.read_until(b'\n', &mut bytes);
            let bad = |what: &str| LinesError::Bad { line: first, what: what.to_owned() };
            if read.map_err(|source| LinesError::Io { line, source })? == 0 {
                return if within_quotes { Err(bad("a quote is not closed")) } else { Ok(false) };
            }
            if bytes.len() + cell.len() > LONGEST_LINE {
                return Err(bad("longer than a record of fingerprints can be"));
            }
            self.line += 1;
            if !within_quotes {
                if bytes.trim_ascii().is_empty() {
                    continue;
                }
                let end = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
                let end = end.strip_suffix(b"\r").unwrap_or(end).len();
                let rest = bytes.split_off(end);
                within_quotes = split(&bytes, false, &mut cell, cells).map_err(bad)?;
                if within_quotes {
                    cell.extend_from_slice(&rest);
                }
            } else {
                within_quotes = split(&bytes, true, &mut cell, cells).map_err(bad)?;
            }
            if !within_quotes {
                while matches!(cell.last(), Some(b'\n' | b'\r')) {
                    cell.pop();
                }
                cells.push(cell);
                return Ok(true);
            }
        }
    }
}

/// Splits a line into cells at commas; the last one stays in `cell`. Returns whether the line ends
/// inside quotes.
///
/// # Errors
///
/// A closing quote is followed by something other than a comma.
pub fn split(
    line: &[u8],
    mut quotes: bool,
    cell: &mut Vec<u8>,
    cells: &mut Vec<Vec<u8>>,
) -> Result<bool, &'static str> {
    let mut bytes = line.iter().peekable();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' if quotes && bytes.peek() == Some(&&b'"') => {
                cell.push(b'"');
                bytes.next();
            }
            b'"' if quotes => match bytes.peek() {
                None | Some(b',' | b'\r' | b'\n') => quotes = false,
                Some(_) => return Err("text behind a closing quote"),
            },
            b'"' if cell.is_empty() => quotes = true,
            b',' if !quotes => cells.push(std::mem::take(cell)),
            _ => cell.push(byte),
        }
    }
    Ok(quotes)
}
