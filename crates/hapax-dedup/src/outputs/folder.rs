//! The output folder: holds a complete result or none.
//!
//! Files are written in a hidden folder inside and moved out when all are complete, [`LAST`] at the very end:
//! if that file exists, so do the others. Before moving, the job lists the files in [`MOVING`]; if it is killed
//! then, the next job takes back those already moved. For output in an object store ([`target`]) the folder is
//! a local working folder, and files are uploaded instead of moved.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::target::{self, SENDING, Target};
use crate::error::Error;
use crate::signatures::checkpoint::CHECKPOINT;
use crate::watch::Watch;

pub(crate) const WORK: &str = ".hapax-work";
pub(crate) const LAST: &str = "summary.json";

/// Locked by the running job.
const LOCK: &str = "lock";
/// Lists the files that are being moved out.
const MOVING: &str = "moving";

/// An output folder under construction.
#[derive(Debug)]
pub(crate) struct OutFolder {
    path: PathBuf,
    /// Whether this job created the folder.
    created: bool,
    done: bool,
    /// Whether the checkpoint is kept if the job fails.
    resumable: bool,
    target: Option<Target>,
    /// The lock is held while this file is open.
    _lock: File,
}

impl OutFolder {
    /// Opens the output folder, or a working folder below `work` for an address.
    pub(crate) fn open(out: &Path, work: Option<&Path>, restart: bool) -> Result<Self, Error> {
        let Some((target, path)) = target::of(out, work)? else {
            return Self::local(out, restart);
        };
        let mut folder = Self::local(&path, restart)?;
        // Without a checkpoint, remove the folder if the job fails.
        folder.resumable = folder.making(CHECKPOINT).exists();
        target.prepare(&folder.making(SENDING))?;
        folder.target = Some(target);
        Ok(folder)
    }

    /// Creates the folder if needed and checks that it is empty. Leftovers of an interrupted job do
    /// not count; its checkpoint stays unless `restart` is set.
    fn local(path: &Path, restart: bool) -> Result<Self, Error> {
        let mut half_moved = Vec::new();
        let created = match fs::read_dir(path) {
            Ok(entries) => {
                let moving = moving(path);
                for entry in entries {
                    let name = entry.map_err(|e| Error::io("list", path, e))?.file_name();
                    if name == WORK {
                        continue;
                    }
                    if !moving.iter().any(|it| name == it.as_str()) {
                        let found = name.to_string_lossy().into_owned();
                        return Err(Error::NotEmpty { path: path.to_owned(), found });
                    }
                    half_moved.push(path.join(name));
                }
                false
            }
            Err(_) if path.is_file() => {
                return Err(Error::NotAFolder { path: path.to_owned() });
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(Error::io("list", path, error)),
        };
        let work = path.join(WORK);
        fs::create_dir_all(&work).map_err(|e| Error::io("create", &work, e))?;
        let lock = work.join(LOCK);
        let file = open_lock(&work).map_err(|e| Error::io("create", &lock, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(Error::Busy { path: path.to_owned() });
            }
            Err(fs::TryLockError::Error(error)) => return Err(Error::io("lock", &lock, error)),
        }
        let path = path.to_owned();
        let folder =
            Self { path, created, done: false, resumable: false, target: None, _lock: file };
        for file in half_moved {
            fs::remove_file(&file).map_err(|e| Error::io("remove", &file, e))?;
        }
        folder.clear(!restart)?;
        Ok(folder)
    }

    /// Sets whether the job may be resumed after a failure.
    pub(crate) fn keep_checkpoint(&mut self, resumable: bool) {
        self.resumable = resumable;
    }

    /// Clears the hidden folder, with or without the checkpoint. A link in its place is removed,
    /// because writing would follow it.
    fn clear(&self, keep_checkpoint: bool) -> Result<(), Error> {
        let work = self.path.join(WORK);
        let cannot = |cause| Error::io("clear", &work, cause);
        for entry in fs::read_dir(&work).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = entry.file_name();
            let ordinary = entry.file_type().map_err(cannot)?.is_file();
            // The list of uploads is needed until they are taken back.
            let sending = name == SENDING && ordinary;
            if name != LOCK && !sending && !(keep_checkpoint && name == CHECKPOINT && ordinary) {
                fs::remove_file(entry.path()).map_err(cannot)?;
            }
        }
        Ok(())
    }

    /// Path of a file under construction.
    pub(crate) fn making(&self, name: &str) -> PathBuf {
        self.path.join(WORK).join(name)
    }

    /// Writes a complete file in the hidden folder.
    pub(crate) fn make(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.making(name);
        let written = File::create(&path).and_then(|mut file| {
            std::io::Write::write_all(&mut file, bytes)?;
            file.sync_all()
        });
        written.map_err(|e| Error::io("write", &path, e))
    }

