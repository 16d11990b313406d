//! The stages of the job as separate commands, each reading the output of the one before.
//!
//! ```text
//!   documents ──► hapax fingerprint ──► lines or a table ──► hapax pairs ──► lines ──► hapax groups
//! ```
//!
//! For inspecting intermediate results and for fingerprints of other tools. The job itself keeps everything in
//! memory and uses more: contents, addresses, scopes.

pub mod featuring;
pub mod fingerprints;
pub mod grouping;
pub mod pairing;
pub mod searching;
pub mod signing;
pub mod training;

use std::io;

/// Why reading lines failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinesError {
    #[error("cannot read {}", place(*line))]
    Io {
        /// Line from 1; 0 for the file itself.
        line: u64,
        source: io::Error,
    },
    /// A malformed line.
    #[error("line {line}: {what}")]
    Bad {
        /// Line from 1.
        line: u64,
        what: String,
    },
    /// Fingerprints of two recipes.
    #[error(
        "line {line}: recipe {found}, but the lines before have {first}; fingerprints of different recipes cannot be compared"
    )]
    Recipes {
        /// Line from 1.
        line: u64,
        found: String,
        /// The recipe of the lines before.
        first: String,
    },
    /// A malformed file.
    #[error("{what}")]
    Table { what: String },
    /// An unreadable `.hpx` file.
    #[error(transparent)]
    Stored(#[from] hapax_corpus::hpx::HpxError),
}

fn place(line: u64) -> String {
    if line == 0 { "the file".to_owned() } else { format!("line {line}") }
}

impl LinesError {
    fn foreign(what: &str) -> Self {
        Self::Table { what: what.to_owned() }
    }
}

/// Longer lines are an error.
const LONGEST_LINE: usize = 1 << 20;

/// Calls `take` with the number and contents of each line that is not blank.
fn each_line<E: From<LinesError>>(
    reader: &mut dyn io::BufRead,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let mut limited = io::Read::take(&mut *reader, LONGEST_LINE as u64 + 1);
        let read = io::BufRead::read_until(&mut limited, b'\n', &mut bytes);
        if read.map_err(|source| LinesError::Io { line, source })? == 0 {
            break;
        }
        if bytes.len() > LONGEST_LINE {
            let what = "longer than a line of fingerprints or pairs can be".to_owned();
            return Err(LinesError::Bad { line, what }.into());
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if !text.trim_ascii().is_empty() {
            take(line, text)?;
        }
    }
    Ok(())
}

/// Escapes a name for a line of columns: backslash, tab and line breaks become `\\`, `\t`, `\n` and
/// `\r`.
pub fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(c),
        }
    }
    out
}

/// Undoes [`escaped`].
pub fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_line_of_columns() {
        for name in ["plain", "a\tb\nc\\d\r", "\\n", "東京", ""] {
            assert_eq!(unescaped(&escaped(name)), name);
            assert!(!escaped(name).contains(['\t', '\n']));
        }
    }
}
