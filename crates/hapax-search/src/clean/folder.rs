//! The folder of a job: the results of the last run, and what the next one needs.
//!
//! Guarantees that files are written in a hidden folder and moved into place when all are complete,
//! `state.json` last, and that only one job runs at a time.
//!
//! | file | contents |
//! |---|---|
//! | `removed.parquet` | every duplicate, with its winner and the reason |
//! | `queries.parquet` | every query: results, removals, new documents |
//! | `summary.json`, `run.json` | counts; time and memory of the run |
//! | `report.html` | the same as a page |
//! | `ledger.bin` | results of queries, for the next run |
//! | `state.json` | index, run, and what was done with the duplicates |
//! | `pending.json` | only during a change of the index: documents that may be removed or marked |

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::effect::Effect;
use super::record;

/// The file that appears last.
pub const STATE: &str = "state.json";
pub const RECORD: &str = "removed.parquet";
pub const LEDGER: &str = "ledger.bin";
const PENDING: &str = "pending.json";
const WORK: &str = ".hapax-work";
const LOCK: &str = "lock";
const VERSION: u32 = 1;

/// The state of the last run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    pub version: u32,
    /// The name of the index, as given by its owner.
    pub index: String,
    /// The recipe of its fingerprints.
    pub recipe: String,
    /// Number of the run, from 1.
    pub run: u64,
    /// What was done with the duplicates; `None` after they were restored.
    pub effect: Option<Effect>,
    pub duplicates: u64,
}

impl LastRun {
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

/// Documents that may be marked or removed because of this folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Possibly marked.
    pub marked: BTreeSet<String>,
    /// Possibly removed.
    pub removed: BTreeSet<String>,
}

/// A folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It contains something else.
    #[error("{path} holds {found} and is not a folder of query-dedup: name a new or empty one")]
    Foreign { path: String, found: String },
    /// It has no state to undo or continue.
    #[error("{path} is not a folder of query-dedup: it has no {STATE}")]
    NoState { path: String },
    #[error("another query-dedup is writing to {path}")]
    Busy { path: String },
    #[error("{path} belongs to the index {of}, not to {given}: name another folder")]
    OtherIndex {
        path: String,
        /// The index it was made for.
        of: String,
        /// The given index.
        given: String,
    },
    /// Its contents are inconsistent.
    #[error("{path} cannot be used: {why}")]
    Damaged { path: String, why: String },
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
    /// It contains something else, or another job is running.
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
    /// There is none, or another job is running.
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

    /// The state of the last run; `None` if there was none.
    ///
    /// # Errors
    ///
    /// It is unreadable, or has another version.
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

    /// Documents that may be marked or removed because of this folder.
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

    /// The contents of a file of the last run.
    pub fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let path = self.path.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::io("read", &path, error)),
        }
    }

    /// Writes a file, to be published later.
    pub fn make(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        write(&self.path.join(WORK).join(name), bytes)
    }

    /// Records which documents may be marked or removed from now on.
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

    /// Moves files into place in this order; afterwards nothing is pending.
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
        // Renames are durable once the folder is synced. Not every system can sync a folder.
        if let Ok(folder) = File::open(&self.path) {
            let _ = folder.sync_all();
        }
    }
}

impl Drop for OutFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.path.join(WORK));
        if self.created && !self.published {
            // Succeeds only if the folder is empty.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Opens the lock file. Refuses a link, which could lead to another user's files.
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

/// Removes everything except the lock: leftovers of a killed job, and links placed by others.
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
    fn only_one_job_runs_at_a_time() {
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
    fn pending_documents_are_recorded_until_files_are_in_place() {
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
