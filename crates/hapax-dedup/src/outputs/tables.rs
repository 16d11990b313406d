//! Writes `groups.parquet`, one row per record, and `removed.parquet`, one row per removed document.
//!
//! | column | holds |
//! |---|---|
//! | `document` | the document's id; for other records the id or address, or file and number |
//! | `url` | its address, null without one |
//! | `group` | number of the winner in the corpus, from 0: equal within a group; winners of earlier jobs have larger numbers; null for `passed_over` |
//! | `winner` | id of the kept document; null for `passed_over` |
//! | `earlier` | whether an earlier job kept the winner |
//! | `outcome` | `kept`, `exact`, `near`; `redirect`, `revisit` for addresses without a document; `passed_over` for other records |
//! | `distance` | distance to the winner in bits; null for the winner and for addresses |
//! | `similarity` | estimated similarity to the winner, 0 to 1; null as above |
//! | `rule`, `reason` | the rule that chose the winner, null for the winner; why a record was passed over |
//! | `own_similarity` | shared part of the smaller own text, 0 to 1; null unless both pages are of one host with a frame and have own text |
//! | `own_words` | words beyond the frame of its host; null without a frame |
//! | `file`, `record` | where the document was read: file, and line, row or record from 1; null if damage hides it |

use std::fs::File;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::builder::{
    BooleanBuilder, Float32Builder, StringBuilder, UInt8Builder, UInt64Builder,
};
use arrow_schema::ArrowError;
use hapax_corpus::write::Table;

use crate::columns;
use crate::error::Error;

columns! {
    pub(crate) struct Rows of Row<'a> {
        document: &'a str => StringBuilder, append_value;
        url: Option<&'a str> => StringBuilder, append_option;
        group: Option<u64> => UInt64Builder, append_option;
        winner: Option<&'a str> => StringBuilder, append_option;
        earlier: bool => BooleanBuilder, append_value;
        outcome: &'a str => StringBuilder, append_value;
        distance: Option<u8> => UInt8Builder, append_option;
        similarity: Option<f32> => Float32Builder, append_option;
        rule: Option<&'a str> => StringBuilder, append_option;
        reason: Option<&'a str> => StringBuilder, append_option;
        file: &'a str => StringBuilder, append_value;
        record: Option<u64> => UInt64Builder, append_option;
        own_similarity: Option<f32> => Float32Builder, append_option;
        own_words: Option<u64> => UInt64Builder, append_option;
    }
}

/// Columns with hardly any repeated values: no dictionary.
const UNIQUE: [&str; 3] = ["document", "url", "winner"];
/// Columns without nulls.
const REQUIRED: [&str; 4] = ["document", "earlier", "outcome", "file"];

impl Rows {
    pub(crate) fn into_batch(mut self) -> Result<RecordBatch, ArrowError> {
        let columns = self.finish().into_iter();
        RecordBatch::try_from_iter_with_nullable(
            columns.map(|(name, column)| (name, column, !REQUIRED.contains(&name))),
        )
    }
}

pub(crate) struct TableFile {
    path: PathBuf,
    table: Table<File>,
}

impl TableFile {
    pub(crate) fn create(path: &Path, threads: NonZero<usize>) -> Result<Self, Error> {
        let file = File::create(path).map_err(|e| Error::io("create", path, e))?;
        let by = concat!("hapax-dedup ", env!("CARGO_PKG_VERSION"));
        let schema = Rows::default().into_batch().map_err(|e| failure(path, &e))?.schema();
        let table = Table::create(file, &schema, Vec::new(), &UNIQUE, by, threads);
        let table = table.map_err(|e| failure(path, &e))?;
        Ok(Self { path: path.to_owned(), table })
    }

    pub(crate) fn add(&mut self, rows: Result<RecordBatch, ArrowError>) -> Result<(), Error> {
        let rows = rows.map_err(|e| failure(&self.path, &e))?;
        self.table.push(rows).map_err(|e| failure(&self.path, &e))
    }

    /// Starts encoding the last rows.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.table.end().map_err(|e| failure(&self.path, &e))
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        let file = self.table.finish().map_err(|e| failure(&self.path, &e))?;
        file.sync_all().map_err(|e| Error::io("write", &self.path, e))
    }
}

fn failure(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    Error::Table { path: path.to_owned(), reason: reason.to_string() }
}
