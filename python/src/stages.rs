//! Pairs and groups: the stages of a job one by one.
//!
//! The same functions as `hapax pairs` and `hapax groups`; here columns are taken apart and put
//! together.

use std::num::NonZero;
use std::path::PathBuf;

use arrow_array::builder::{
    BooleanBuilder, Float32Builder, StringBuilder, UInt8Builder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::types::{Float32Type, UInt8Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_pyarrow::{PyArrowType, Table};
use arrow_schema::ArrowError;
use hapax::group::Rules;
use hapax::similarity::{MinSimilarity, Policy};
use hapax_dedup::stages::fingerprints::table::TableRows;
use hapax_dedup::stages::fingerprints::{Fingerprints, Listed};
use hapax_dedup::stages::grouping::{NamedPair, Pairs};
use hapax_dedup::stages::pairing::{self, Pair};
use hapax_dedup::{Stop, Threads, columns};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::cell_rows::batch;
use crate::errors::{of_argument, of_job, of_lines, raised};
use crate::index::{bound, bytes_of, numbers};
use crate::workers::{interruptible, threads};

fn arrow(error: &ArrowError) -> PyErr {
    raised("ArrowError", error.to_string(), None)
}

/// A similarity as the caller says it.
pub(crate) fn similarity(given: f64) -> PyResult<MinSimilarity> {
    MinSimilarity::new(given).ok_or_else(|| {
        raised("ArgumentError", format!("min_similarity {given}: it is 0 to 1"), None)
    })
}

/// Rules as the caller says them.
pub(crate) fn rules(keep: &str) -> PyResult<Rules> {
    keep.parse().map_err(|error: hapax::group::ParseRulesError| of_argument(&error))
}

/// How pairs are found.
#[derive(Clone)]
struct Search {
    policy: Policy,
    threads: NonZero<usize>,
    stop: Stop,
}

impl Search {
    fn new(within: u32, min_similarity: f64, asked_threads: i64) -> PyResult<Self> {
        let policy = Policy { within: bound(within)?, min_similarity: similarity(min_similarity)? };
        Ok(Self { policy, threads: threads(asked_threads)?, stop: Stop::default() })
    }

    fn find(&self, list: &Fingerprints) -> PyResult<Vec<Pair>> {
        let pool = Threads::new(self.threads).map_err(|error| of_job(&error))?.until(&self.stop);
        let found = pool.run(|pool| pairing::find(list, self.policy, pool));
        found.map_err(|error| of_job(&error))
    }
}

/// All near pairs of fingerprints: places of both and distances, as columns of bytes.
#[pyfunction]
pub(crate) fn pairs_of_fingerprints<'py>(
    py: Python<'py>,
    fingerprints: &[u8],
    within: u32,
    asked_threads: i64,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let search = Search::new(within, 0.0, asked_threads)?;
    let (bits, stop) = (numbers(fingerprints)?, search.stop.clone());
    let (a, b, distances) = interruptible(py, &stop, move || {
        let mut list = Fingerprints::default();
        for bits in bits {
            let fingerprint = Some(hapax::fingerprint::Fingerprint::from_bits(bits));
            let listed = Listed { fingerprint, ..Listed::default() };
            list.push(listed).map_err(|what| raised("ArgumentError", what, None))?;
        }
        let pairs = search.find(&list)?;
        let distances: Vec<u8> = pairs.iter().map(|pair| pair.distance).collect();
        let a = bytes_of(pairs.iter().map(|pair| u64::from(pair.a)));
        Ok((a, bytes_of(pairs.iter().map(|pair| u64::from(pair.b))), distances))
    })?;
    Ok((PyBytes::new(py, &a), PyBytes::new(py, &b), PyBytes::new(py, &distances)))
}

/// All near pairs of signatures in a table.
#[pyfunction]
pub(crate) fn pairs_of_table(
    py: Python<'_>,
    stream: PyArrowType<RecordBatchStreamReader>,
    within: u32,
    min_similarity: f64,
    asked_threads: i64,
) -> PyResult<PyArrowType<Table>> {
    let search = Search::new(within, min_similarity, asked_threads)?;
    interruptible(py, &search.stop.clone(), move || {
        let mut rows = TableRows::default();
        for batch in stream.0 {
            let batch = batch.map_err(|error| arrow(&error))?;
            rows.add(&batch).map_err(|error| of_lines(&error, None))?;
        }
        let pairs = search.find(&rows.list)?;
        named_table(&rows.list, &pairs)
    })
}

/// All near pairs of what `hapax fingerprint` wrote.
#[pyfunction]
pub(crate) fn pairs_of_file(
    py: Python<'_>,
    path: PathBuf,
    within: u32,
    min_similarity: f64,
    asked_threads: i64,
) -> PyResult<PyArrowType<Table>> {
    let search = Search::new(within, min_similarity, asked_threads)?;
    interruptible(py, &search.stop.clone(), move || {
        let list = Fingerprints::open(&path).map_err(|error| of_lines(&error, Some(&path)))?;
        let pairs = search.find(&list)?;
        named_table(&list, &pairs)
    })
}

columns! {
    struct PairColumns of PairRow<'a> {
        a: &'a str => StringBuilder, append_value;
        b: &'a str => StringBuilder, append_value;
        distance: u8 => UInt8Builder, append_value;
        similarity: Option<f32> => Float32Builder, append_option;
        exact: bool => BooleanBuilder, append_value;
    }
}

