//! Reads links from two columns of a Parquet file, of text or of integers.
//!
//! A damaged file is an error, even if the Parquet library panics. Does not interpret names.

use std::fs::File;
use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::graph::GraphError;
use super::names::LinksError;
use crate::guard::guarded;

/// Possible names of the two columns.
const COLUMNS: [(&str, &str); 4] =
    [("src", "dst"), ("from", "to"), ("source", "target"), ("src_id", "dst_id")];
/// Rows per batch.
const BATCH_SIZE: usize = 8192;
/// First bytes of a Parquet file.
pub const MAGIC: &[u8] = b"PAR1";

/// Reads links from columns called `src` and `dst`, `from` and `to`, `source` and `target`, or
/// `src_id` and `dst_id`. Skips rows with a null in either.
///
/// # Errors
///
/// It is not such a table. The links before the damage have been passed on.
pub fn read_parquet(
    file: File,
    link: impl FnMut(&str, &str) -> Result<(), GraphError>,
) -> Result<(), LinksError> {
    guarded(|| read_rows(file, link), |why| LinksError::Table { why })
}

/// Opens a table after checking its claimed sizes, with a number of rows per batch that fits.
pub(crate) fn opened(file: File) -> Result<ParquetRecordBatchReaderBuilder<File>, ParquetError> {
    let together = hapax_corpus::rows_at_a_time(&file, BATCH_SIZE)
        .map_err(|error| ParquetError::External(Box::new(error)))?;
    Ok(ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(together))
}

/// Writes a table with Zstandard compression.
pub(crate) fn write(
    columns: Vec<(&str, ArrayRef)>,
    out: impl Write + Send,
) -> Result<(), ParquetError> {
    let batch = RecordBatch::try_from_iter(columns)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("hapax-search ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = ArrowWriter::try_new(out, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close().map(drop)
}

fn read_rows(
    file: File,
    mut link: impl FnMut(&str, &str) -> Result<(), GraphError>,
) -> Result<(), LinksError> {
    let bad = |why: &dyn std::fmt::Display| LinksError::Table { why: why.to_string() };
    let builder = opened(file).map_err(|e| bad(&e))?;
    let schema = builder.schema().clone();
    let place = |name: &str| schema.index_of(name).ok();
    let found = COLUMNS.iter().find_map(|(from, to)| Some((place(from)?, place(to)?)));
    let Some((from, to)) = found else {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        return Err(LinksError::NoColumns { found: names.join(", ") });
    };
    let mask = ProjectionMask::roots(builder.parquet_schema(), [from, to]);
    let reader = builder.with_projection(mask).build().map_err(|e| bad(&e))?;
    // Columns are in the order of the file.
    let (from, to) = if from < to { (0, 1) } else { (1, 0) };
    for batch in reader {
        let batch = batch.map_err(|e| bad(&e))?;
        let (from, to) = (texts(batch.column(from))?, texts(batch.column(to))?);
        for row in 0..batch.num_rows() {
            if let (Some(from), Some(to)) = (from.get(row), to.get(row)) {
                link(&from, &to)?;
            }
        }
    }
    Ok(())
}

/// A column with a name per value.
struct Texts<'a>(Box<dyn Fn(usize) -> Option<std::borrow::Cow<'a, str>> + 'a>);

impl<'a> Texts<'a> {
    fn get(&self, row: usize) -> Option<std::borrow::Cow<'a, str>> {
        (self.0)(row)
    }
}

fn texts(column: &ArrayRef) -> Result<Texts<'_>, LinksError> {
    macro_rules! with {
        ($array:expr, $name:expr) => {{
            let array = $array;
            Texts(Box::new(move |row| (!array.is_null(row)).then(|| $name(array.value(row)))))
        }};
    }
    Ok(match column.data_type() {
        DataType::Utf8 => with!(column.as_string::<i32>(), std::borrow::Cow::Borrowed),
        DataType::LargeUtf8 => with!(column.as_string::<i64>(), std::borrow::Cow::Borrowed),
        DataType::Utf8View => with!(column.as_string_view(), std::borrow::Cow::Borrowed),
        DataType::Int32 => with!(column.as_primitive::<Int32Type>(), number),
        DataType::Int64 => with!(column.as_primitive::<Int64Type>(), number),
        DataType::UInt32 => with!(column.as_primitive::<UInt32Type>(), number),
        DataType::UInt64 => with!(column.as_primitive::<UInt64Type>(), number),
        other => {
            let why = format!("a column of links is {other}, neither text nor whole numbers");
            return Err(LinksError::Table { why });
        }
    })
}

fn number<'a>(number: impl ToString) -> std::borrow::Cow<'a, str> {
    std::borrow::Cow::Owned(number.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray};

    use super::*;

    fn links(columns: Vec<(&str, ArrayRef)>) -> Result<Vec<(String, String)>, LinksError> {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer =
            ArrowWriter::try_new(file.reopen().unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let mut found = Vec::new();
        read_parquet(file.reopen().unwrap(), |from, to| {
            found.push((from.to_owned(), to.to_owned()));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn columns_are_found_in_any_order_and_rows_without_an_end_are_passed() {
        let to: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), None, Some("c")]));
        let from: ArrayRef = Arc::new(StringArray::from(vec!["a", "a", "b"]));
        let other: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let found = links(vec![("to", to), ("weight", Arc::clone(&other)), ("from", from)]);
        let expected = [("a", "b"), ("b", "c")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(found.unwrap(), expected);
        let numbers = links(vec![("src", Arc::clone(&other)), ("dst", other)]).unwrap();
        assert_eq!(numbers[0], ("1".to_owned(), "1".to_owned()));
    }

    /// A changed byte gives links or an error.
    #[test]
    fn a_damaged_table_is_read_or_refused_and_never_a_panic() {
        let column = || -> ArrayRef { Arc::new(StringArray::from(vec!["a", "b", "c", "a"])) };
        let batch = RecordBatch::try_from_iter([("src", column()), ("dst", column())]).unwrap();
        let mut sound = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut sound, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut refused = 0;
        for at in 0..sound.len() {
            for change in [1, 0x80, 0xff] {
                let mut bytes = sound.clone();
                bytes[at] ^= change;
                std::fs::write(file.path(), &bytes).unwrap();
                let read = read_parquet(file.reopen().unwrap(), |_, _| Ok(()));
                refused += usize::from(read.is_err());
            }
        }
        assert!(refused > sound.len(), "{refused} of {} changes", 3 * sound.len());
    }

    #[test]
    fn a_table_without_links_says_what_it_has() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let error = links(vec![("a", Arc::clone(&column)), ("b", column)]).unwrap_err();
        assert!(error.to_string().ends_with("it has a, b"), "{error}");
    }
}
