//! Reads columns and pages from rows, and makes batches of columns.
//!
//! All integers are signed 64-bit, because engines such as Spark have no unsigned types; fingerprints and keys
//! keep their bits. A page is encoded as in files of signatures (`crate::signatures`).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, Int64Array, RecordBatch};
use arrow_schema::{Field, Schema};

use crate::error::Error;
use crate::frames::Own;
use crate::pages::Pages;
use crate::signatures::page_of_bytes;

/// A batch with columns read by name.
#[derive(Clone, Copy)]
pub(super) struct Rows<'b> {
    batch: &'b RecordBatch,
    kind: &'static str,
}

impl<'b> Rows<'b> {
    /// `kind` is the name of these rows in errors.
    pub(super) fn of(batch: &'b RecordBatch, kind: &'static str) -> Self {
        Self { batch, kind }
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> Error {
        Error::Rows { rows: self.kind, what: what.into() }
    }

    pub(super) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    pub(super) fn column<A: Array + 'static>(&self, name: &str) -> Result<&'b A, Error> {
        let Some(column) = self.batch.column_by_name(name) else {
            let schema = self.batch.schema();
            let there: Vec<&str> = schema.fields().iter().map(|it| it.name().as_str()).collect();
            return Err(self.wrong(format!("no column {name}; there are {}", there.join(", "))));
        };
        let typed = column.as_any().downcast_ref::<A>();
        typed.ok_or_else(|| {
            self.wrong(format!("column {name} cannot be of type {}", column.data_type()))
        })
    }

    /// An integer column without nulls.
    pub(super) fn numbers(&self, name: &str) -> Result<&'b [i64], Error> {
        let column: &Int64Array = self.column(name)?;
        if column.null_count() > 0 {
            return Err(self.wrong(format!("column {name} has nulls")));
        }
        Ok(column.values())
    }

    /// A column; `None` if the batch has no such column.
    pub(super) fn optional<A: Array + 'static>(&self, name: &str) -> Result<Option<&'b A>, Error> {
        self.batch.column_by_name(name).map(|_| self.column(name)).transpose()
    }

    /// The own text of a row, beyond the frame of its host; empty if the column is missing or null.
    pub(super) fn own(&self, column: Option<&BinaryArray>, row: usize) -> Result<Own, Error> {
        let bytes = column.filter(|column| column.is_valid(row)).map(|column| column.value(row));
        let own = bytes.map(|bytes| {
            Own::from_bytes(bytes).ok_or_else(|| self.wrong("an own text has 40 bytes"))
        });
        Ok(own.transpose()?.unwrap_or_default())
    }

    /// The pages of the wanted rows in order of position, with the flag of the column `named`.
    pub(super) fn pages(&self, wanted: impl Fn(usize) -> bool) -> Result<Loaded<'b>, Error> {
        let positions = self.numbers("position")?;
        let named: &BooleanArray = self.column("named")?;
        let bytes: &BinaryArray = self.column("page")?;
        let own = self.optional("own")?;
        let mut owns = Vec::new();
        let mut order: Vec<usize> = (0..self.len()).filter(|&row| wanted(row)).collect();
        order.sort_unstable_by_key(|&row| positions[row]);
        let mut loaded = Loaded::default();
        for row in order {
            let position = positions[row];
            if loaded.positions.last() == Some(&position) {
                return Err(self.wrong(format!("position {position} came twice")));
            }
            let page = page_of_bytes(bytes.value(row));
            let page = page.ok_or_else(|| self.wrong(format!("page {position} is damaged")))?;
            if loaded.pages.len() >= Pages::MOST {
                return Err(Error::TooMany { most: Pages::MOST });
            }
            loaded.pages.push(&page);
            loaded.positions.push(position);
            loaded.named.push(named.is_valid(row) && named.value(row));
            loaded.bytes.push(bytes.value(row));
            owns.push(self.own(own, row)?);
        }
        if owns.iter().any(|own| own.host != 0) {
            loaded.pages.set_owns(owns);
        }
        Ok(loaded)
    }
}

/// Pages of some rows, numbered in order of their corpus positions.
#[derive(Default)]
pub(super) struct Loaded<'b> {
    pub(super) pages: Pages,
    pub(super) positions: Vec<i64>,
    pub(super) named: Vec<bool>,
    pub(super) bytes: Vec<&'b [u8]>,
}

impl Loaded<'_> {
    /// The number of the page at a corpus position; `None` if no row has it.
    pub(super) fn place(&self, position: i64) -> Option<u32> {
        self.positions.binary_search(&position).ok().map(|place| place as u32)
    }
}

/// Makes a batch of named columns.
pub(super) fn batch(
    kind: &'static str,
    columns: Vec<(&str, ArrayRef)>,
) -> Result<RecordBatch, Error> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
        .collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| Error::Rows { rows: kind, what: error.to_string() })
}

pub(super) fn numbers(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}
