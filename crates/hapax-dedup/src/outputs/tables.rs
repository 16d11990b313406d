//! `groups.parquet`: a row for every record; `removed.parquet`: one for every document that went.
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
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float32Builder, StringBuilder, UInt8Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use hapax_corpus::write::Table;

use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) document: &'a str,
    pub(crate) url: Option<&'a str>,
    pub(crate) group: Option<u64>,
    pub(crate) winner: Option<&'a str>,
    pub(crate) earlier: bool,
    pub(crate) outcome: &'static str,
    pub(crate) distance: Option<u8>,
    pub(crate) similarity: Option<f32>,
    pub(crate) rule: Option<&'static str>,
    pub(crate) reason: Option<&'a str>,
    pub(crate) file: &'a str,
    pub(crate) record: Option<u64>,
    pub(crate) own: OwnColumns,
}

/// What is known beyond the frame of a host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnColumns {
    pub(crate) similarity: Option<f32>,
    pub(crate) words: Option<u64>,
}

/// Rows of a table, made on any thread.
#[derive(Default)]
pub(crate) struct Rows(Columns);

impl Rows {
    pub(crate) fn push(&mut self, row: &Row<'_>) {
        self.0.push(row);
    }

    pub(crate) fn finish(mut self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(schema(), self.0.finish())
    }
}

/// Writes rows.
pub(crate) struct TableFile {
    path: PathBuf,
    table: Table<File>,
}

#[derive(Default)]
struct Columns {
    document: StringBuilder,
    url: StringBuilder,
    group: UInt64Builder,
    winner: StringBuilder,
    earlier: BooleanBuilder,
    outcome: StringBuilder,
    distance: UInt8Builder,
    similarity: Float32Builder,
    rule: StringBuilder,
    reason: StringBuilder,
    file: StringBuilder,
    record: UInt64Builder,
    own_similarity: Float32Builder,
    own_words: UInt64Builder,
}

impl TableFile {
    pub(crate) fn create(path: &Path, threads: NonZero<usize>) -> Result<Self, Error> {
        let file = File::create(path).map_err(|e| Error::io("create", path, e))?;
        let by = concat!("hapax-dedup ", env!("CARGO_PKG_VERSION"));
        let table = Table::create(file, &schema(), Vec::new(), by, threads);
        let table = table.map_err(|e| failure(path, &e))?;
        Ok(Self { path: path.to_owned(), table })
    }

    pub(crate) fn add(&mut self, rows: Result<RecordBatch, ArrowError>) -> Result<(), Error> {
        let rows = rows.map_err(|e| failure(&self.path, &e))?;
        self.table.push(rows).map_err(|e| failure(&self.path, &e))
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        let file = self.table.finish().map_err(|e| failure(&self.path, &e))?;
        file.sync_all().map_err(|e| Error::io("write", &self.path, e))
    }
}

fn failure(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    Error::Table { path: path.to_owned(), reason: reason.to_string() }
}

fn schema() -> SchemaRef {
    let text = |name: &str, nullable| Field::new(name, DataType::Utf8, nullable);
    Arc::new(Schema::new(vec![
        text("document", false),
        text("url", true),
        Field::new("group", DataType::UInt64, true),
        text("winner", true),
        Field::new("earlier", DataType::Boolean, false),
        text("outcome", false),
        Field::new("distance", DataType::UInt8, true),
        Field::new("similarity", DataType::Float32, true),
        text("rule", true),
        text("reason", true),
        text("file", false),
        Field::new("record", DataType::UInt64, true),
        Field::new("own_similarity", DataType::Float32, true),
        Field::new("own_words", DataType::UInt64, true),
    ]))
}

impl Columns {
    fn push(&mut self, row: &Row<'_>) {
        self.document.append_value(row.document);
        self.url.append_option(row.url);
        self.group.append_option(row.group);
        self.winner.append_option(row.winner);
        self.earlier.append_value(row.earlier);
        self.outcome.append_value(row.outcome);
        self.distance.append_option(row.distance);
        self.similarity.append_option(row.similarity);
        self.rule.append_option(row.rule);
        self.reason.append_option(row.reason);
        self.file.append_value(row.file);
        self.record.append_option(row.record);
        self.own_similarity.append_option(row.own.similarity);
        self.own_words.append_option(row.own.words);
    }

    fn finish(&mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.document.finish()),
            Arc::new(self.url.finish()),
            Arc::new(self.group.finish()),
            Arc::new(self.winner.finish()),
            Arc::new(self.earlier.finish()),
            Arc::new(self.outcome.finish()),
            Arc::new(self.distance.finish()),
            Arc::new(self.similarity.finish()),
            Arc::new(self.rule.finish()),
            Arc::new(self.reason.finish()),
            Arc::new(self.file.finish()),
            Arc::new(self.record.finish()),
            Arc::new(self.own_similarity.finish()),
            Arc::new(self.own_words.finish()),
        ]
    }
}
