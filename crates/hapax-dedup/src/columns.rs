//! Arrow tables: columns are declared once in a list and read back by name.

use std::fs::File;

use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Rows per batch when reading.
const BATCH_SIZE: usize = 8192;

/// Opens a table for reading a bounded number of rows at a time.
pub(crate) fn opened(file: File) -> Result<ParquetRecordBatchReaderBuilder<File>, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let together = hapax_corpus::rows_at_a_time(&file, BATCH_SIZE).map_err(|e| text(&e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| text(&e))?;
    Ok(builder.with_batch_size(together))
}

/// A column of a table that may come from outside, so its name and type are checked.
pub(crate) fn column<'r, A: 'static>(rows: &'r RecordBatch, name: &str) -> Result<&'r A, String> {
    let column = rows.column_by_name(name).ok_or_else(|| format!("it has no column `{name}`"))?;
    let typed = column.as_any().downcast_ref();
    typed.ok_or_else(|| format!("its column `{name}` is {}", column.data_type()))
}

/// Declares a row and a table from one list of columns: name, type in a row, builder, and how to
/// append.
///
/// `finish` returns the columns by name in the order of the list and empties the builders.
#[macro_export]
macro_rules! columns {
    (
        $visible:vis struct $columns:ident of $row:ident $(<$life:lifetime>)? {
            $($name:ident: $value:ty => $builder:ty, $append:ident;)+
        }
    ) => {
        #[derive(Clone, Debug, Default)]
        $visible struct $row $(<$life>)? {
            $($visible $name: $value,)+
        }

        #[derive(Default)]
        $visible struct $columns {
            $($name: $builder,)+
        }

        impl $columns {
            $visible fn push $(<$life>)? (&mut self, row: $row $(<$life>)?) {
                $(self.$name.$append(row.$name);)+
            }

            $visible fn finish(&mut self) -> Vec<(&'static str, ::arrow_array::ArrayRef)> {
                vec![$((stringify!($name), ::std::sync::Arc::new(self.$name.finish())),)+]
            }
        }
    };
}
