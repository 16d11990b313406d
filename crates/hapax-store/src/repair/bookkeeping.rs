//! A file whose bookkeeping is damaged and whose tables are sound.
//!
//! Every page of the tables is compared with its checksum first. Then the file is made to look as if it
//! had no bookkeeping and had not been closed: whoever opens it next makes a new one from the tables.

use std::path::Path;
use std::sync::Arc;

use redb::StorageBackend;

use crate::checksums::{self, Tables};
use crate::disk::Disk;
use crate::error::StoreError;
use crate::opening;

/// Drops the bookkeeping of a file if it is damaged. Says whether it was.
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
