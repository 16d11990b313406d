//! Opens or creates the files of a repository, and loads or rebuilds the index.
//!
//! A file that is missing, empty, foreign, newer or damaged is an error that says which. redb panics on some
//! damage; these panics become errors here, even when the file is closed.

use crate::changes;
use crate::checksums::Tables;
use crate::codec;
use crate::confirm;
use crate::contents;
use crate::disk::{Disk, StoreFile, Watch};
use crate::error::{Fault, Outcome, StoreError, guarded, of_segment};
use crate::frames;
use crate::index_file;
use crate::lineage::{self, Role};
use crate::settings::Settings;
use crate::tables::{self, Counters};
use hapax::fingerprint::Key;
use hapax::group::live::PageId;
use hapax::index::Entry;
use hapax::index::live::LiveIndex;
use hapax::index::segment::{Removed, Segment};
use redb::{Database, ReadableDatabase, ReadableTable};
use std::fs;
use std::io::{self, ErrorKind};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

/// A database that can be closed whatever is in its file: redb writes its own tables on closing,
/// and panics if that fails. No committed data depends on it.
pub(crate) struct OpenFile(Option<Database>, StoreFile);

impl OpenFile {
    /// The file behind it.
    pub(crate) fn backend(&self) -> &StoreFile {
        &self.1
    }
}

impl Deref for OpenFile {
    type Target = Database;

    fn deref(&self) -> &Database {
        self.0.as_ref().unwrap_or_else(|| unreachable!("it is taken when it is closed"))
    }
}

impl DerefMut for OpenFile {
    fn deref_mut(&mut self) -> &mut Database {
        self.0.as_mut().unwrap_or_else(|| unreachable!("it is taken when it is closed"))
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let db = self.0.take();
        let _ = guarded(|| {
            drop(db);
            Ok(())
        });
    }
}

/// Default size of the file cache in bytes.
pub const CACHE_BYTES: usize = 1 << 30;

/// Creates a new file with tables; the caller renames it.
pub(crate) fn make(
    new: &Path,
    disk: &Arc<dyn Disk>,
    fill: impl FnOnce(&Database) -> Outcome<()>,
) -> Result<(), StoreError> {
    let refused = |source| StoreError::Disk { file: new.to_owned(), source };
    if let Some(folder) = new.parent() {
        fs::create_dir_all(folder).map_err(refused)?;
    }
    // Left behind by an interrupted creation, which was never acknowledged.
    match fs::remove_file(new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(refused(error)),
        _ => {}
    }
    let handle = new_file(new).map_err(refused)?;
    let made = guarded(|| {
        let file = StoreFile::new(handle, new, disk.clone(), Arc::default())?;
        fill(&Database::builder().create_with_backend(file)?)
    });
    made.map_err(|fault| fault.at(new))
}

/// Creates a file. It contains a key, so only its owner may read it.
pub(crate) fn new_file(file: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

pub(crate) fn make_tables(db: &Database, settings: &Settings) -> Outcome<()> {
    let transaction = db.begin_write()?;
    tables::write_settings(&mut transaction.open_table(tables::META)?, settings)?;
    Counters::default().write(&mut transaction.open_table(tables::COUNTERS)?)?;
    confirm::make(&transaction)?;
    frames::make(&transaction)?;
    transaction.open_table(tables::PAGES)?;
    transaction.open_table(contents::CONTENTS)?;
    transaction.open_table(tables::URLS)?;
    transaction.open_table(tables::NAMES)?;
    transaction.open_table(tables::FORMER)?;
    transaction.open_table(tables::PLACES)?;
    transaction.open_table(tables::GROUPS)?;
    transaction.open_table(tables::MEMBERS)?;
    transaction.open_table(tables::SOURCES)?;
    transaction.open_table(tables::EVENTS)?;
    Ok(transaction.commit()?)
}

/// The file, for redb.
pub(crate) fn open_backend(
    file: &Path,
    disk: &Arc<dyn Disk>,
    watch: Arc<Watch>,
) -> Result<StoreFile, StoreError> {
    let refused = |source| StoreError::Disk { file: file.to_owned(), source };
    let handle = match fs::OpenOptions::new().read(true).write(true).open(file) {
        Ok(handle) => handle,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(StoreError::Missing { file: file.to_owned() });
        }
        Err(error) => return Err(refused(error)),
    };
    // redb would turn an empty file into a new store.
    if handle.metadata().map_err(refused)?.len() == 0 {
        return Err(StoreError::Foreign { file: file.to_owned(), what: "it is empty".into() });
    }
    guarded(|| Ok(StoreFile::new(handle, file, disk.clone(), watch)?))
        .map_err(|fault| fault.at(file))
}

