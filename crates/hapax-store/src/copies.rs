//! Copies of a repository: made while it is in use, and made of increments.
//!
//! A copy is of one commit, and complete when its file has its name; its index is rebuilt when it is opened. What is
//! copied is verified as it is read, so a damaged repository is not copied. What comes as increments is checked as a
//! whole before it gets its name. A copy that takes writes has an epoch of its own, so that nobody takes it for the other.

use crate::changes;
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

/// A file whose rows were changed past the log: it has no history that copies could follow.
pub(crate) fn begin_anew(db: &Database) -> Outcome<()> {
    let writing = db.begin_write()?;
    writing.delete_table(changes::CHANGES)?;
    writing.delete_table(lineage::LOCAL)?;
    writing.open_table(tables::META)?.remove(LINEAGE)?;
    Ok(writing.commit()?)
}

/// Makes a repository of increments, of which the first begins with nothing, in a folder that has none. As the primary it
/// begins an epoch.
///
/// # Errors
///
/// [`StoreError::Exists`]; one of them is cut, damaged or does not continue the one before, or what they make is not
/// sound. Then there is no repository.
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
        // Texts first: the folder is a repository when it has the other file.
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
    // What an interrupted copy left.
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
