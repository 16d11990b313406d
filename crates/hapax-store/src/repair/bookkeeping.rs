//! Repairs a file whose redb tables are damaged while the repository's tables are intact.
//!
//! First compares every page of the repository's tables with its checksum. Then makes the file look like an
//! unclosed one without redb's own tables, so that opening it rebuilds them.

use std::path::Path;
use std::sync::Arc;

use redb::StorageBackend;

use crate::checksums::{self, Tables};
use crate::disk::Disk;
use crate::error::StoreError;
use crate::opening;

/// Drops redb's own tables if they are damaged; returns whether they were.
pub(super) fn drop_damaged(file: &Path, disk: &Arc<dyn Disk>) -> Result<bool, StoreError> {
    let backend = opening::open_backend(file, disk, Arc::default())?;
    let refused = |source| StoreError::Disk { file: file.to_owned(), source };
    if backend.damage(Tables::Own).map_err(refused)?.is_empty() {
        return Ok(false);
    }
    opening::refuse_damaged(file, &backend.damage(Tables::Content).map_err(refused)?)?;
    let mut header = [0; checksums::HEADER];
    backend.read(0, &mut header).map_err(refused)?;
    checksums::drop_own_tables(&mut header);
    backend.write(0, &header).map_err(refused)?;
    backend.sync_data().map_err(refused)?;
    Ok(true)
}
