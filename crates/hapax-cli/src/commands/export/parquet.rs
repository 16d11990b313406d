//! Writes `pages.parquet` and `duplicates.parquet`, compressed with Zstandard.
//!
//! The same rows give the same bytes. Memory is one row group per table. Does not read repositories.

use super::rows::{Cells, DUPLICATES, PAGES, Relation, Row, Sink};
use super::{failed, sync};
use crate::failure::Failure;
use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, UInt8Array, UInt32Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use hapax_client::moment;
use hapax_corpus::write::Table;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct Tables {
    pages: (Table<File>, PathBuf),
    duplicates: (Table<File>, PathBuf),
}

impl Tables {
    pub(super) fn create(folder: &Path) -> Result<Self, Failure> {
        fs::create_dir(folder).map_err(|error| Failure::io("write", folder, error))?;
        let table = |relation: &Relation| {
            let path = folder.join(format!("{}.parquet", relation.name));
            let file = File::create(&path).map_err(|error| Failure::io("write", &path, error))?;
            let by = concat!("hapax ", env!("CARGO_PKG_VERSION"));
            let table =
                Table::create(file, &schema(relation), Vec::new(), &[], by, NonZeroUsize::MIN);
            Ok::<_, Failure>((table.map_err(|error| failed(&path, error))?, path))
        };
        Ok(Self { pages: table(&PAGES)?, duplicates: table(&DUPLICATES)? })
    }
}

impl Sink for Tables {
    fn put(&mut self, relation: &'static Relation, rows: &[&Row]) -> Result<(), Failure> {
        let (table, path) = match relation.name {
            "pages" => &mut self.pages,
            _ => &mut self.duplicates,
        };
        let columns = relation.columns.iter().map(|column| array(&column.cells, rows)).collect();
        let batch = RecordBatch::try_new(Arc::clone(table.schema()), columns);
        let batch = batch.map_err(|error| failed(path, error))?;
        table.push(batch).map_err(|error| failed(path, error))
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        for (table, path) in [self.pages, self.duplicates] {
            let file = table.finish().map_err(|error| failed(&path, error))?;
            sync(&file, &path)?;
        }
        Ok(())
    }
}

fn schema(relation: &Relation) -> SchemaRef {
    let field = |column: &super::rows::Column| {
        let holds = match column.cells {
            Cells::Text(_) => DataType::Utf8,
            Cells::Count(_) => DataType::UInt32,
            Cells::Bits(_) => DataType::UInt8,
            Cells::Number(_) => DataType::Float64,
            Cells::Share(_) => DataType::Float32,
            // Parquet has no timestamps in seconds.
            Cells::Time(_) => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            Cells::Flag(_) => DataType::Boolean,
        };
        Field::new(column.name, holds, column.nullable)
    };
    Arc::new(Schema::new(relation.columns.iter().map(field).collect::<Vec<_>>()))
}

fn array(cells: &Cells, rows: &[&Row]) -> ArrayRef {
    let rows = rows.iter().copied();
    match cells {
        Cells::Text(of) => Arc::new(rows.map(of).collect::<StringArray>()),
        Cells::Count(of) => Arc::new(rows.map(of).collect::<UInt32Array>()),
        Cells::Bits(of) => Arc::new(rows.map(of).collect::<UInt8Array>()),
        Cells::Number(of) => Arc::new(rows.map(of).collect::<Float64Array>()),
        Cells::Share(of) => Arc::new(rows.map(of).collect::<Float32Array>()),
        Cells::Time(of) => {
            let milliseconds = |seconds: u64| 1000 * seconds.min(moment::LAST) as i64;
            let times = rows.map(|row| of(row).map(milliseconds));
            Arc::new(times.collect::<TimestampMillisecondArray>().with_timezone("UTC"))
        }
        Cells::Flag(of) => Arc::new(rows.map(|row| Some(of(row))).collect::<BooleanArray>()),
    }
}
