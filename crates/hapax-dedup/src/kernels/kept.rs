//! The second reading of a part: its documents that stay, in a file of their own.

use std::path::Path;

use hapax_corpus::write::create;
use hapax_corpus::{Entry, Source};

use crate::error::Error;

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
