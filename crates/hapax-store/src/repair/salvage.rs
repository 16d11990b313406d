//! Copies every readable row of a damaged file to a new file.
//!
//! Guarantees that a row is as it was written: it is on a page with a correct checksum, of the last commit or,
//! where its pages are damaged, of an earlier one; or it is a page record with its own checksum. Contradictions
//! are repaired afterwards. Does not handle files whose header, settings or key are lost.

use super::Findings;
use crate::checksums::{Commit, Image, Row};
use crate::disk::{Disk, Watch};
use crate::error::{Fault, Outcome, StoreError, guarded};
use crate::{codec, confirm, frames, opening, tables};
use hapax::group::live::PageId;
use redb::{
    Key, ReadableTable, StorageBackend, TableDefinition, TableHandle, Value, WriteTransaction,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Salvage {
    /// Tables with damaged pages, and how much of them was read.
    pub(super) tables: Findings,
    /// Number of page records that could not be read.
    pub(super) lost_pages: u64,
}

/// Writes the readable rows of `file` to a new file.
pub(super) fn save(file: &Path, new: &Path, disk: &Arc<dyn Disk>) -> Result<Salvage, StoreError> {
    let backend = opening::open_backend(file, disk, Arc::<Watch>::default())?;
    let refused = |source| StoreError::Disk { file: file.to_owned(), source };
    let read = |at, out: &mut [u8]| backend.read(at, out);
    let len = backend.len().map_err(refused)?;
    let Some(image) = Image::open(&read, len).map_err(refused)? else {
        let what = "its header cannot be read".to_owned();
        return Err(StoreError::Foreign { file: file.to_owned(), what });
    };
    let commits = image.commits().map_err(refused)?;
    let from = (&image, commits.as_slice());
    let mut salvage = Salvage::default();
    opening::make(new, disk, |db| {
        guarded(|| {
            let writing = db.begin_write()?;
            let sound = |row: &Row<'_>| row.sound;
            macro_rules! save {
                ($($table:expr),*) => {$(salvage.table(from, &writing, $table, sound)?;)*};
            }
            save!(tables::META, confirm::SECRET, tables::COUNTERS, tables::URLS, tables::NAMES);
            save!(tables::FORMER, tables::PLACES, tables::GROUPS, tables::MEMBERS, tables::SOURCES);
            save!(tables::EVENTS, frames::HOSTS, frames::FRAMES, frames::TEXTS);
            let record = |row: &Row<'_>| {
                let page = row.key.try_into().map(|key| PageId(u32::from_le_bytes(key)));
                page.is_ok_and(|page| codec::read_page(page, row.value).is_ok())
            };
            salvage.lost_pages = salvage.table(from, &writing, tables::PAGES, record)?;
            Ok(writing.commit()?)
        })
    })?;
    let db = opening::open_file(new, disk, Arc::default(), opening::CACHE_BYTES)?;
    if opening::read_settings(&db, new).and_then(|_| opening::read_key(&db, new)).is_err() {
        drop(db);
        super::removed(new)?;
        let what =
            "its settings or its key cannot be read, so nothing of it can be saved".to_owned();
        return Err(StoreError::Damaged { file: file.to_owned(), what });
    }
    Ok(salvage)
}

/// An unused name for the damaged file, in the same folder.
pub(super) fn kept_as(file: &Path) -> PathBuf {
    let named = |n: u32| {
        let suffix = if n == 1 { "damaged".into() } else { format!("damaged-{n}") };
        file.with_added_extension(suffix)
    };
    (1..).map(named).find(|name| !name.exists()).unwrap_or_else(|| named(1))
}

impl Salvage {
    /// Copies the rows of a table for which `right` is true; returns the number of missing rows.
    fn table<K: Key + 'static, V: Value + 'static>(
        &mut self,
        (image, commits): (&Image<'_>, &[Commit]),
        writing: &WriteTransaction,
        definition: TableDefinition<'_, K, V>,
        right: impl Fn(&Row<'_>) -> bool,
    ) -> Outcome<u64> {
        let mut table = writing.open_table(definition)?;
        let (mut count, mut failed) = (0, None);
        let mut put = |row: &Row<'_>| -> Outcome<()> {
            if right(row) && table.get(K::from_bytes(row.key))?.is_none() {
                table.insert(K::from_bytes(row.key), V::from_bytes(row.value))?;
                count += 1;
            }
            Ok(())
        };
        let extent = image.rows(commits, definition.name(), &mut |row| {
            if failed.is_none() {
                failed = put(row).err();
            }
        });
        let extent = extent.map_err(|error| Fault::from(redb::Error::Io(error)))?;
        if let Some(fault) = failed {
            return Err(fault);
        }
        if extent.bad_pages == 0 {
            return Ok(0);
        }
        let name = definition.name();
        let of = extent.rows.map_or("an unknown number".into(), |rows| rows.to_string());
        self.tables.add(|| format!("table `{name}`: {count} rows of {of} could be read"));
        Ok(extent.rows.unwrap_or(0).saturating_sub(count))
    }
}
