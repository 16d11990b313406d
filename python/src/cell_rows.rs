//! Rows between the steps of a join by length: pages on their way to a machine.
//!
//! A row is a page and the cells of one machine that it goes to: its own for a stored page, those
//! its box intersects for a new one. Batches are cut by their bytes, because a new page goes to many
//! machines.
//!
//! Whatever comes back may be wrong: a stored table lives for years. Columns, types and sets are
//! checked, and so is the mapping by which a page was placed.

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Float64Builder, Int32Builder, ListBuilder, StringBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, RecordBatch};
use hapax_dedup::columns;
use hapax_partition::LengthVector;
use pyo3::prelude::*;

use crate::errors::raised;
use crate::texts::{Content, Texts};

/// Bytes of features from which on a batch is full.
const FULL: usize = 8 << 20;
/// Pairs of a batch.
const PAIRS: usize = 1 << 16;

fn wrong(what: impl Into<String>) -> PyErr {
    raised("CorpusError", what, None)
}

pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> PyResult<RecordBatch> {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns)
        .map_err(|error| raised("ArrowError", error.to_string(), None))
}

columns! {
    struct PageColumns of PageRow<'a> {
        machine: i32 => Int32Builder, append_value;
        cells: Vec<Option<i32>> => ListBuilder<Int32Builder>, append_value;
        id: &'a str => StringBuilder, append_value;
        language: &'a str => StringBuilder, append_value;
        lengths: Vec<Option<i32>> => ListBuilder<Int32Builder>, append_value;
        features: Vec<u8> => BinaryBuilder, append_value;
        new: bool => BooleanBuilder, append_value;
        placed_by: &'a str => StringBuilder, append_value;
    }
}

columns! {
    struct PairColumns of PairRow<'a> {
        new: &'a str => StringBuilder, append_value;
        stored: &'a str => StringBuilder, append_value;
        similarity: f64 => Float64Builder, append_value;
    }
}

/// A page on its way.
pub(crate) struct Travelling<'a> {
    pub(crate) machine: u32,
    pub(crate) cells: &'a [usize],
    pub(crate) id: &'a str,
    pub(crate) language: &'a str,
    pub(crate) lengths: &'a LengthVector,
    pub(crate) features: &'a [u64],
}

/// Batches of pages on their way.
#[derive(Default)]
pub(crate) struct Outgoing {
    done: Vec<RecordBatch>,
    bytes: usize,
    columns: PageColumns,
}

