//! Looks a document up in `groups.parquet` of a finished job.
//!
//! Scans the whole table and returns the matching rows. A damaged or foreign table is an error.

use std::fs::File;
use std::path::Path;

use arrow_array::{
    Array, BooleanArray, Float32Array, RecordBatch, StringArray, UInt8Array, UInt64Array,
};
use serde::Serialize;

use super::GROUPS;
use crate::columns::{column, opened};
use crate::error::Error;

/// A row of `groups.parquet`; fields are named after the columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decided {
    pub document: String,
    pub url: Option<String>,
    pub group: Option<u64>,
    pub winner: Option<String>,
    pub earlier: bool,
    pub outcome: String,
    pub distance: Option<u8>,
    pub similarity: Option<f32>,
    pub rule: Option<String>,
    pub reason: Option<String>,
    pub file: String,
    pub record: Option<u64>,
    pub own_similarity: Option<f32>,
    pub own_words: Option<u64>,
}

impl Decided {
    /// Whether this folder holds a decision.
    #[must_use]
    pub fn is_in(folder: &Path) -> bool {
        folder.join(GROUPS).is_file()
    }

    /// The rows of documents with this id or address, in corpus order.
    ///
    /// # Errors
    ///
    /// The folder has no readable `groups.parquet`.
    pub fn about(folder: &Path, name: &str) -> Result<Vec<Self>, Error> {
        let path = folder.join(GROUPS);
        let file = File::open(&path).map_err(|error| Error::io("open", &path, error))?;
        let found = hapax_guard::guarded(|| Self::found(file, name));
        found.unwrap_or_else(Err).map_err(|reason| Error::Verdicts { path, reason })
    }

    fn found(file: File, name: &str) -> Result<Vec<Self>, String> {
        let mut found = Vec::new();
        for rows in opened(file)?.build().map_err(|error| error.to_string())? {
            let rows = rows.map_err(|error| error.to_string())?;
            let documents: &StringArray = column(&rows, "document")?;
            let urls: &StringArray = column(&rows, "url")?;
            for at in 0..rows.num_rows() {
                let url = urls.is_valid(at).then(|| urls.value(at));
                if documents.value(at) == name || url == Some(name) {
                    found.push(Self::of(&rows, at)?);
                }
            }
        }
        Ok(found)
    }

    fn of(rows: &RecordBatch, at: usize) -> Result<Self, String> {
        let text = |name| {
            column::<StringArray>(rows, name).map(|it| given(it, at, |it| it.value(at).to_owned()))
        };
        let number =
            |name| column::<UInt64Array>(rows, name).map(|it| given(it, at, |it| it.value(at)));
        let share =
            |name| column::<Float32Array>(rows, name).map(|it| given(it, at, |it| it.value(at)));
        let bits: &UInt8Array = column(rows, "distance")?;
        let earlier: &BooleanArray = column(rows, "earlier")?;
        Ok(Self {
            document: text("document")?.unwrap_or_default(),
            url: text("url")?,
            group: number("group")?,
            winner: text("winner")?,
            earlier: earlier.value(at),
            outcome: text("outcome")?.unwrap_or_default(),
            distance: given(bits, at, |it| it.value(at)),
            similarity: share("similarity")?,
            rule: text("rule")?,
            reason: text("reason")?,
            file: text("file")?.unwrap_or_default(),
            record: number("record")?,
            own_similarity: share("own_similarity")?,
            own_words: number("own_words")?,
        })
    }
}

fn given<A: Array, T>(column: &A, at: usize, value: impl FnOnce(&A) -> T) -> Option<T> {
    column.is_valid(at).then(|| value(column))
}
