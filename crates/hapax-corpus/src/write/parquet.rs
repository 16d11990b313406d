//! A Parquet file, packed with Zstandard.
//!
//! Rows that were read from Parquet go out with all their columns and the file's key and value
//! pairs; their schema is that of the first one, and a row of another schema is refused. Any other
//! document becomes a row of `id`, `url`, `html`, `text`, `bytes`, `content_type`, `fetched`,
//! `score`, `language`, where just one of `html`, `text` and `bytes` holds its body.
//!
//! Memory is one batch of rows and one row group.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, Float64Builder, StringBuilder, TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::interleave::interleave_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::file::PendingFile;
use super::{Writer, Written, characters};
use crate::document::{Document, Kind};
use crate::error::Error;
use crate::original::Original;
use crate::read::parquet::Row;

/// Rows that wait to be written together.
const MOST_ROWS: usize = 1024;
/// Bytes of bodies that wait to be written together.
const MOST_BYTES: usize = 16 << 20;
/// A row group is closed when it holds this much, packed.
const ROW_GROUP: usize = 64 << 20;

pub struct ParquetWriter {
    state: Writing,
    written: Written,
    name: String,
}

enum Writing {
    /// The first document decides on the schema.
    Empty(PendingFile),
    Copying(ArrowWriter<PendingFile>, Rows),
    Building(ArrowWriter<PendingFile>, Box<Columns>),
    Broken,
}

/// Rows chosen from batches of the input.
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

impl ParquetWriter {
    /// The file appears under this name when it is finished.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = PendingFile::create(path)?;
        let name = file.name();
        Ok(Self { state: Writing::Empty(file), written: Written::default(), name })
    }

    fn start(&mut self, document: Option<&Document<'_>>) -> Result<(), Error> {
        if !matches!(self.state, Writing::Empty(_)) {
            return Ok(());
        }
        let Writing::Empty(file) = std::mem::replace(&mut self.state, Writing::Broken) else {
            return Ok(());
        };
        self.state = match document.map(|it| &it.original) {
            Some(Original::Row(row)) => {
                let schema = row.rows.schema();
                let writer = open(file, &schema, Some(row.metadata.to_vec()))
                    .map_err(|error| self.error(&error))?;
                Writing::Copying(writer, Rows { schema, batches: Vec::new(), chosen: Vec::new() })
            }
            _ => {
                let writer = open(file, &Columns::schema(), None);
                let writer = writer.map_err(|error| self.error(&error))?;
                Writing::Building(writer, Box::new(Columns::new()))
            }
        };
        Ok(())
    }

    fn error(&self, error: &impl std::fmt::Display) -> Error {
        Error::Output { path: self.name.clone(), what: error.to_string() }
    }
}

impl Writer for ParquetWriter {
    fn write(&mut self, document: &Document<'_>) -> Result<(), Error> {
        self.start(Some(document))?;
        let result = match (&mut self.state, &document.original) {
            (Writing::Copying(writer, rows), Original::Row(row)) if rows.fits(row) => {
                rows.push(row);
                if rows.chosen.len() >= MOST_ROWS { rows.flush(writer) } else { Ok(()) }
            }
            (Writing::Building(writer, columns), original)
                if !matches!(original, Original::Row(_)) =>
            {
                columns.push(document);
                let full = columns.rows >= MOST_ROWS || columns.size >= MOST_BYTES;
                if full { columns.flush(writer) } else { Ok(()) }
            }
            _ => {
                return Err(self.error(
                    &"documents with different columns cannot share a Parquet file; write JSONL, \
                      or one file for each schema",
                ));
            }
        };
        result.map_err(|error| self.error(&error))?;
        self.written.documents += 1;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written, Error> {
        self.start(None)?;
        let file = match std::mem::replace(&mut self.state, Writing::Broken) {
            Writing::Copying(mut writer, mut rows) => {
                rows.flush(&mut writer).and_then(|()| Ok(writer.into_inner()?))
            }
            Writing::Building(mut writer, mut columns) => {
                columns.flush(&mut writer).and_then(|()| Ok(writer.into_inner()?))
            }
            Writing::Empty(file) => Ok(file),
            Writing::Broken => {
                return Err(self.error(&"an earlier document could not be written"));
            }
        };
        let bytes = file.map_err(|error| self.error(&error))?.finish()?;
        Ok(Written { bytes, ..self.written })
    }
}

fn open(
    file: PendingFile,
    schema: &SchemaRef,
    pairs: Option<Vec<KeyValue>>,
) -> Result<ArrowWriter<PendingFile>, ArrowError> {
    let level = ZstdLevel::try_new(3)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_key_value_metadata(pairs.filter(|it| !it.is_empty()))
        .set_created_by(concat!("hapax-corpus ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    Ok(ArrowWriter::try_new(file, Arc::clone(schema), Some(properties))?)
}

fn put(writer: &mut ArrowWriter<PendingFile>, rows: &RecordBatch) -> Result<(), ArrowError> {
    writer.write(rows)?;
    if writer.in_progress_size() >= ROW_GROUP {
        writer.flush()?;
    }
    Ok(())
}

impl Rows {
    fn fits(&self, row: &Row) -> bool {
        let schema = row.rows.schema();
        Arc::ptr_eq(&schema, &self.schema) || schema.fields() == self.schema.fields()
    }

    fn push(&mut self, row: &Row) {
        // Rows of one input batch follow each other, so looking at the last is enough.
        let known = self.batches.last().is_some_and(|last| {
            last.num_rows() == row.rows.num_rows()
                && last.columns().iter().zip(row.rows.columns()).all(|(a, b)| Arc::ptr_eq(a, b))
        });
        if !known {
            self.batches.push(row.rows.clone());
        }
        self.chosen.push((self.batches.len() - 1, row.row));
    }

    fn flush(&mut self, writer: &mut ArrowWriter<PendingFile>) -> Result<(), ArrowError> {
        if self.chosen.is_empty() {
            return Ok(());
        }
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let rows = interleave_record_batch(&batches, &self.chosen)?;
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), rows.columns().to_vec())?;
        self.batches.clear();
        self.chosen.clear();
        put(writer, &rows)
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

    fn flush(&mut self, writer: &mut ArrowWriter<PendingFile>) -> Result<(), ArrowError> {
        if self.rows == 0 {
            return Ok(());
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
        put(writer, &RecordBatch::try_new(Self::schema(), columns)?)
    }
}