columns! {
    struct GroupColumns of GroupRow<'a> {
        group: u64 => UInt64Builder, append_value;
        document: &'a str => StringBuilder, append_value;
        winner: &'a str => StringBuilder, append_value;
        outcome: &'a str => StringBuilder, append_value;
        distance: u8 => UInt8Builder, append_value;
        similarity: f32 => Float32Builder, append_value;
        reason: Option<String> => StringBuilder, append_option;
    }
}

fn named_table(list: &Fingerprints, pairs: &[Pair]) -> PyResult<PyArrowType<Table>> {
    let mut columns = PairColumns::default();
    for &Pair { a, b, distance, similarity, exact, .. } in pairs {
        let [a, b] = [a, b].map(|page| list.ids[page as usize].as_str());
        columns.push(PairRow { a, b, distance, similarity, exact });
    }
    table_of(columns.finish())
}

fn table_of(columns: Vec<(&str, ArrayRef)>) -> PyResult<PyArrowType<Table>> {
    let batch = batch(columns)?;
    let schema = batch.schema();
    Ok(PyArrowType(Table::try_new(vec![batch], schema).map_err(|error| arrow(&error))?))
}

/// Groups of documents by their pairs: columns a, b (text), distance, similarity and exact.
#[pyfunction]
pub(crate) fn groups_of_pairs(
    py: Python<'_>,
    stream: PyArrowType<RecordBatchStreamReader>,
    keep: &str,
) -> PyResult<PyArrowType<Table>> {
    let rules = rules(keep)?;
    interruptible(py, &Stop::default(), move || {
        let mut named = Vec::new();
        for batch in stream.0 {
            add_pairs(&batch.map_err(|error| arrow(&error))?, &mut named)?;
        }
        let pairs = Pairs::of(named).map_err(|error| of_lines(&error, None))?;
        group_table(&pairs, &rules)
    })
}

fn add_pairs(batch: &RecordBatch, named: &mut Vec<NamedPair>) -> PyResult<()> {
    let missing = || raised("ArgumentError", "pairs need a, b, distance, similarity, exact", None);
    let column = |name: &str| batch.column_by_name(name).ok_or_else(missing);
    let text = |name: &str| -> PyResult<StringArray> {
        Ok(column(name)?.as_string_opt::<i32>().ok_or_else(missing)?.clone())
    };
    let (a, b) = (text("a")?, text("b")?);
    let distance = column("distance")?.as_primitive_opt::<UInt8Type>().ok_or_else(missing)?;
    let similarity = column("similarity")?.as_primitive_opt::<Float32Type>().ok_or_else(missing)?;
    let exact = column("exact")?.as_boolean_opt().ok_or_else(missing)?;
    for row in 0..batch.num_rows() {
        named.push(NamedPair {
            a: a.value(row).to_owned(),
            b: b.value(row).to_owned(),
            distance: distance.value(row),
            similarity: similarity.is_valid(row).then(|| similarity.value(row)),
            exact: exact.is_valid(row) && exact.value(row),
            a_url: None,
            b_url: None,
        });
    }
    Ok(())
}

fn group_table(pairs: &Pairs, rules: &Rules) -> PyResult<PyArrowType<Table>> {
    let grouping = pairs.group(rules).map_err(|error| of_job(&error))?;
    let facts = pairs.facts();
    let mut columns = GroupColumns::default();
    for (number, star) in (0u64..).zip(grouping.stars()) {
        for &page in grouping.members(star) {
            let placement = &grouping.placements()[page as usize];
            columns.push(GroupRow {
                group: number,
                document: &pairs.names[page as usize],
                winner: &pairs.names[star.winner as usize],
                outcome: placement.outcome.name(),
                distance: placement.distance,
                similarity: placement.similarity,
                reason: grouping.reason(rules, &facts, page).map(|why| why.to_string()),
            });
        }
    }
    table_of(columns.finish())
}