    /// Moves the files out in this order, or uploads them, and removes the hidden folder.
    pub(crate) fn publish(
        mut self,
        names: &[&str],
        watch: &mut dyn Watch,
    ) -> Result<Vec<PathBuf>, Error> {
        if let Some(target) = &self.target {
            let sent = target.send(&self.making(""), names, watch)?;
            self.done = true;
            // The result is complete, so a failure to clean up is ignored.
            let _ = fs::remove_dir_all(&self.path);
            return Ok(sent);
        }
        let mut paths = Vec::with_capacity(names.len());
        self.make(MOVING, names.join("\n").as_bytes())?;
        for name in names {
            let path = self.path.join(name);
            fs::rename(self.making(name), &path)
                .map_err(|e| Error::io("rename a finished file to", &path, e))?;
            paths.push(path);
        }
        self.done = true;
        let work = self.path.join(WORK);
        fs::remove_dir_all(&work).map_err(|e| Error::io("remove", &work, e))?;
        // Renames are durable once the folder is synced. Not every system can sync a folder.
        if let Ok(folder) = File::open(&self.path) {
            let _ = folder.sync_all();
        }
        Ok(paths)
    }
}

/// The files that a killed job was moving out; empty if the last one was moved.
fn moving(path: &Path) -> Vec<String> {
    if path.join(LAST).exists() {
        return Vec::new();
    }
    let listed = fs::read_to_string(path.join(WORK).join(MOVING)).unwrap_or_default();
    listed.lines().map(str::to_owned).collect()
}

/// Opens the lock file. Refuses a link, which could lead to another user's files.
fn open_lock(work: &Path) -> std::io::Result<File> {
    let lock = work.join(LOCK);
    for path in [work, &lock] {
        if path.symlink_metadata().is_ok_and(|there| there.is_symlink()) {
            let what = format!("{} is a link", path.display());
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what));
        }
    }
    File::options().create(true).write(true).truncate(false).open(lock)
}

impl Drop for OutFolder {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let _ = self.clear(self.resumable);
        if !self.resumable {
            let _ = fs::remove_dir_all(self.path.join(WORK));
            if self.created {
                // Succeeds only if the folder is empty.
                let _ = fs::remove_dir(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkpoint_of_an_interrupted_job_stays_and_its_other_files_go() {
        let place = tempfile::tempdir().unwrap();
        let work = place.path().join(WORK);
        fs::create_dir(&work).unwrap();
        for name in [CHECKPOINT, "report.html"] {
            fs::write(work.join(name), name).unwrap();
        }
        let folder = OutFolder::open(place.path(), None, false).unwrap();
        assert!(folder.making(CHECKPOINT).is_file());
        assert!(!folder.making("report.html").exists());
    }

    #[test]
    fn files_that_were_being_moved_out_are_made_again_and_no_others() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path();
        let work = out.join(WORK);
        let lay = || {
            fs::create_dir_all(&work).unwrap();
            fs::write(work.join(MOVING), "kept.jsonl\nsummary.json").unwrap();
            fs::write(work.join(CHECKPOINT), "batches").unwrap();
            fs::write(out.join("kept.jsonl"), "half of it").unwrap();
        };
        lay();
        let mut folder = OutFolder::open(out, None, false).unwrap();
        assert!(folder.making(CHECKPOINT).is_file() && !folder.making(MOVING).exists());
        assert!(!out.join("kept.jsonl").exists());
        folder.keep_checkpoint(true);
        drop(folder);
        // A file that no job was moving, and a job whose last file was moved.
        for other in ["notes.txt", LAST] {
            lay();
            fs::write(out.join(other), "mine").unwrap();
            let error = OutFolder::open(out, None, false).unwrap_err();
            assert!(matches!(error, Error::NotEmpty { .. }), "{error}");
            assert!(out.join("kept.jsonl").exists() && out.join(other).exists());
            fs::remove_file(out.join(other)).unwrap();
        }
    }

    #[test]
    fn a_restart_takes_the_checkpoint_away() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(WORK)).unwrap();
        fs::write(place.path().join(WORK).join(CHECKPOINT), "batches").unwrap();
        let folder = OutFolder::open(place.path(), None, true).unwrap();
        assert!(!folder.making(CHECKPOINT).exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_the_checkpoint_is_removed_and_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (precious, out) = (place.path().join("precious"), place.path().join("out"));
        fs::write(&precious, "mine").unwrap();
        fs::create_dir_all(out.join(WORK)).unwrap();
        std::os::unix::fs::symlink(&precious, out.join(WORK).join(CHECKPOINT)).unwrap();
        let folder = OutFolder::open(&out, None, false).unwrap();
        assert!(!folder.making(CHECKPOINT).is_symlink());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    }
}
