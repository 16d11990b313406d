//! Reads the verdicts on the documents of some files from `groups.parquet`.
//!
//! Skips row groups without these files: rows are in corpus order, so a shard reads little more than its own
//! part. Takes 24 bytes per document. A damaged or foreign table is an error.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use arrow_array::{RecordBatch, StringArray, UInt64Array};
use hapax::group::Outcome;
use parquet::arrow::ProjectionMask;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use xxhash_rust::xxh3::xxh3_64;

use crate::columns::{column, opened};
use crate::error::Error;

const COLUMNS: [&str; 4] = ["document", "outcome", "file", "record"];

/// Verdicts by file and record.
#[derive(Debug, Default)]
pub(super) struct Verdicts(BTreeMap<String, Vec<Line>>);

#[derive(Clone, Copy, Debug)]
struct Line {
    record: u64,
    /// Hash of the document's id.
    hash: u64,
    outcome: Outcome,
}

impl Verdicts {
    pub(super) fn read(path: &Path, files: impl Iterator<Item = String>) -> Result<Self, Error> {
        let mut verdicts = Self(files.map(|file| (file, Vec::new())).collect());
        let wrong = |reason: String| Error::Verdicts { path: path.to_owned(), reason };
        let file = hapax_corpus::open_file(path).map_err(|error| Error::io("open", path, error))?;
        let read = hapax_guard::guarded(|| verdicts.load(file));
        read.unwrap_or_else(Err).map_err(wrong)?;
        for lines in verdicts.0.values_mut() {
            lines.sort_unstable_by_key(|line| line.record);
        }
        Ok(verdicts)
    }

    fn load(&mut self, file: File) -> Result<(), String> {
        let builder = opened(file)?;
        let groups = builder.metadata().row_groups().iter().enumerate();
        let groups = groups.filter(|(_, group)| self.concerned(group)).map(|(at, _)| at).collect();
        let columns = ProjectionMask::columns(builder.parquet_schema(), COLUMNS);
        let reader = builder.with_row_groups(groups).with_projection(columns).build();
        let mut reader = reader.map_err(|error| error.to_string())?;
        reader.try_for_each(|rows| self.add(&rows.map_err(|error| error.to_string())?))
    }

    /// Whether a row group may hold rows of these files. Truncated statistics are still valid
    /// bounds.
    fn concerned(&self, group: &RowGroupMetaData) -> bool {
        let file = group.columns().iter().find(|it| it.column_path().string() == "file");
        match file.and_then(|it| it.statistics()) {
            Some(Statistics::ByteArray(names)) => match (names.min_opt(), names.max_opt()) {
                (Some(least), Some(most)) => self
                    .0
                    .keys()
                    .any(|name| least.data() <= name.as_bytes() && name.as_bytes() <= most.data()),
                _ => true,
            },
            _ => true,
        }
    }

    fn add(&mut self, rows: &RecordBatch) -> Result<(), String> {
        let documents: &StringArray = column(rows, COLUMNS[0])?;
        let outcomes: &StringArray = column(rows, COLUMNS[1])?;
        let files: &StringArray = column(rows, COLUMNS[2])?;
        let records: &UInt64Array = column(rows, COLUMNS[3])?;
        for at in 0..rows.num_rows() {
            let outcome = [Outcome::Kept, Outcome::Exact, Outcome::Near];
            let outcome = outcome.into_iter().find(|it| it.name() == outcomes.value(at));
            // Addresses and passed-over records have no verdict.
            let Some(outcome) = outcome else { continue };
            let Some(lines) = self.0.get_mut(files.value(at)) else { continue };
            let hash = xxh3_64(documents.value(at).as_bytes());
            lines.push(Line { record: records.value(at), hash, outcome });
        }
        Ok(())
    }

    /// The verdict on a document.
    pub(super) fn of(&self, file: &str, record: u64, id: &str) -> Result<Outcome, Error> {
        let lines = self.0.get(file).map(Vec::as_slice).unwrap_or_default();
        let undecided =
            |what| Error::Undecided { id: id.to_owned(), file: file.to_owned(), record, what };
        if lines.is_empty() {
            return Err(undecided(
                "the decision says nothing about this file; give inputs that were fingerprinted, named as then",
            ));
        }
        let line = lines.binary_search_by_key(&record, |line| line.record).map(|at| lines[at]);
        match line {
            Ok(line) if line.hash == xxh3_64(id.as_bytes()) => Ok(line.outcome),
            Ok(_) => {
                Err(undecided("the decision names another document there; the file has changed"))
            }
            Err(_) => Err(undecided("the decision names no document there; the file has changed")),
        }
    }

    /// Number of documents with a verdict.
    pub(super) fn len(&self) -> u64 {
        self.0.values().map(|lines| lines.len() as u64).sum()
    }
}
