//! Counts the remaining duplicates of those found by a full dedup of the corpus.
//!
//! A group of the full dedup with *n* documents has *n* - 1 surplus documents, whichever copy is kept.

use anyhow::Context;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use hapax_search::job::Ranked;
use hapax_search::{DocumentId, Engine};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

/// The groups of a full dedup, by address of the document.
pub(crate) struct Groups(BTreeMap<String, u64>);

/// Duplicates in lists of results.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) results: u64,
    pub(crate) duplicates: u64,
}

impl Groups {
    /// Reads `groups.parquet`.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let mut groups = BTreeMap::new();
        for batch in ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()? {
            let batch = batch?;
            let urls = batch.column_by_name("url").context("no column url")?.as_string::<i32>();
            let group = batch.column_by_name("group").context("no column group")?;
            let group = group.as_primitive::<UInt64Type>();
            for row in 0..batch.num_rows() {
                groups.insert(urls.value(row).to_owned(), group.value(row));
            }
        }
        Ok(Self(groups))
    }

    /// The number of surplus documents after removing `removed`.
    pub(crate) fn surplus(&self, removed: &BTreeSet<&str>) -> u64 {
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        for (_, group) in self.0.iter().filter(|(url, _)| !removed.contains(url.as_str())) {
            *sizes.entry(*group).or_default() += 1;
        }
        sizes.values().map(|size| size - 1).sum()
    }

    /// Counts results among the top ten whose group has an earlier result among them.
    pub(crate) fn seen<E: Engine>(
        &self,
        engine: &E,
        queries: &[Ranked],
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> anyhow::Result<Seen> {
        let mut seen = Seen::default();
        for query in queries {
            let found = engine.top(&query.query.text, 10, hidden)?;
            let mut groups = BTreeSet::new();
            for facts in engine.facts(&found.top)? {
                seen.results += 1;
                if let Some(group) = self.0.get(&facts.name) {
                    seen.duplicates += u64::from(!groups.insert(*group));
                }
            }
        }
        Ok(seen)
    }
}
