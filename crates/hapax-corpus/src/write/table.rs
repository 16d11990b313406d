//! Writes a Parquet file with Zstandard compression, encoding row groups in parallel.
//!
//! Rows are collected to a row group; a thread encodes it while others are read, and groups are appended in
//! order. The columns of the last group, after which nothing is read, are encoded in parallel. The boundaries
//! of groups depend on the rows alone, so the same rows give the same bytes for any number of threads. Memory
//! is one row group per thread.

use std::collections::VecDeque;
use std::io::Write;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

/// A row group ends when its columns have this many uncompressed bytes or this many rows; it is
/// limited because the last one is encoded when nothing else is left to do.
const ROW_GROUP: usize = 32 << 20;
const ROWS: usize = 1 << 16;

type Encoded = Result<Vec<ArrowColumnChunk>, ParquetError>;

pub struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    waiting: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    encoding: VecDeque<JoinHandle<Encoded>>,
    started: usize,
    threads: usize,
}

impl<W: Write + Send> Table<W> {
    /// Writes a table to `file` with key-value `pairs`; `by` is the name of the writer. Columns in
    /// `unique` have hardly any repeated values, so they get no dictionary, which would cost time
    /// and space.
    pub fn create(
        file: W,
        schema: &SchemaRef,
        pairs: Vec<KeyValue>,
        unique: &[&str],
        by: &str,
        threads: NonZero<usize>,
    ) -> Result<Self, ParquetError> {
        let properties = unique.iter().fold(WriterProperties::builder(), |properties, column| {
            properties.set_column_dictionary_enabled(ColumnPath::from(*column), false)
        });
        let properties = properties
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_key_value_metadata(Some(pairs).filter(|it| !it.is_empty()))
            .set_created_by(by.to_owned())
            .build();
        let writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties))?;
        let (writer, factory) = writer.into_serialized_writer()?;
        Ok(Self {
            writer,
            factory,
            schema: Arc::clone(schema),
            waiting: Vec::new(),
            rows: 0,
            bytes: 0,
            encoding: VecDeque::new(),
            started: 0,
            threads: threads.get(),
        })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub fn push(&mut self, rows: RecordBatch) -> Result<(), ParquetError> {
        self.bytes += bytes_of(&rows);
        self.rows += rows.num_rows();
        self.waiting.push(rows);
        if self.bytes >= ROW_GROUP || self.rows >= ROWS { self.start(1) } else { Ok(()) }
    }

    /// Encodes the waiting rows as a row group, with `width` threads.
    fn start(&mut self, width: usize) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.waiting);
        (self.rows, self.bytes) = (0, 0);
        if rows.iter().all(|it| it.num_rows() == 0) {
            return Ok(());
        }
        let columns = self.factory.create_column_writers(self.started)?;
        self.started += 1;
        if self.threads == 1 {
            return self.append(encode(&rows, columns, 1)?);
        }
        if self.encoding.len() >= self.threads {
            self.append_first()?;
        }
        self.encoding.push_back(thread::spawn(move || encode(&rows, columns, width)));
        Ok(())
    }

    /// Waits for the oldest group.
    fn append_first(&mut self) -> Result<(), ParquetError> {
        let Some(first) = self.encoding.pop_front() else { return Ok(()) };
        let failed = || ParquetError::General("a thread that encodes rows failed".to_owned());
        let encoded = first.join().map_err(|_| failed())?;
        self.append(encoded?)
    }

    fn append(&mut self, columns: Vec<ArrowColumnChunk>) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in columns {
            column.append_to_row_group(&mut group)?;
        }
        group.close().map(drop)
    }

    /// Starts encoding the last rows, so that several tables can do so at once.
    pub fn end(&mut self) -> Result<(), ParquetError> {
        self.start(self.threads)
    }

    /// Ends the table and returns the file, not yet synced.
    pub fn finish(mut self) -> Result<W, ParquetError> {
        self.end()?;
        while !self.encoding.is_empty() {
            self.append_first()?;
        }
        self.writer.into_inner()
    }
}

/// Size of the values, without spare capacity, so that equal rows count the same.
pub(super) fn bytes_of(rows: &RecordBatch) -> usize {
    rows.columns().iter().map(|it| it.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}

/// Encodes the columns of a row group with up to `width` threads.
fn encode(rows: &[RecordBatch], writers: Vec<ArrowColumnWriter>, width: usize) -> Encoded {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    // A field has a column per leaf.
    let mut writers = writers.into_iter();
    let mut fields = Vec::new();
    for (number, field) in first.schema_ref().fields().iter().enumerate() {
        let leaves = compute_leaves(field, first.column(number))?.len();
        fields.push((number, writers.by_ref().take(leaves).collect::<Vec<_>>()));
    }
    let waiting = Mutex::new(fields.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<Vec<_>, ParquetError> {
        let mut done = Vec::new();
        while let Some((number, writers)) = next() {
            done.push((number, encode_field(rows, number, writers)?));
        }
        Ok(done)
    };
    let mut encoded = thread::scope(|scope| {
        let others: Vec<_> = (1..width).map(|_| scope.spawn(work)).collect();
        let mut encoded = work()?;
        for other in others {
            let failed = |_| ParquetError::General("a thread that encodes rows failed".to_owned());
            encoded.extend(other.join().map_err(failed)??);
        }
        Ok::<_, ParquetError>(encoded)
    })?;
    encoded.sort_unstable_by_key(|(number, _)| *number);
    Ok(encoded.into_iter().flat_map(|(_, columns)| columns).collect())
}

fn encode_field(
    rows: &[RecordBatch],
    number: usize,
    mut writers: Vec<ArrowColumnWriter>,
) -> Encoded {
    for batch in rows {
        let field = &batch.schema_ref().fields()[number];
        for (leaf, writer) in compute_leaves(field, batch.column(number))?.iter().zip(&mut writers)
        {
            writer.write(leaf)?;
        }
    }
    writers.into_iter().map(ArrowColumnWriter::close).collect()
}
