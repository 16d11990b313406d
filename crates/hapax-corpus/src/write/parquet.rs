//! Makes rows for a Parquet file.
//!
//! Rows read from Parquet keep all their columns and the file's key-value pairs; their schema is that of the
//! first one, and a row with another schema is refused. Any other document becomes a row of `id`, `url`,
//! `html`, `text`, `bytes`, `content_type`, `fetched`, `score`, `language`, with its body in one of `html`,
//! `text` and `bytes`. Does not encode; [`Table`](super::table::Table) does.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, Float64Builder, StringBuilder, TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::interleave::interleave_record_batch;
use parquet::file::metadata::KeyValue;

use super::characters;
use crate::document::{Document, Kind};
use crate::original::Original;
use crate::read::parquet::Row;

/// Rows that are collected before writing.
const MOST_ROWS: usize = 1024;
/// Bytes of bodies that are collected before writing.
const MOST_BYTES: usize = 16 << 20;

/// Why rows of different schemas are refused.
pub(super) const MIXED: &str = "documents with different columns cannot share a Parquet file; write JSONL, \
                               or one file for each schema";

/// Collects the rows of documents.
#[derive(Default)]
pub(super) struct RowEncoder {
    kind: Option<Collected>,
    done: Vec<RecordBatch>,
    pairs: Vec<KeyValue>,
}

enum Collected {
    /// Rows of the input.
    Chosen(Rows),
    Built(Box<Columns>),
}

impl RowEncoder {
    pub(super) fn push(&mut self, document: &Document<'_>) -> Result<(), String> {
        let kind = self.kind.get_or_insert_with(|| match &document.original {
            Original::Row(row) => {
                self.pairs = row.metadata.to_vec();
                Collected::Chosen(Rows {
                    schema: row.rows.schema(),
                    batches: Vec::new(),
                    chosen: Vec::new(),
                })
            }
            _ => Collected::Built(Box::new(Columns::new())),
        });
        let full = match (kind, &document.original) {
            (Collected::Chosen(rows), Original::Row(row)) if rows.fits(row) => {
                rows.push(row);
                rows.chosen.len() >= MOST_ROWS
            }
            (Collected::Built(columns), original) if !matches!(original, Original::Row(_)) => {
                columns.push(document);
                columns.rows >= MOST_ROWS || columns.size >= MOST_BYTES
            }
            _ => return Err(MIXED.to_owned()),
        };
        if full { self.flush().map_err(|error| error.to_string()) } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ArrowError> {
        let rows = match &mut self.kind {
            Some(Collected::Chosen(rows)) => rows.take()?,
            Some(Collected::Built(columns)) => columns.take()?,
            None => None,
        };
        self.done.extend(rows);
        Ok(())
    }

    /// Everything since the last call, and the key-value pairs of the input file.
    pub(super) fn take(&mut self) -> Result<(Vec<RecordBatch>, Vec<KeyValue>), String> {
        self.flush().map_err(|error| error.to_string())?;
        self.kind = None;
        Ok((std::mem::take(&mut self.done), std::mem::take(&mut self.pairs)))
    }

    /// Number of complete batches.
    pub(super) fn ready(&self) -> usize {
        self.done.len()
    }
}

/// The schema of documents that were not read from a table.
pub(super) fn plain_schema() -> SchemaRef {
    Columns::schema()
}

/// Rows selected from batches of the input.
struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    chosen: Vec<(usize, usize)>,
}

struct Columns {
    id: StringBuilder,
    url: StringBuilder,
    html: StringBuilder,
    text: StringBuilder,
    bytes: BinaryBuilder,
    content_type: StringBuilder,
    fetched: TimestampMillisecondBuilder,
    score: Float64Builder,
    language: StringBuilder,
    rows: usize,
    size: usize,
}

impl Rows {
    fn fits(&self, row: &Row) -> bool {
        let schema = row.rows.schema();
        Arc::ptr_eq(&schema, &self.schema) || schema.fields() == self.schema.fields()
    }

    fn push(&mut self, row: &Row) {
        // Rows of one input batch are consecutive, so comparing with the last is enough.
        let known = self.batches.last().is_some_and(|last| {
            last.num_rows() == row.rows.num_rows()
                && last.columns().iter().zip(row.rows.columns()).all(|(a, b)| Arc::ptr_eq(a, b))
        });
        if !known {
            self.batches.push(row.rows.clone());
        }
        self.chosen.push((self.batches.len() - 1, row.row));
    }

    fn take(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        if self.chosen.is_empty() {
            return Ok(None);
        }
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let rows = interleave_record_batch(&batches, &self.chosen)?;
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), rows.columns().to_vec())?;
        self.batches.clear();
        self.chosen.clear();
        Ok(Some(rows))
    }
}

impl Columns {
    fn schema() -> SchemaRef {
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        Arc::new(Schema::new(vec![
            Field::new("id", DataType::Utf8, false),
            text("url"),
            text("html"),
            text("text"),
            Field::new("bytes", DataType::Binary, true),
            text("content_type"),
            Field::new("fetched", utc, true),
            Field::new("score", DataType::Float64, true),
            text("language"),
        ]))
    }

    fn new() -> Self {
        Self {
            id: StringBuilder::new(),
            url: StringBuilder::new(),
            html: StringBuilder::new(),
            text: StringBuilder::new(),
            bytes: BinaryBuilder::new(),
            content_type: StringBuilder::new(),
            fetched: TimestampMillisecondBuilder::new().with_timezone("UTC"),
            score: Float64Builder::new(),
            language: StringBuilder::new(),
            rows: 0,
            size: 0,
        }
    }

    fn push(&mut self, document: &Document<'_>) {
        let kind = document.body.kind;
        let bytes = document.body.content.as_bytes();
        let text = |wanted| (kind == wanted).then(|| characters::of(document));
        self.id.append_value(&document.id);
        self.url.append_option(document.url.as_deref());
        self.html.append_option(text(Kind::Html));
        self.text.append_option(text(Kind::Text));
        self.bytes.append_option((kind == Kind::Other).then_some(bytes));
        self.content_type.append_option(document.content_type.as_deref());
        self.fetched.append_option(document.fetched.map(|it| it.seconds().saturating_mul(1000)));
        self.score.append_option(document.score);
        self.language.append_option(document.language.as_deref());
        self.rows += 1;
        self.size += bytes.len();
    }

    fn take(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        if self.rows == 0 {
            return Ok(None);
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.id.finish()),
            Arc::new(self.url.finish()),
            Arc::new(self.html.finish()),
            Arc::new(self.text.finish()),
            Arc::new(self.bytes.finish()),
            Arc::new(self.content_type.finish()),
            Arc::new(self.fetched.finish()),
            Arc::new(self.score.finish()),
            Arc::new(self.language.finish()),
        ];
        (self.rows, self.size) = (0, 0);
        RecordBatch::try_new(Self::schema(), columns).map(Some)
    }
}
