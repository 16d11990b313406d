//! Writes `groups.parquet`, a row for every record, and `removed.parquet`, a row for every removed document.
//!
//! | column | holds |
//! |---|---|
//! | `document` | the document's id; of other records the id or address, or file and number |
//! | `url` | its address, null without one |
//! | `group` | number of the winner in the corpus, from 0: equal within a group; earlier winners count on behind it; null for `passed_over` |
//! | `winner` | id of the document that stays; null for `passed_over` |
//! | `earlier` | whether that document was kept by an earlier job |
//! | `outcome` | `kept`, `exact`, `near`; `redirect`, `revisit` for addresses without a document; `passed_over` for other records |
//! | `distance` | bits between it and the winner; null for the winner and for addresses |
//! | `similarity` | estimated similarity with the winner, 0 to 1; null as above |
//! | `rule`, `reason` | what decided for the winner, null for the winner; why a record was passed over |
//! | `own_similarity` | shared part of the smaller own text, 0 to 1; null unless both are of one host whose frame is known, or without own text |
//! | `own_words` | words beyond the frame of its host; null where no frame is known |
//! | `file`, `record` | where it was read: the file, and the line, row or record from 1, null where damage hides it |

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

/// Columns whose values hardly repeat.
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

/// Writes rows.
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

    /// Begins to encode the last rows.
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