impl Outgoing {
    pub(crate) fn push(&mut self, page: &Travelling<'_>, new: bool, by: &str) -> PyResult<()> {
        let features: Vec<u8> = page.features.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.bytes += features.len() + page.id.len() + 64;
        let lengths = page.lengths.lengths().iter();
        self.columns.push(PageRow {
            // Cells and machines are counted to less than 2^29 (`hapax_partition::grid`).
            machine: page.machine as i32,
            cells: page.cells.iter().map(|&cell| Some(cell as i32)).collect(),
            id: page.id,
            language: page.language,
            lengths: lengths.map(|&it| Some(i32::try_from(it).unwrap_or(i32::MAX))).collect(),
            features,
            new,
            placed_by: by,
        });
        if self.bytes >= FULL { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> PyResult<()> {
        self.bytes = 0;
        self.done.push(batch(self.columns.finish())?);
        Ok(())
    }

    pub(crate) fn finish(mut self) -> PyResult<Vec<RecordBatch>> {
        if self.bytes > 0 {
            self.flush()?;
        }
        Ok(self.done)
    }
}

/// Pages that have come to a machine.
pub(crate) struct Arrived {
    new: BooleanArray,
    cells: ListArray,
    lengths: ListArray,
    ids: Texts,
    features: Texts,
}

impl Arrived {
    /// The rows of a batch, all of them placed by the same mapping as here.
    pub(crate) fn of(rows: &RecordBatch, by: &str) -> PyResult<Self> {
        let column = |name: &str| {
            rows.column_by_name(name).ok_or_else(|| {
                wrong(format!("placed pages have no column {name:?}: place them again"))
            })
        };
        let list = |name: &str| -> PyResult<ListArray> {
            let found = column(name)?;
            let list = found.as_list_opt::<i32>().cloned();
            list.filter(|list| list.values().as_primitive_opt::<Int32Type>().is_some()).ok_or_else(
                || wrong(format!("column {name:?} is {}, not whole numbers", found.data_type())),
            )
        };
        let texts = |name: &str| -> PyResult<Texts> {
            column(name)?;
            Texts::of_batches(std::slice::from_ref(rows), name)
        };
        let placed_by = texts("placed_by")?;
        for row in 0..rows.num_rows() {
            if !matches!(placed_by.get(row), Some(Content::Text(it)) if it == by) {
                return Err(raised(
                    "RecipeMismatchError",
                    "stored pages were placed by another mapping, recipe or bound: place them \
                     again with place_by_length, or join them with the ones they were placed by",
                    None,
                ));
            }
        }
        let new = column("new")?.as_boolean_opt().cloned();
        Ok(Self {
            new: new.ok_or_else(|| wrong("column \"new\" is not true or false"))?,
            cells: list("cells")?,
            lengths: list("lengths")?,
            ids: texts("id")?,
            features: texts("features")?,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.new.len()
    }

    pub(crate) fn is_new(&self, row: usize) -> bool {
        self.new.is_valid(row) && self.new.value(row)
    }

    pub(crate) fn id(&self, row: usize) -> PyResult<&str> {
        match self.ids.get(row) {
            Some(Content::Text(id)) => Ok(id),
            Some(Content::Bytes(_)) | None => Err(wrong("a placed page has no id")),
        }
    }

    pub(crate) fn cells(&self, row: usize) -> Vec<i32> {
        numbers(&self.cells, row)
    }

    pub(crate) fn lengths(&self, row: usize) -> PyResult<LengthVector> {
        let lengths: Vec<u32> =
            numbers(&self.lengths, row).into_iter().map(i32::unsigned_abs).collect();
        LengthVector::new(&lengths).map_err(|error| wrong(error.to_string()))
    }

    /// Distinct, ascending.
    pub(crate) fn features(&self, row: usize) -> PyResult<Vec<u64>> {
        let bytes: &[u8] = match self.features.get(row) {
            Some(Content::Bytes(bytes)) => bytes,
            Some(Content::Text(_)) | None => &[],
        };
        let (whole, rest) = bytes.as_chunks::<8>();
        let features: Vec<u64> = whole.iter().map(|it| u64::from_le_bytes(*it)).collect();
        if features.is_empty() || !rest.is_empty() || !features.is_sorted_by(|a, b| a < b) {
            let id = self.id(row)?;
            return Err(wrong(format!("the features of {id:?} are damaged: place it again")));
        }
        Ok(features)
    }
}

fn numbers(list: &ListArray, row: usize) -> Vec<i32> {
    if list.is_null(row) {
        return Vec::new();
    }
    let found = list.value(row);
    found.as_primitive_opt::<Int32Type>().map_or_else(Vec::new, |it| it.values().to_vec())
}

/// Batches of pairs.
#[derive(Default)]
pub(crate) struct Pairs {
    done: Vec<RecordBatch>,
    count: usize,
    columns: PairColumns,
}

impl Pairs {
    pub(crate) fn push(&mut self, new: &str, stored: &str, similarity: f64) -> PyResult<()> {
        self.columns.push(PairRow { new, stored, similarity });
        self.count += 1;
        if self.count >= PAIRS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> PyResult<()> {
        self.count = 0;
        self.done.push(batch(self.columns.finish())?);
        Ok(())
    }

    pub(crate) fn finish(mut self) -> PyResult<Vec<RecordBatch>> {
        if self.count > 0 {
            self.flush()?;
        }
        Ok(self.done)
    }
}