pub(crate) fn open_file(
    file: &Path,
    disk: &Arc<dyn Disk>,
    watch: Arc<Watch>,
    cache_bytes: usize,
) -> Result<OpenFile, StoreError> {
    let backend = open_backend(file, disk, watch.clone())?;
    let refused = |source| StoreError::Disk { file: file.to_owned(), source };
    if !backend.damage(Tables::Own).map_err(refused)?.is_empty() {
        return Err(StoreError::Bookkeeping { file: file.to_owned() });
    }
    let mut known = backend.load_blocks().map_err(refused)?;
    if !known && backend.is_closed().map_err(refused)? {
        // Before anything is written to it.
        refuse_damaged(file, &backend.learn_blocks().map_err(refused)?)?;
        known = true;
    }
    let reading = backend.clone();
    let opened = guarded(|| {
        Ok(Database::builder().set_cache_size(cache_bytes).create_with_backend(backend))
    });
    let opened = opened.map_err(|fault| fault.at(file))?;
    if opened.is_ok() && !known {
        refuse_damaged(file, &reading.learn_blocks().map_err(refused)?)?;
    }
    opened.map(|db| OpenFile(Some(db), reading)).map_err(|error| match error {
        redb::DatabaseError::UpgradeRequired(version) => StoreError::Foreign {
            file: file.to_owned(),
            what: format!("a store of file version {version}"),
        },
        redb::DatabaseError::Storage(redb::StorageError::Io(error))
            if error.kind() == ErrorKind::InvalidData && watch.damage.get().is_none() =>
        {
            StoreError::Foreign { file: file.to_owned(), what: error.to_string() }
        }
        other => Fault::from(other).at(file),
    })
}

/// Refuses a file with tables whose pages fail their checksums.
pub(crate) fn refuse_damaged(file: &Path, tables: &[String]) -> Result<(), StoreError> {
    if tables.is_empty() {
        return Ok(());
    }
    let what = format!("pages of {} are not as they were written", tables.join(", "));
    Err(StoreError::Damaged { file: file.to_owned(), what })
}

/// Reads the settings, after checking that this version supports the file. Upgrades a file of an
/// older format.
pub(crate) fn read_settings(db: &Database, file: &Path) -> Result<Settings, StoreError> {
    let read = guarded(|| {
        let reading = db.begin_read()?;
        let meta = match reading.open_table(tables::META) {
            Err(redb::TableError::Storage(error)) => return Err(error.into()),
            Err(other) => {
                let what = other.to_string();
                return Ok(Err(StoreError::Foreign { file: file.to_owned(), what }));
            }
            Ok(meta) => meta,
        };
        let found = tables::read_format(&meta)?;
        if found > tables::FORMAT {
            let (file, known) = (file.to_owned(), tables::FORMAT);
            return Ok(Err(StoreError::Newer { file, found, known }));
        }
        drop((meta, reading));
        if found < tables::FORMAT {
            let writing = db.begin_write()?;
            tables::upgrade(&writing, found)?;
            writing.commit()?;
        }
        Ok(Ok(tables::read_settings(&db.begin_read()?.open_table(tables::META)?)?))
    });
    read.map_err(|fault| fault.at(file))?
}

/// What is left to do of an upgrade from an older format: merging winners with equal texts, and
/// electing winners.
pub(crate) fn left_of_upgrade(db: &Database, file: &Path) -> Result<(bool, bool), StoreError> {
    let read = guarded(|| {
        let meta = db.begin_read()?.open_table(tables::META)?;
        Ok((tables::must_merge_twins(&meta)?, tables::must_choose_again(&meta)?))
    });
    read.map_err(|fault| fault.at(file))
}

pub(crate) fn read_counters(db: &Database, file: &Path) -> Result<Counters, StoreError> {
    let read = guarded(|| Counters::read(&db.begin_read()?.open_table(tables::COUNTERS)?));
    read.map_err(|fault| fault.at(file))
}

/// Whether it may be written, and whether there is a change log.
pub(crate) fn read_role(db: &Database, file: &Path) -> Result<(Role, bool), StoreError> {
    let read = guarded(|| {
        let reading = db.begin_read()?;
        Ok((lineage::role(&reading)?, changes::is_on(&reading)?))
    });
    read.map_err(|fault| fault.at(file))
}

/// The key that confirms matches.
pub(crate) fn read_key(db: &Database, file: &Path) -> Result<Key, StoreError> {
    guarded(|| confirm::read(&db.begin_read()?)).map_err(|fault| fault.at(file))
}

/// Rebuilds the index from the records.
pub(crate) fn rebuild(db: &Database, settings: &Settings) -> Outcome<LiveIndex> {
    let reading = db.begin_read()?;
    let mut entries = Vec::new();
    for row in reading.open_table(tables::PAGES)?.iter()? {
        let (id, bytes) = row?;
        let page = PageId(id.value());
        if let Some(fingerprint) = codec::read_page(page, bytes.value())?.indexed() {
            entries.push(Entry { fingerprint, id: u64::from(page.0) });
        }
    }
    let count = entries.len();
    let engine = index_file::engine_for(count);
    let segment = Segment::build(entries, engine, settings.policy.within).map_err(of_segment)?;
    let options = index_file::options(settings.policy.within);
    LiveIndex::from_segments(options, [(segment, Removed::none(count))]).map_err(of_segment)
}
