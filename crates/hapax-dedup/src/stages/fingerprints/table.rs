//! Reads and writes signatures as Arrow rows and Parquet files. A damaged or foreign file is an error.
//!
//! | column | holds |
//! |---|---|
//! | `id`, `url` | name; address, null without one |
//! | `recipe` | name and digest of the recipe |
//! | `fingerprint` | 64 bits, unsigned; null for a document without words |
//! | `content` | 16 bytes, equal for equal texts |
//! | `words`, `features`, `too_short` | amount of text, and whether it is too little for near matches |
//! | `weak_bits` | 64 positions, weakest first; null without a fingerprint |
//! | `sketch` | 128 bytes; null without a fingerprint |

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, FixedSizeBinaryBuilder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use hapax::fingerprint::{ContentHash, Fingerprint, Signature, Sketch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::super::LinesError;
use super::{Fingerprints, Listed, Stated, Take, kind};

/// First bytes of a Parquet file.
pub const MAGIC: &[u8; 4] = b"PAR1";
/// Rows per batch, written and read.
const BATCH_SIZE: usize = 4096;
/// Approximate size of a row group in bytes.
const ROW_GROUP: usize = 16 << 20;

/// Writes rows; take the finished bytes with [`ready`](Self::ready).
pub struct TableWriter {
    writer: ArrowWriter<Vec<u8>>,
    columns: SignatureRows,
}

impl TableWriter {
    /// A table without rows.
    pub fn new() -> Result<Self, ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("hapax-dedup ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), schema(), Some(properties))?;
        Ok(Self { writer, columns: SignatureRows::default() })
    }

    pub fn push(
        &mut self,
        id: &str,
        url: Option<&str>,
        recipe: &str,
        signature: &Signature,
    ) -> Result<(), ParquetError> {
        self.columns.push(id, url, recipe, signature)?;
        if self.columns.rows >= BATCH_SIZE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        self.writer.write(&self.columns.finish()?)?;
        if self.writer.in_progress_size() >= ROW_GROUP { self.writer.flush() } else { Ok(()) }
    }

    /// Takes the bytes finished so far.
    pub fn ready(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.inner_mut())
    }

    /// Ends the table and returns the last bytes.
    pub fn finish(mut self) -> Result<Vec<u8>, ParquetError> {
        self.flush()?;
        self.writer.into_inner()
    }
}

pub fn schema() -> SchemaRef {
    let bytes = |name: &str, length, nullable| {
        Field::new(name, DataType::FixedSizeBinary(length), nullable)
    };
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("url", DataType::Utf8, true),
        Field::new("recipe", DataType::Utf8, false),
        Field::new("fingerprint", DataType::UInt64, true),
        bytes("content", 16, false),
        Field::new("words", DataType::UInt32, false),
        Field::new("features", DataType::UInt32, false),
        Field::new("too_short", DataType::Boolean, false),
        bytes("weak_bits", 64, true),
        bytes("sketch", 128, true),
    ]))
}

/// Rows under construction.
#[derive(Debug)]
pub struct SignatureRows {
    id: StringBuilder,
    url: StringBuilder,
    recipe: StringBuilder,
    fingerprint: UInt64Builder,
    content: FixedSizeBinaryBuilder,
    words: UInt32Builder,
    features: UInt32Builder,
    too_short: BooleanBuilder,
    weak_bits: FixedSizeBinaryBuilder,
    sketch: FixedSizeBinaryBuilder,
    rows: usize,
}

impl Default for SignatureRows {
    fn default() -> Self {
        Self {
            id: StringBuilder::new(),
            url: StringBuilder::new(),
            recipe: StringBuilder::new(),
            fingerprint: UInt64Builder::new(),
            content: FixedSizeBinaryBuilder::new(16),
            words: UInt32Builder::new(),
            features: UInt32Builder::new(),
            too_short: BooleanBuilder::new(),
            weak_bits: FixedSizeBinaryBuilder::new(64),
            sketch: FixedSizeBinaryBuilder::new(128),
            rows: 0,
        }
    }
}

impl SignatureRows {
    pub fn push(
        &mut self,
        id: &str,
        url: Option<&str>,
        recipe: &str,
        signature: &Signature,
    ) -> Result<(), ArrowError> {
        self.id.append_value(id);
        self.url.append_option(url);
        self.recipe.append_value(recipe);
        self.content.append_value(signature.content.to_bytes())?;
        self.words.append_value(signature.words);
        self.features.append_value(signature.features);
        self.too_short.append_value(signature.too_short);
        let comparable = signature.comparable.as_ref();
        self.fingerprint.append_option(comparable.map(|it| it.fingerprint.to_bits()));
        match comparable {
            Some(comparable) => {
                self.weak_bits.append_value(comparable.sums.weakest_first())?;
                self.sketch.append_value(comparable.sketch.to_bytes())?;
            }
            None => {
                self.weak_bits.append_null();
                self.sketch.append_null();
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Takes the rows added so far.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.id.finish()),
            Arc::new(self.url.finish()),
            Arc::new(self.recipe.finish()),
            Arc::new(self.fingerprint.finish()),
            Arc::new(self.content.finish()),
            Arc::new(self.words.finish()),
            Arc::new(self.features.finish()),
            Arc::new(self.too_short.finish()),
            Arc::new(self.weak_bits.finish()),
            Arc::new(self.sketch.finish()),
        ];
        RecordBatch::try_new(schema(), columns)
    }
}

