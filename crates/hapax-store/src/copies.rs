//! Copies of a repository, made while it is in use or from increments.
//!
//! A copy is of one commit, and complete when its file has its name; its index is rebuilt on opening. Data is
//! verified while it is copied, so a damaged repository is not copied. A copy from increments is verified
//! before it gets its name. A copy that takes writes gets its own epoch, so that it is not mistaken for the
//! original.

use crate::changes;
use crate::contents;
use crate::disk::{self, Disk, RealDisk};
use crate::error::{Outcome, StoreError, guarded};
use crate::increment::Rows;
use crate::increment::apply::apply;
use crate::integrity::{Integrity, check_folder};
use crate::lineage::{self, LINEAGE, Lineage, Role};
use crate::opening;
use crate::repository::Repository;
use crate::tables;
use crate::texts::{self, Texts};
use crate::view::View;
use redb::{Database, ReadableTable};
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// A folder in which a received copy is verified.
const INCOMING: &str = "incoming.new";

impl Repository {
    /// Copies the repository as of the last commit to another folder, while it is in use. The copy
    /// is complete when its file has its name; its index is rebuilt on opening.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] if the folder has a repository, or a disk error.
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
        contents::CONTENTS,
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
    {
        let mut meta = writing.open_table(tables::META)?;
        let mut lineage = Lineage::read(&meta)?;
        if lineage != Lineage::default() {
            lineage.begin(view.counters.commits, view.counters.last_event)?;
            meta.insert(LINEAGE, lineage.to_string().as_str())?;
        }
    }
    Ok(writing.commit()?)
}

/// For a file whose rows were changed without the log: drops the history that copies could follow.
pub(crate) fn begin_anew(db: &Database) -> Outcome<()> {
    let writing = db.begin_write()?;
    writing.delete_table(changes::CHANGES)?;
    writing.delete_table(lineage::LOCAL)?;
    writing.open_table(tables::META)?.remove(LINEAGE)?;
    Ok(writing.commit()?)
}

/// Makes a repository from increments, the first of which must be complete, in a folder without
/// one. A primary begins a new epoch.
///
/// # Errors
///
/// [`StoreError::Exists`], or an increment is truncated, damaged or does not continue the previous
/// one, or the result is invalid. Then no repository is made.
pub fn receive(
    folder: &Path,
    increments: &mut dyn Iterator<Item = io::Result<Box<dyn Read + '_>>>,
    role: Role,
) -> Result<Integrity, StoreError> {
    let file = folder.join(tables::FILE);
    if file.exists() {
        return Err(StoreError::Exists { folder: folder.to_owned() });
    }
    let incoming = folder.join(INCOMING);
    let received = assemble(&incoming, increments, role).and_then(|()| check_folder(&incoming));
    let placed = received.and_then(|found| {
        let whole = incoming.join(tables::FILE);
        if !found.is_clean() {
            let what = found.details.join("; ");
            return Err(StoreError::Damaged { file: whole, what });
        }
        // Texts first: the other file makes the folder a repository.
        for name in [texts::FILE, tables::FILE] {
            let named = disk::rename(&RealDisk, &incoming.join(name), &folder.join(name));
            named.map_err(|source| StoreError::Disk { file: file.clone(), source })?;
        }
        Ok(found)
    });
    let _ = fs::remove_dir_all(&incoming);
    placed
}

fn assemble(
    folder: &Path,
    increments: &mut dyn Iterator<Item = io::Result<Box<dyn Read + '_>>>,
    role: Role,
) -> Result<(), StoreError> {
    let file = folder.join(tables::FILE);
    let refused = |source| StoreError::Disk { file: file.clone(), source };
    // Left behind by an interrupted copy.
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refused(error)),
        _ => {}
    }
    fs::create_dir_all(folder).map_err(refused)?;
    let unread = |error: io::Error| StoreError::Copy { what: error.to_string() };
    let nothing = || io::Error::other("there is no increment");
    let mut first = increments.next().unwrap_or_else(|| Err(nothing())).map_err(unread)?;
    let texts = Texts::open(folder, u64::MAX);
    let texts = texts.map_err(|error| StoreError::Copy { what: error.to_string() })?;
    let (header, mut rows) = Rows::begin(&mut first).map_err(unread)?;
    if header.from.is_some() {
        let what = "it begins after another one, which must come first".into();
        return Err(StoreError::Copy { what });
    }
    opening::make(&file, &(Arc::new(RealDisk) as Arc<dyn Disk>), |db| {
        guarded(|| {
            let writing = db.begin_write()?;
            let applied = apply(&header, &mut rows, &writing, Some(&texts), &mut |_, _, _| Ok(()))?;
            if let Some(texts) = applied.texts {
                texts.commit()?;
            }
            changes::begin(&writing)?;
            lineage::set_role(&writing, Role::Standby)?;
            lineage::set_as_of(&writing, header.made)?;
            Ok(writing.commit()?)
        })
    })?;
    let copy = Repository::open(folder, None)?;
    for increment in increments {
        copy.apply_increment(&mut increment.map_err(unread)?, Some(&texts))?;
    }
    if role == Role::Primary {
        copy.promote()?;
    }
    texts.stop();
    Ok(())
}
