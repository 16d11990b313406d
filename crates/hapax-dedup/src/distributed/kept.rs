//! Distributed steps that write: the kept documents of a part (its second reading), and the signatures of kept
//! documents, for comparison with the next crawl.

use std::path::Path;

use arrow_array::RecordBatch;
use hapax_corpus::write::create;
use hapax_corpus::{Entry, Source};

use super::Steps;
use super::rows::Rows;
use crate::against;
use crate::error::Error;
use hapax::join::OneThread;

/// Counts of one written part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub kept: u64,
    pub removed: u64,
}

/// Writes the documents of a part of a source, without those at the positions `removed`, which are
/// ascending. `documents` is how many the first reading found.
///
/// # Errors
///
/// A record is bad, or the part changed since the first reading.
///
/// # Panics
///
/// The source has no such part.
pub fn write_part(
    source: &Source,
    part: usize,
    removed: &[i64],
    documents: u64,
    path: &Path,
) -> Result<Part, Error> {
    let mut writer = create(path, Some(source))?;
    let mut number = 0;
    let mut done = Part::default();
    for mut batch in source.part(part) {
        for entry in batch.entries() {
            let Entry::Document(document) = entry? else { continue };
            if removed.binary_search(&number).is_ok() {
                done.removed += 1;
            } else {
                writer.write(&document)?;
                done.kept += 1;
            }
            number += 1;
        }
    }
    if done.kept + done.removed != documents || done.removed != removed.len() as u64 {
        let path = source.files().collect::<Vec<_>>().join(", ");
        return Err(Error::Changed { path });
    }
    writer.finish()?;
    Ok(done)
}

impl Steps {
    /// Writes signatures (`position`, `named`, `page`) as `--against` reads them; returns their
    /// number.
    ///
    /// # Errors
    ///
    /// The rows lack a column, or the file cannot be written.
    pub fn write_signatures(&self, rows: &RecordBatch, path: &Path) -> Result<u64, Error> {
        let loaded = Rows::of(rows, "signature").pages(|_| true)?;
        let pages = &loaded.pages;
        let all: Vec<u32> = (0..pages.len() as u32).collect();
        against::write(path, &self.options, pages, &all, &OneThread)?;
        Ok(pages.len() as u64)
    }
}
