//! Copies of a repository: made while it is in use, and taken from elsewhere.
//!
//! A copy is of one commit, and complete when its file has its name; its index is rebuilt when it is opened. What is
//! copied is verified as it is read, so a damaged repository is not copied. What comes from elsewhere is checked as a
//! whole before it gets its name. Does not keep the differences between two copies.

use crate::disk::{self, RealDisk};
use crate::error::{Outcome, StoreError, guarded};
use crate::integrity::{Integrity, check_folder};
use crate::opening;
use crate::repository::Repository;
use crate::tables;
use crate::view::View;
use redb::{Database, ReadableTable};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

/// A folder in which a copy from elsewhere is checked.
const INCOMING: &str = "incoming.new";

impl Repository {
    /// Copies the repository as of the last commit to another folder, while it is in use. The
    /// copy is complete when its file has its name; its index is rebuilt when it is opened.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] when a repository is there, or a disk refuses.
    pub fn snapshot(&self, folder: &Path) -> Result<(), StoreError> {
        let file = folder.join(tables::FILE);
        if file.exists() {
            return Err(StoreError::Exists { folder: folder.to_owned() });
        }
        let new = folder.join(format!("{}.new", tables::FILE));
        let view = self.view();
        let disk = self.disk();
        opening::make(&new, disk, |db| guarded(|| copy(&view, db)))?;
        let renamed = disk::rename(&**disk, &new, &file);
        renamed.map_err(|source| StoreError::Disk { file, source })
    }
}

fn copy(view: &View, to: &Database) -> Outcome<()> {
    let writing = to.begin_write()?;
    macro_rules! copy_table {
        ($($table:expr),*) => {$({
            let from = view.transaction.open_table($table)?;
            let mut to = writing.open_table($table)?;
            for row in from.iter()? {
                let (key, value) = row?;
                to.insert(key.value(), value.value())?;
            }
        })*};
    }
    copy_table!(
        tables::META,
        crate::confirm::SECRET,
        tables::COUNTERS,
        tables::PAGES,
        tables::URLS,
        tables::NAMES,
        tables::FORMER,
        tables::PLACES,
        tables::GROUPS,
        tables::MEMBERS,
        tables::SOURCES,
        tables::EVENTS,
        crate::frames::HOSTS,
        crate::frames::FRAMES,
        crate::frames::TEXTS
    );
    Ok(writing.commit()?)
}

/// Takes a copy of so many bytes that somebody else made, such as the answer to `POST /v1/backup`, into a folder
/// without a repository.
///
/// # Errors
///
/// [`StoreError::Exists`]; it ends early, cannot be written, or is damaged. Then there is no repository.
pub fn receive(folder: &Path, copy: &mut dyn Read, bytes: u64) -> Result<Integrity, StoreError> {
    let file = folder.join(tables::FILE);
    if file.exists() {
        return Err(StoreError::Exists { folder: folder.to_owned() });
    }
    let incoming = folder.join(INCOMING);
    let checked = take_in(&incoming, copy, bytes);
    let placed = checked.and_then(|found| {
        let whole = incoming.join(tables::FILE);
        if !found.is_clean() {
            let what = found.details.join("; ");
            return Err(StoreError::Damaged { file: whole, what });
        }
        let named = disk::rename(&RealDisk, &whole, &file);
        named.map_err(|source| StoreError::Disk { file, source })?;
        Ok(found)
    });
    let _ = fs::remove_dir_all(&incoming);
    placed
}

fn take_in(folder: &Path, copy: &mut dyn Read, bytes: u64) -> Result<Integrity, StoreError> {
    let file = folder.join(tables::FILE);
    let refused = |source| StoreError::Disk { file: file.clone(), source };
    // What an interrupted copy left.
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refused(error)),
        _ => {}
    }
    fs::create_dir_all(folder).map_err(refused)?;
    let mut out = opening::new_file(&file).map_err(refused)?;
    let taken = io::copy(&mut copy.take(bytes), &mut out).map_err(refused)?;
    if taken != bytes {
        let what = format!("the copy ended after {taken} of {bytes} bytes");
        return Err(refused(io::Error::new(io::ErrorKind::UnexpectedEof, what)));
    }
    out.flush().and_then(|()| out.sync_all()).map_err(refused)?;
    drop(out);
    check_folder(folder)
}