/// Calls `take` for each row of a table with the columns of [`TableWriter`].
pub(super) fn each<E: From<LinesError>>(file: File, take: Take<'_, E>) -> Result<(), E> {
    // The library panics on some damaged files.
    hapax_guard::guarded(|| each_row(file, take)).unwrap_or_else(|_| {
        Err(LinesError::foreign("the Parquet reader gave up on damaged data").into())
    })
}

fn each_row<E: From<LinesError>>(file: File, take: Take<'_, E>) -> Result<(), E> {
    let damaged = |error: &dyn std::fmt::Display| LinesError::foreign(&error.to_string());
    let together = hapax_corpus::rows_at_a_time(&file, BATCH_SIZE).map_err(|e| damaged(&e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(&e))?;
    let reader = builder.with_batch_size(together).build().map_err(|e| damaged(&e))?;
    let (mut stated, mut row) = (Stated::default(), 0);
    for rows in reader {
        each_of(&rows.map_err(|e| damaged(&e))?, &mut stated, &mut row, take)?;
    }
    Ok(())
}

/// Documents collected from tables of one recipe.
#[derive(Debug, Default)]
pub struct TableRows {
    pub list: Fingerprints,
    stated: Stated,
    row: u64,
}

impl TableRows {
    /// Adds the rows of a table.
    ///
    /// # Errors
    ///
    /// A column is missing or of another type, or a row has another recipe than those before.
    pub fn add(&mut self, rows: &RecordBatch) -> Result<(), LinesError> {
        each_of(rows, &mut self.stated, &mut self.row, &mut |_, listed| {
            let row = listed.number;
            let bad = |what: String| LinesError::foreign(&format!("row {row}: {what}"));
            self.list.push(listed).map_err(bad)
        })
    }
}

fn each_of<E: From<LinesError>>(
    rows: &RecordBatch,
    stated: &mut Stated,
    row: &mut u64,
    take: Take<'_, E>,
) -> Result<(), E> {
    let ids: &StringArray = column(rows, "id", "text")?;
    let urls: Option<&StringArray> = match rows.column_by_name("url") {
        Some(_) => Some(column(rows, "url", "text")?),
        None => None,
    };
    let recipes: &StringArray = column(rows, "recipe", "text")?;
    let fingerprints: &UInt64Array = column(rows, "fingerprint", "unsigned 64-bit numbers")?;
    let contents: &FixedSizeBinaryArray = column(rows, "content", "16 bytes each")?;
    let sketches: &FixedSizeBinaryArray = column(rows, "sketch", "128 bytes each")?;
    let too_short: &BooleanArray = column(rows, "too_short", "true and false")?;
    for at in 0..rows.num_rows() {
        *row += 1;
        let number = *row;
        stated.see(Some(recipes.value(at)).filter(|recipe| !recipe.is_empty()), number)?;
        let bad = |what: &str| LinesError::foreign(&format!("row {number}: {what}"));
        let content: [u8; 16] =
            contents.value(at).try_into().map_err(|_| bad("a content hash is 16 bytes"))?;
        let mut listed = Listed {
            number,
            name: Some(ids.value(at).as_bytes().to_vec()),
            url: urls.filter(|urls| urls.is_valid(at)).map(|urls| urls.value(at).to_owned()),
            content: Some(ContentHash::from_bytes(content)),
            too_short: too_short.value(at),
            ..Listed::default()
        };
        if fingerprints.is_valid(at) {
            let sketch: [u8; 128] =
                sketches.value(at).try_into().map_err(|_| bad("a sketch is 128 bytes"))?;
            listed.fingerprint = Some(Fingerprint::from_bits(fingerprints.value(at)));
            listed.sketch = Some(Sketch::from_bytes(&sketch));
        }
        take(stated.get(), listed)?;
    }
    Ok(())
}

fn column<'r, A: 'static>(
    rows: &'r RecordBatch,
    name: &str,
    wanted: &str,
) -> Result<&'r A, LinesError> {
    let Some(column) = rows.column_by_name(name) else {
        let schema = rows.schema_ref();
        let columns: Vec<&str> = schema.fields().iter().map(|it| it.name().as_str()).collect();
        return Err(kind::table_without(name, &columns));
    };
    column.as_any().downcast_ref().ok_or_else(|| LinesError::Table {
        what: format!("the column `{name}` is {}, not {wanted}", column.data_type()),
    })
}
