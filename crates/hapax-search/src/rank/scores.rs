//! Reads and writes scores: lines of `name<TAB>score`, or a table with two columns.
//!
//! Scores are looked up by address in any spelling ([`page_key`]), or by name. Written scores are read back to
//! the last bit; a malformed line is an error with its number. Does not know where scores come from; clicks
//! work as well as links.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float64Array, StringArray};
use arrow_schema::DataType;
use hapax_corpus::Unpacked;

use super::address::page_key;
use super::table::{self, MAGIC, opened};
use super::web::Web;
use crate::engine::DocumentFacts;
use crate::guard::guarded;

/// Possible names of the column of names in a table.
const NAMES: [&str; 5] = ["url", "document", "id", "name", "page"];
const SCORES: [&str; 3] = ["score", "pagerank", "rank"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    by_name: BTreeMap<String, f64>,
}

/// Reading scores failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoresError {
    /// The file cannot be opened.
    #[error(transparent)]
    Open(#[from] hapax_corpus::Error),
    #[error("line {line} cannot be read")]
    Read { line: u64, source: io::Error },
    /// A malformed line.
    #[error("line {line}: `{found}` is not a score: a line is a name, a tab, and a number")]
    Line { line: u64, found: String },
    /// A table without scores.
    #[error("the table of scores cannot be read: {why}")]
    Table { why: String },
    #[error("there are no scores in it")]
    Empty,
}

impl Scores {
    /// Reads lines, compressed or not, or a Parquet file.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub fn read(path: &Path) -> Result<Self, ScoresError> {
        let mut text = Unpacked::open(path)?;
        let first = text.fill_buf().map_err(|source| ScoresError::Read { line: 1, source })?;
        let scores = match first.starts_with(MAGIC) {
            true => Self::from_parquet(path)?,
            false => Self::from_tsv(text)?,
        };
        if scores.by_name.is_empty() { Err(ScoresError::Empty) } else { Ok(scores) }
    }

    fn from_tsv(mut text: impl BufRead) -> Result<Self, ScoresError> {
        let mut scores = Self::default();
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            let read = text.read_line(&mut line);
            if read.map_err(|source| ScoresError::Read { line: number, source })? == 0 {
                break;
            }
            let row = line.trim_end_matches(['\n', '\r']);
            if row.is_empty() || row.starts_with('#') {
                continue;
            }
            let (name, score) = row.split_once('\t').unwrap_or((row, ""));
            match score.trim().parse::<f64>() {
                Ok(score) if !score.is_nan() => scores.insert(name, score),
                // A header may only be the first line.
                _ if number == 1 && SCORES.contains(&score.trim()) => {}
                _ => return Err(ScoresError::Line { line: number, found: row.to_owned() }),
            }
        }
        Ok(scores)
    }

    fn from_parquet(path: &Path) -> Result<Self, ScoresError> {
        guarded(|| Self::from_rows(path), |why| ScoresError::Table { why })
    }

    fn from_rows(path: &Path) -> Result<Self, ScoresError> {
        let bad = |why: &dyn std::fmt::Display| ScoresError::Table { why: why.to_string() };
        let file = hapax_corpus::open_file(path).map_err(|e| bad(&e))?;
        let builder = opened(file).map_err(|e| bad(&e))?;
        let schema = builder.schema().clone();
        let column = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| schema.index_of(name).ok())
                .ok_or_else(|| bad(&format!("it has no column called {}", names.join(" or "))))
        };
        let (name, score) = (column(&NAMES)?, column(&SCORES)?);
        let mut scores = Self::default();
        for batch in builder.build().map_err(|e| bad(&e))? {
            let batch = batch.map_err(|e| bad(&e))?;
            let values =
                numbers(batch.column(score)).ok_or_else(|| bad(&"scores are not numbers"))?;
            let names = batch.column(name);
            for (row, value) in values.into_iter().enumerate() {
                if names.is_null(row) {
                    continue;
                }
                let name = match names.data_type() {
                    DataType::Utf8 => names.as_string::<i32>().value(row),
                    DataType::LargeUtf8 => names.as_string::<i64>().value(row),
                    DataType::Utf8View => names.as_string_view().value(row),
                    other => return Err(bad(&format!("names are {other}, not text"))),
                };
                if let Some(value) = value.filter(|value| !value.is_nan()) {
                    scores.insert(name, value);
                }
            }
        }
        Ok(scores)
    }

    /// Of two scores for one page the higher counts.
    pub fn insert(&mut self, name: &str, score: f64) {
        let key = page_key(name).unwrap_or_else(|| name.to_owned());
        let known = self.by_name.entry(key).or_insert(score);
        *known = known.max(score);
    }

    /// The score of a page by its address or else by its name.
    pub fn get(&self, url: &str, name: &str) -> Option<f64> {
        let of = |text: &str| match page_key(text) {
            Some(key) => self.by_name.get(&key),
            None => self.by_name.get(text),
        };
        of(url).or_else(|| of(name)).copied()
    }

    /// Replaces the scores of documents by these, if given; a document without an entry then has no
    /// score, because two scales cannot be compared.
    pub fn replace(scores: Option<&Self>, facts: &mut [DocumentFacts]) {
        let Some(scores) = scores else { return };
        for one in facts {
            one.score = scores.get(&one.url, &one.name);
        }
    }

    /// Number of pages with a score.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// In order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.by_name.iter().map(|(name, score)| (name.as_str(), *score))
    }
}

