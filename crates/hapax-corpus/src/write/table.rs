//! A Parquet file, packed with Zstandard, whose row groups are encoded side by side.
//!
//! Rows wait until they are enough for a row group; a thread encodes it while others are read, and groups are
//! appended in order. Where a group ends depends on the rows alone, so the same rows give the same bytes for any
//! number of threads. Memory is one row group for each thread.

use std::collections::VecDeque;
use std::io::Write;
use std::num::NonZero;
use std::sync::Arc;
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

/// A row group is closed when its columns have as many bytes, not packed.
const ROW_GROUP: usize = 32 << 20;

type Encoded = Result<Vec<ArrowColumnChunk>, ParquetError>;

pub struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    waiting: Vec<RecordBatch>,
    bytes: usize,
    encoding: VecDeque<JoinHandle<Encoded>>,
    started: usize,
    threads: usize,
}

impl<W: Write + Send> Table<W> {
    /// A table into `file`; `pairs` are kept with it, `by` says who wrote it.
    pub fn create(
        file: W,
        schema: &SchemaRef,
        pairs: Vec<KeyValue>,
        by: &str,
        threads: NonZero<usize>,
    ) -> Result<Self, ParquetError> {
        let properties = WriterProperties::builder()
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
        self.waiting.push(rows);
        if self.bytes >= ROW_GROUP { self.start() } else { Ok(()) }
    }

    /// Encodes what waits as a row group.
    fn start(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        if rows.iter().all(|it| it.num_rows() == 0) {
            return Ok(());
        }
        let columns = self.factory.create_column_writers(self.started)?;
        self.started += 1;
        if self.threads == 1 {
            return self.append(encode(&rows, columns)?);
        }
        if self.encoding.len() >= self.threads {
            self.append_first()?;
        }
        self.encoding.push_back(thread::spawn(move || encode(&rows, columns)));
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

    /// Ends the table; the file, not yet synced.
    pub fn finish(mut self) -> Result<W, ParquetError> {
        self.start()?;
        while !self.encoding.is_empty() {
            self.append_first()?;
        }
        self.writer.into_inner()
    }
}

/// What the values take: no room that was reserved for more, so equal rows count the same.
pub(super) fn bytes_of(rows: &RecordBatch) -> usize {
    rows.columns().iter().map(|it| it.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}

fn encode(rows: &[RecordBatch], mut writers: Vec<ArrowColumnWriter>) -> Encoded {
    for batch in rows {
        let mut writers = writers.iter_mut();
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            for (leaf, writer) in compute_leaves(field, column)?.iter().zip(&mut writers) {
                writer.write(leaf)?;
            }
        }
    }
    writers.into_iter().map(ArrowColumnWriter::close).collect()
}
