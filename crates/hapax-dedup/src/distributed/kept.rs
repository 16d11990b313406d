//! What stays: the second reading of a part, whose documents are written to a file of their own, and the
//! signatures of documents, for the next crawl to be compared with.

use std::path::Path;

use arrow_array::RecordBatch;
use hapax_corpus::write::create;
use hapax_corpus::{Entry, Source};

use super::Steps;
use super::rows::Rows;
use crate::against;
use crate::error::Error;
use hapax::join::OneThread;

/// What was written of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Documents that stay.
    pub kept: u64,
    /// Documents that went.
    pub removed: u64,
}

/// Writes the documents of a part of a source except those with these numbers, which are ascending. `documents`
/// is how many there were when it was first read.
///
/// # Errors
///
/// A bad record; or the part is not what it was.
///
/// # Panics
///
/// When there are not so many parts.
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
    /// Writes the signatures of documents, `position`, `named` and `page`, as `--against` reads them; how many.
    ///
    /// # Errors
    ///
    /// These are no such rows, or the file cannot be written.
    pub fn write_signatures(&self, rows: &RecordBatch, path: &Path) -> Result<u64, Error> {
        let loaded = Rows::of(rows, "signature").pages(|_| true)?;
        let pages = &loaded.pages;
        let all: Vec<u32> = (0..pages.len() as u32).collect();
        against::write(path, &self.options, pages, &all, &OneThread)?;
        Ok(pages.len() as u64)
    }
}