/// The names and scores of a web, best first, then by name.
pub fn ranking<'a>(web: &'a Web, scores: &[f64]) -> Vec<(&'a str, f64)> {
    let mut rows: Vec<(&str, f64)> =
        web.names.iter().map(|(name, page)| (&**name, scores[*page as usize])).collect();
    rows.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    rows
}

/// Writes lines of name, tab and score, with enough digits to read back the same number.
pub fn write_tsv(rows: &[(&str, f64)], mut out: impl Write) -> io::Result<()> {
    for (name, score) in rows {
        writeln!(out, "{}\t{score:e}", in_a_line(name))?;
    }
    out.flush()
}

/// Replaces characters that would start another line or column, which could set the score of
/// another page.
fn in_a_line(name: &str) -> Cow<'_, str> {
    match name.contains(['\t', '\n', '\r']) {
        false => Cow::Borrowed(name),
        true => name.replace('\t', "%09").replace('\n', "%0A").replace('\r', "%0D").into(),
    }
}

/// Writes a Parquet table with the columns `url` and `score`.
pub fn write_parquet(rows: &[(&str, f64)], out: impl Write + Send) -> io::Result<()> {
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0)));
    let scores: ArrayRef = Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.1)));
    Ok(table::write(vec![("url", names), ("score", scores)], out)?)
}

fn numbers(column: &ArrayRef) -> Option<Vec<Option<f64>>> {
    Some(match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().collect(),
        DataType::Float32 => {
            column.as_primitive::<Float32Type>().iter().map(|it| it.map(f64::from)).collect()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tsv(text: &str) -> Result<Scores, ScoresError> {
        Scores::from_tsv(text.as_bytes())
    }

    #[test]
    fn scores_are_found_by_any_spelling_of_the_address_or_by_name() {
        let scores = tsv("url\tscore\nhttp://a.test/x\t0.5\r\n\ndoc-1\t2e-3\n").unwrap();
        assert_eq!(scores.get("https://A.test/x/", "other"), Some(0.5));
        assert_eq!(scores.get("", "doc-1"), Some(0.002));
        assert_eq!(scores.get("http://b.test/", "doc-2"), None);
        assert_eq!(scores.len(), 2);
    }

    #[test]
    fn what_is_written_is_read_again_to_the_last_bit() {
        let rows = [("http://a.test/", 0.1 + 0.2), ("http://b.test/", 1e-300)];
        let mut text = Vec::new();
        write_tsv(&rows, &mut text).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        write_parquet(&rows, file.reopen().unwrap()).unwrap();
        let table = Scores::read(file.path()).unwrap();
        assert_eq!(table, Scores::from_tsv(&text[..]).unwrap());
        assert_eq!(table.get("http://a.test", ""), Some(0.1 + 0.2));
    }

    #[test]
    fn a_name_cannot_write_the_score_of_another() {
        let mut text = Vec::new();
        write_tsv(&[("http://spam.test/\t9\nhttp://x.test/", 0.5)], &mut text).unwrap();
        let scores = Scores::from_tsv(&text[..]).unwrap();
        assert_eq!((scores.len(), scores.get("http://spam.test/", "")), (1, None));
    }

    #[test]
    fn a_line_that_is_no_score_is_named() {
        let refused = |text: &str| tsv(text).unwrap_err().to_string();
        assert!(refused("a\t1\nb\tmany\n").starts_with("line 2: `b\tmany` is not a score"));
        assert!(refused("a\tNaN\n").starts_with("line 1"));
        assert!(refused("a b\n").starts_with("line 1"));
    }
}
