//! The folder of a job: results of the last run, and what the next one needs.
//!
//! Guarantees that files are made in a hidden folder and moved into place when all are complete, `state.json` last,
//! and that only one job runs at a time.
//!
//! | file | holds |
//! |---|---|
//! | `removed.parquet` | every duplicate, with its winner and why |
//! | `queries.parquet` | every query: results, removals, documents it brought |
//! | `summary.json`, `run.json` | the numbers; what the run took |
//! | `report.html` | the same to look at |
//! | `ledger.bin` | what queries found, for the next run |
//! | `state.json` | which index, which run, and what was done to the duplicates |
//! | `pending.json` | only while an index is changed: what may be out or marked |

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::effect::Effect;
use super::record;

/// The last file to appear.
pub const STATE: &str = "state.json";
pub const RECORD: &str = "removed.parquet";
pub const LEDGER: &str = "ledger.bin";
const PENDING: &str = "pending.json";
const WORK: &str = ".hapax-work";
const LOCK: &str = "lock";
const VERSION: u32 = 1;

/// What a folder says of its last run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    pub version: u32,
    /// The index, as its owner names it.
    pub index: String,
    /// The recipe of its fingerprints.
    pub recipe: String,
    /// From 1, counting on with every run.
    pub run: u64,
    /// What was done to the duplicates; nothing after they were restored.
    pub effect: Option<Effect>,
    pub duplicates: u64,
}

impl LastRun {
    /// A state of this version.
    pub fn new(
        index: String,
        recipe: String,
        run: u64,
        effect: Option<Effect>,
        duplicates: u64,
    ) -> Self {
        Self { version: VERSION, index, recipe, run, effect, duplicates }
    }
}

/// What may be out or marked because of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Known as duplicates.
    pub marked: BTreeSet<String>,
    /// Out of all results.
    pub removed: BTreeSet<String>,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// Something else is in it.
    #[error("{path} holds {found} and is not a folder of query-dedup: name a new or empty one")]
    Foreign { path: String, found: String },
    /// Nothing to undo or go on with.
    #[error("{path} is not a folder of query-dedup: it has no {STATE}")]
    NoState { path: String },
    #[error("another query-dedup is writing to {path}")]
    Busy { path: String },
    #[error("{path} belongs to the index {of}, not to {given}: name another folder")]
    OtherIndex {
        path: String,
        /// The index it was made for.
        of: String,
        /// The one that is asked for.
        given: String,
    },
    /// Its contents contradict themselves.
    #[error("{path} cannot be used: {why}")]
    Damaged { path: String, why: String },
    /// The operating system said no.
    #[error("cannot {action} {path}")]
    Io { action: &'static str, path: String, source: io::Error },
}

impl FolderError {
    fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.display().to_string(), source }
    }

    pub(super) fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Self {
        Self::Damaged { path: path.display().to_string(), why: why.to_string() }
    }
}

/// An open folder, locked against other jobs.
#[derive(Debug)]
pub struct OutFolder {
    path: PathBuf,
    created: bool,
    published: bool,
    _lock: File,
}

impl OutFolder {
    /// Opens a new folder, an empty one, or that of an earlier run.
    ///
    /// # Errors
    ///
    /// It holds something else, or another job is at work.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let created = match fs::read_dir(path) {
            Ok(entries) => {
                let ours = path.join(STATE).is_file() || path.join(PENDING).is_file();
                for entry in entries {
                    let name = entry.map_err(|e| FolderError::io("list", path, e))?.file_name();
                    if !ours && name != WORK {
                        let found = name.to_string_lossy().into_owned();
                        return Err(FolderError::Foreign {
                            path: path.display().to_string(),
                            found,
                        });
                    }
                }
                false
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(FolderError::io("list", path, error)),
        };
        Self::lock(path, created)
    }

    /// Opens the folder of an earlier run.
    ///
    /// # Errors
    ///
    /// There is none, or another job is at work.
    pub fn open_earlier(path: &Path) -> Result<Self, FolderError> {
        if !path.join(STATE).is_file() && !path.join(PENDING).is_file() {
            return Err(FolderError::NoState { path: path.display().to_string() });
        }
        Self::lock(path, false)
    }

    fn lock(path: &Path, created: bool) -> Result<Self, FolderError> {
        let work = path.join(WORK);
        fs::create_dir_all(&work).map_err(|e| FolderError::io("create", &work, e))?;
        let lock = work.join(LOCK);
        let file = open_lock(&work).map_err(|e| FolderError::io("create", &lock, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(FolderError::Busy { path: path.display().to_string() });
            }
            Err(fs::TryLockError::Error(e)) => return Err(FolderError::io("lock", &lock, e)),
        }
        clear(&work).map_err(|e| FolderError::io("clear", &work, e))?;
        Ok(Self { path: path.to_owned(), created, published: false, _lock: file })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, FolderError> {
        let path = self.path.join(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FolderError::io("read", &path, error)),
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|e| FolderError::damaged(&path, &e))
    }

    /// What the last run says of itself.
    ///
    /// # Errors
    ///
    /// It cannot be read, or another version wrote it.
    pub fn state(&self) -> Result<Option<LastRun>, FolderError> {
        let state: Option<LastRun> = self.read(STATE)?;
        match state {
            Some(state) if state.version != VERSION => {
                let why = format!("its version is {}, not {VERSION}", state.version);
                Err(FolderError::damaged(&self.path.join(STATE), &why))
            }
            state => Ok(state),
        }
    }

    /// What may be out or marked because of this folder.
    pub fn status(&self) -> Result<Status, FolderError> {
        let mut status: Status = self.read(PENDING)?.unwrap_or_default();
        let path = self.path.join(RECORD);
        if let Some(effect) = self.state()?.and_then(|state| state.effect)
            && path.is_file()
        {
            let names = record::documents(&path).map_err(|e| FolderError::damaged(&path, &e))?;
            match effect {
                Effect::Marked => status.marked.extend(names),
                Effect::Removed => status.removed.extend(names),
            }
        }
        Ok(status)
    }

    /// The bytes of a file of the last run.
    pub fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let path = self.path.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::io("read", &path, error)),
        }
    }

    /// Makes a file, to be published later.
    pub fn make(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        write(&self.path.join(WORK).join(name), bytes)
    }

    /// Names what may be out or marked from now on.
    pub fn pend(&self, status: &Status) -> Result<(), FolderError> {
        let path = self.path.join(PENDING);
        let bytes = serde_json::to_vec(status).map_err(|e| FolderError::damaged(&path, &e))?;
        self.make(PENDING, &bytes)?;
        self.place(PENDING)?;
        self.sync();
        Ok(())
    }

    fn place(&self, name: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        fs::rename(self.path.join(WORK).join(name), &path)
            .map_err(|e| FolderError::io("rename a finished file to", &path, e))
    }

    /// Moves files into place, in this order; nothing is pending then.
    pub fn publish(&mut self, names: &[&str]) -> Result<(), FolderError> {
        names.iter().try_for_each(|name| self.place(name))?;
        self.published = true;
        self.sync();
        let pending = self.path.join(PENDING);
        match fs::remove_file(&pending) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(FolderError::io("remove", &pending, error))
            }
            _ => Ok(()),
        }
    }

    fn sync(&self) {
        // The renames are on disk when the folder is. Not every system can sync a folder.
        if let Ok(folder) = File::open(&self.path) {
            let _ = folder.sync_all();
        }
    }
}

