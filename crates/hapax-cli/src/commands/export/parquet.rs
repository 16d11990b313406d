//! `pages.parquet` and `duplicates.parquet`, packed with Zstandard.
//!
//! The same rows give the same bytes. Memory is one batch of rows and one row group of each table.
//! Knows nothing of repositories: rows come ready.

use super::rows::{DuplicateRow, PageRow, Sink};
use super::sync;
use crate::failure::Failure;
use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, UInt8Array, UInt32Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use hapax_client::moment;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are written together.
const TOGETHER: usize = 8192;

/// A row of one of the relations: its columns, and how many rows become arrays.
trait Row: Sized {
    fn fields() -> Vec<Field>;
    fn columns(rows: &[Self]) -> Vec<ArrayRef>;
}

struct Table<R> {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
    path: PathBuf,
    waiting: Vec<R>,
}

pub(super) struct Tables {
    pages: Table<PageRow>,
    duplicates: Table<DuplicateRow>,
}

impl Tables {
    pub(super) fn create(folder: &Path) -> Result<Self, Failure> {
        fs::create_dir(folder).map_err(|error| Failure::io("write", folder, error))?;
        Ok(Self {
            pages: Table::create(folder.join("pages.parquet"))?,
            duplicates: Table::create(folder.join("duplicates.parquet"))?,
        })
    }
}

impl Sink for Tables {
    fn page(&mut self, row: PageRow) -> Result<(), Failure> {
        self.pages.push(row)
    }

    fn duplicate(&mut self, row: DuplicateRow) -> Result<(), Failure> {
        self.duplicates.push(row)
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        self.pages.finish()?;
        self.duplicates.finish()
    }
}

fn failed(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    let context = format!("cannot write {}", crate::readable::path(path));
    Failure::Run(anyhow::Error::new(error).context(context))
}

impl<R: Row> Table<R> {
    fn create(path: PathBuf) -> Result<Self, Failure> {
        let file = File::create(&path).map_err(|error| Failure::io("write", &path, error))?;
        let level = ZstdLevel::try_new(3).map_err(|error| failed(&path, error))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_created_by(concat!("hapax ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let schema = Arc::new(Schema::new(R::fields()));
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties));
        let writer = writer.map_err(|error| failed(&path, error))?;
        Ok(Self { writer, schema, path, waiting: Vec::new() })
    }

    fn push(&mut self, row: R) -> Result<(), Failure> {
        self.waiting.push(row);
        if self.waiting.len() >= TOGETHER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let rows = std::mem::take(&mut self.waiting);
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), R::columns(&rows));
        let batch = batch.map_err(|error| failed(&self.path, error))?;
        self.writer.write(&batch).map_err(|error| failed(&self.path, error))
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        let file = self.writer.into_inner().map_err(|error| failed(&self.path, error))?;
        sync(&file, &self.path)
    }
}

fn texts<'a, R: 'a>(rows: &'a [R], of: impl Fn(&'a R) -> Option<&'a str>) -> ArrayRef {
    Arc::new(rows.iter().map(of).collect::<StringArray>())
}

/// In milliseconds, as Parquet has no seconds.
fn time() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
}

fn times<R>(rows: &[R], of: impl Fn(&R) -> Option<u64>) -> ArrayRef {
    let milliseconds = |row: &R| of(row).map(|seconds| 1000 * seconds.min(moment::LAST) as i64);
    let times: TimestampMillisecondArray = rows.iter().map(milliseconds).collect();
    Arc::new(times.with_timezone("UTC"))
}

impl Row for PageRow {
    fn fields() -> Vec<Field> {
        vec![
            Field::new("content", DataType::Utf8, true),
            Field::new("url", DataType::Utf8, false),
            Field::new("fingerprint", DataType::Utf8, true),
            Field::new("words", DataType::UInt32, false),
            Field::new("score", DataType::Float64, true),
            Field::new("fetched", time(), true),
            Field::new("changed", time(), true),
            Field::new("canonical", DataType::Utf8, true),
            Field::new("state", DataType::Utf8, false),
            Field::new("group_id", DataType::UInt32, true),
            Field::new("is_winner", DataType::Boolean, false),
            Field::new("removable", DataType::Boolean, false),
        ]
    }

    fn columns(rows: &[Self]) -> Vec<ArrayRef> {
        let all = || rows.iter();
        vec![
            texts(rows, |row| row.content.as_deref()),
            texts(rows, |row| Some(&row.url)),
            texts(rows, |row| row.fingerprint.as_deref()),
            Arc::new(all().map(|row| Some(row.words)).collect::<UInt32Array>()),
            Arc::new(all().map(|row| row.score).collect::<Float64Array>()),
            times(rows, |row| row.fetched),
            times(rows, |row| row.changed),
            texts(rows, |row| row.canonical.as_deref()),
            texts(rows, |row| Some(&row.state)),
            Arc::new(all().map(|row| row.group_id).collect::<UInt32Array>()),
            Arc::new(all().map(|row| Some(row.is_winner)).collect::<BooleanArray>()),
            Arc::new(all().map(|row| Some(row.removable)).collect::<BooleanArray>()),
        ]
    }
}

impl Row for DuplicateRow {
    fn fields() -> Vec<Field> {
        vec![
            Field::new("url", DataType::Utf8, false),
            Field::new("winner", DataType::Utf8, false),
            Field::new("verdict", DataType::Utf8, false),
            Field::new("similarity", DataType::Float32, true),
            Field::new("distance", DataType::UInt8, true),
            Field::new("rule", DataType::Utf8, true),
            Field::new("reason", DataType::Utf8, true),
        ]
    }

    fn columns(rows: &[Self]) -> Vec<ArrayRef> {
        let all = || rows.iter();
        vec![
            texts(rows, |row| Some(&row.url)),
            texts(rows, |row| Some(&row.winner)),
            texts(rows, |row| Some(&row.verdict)),
            Arc::new(all().map(|row| row.similarity).collect::<Float32Array>()),
            Arc::new(all().map(|row| row.distance).collect::<UInt8Array>()),
            texts(rows, |row| row.rule.as_deref()),
            texts(rows, |row| row.reason.as_deref()),
        ]
    }
}
