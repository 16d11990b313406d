//! Gathers what `report.html` shows from rows. The engine counts and sorts; [`report`](mod@crate::report) chooses
//! and draws, as on one machine.
//!
//! ```text
//!   group rows --common_folder, origins--> hosts and folders, to be summed and sorted
//!   near-duplicates by similarity --shown_of--> which of them; pairs apart --shown_apart--> which of them
//!   their documents --example_texts--> texts;   all of it --report--> the page
//! ```

use std::collections::BTreeMap;

use arrow_array::builder::{BooleanBuilder, Int64Builder, StringBuilder};
use arrow_array::{Array, RecordBatch, StringArray};
use hapax_corpus::{Entry, Source};

use super::Steps;
use super::rows::{Rows, batch};
use crate::columns;
use crate::error::Error;
use crate::near::REFUSED;
use crate::report::examples::{TextReader, shown_apart, shown_of};
use crate::report::origins::{common_of, is_address, origin};
use crate::report::{self, Contents, groups, origins, passed};
use crate::signature::Signer;

const KIND: &str = "group";

columns! {
    struct Origins of OriginRow<'a> {
        name: &'a str => StringBuilder, append_value;
        documents: i64 => Int64Builder, append_value;
        exact: i64 => Int64Builder, append_value;
        near: i64 => Int64Builder, append_value;
    }
}

columns! {
    struct Texts of TextRow {
        number: i64 => Int64Builder, append_value;
        words: i64 => Int64Builder, append_value;
        title: Option<String> => StringBuilder, append_option;
        text: String => StringBuilder, append_value;
        cut: bool => BooleanBuilder, append_value;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Hosts and folders, those that lose most first, then by name.
    pub origins: usize,
    /// Groups, the largest first, then by position.
    pub groups: usize,
    /// Documents of each, by rank.
    pub documents: usize,
    /// Among so many pairs that were not confirmed, the most similar first, then by position, those
    /// that are shown are chosen.
    pub apart: usize,
    /// Records that were passed over, in the order of the corpus, without those that lead to a document.
    pub passed: usize,
}

impl Steps {
    pub const SHOWN: Shown = Shown {
        origins: origins::MOST,
        groups: groups::MOST,
        documents: groups::MOST_DOCUMENTS,
        apart: REFUSED,
        passed: passed::MOST,
    };

    /// The folder that is common to the documents without an address among these, `document` and
    /// `url`; `None` of none.
    pub fn common_folder(&self, rows: &RecordBatch) -> Result<Option<String>, Error> {
        let rows = Rows::of(rows, KIND);
        let (id, url) = names(&rows)?;
        let plain = (0..rows.len()).filter(|&row| !is_address(text(url, row)));
        Ok(common_of(plain.map(|row| text(id, row))).map(str::to_owned))
    }

    pub fn common_of(&self, folders: &[String]) -> String {
        common_of(folders.iter().map(String::as_str)).unwrap_or("").to_owned()
    }

    /// Hosts and folders: `name`, `documents`, `exact`, `near`, each once.
    pub fn origins(&self, rows: &RecordBatch, common: &str) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, KIND);
        let (id, url) = names(&rows)?;
        let outcome: &StringArray = rows.column("outcome")?;
        let mut found: BTreeMap<&str, [i64; 3]> = BTreeMap::new();
        for row in 0..rows.len() {
            let [documents, exact, near] =
                found.entry(origin(text(id, row), text(url, row), common)).or_default();
            *documents += 1;
            *exact += i64::from(text(outcome, row) == "exact");
            *near += i64::from(text(outcome, row) == "near");
        }
        let mut origins = Origins::default();
        for (name, [documents, exact, near]) in found {
            origins.push(OriginRow { name, documents, exact, near });
        }
        batch("origin", origins.finish())
    }

    /// Which of so many near-duplicates are shown, if they are in order of similarity, then of position.
    pub fn shown_of(&self, near: usize) -> Vec<usize> {
        shown_of(near)
    }

    /// Which of these pairs that were not confirmed are shown.
    pub fn shown_apart(&self, pairs: &[(i64, i64)]) -> Vec<usize> {
        shown_apart(pairs.iter().copied())
    }

    /// Texts of the documents of a part with these numbers, which are ascending: `number`, `words`, `title`,
    /// `text`, `cut`.
    ///
    /// # Panics
    ///
    /// When there are not so many parts.
    pub fn example_texts(
        &self,
        source: &Source,
        part: usize,
        wanted: &[i64],
    ) -> Result<RecordBatch, Error> {
        let mut signer = Signer::new(&self.options, None);
        let mut reader = TextReader::new(&self.options.fingerprinter);
        let mut texts = Texts::default();
        let (mut next, last) = (0, wanted.last().copied().unwrap_or(-1));
        'part: for mut some in source.part(part) {
            for entry in some.entries() {
                if next > last {
                    break 'part;
                }
                let Entry::Document(document) = entry? else { continue };
                let at = next;
                next += 1;
                if wanted.binary_search(&at).is_err() {
                    continue;
                }
                let Some(text) = reader.text(&document) else { continue };
                texts.push(TextRow {
                    number: at,
                    words: i64::from(signer.page(&document).words),
                    title: text.title,
                    text: text.text,
                    cut: text.cut,
                });
            }
        }
        batch("text", texts.finish())
    }

    /// The page of what was gathered, as JSON.
    ///
    /// # Errors
    ///
    /// Something is missing.
    pub fn report(&self, gathered: &str) -> Result<String, Error> {
        let wrong =
            |error: serde_json::Error| Error::Rows { rows: "report", what: error.to_string() };
        let contents: Contents = serde_json::from_str(gathered).map_err(wrong)?;
        Ok(report::page(&contents, &self.options.fingerprinter))
    }
}

fn names<'b>(rows: &Rows<'b>) -> Result<(&'b StringArray, &'b StringArray), Error> {
    Ok((rows.column("document")?, rows.column("url")?))
}

fn text(column: &StringArray, row: usize) -> &str {
    if column.is_valid(row) { column.value(row) } else { "" }
}