impl Drop for OutFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.path.join(WORK));
        if self.created && !self.published {
            // Only if it is empty.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Opens the lock, which must be a file in a folder: a link could lead to files of others, which
/// would be emptied or removed.
fn open_lock(work: &Path) -> io::Result<File> {
    let lock = work.join(LOCK);
    for path in [work, &lock] {
        if path.symlink_metadata().is_ok_and(|there| there.is_symlink()) {
            let what = format!("{} is a link", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
    }
    File::options().create(true).write(true).truncate(false).open(lock)
}

/// Removes everything but the lock: what a killed job left, and links that somebody laid.
fn clear(work: &Path) -> io::Result<()> {
    for entry in fs::read_dir(work)? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(FolderError::io("write", path, error));
        }
        _ => {}
    }
    let written = File::create_new(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|e| FolderError::io("write", path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_new_empty_or_that_of_an_earlier_run() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        drop(OutFolder::open(&path).unwrap());
        assert!(!path.exists(), "a job that fails leaves nothing");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("thesis.tex"), "x").unwrap();
        let refused = OutFolder::open(&path).unwrap_err().to_string();
        assert!(refused.contains("holds thesis.tex"), "{refused}");
        let refused = OutFolder::open_earlier(&path).unwrap_err().to_string();
        assert!(refused.contains("has no state.json"), "{refused}");
    }

    #[test]
    fn only_one_job_is_at_work() {
        let place = tempfile::tempdir().unwrap();
        let first = OutFolder::open(place.path()).unwrap();
        let refused = OutFolder::open(place.path()).unwrap_err().to_string();
        assert!(refused.contains("another query-dedup"), "{refused}");
        drop(first);
        OutFolder::open(place.path()).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (precious, out) = (place.path().join("precious"), place.path().join("out"));
        fs::write(&precious, "mine").unwrap();
        fs::create_dir_all(out.join(WORK)).unwrap();
        std::os::unix::fs::symlink(&precious, out.join(WORK).join(LOCK)).unwrap();
        assert!(OutFolder::open(&out).is_err());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    }

    #[cfg(unix)]
    #[test]
    fn links_among_unfinished_files_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (precious, out) = (place.path().join("precious"), place.path().join("out"));
        fs::write(&precious, "mine").unwrap();
        fs::create_dir_all(out.join(WORK).join("folder")).unwrap();
        let lay = |name| std::os::unix::fs::symlink(&precious, out.join(WORK).join(name)).unwrap();
        [PENDING, "summary.json"].into_iter().for_each(lay);
        let folder = OutFolder::open(&out).unwrap();
        folder.pend(&Status::default()).unwrap();
        folder.make("summary.json", b"ours").unwrap();
        lay("report.html");
        folder.make("report.html", b"ours").unwrap();
        folder.make("report.html", b"ours again").unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
        assert!(!out.join(PENDING).is_symlink());
    }

    #[test]
    fn what_is_pending_stands_until_files_are_in_place() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = OutFolder::open(place.path()).unwrap();
        let status = Status { removed: BTreeSet::from(["a".to_owned()]), ..Status::default() };
        folder.pend(&status).unwrap();
        assert_eq!(folder.status().unwrap(), status);
        let state = LastRun::new("index".into(), "web-2".into(), 1, Some(Effect::Removed), 1);
        folder.make(STATE, &serde_json::to_vec(&state).unwrap()).unwrap();
        folder.publish(&[STATE]).unwrap();
        assert_eq!(folder.status().unwrap(), Status::default());
        assert_eq!(folder.state().unwrap(), Some(state));
    }
}
