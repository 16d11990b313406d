//! Distributed steps that gather the rows of `report.html`. The engine counts and sorts;
//! [`report`](mod@crate::report) selects and renders, as on one machine.
//!
//! ```text
//!   group rows --common_folder, origins--> hosts and folders, to be summed and sorted by the engine
//!   near-duplicates by similarity --shown_of--> a selection; unconfirmed pairs --shown_apart--> a selection
//!   their documents --example_texts--> texts;   everything --report--> HTML
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
    /// Hosts and folders: those that lose most documents, ties by name.
    pub origins: usize,
    /// Groups: the largest, ties by position.
    pub groups: usize,
    /// Documents per group, by rank.
    pub documents: usize,
    /// Unconfirmed pairs among which the shown ones are selected: the most similar, ties by
    /// position.
    pub apart: usize,
    /// Records that were passed over, in corpus order, except redirects and revisits that lead to a
    /// document.
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

    /// The common folder of the documents without an address, from `document` and `url`; `None` if
    /// all have an address.
    pub fn common_folder(&self, rows: &RecordBatch) -> Result<Option<String>, Error> {
        let rows = Rows::of(rows, KIND);
        let (id, url) = names(&rows)?;
        let plain = (0..rows.len()).filter(|&row| !is_address(text(url, row)));
        Ok(common_of(plain.map(|row| text(id, row))).map(str::to_owned))
    }

    pub fn common_of(&self, folders: &[String]) -> String {
        common_of(folders.iter().map(String::as_str)).unwrap_or("").to_owned()
    }

    /// Counts by host or folder: `name`, `documents`, `exact`, `near`; each name once.
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

    /// Which of `near` near-duplicates to show, as indexes into them in order of similarity, then
    /// position.
    pub fn shown_of(&self, near: usize) -> Vec<usize> {
        shown_of(near)
    }

    /// Which of these unconfirmed pairs to show.
    pub fn shown_apart(&self, pairs: &[(i64, i64)]) -> Vec<usize> {
        shown_apart(pairs.iter().copied())
    }

    /// Texts of the documents of a part at the given positions, which are ascending: `number`,
    /// `words`, `title`, `text`, `cut`.
    ///
    /// # Panics
    ///
    /// The source has no such part.
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

    /// Renders the report from the gathered rows as JSON.
    ///
    /// # Errors
    ///
    /// A field is missing from the JSON.
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
