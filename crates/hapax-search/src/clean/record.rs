//! Writes `removed.parquet` and `queries.parquet`.
//!
//! | column of `removed.parquet` | contents |
//! |---|---|
//! | `document`, `url` | the duplicate: its name in the index, its address or null |
//! | `winner` | name of the kept document |
//! | `query`, `query_rank` | the query that found it, and its rank in the log, from 1 |
//! | `distance`, `k` | distance in bits, and the bound |
//! | `similarity` | estimated similarity, 0 to 1 |
//! | `rule`, `reason` | the rule that chose the winner |
//!
//! | column of `queries.parquet` | contents |
//! |---|---|
//! | `rank`, `query`, `count` | rank in the log, text, frequency |
//! | `results`, `examined` | number of results, and of those examined |
//! | `marked`, `removed` | number of removable results, and of those removed because of this query |
//! | `known` | whether nothing changed since the last run |
//! | `fresh_by_frequency` | estimated number of documents that no more frequent query has |
//! | `order_by_overlap`, `fresh_by_overlap` | position in the greedy order, from 1, and number of new documents there |

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, Float32Array, StringArray, UInt8Array, UInt64Array};
use parquet::arrow::ProjectionMask;
use parquet::errors::ParquetError;

use super::figures::Coverage;
use crate::guard::guarded;
use crate::job::{Outcome, Ranked, Removal};
use crate::rank::table::{opened, write};

/// The duplicates as a table.
pub fn removed(removals: &[Removal], queries: &[Ranked]) -> Result<Vec<u8>, ParquetError> {
    let texts: BTreeMap<u64, &str> =
        queries.iter().map(|it| (it.rank, it.query.text.as_str())).collect();
    let text = |get: &dyn Fn(&Removal) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(removals.iter().map(get)))
    };
    let small = |get: fn(&Removal) -> u8| -> ArrayRef {
        Arc::new(UInt8Array::from_iter_values(removals.iter().map(get)))
    };
    let url = removals.iter().map(|it| (!it.url.is_empty()).then_some(it.url.as_str()));
    let similarity = removals.iter().map(|it| it.mark.similarity);
    let query = |it: &Removal| texts.get(&it.mark.query).copied().unwrap_or_default();
    let rank = removals.iter().map(|it| it.mark.query);
    table(vec![
        ("document", text(&|it| &it.name)),
        ("url", Arc::new(StringArray::from_iter(url))),
        ("winner", text(&|it| &it.winner)),
        ("query", Arc::new(StringArray::from_iter_values(removals.iter().map(query)))),
        ("query_rank", Arc::new(UInt64Array::from_iter_values(rank))),
        ("distance", small(|it| it.mark.distance)),
        ("k", small(|it| it.mark.within)),
        ("similarity", Arc::new(Float32Array::from_iter_values(similarity))),
        ("rule", text(&|it| it.rule)),
        ("reason", text(&|it| &it.reason)),
    ])
}

/// The queries as a table.
pub fn queries(
    queries: &[Ranked],
    outcome: &Outcome,
    coverage: &Coverage,
) -> Result<Vec<u8>, ParquetError> {
    let mut removed: BTreeMap<u64, u64> = BTreeMap::new();
    for removal in &outcome.removed {
        *removed.entry(removal.mark.query).or_default() += 1;
    }
    let found = &outcome.queries;
    let numbers = |values: Vec<u64>| -> ArrayRef { Arc::new(UInt64Array::from(values)) };
    let of_queries = |get: fn(&Ranked) -> u64| numbers(queries.iter().map(get).collect());
    let text = queries.iter().map(|it| it.query.text.as_str());
    table(vec![
        ("rank", of_queries(|it| it.rank)),
        ("query", Arc::new(StringArray::from_iter_values(text))),
        ("count", of_queries(|it| it.query.count)),
        ("results", numbers(found.iter().map(|it| it.results).collect())),
        ("examined", numbers(found.iter().map(|it| it.examined).collect())),
        ("marked", numbers(found.iter().map(|it| it.marks.len() as u64).collect())),
        (
            "removed",
            numbers(queries.iter().map(|it| removed.get(&it.rank).copied().unwrap_or(0)).collect()),
        ),
        ("known", Arc::new(BooleanArray::from_iter(found.iter().map(|it| Some(it.known))))),
        ("fresh_by_frequency", numbers(coverage.by_frequency.clone())),
        ("order_by_overlap", numbers(coverage.order_by_overlap.clone())),
        ("fresh_by_overlap", numbers(coverage.by_overlap.clone())),
    ])
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Result<Vec<u8>, ParquetError> {
    let mut bytes = Vec::new();
    write(columns, &mut bytes)?;
    Ok(bytes)
}

/// The names of the duplicates in a record.
pub fn documents(path: &Path) -> Result<Vec<String>, ParquetError> {
    guarded(|| read_documents(path), ParquetError::General)
}

fn read_documents(path: &Path) -> Result<Vec<String>, ParquetError> {
    let builder = opened(File::open(path)?)?;
    let place = builder.schema().index_of("document")?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), [place]);
    let mut names = Vec::new();
    for batch in builder.with_projection(mask).build()? {
        let batch = batch?;
        let column = batch
            .column(0)
            .as_string_opt::<i32>()
            .ok_or_else(|| ParquetError::General("the column `document` is not text".to_owned()))?;
        names.extend(column.iter().flatten().map(str::to_owned));
    }
    Ok(names)
}
