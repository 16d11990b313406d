//! The lists of removed and marked documents: a file next to the index.
//!
//! Every change writes a new file, and the following commit refers to it by name and checksum. A process killed
//! before the commit leaves an unused file; after the commit, everything is done. The commit is one rename by
//! Tantivy. Removed documents stay in the index until it is compacted, so restoring one only changes this list,
//! and nothing is lost.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::files::{is_plain, read_ordinary};
use crate::engine::Change;

const PREFIX: &str = "status-";

/// Removed and marked documents, and the last operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Status {
    pub(super) removed: BTreeSet<String>,
    pub(super) marked: BTreeSet<String>,
    pub(super) operation: Option<String>,
}

/// The payload of a commit: its list, by name and checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Named {
    file: String,
    blake3: String,
}

impl Status {
    /// The list of a commit with this payload; without a payload nothing was ever removed.
    pub(super) fn read(folder: &Path, payload: Option<&str>) -> Result<Self, Error> {
        let Some(payload) = payload else { return Ok(Self::default()) };
        let damaged = |path: PathBuf, what: &dyn std::fmt::Display| Error::Damaged {
            path,
            what: what.to_string(),
        };
        let named: Named = serde_json::from_str(payload)
            .map_err(|error| damaged(folder.join("meta.json"), &error))?;
        if !is_plain(&named.file) || !named.file.starts_with(PREFIX) {
            let what = format!("it names {:?}, which is not a list of the folder", named.file);
            return Err(damaged(folder.join("meta.json"), &what));
        }
        let path = folder.join(&named.file);
        let bytes = read_ordinary(&path, u64::MAX)?;
        if blake3::hash(&bytes).to_hex().as_str() != named.blake3 {
            return Err(damaged(path, &"it fails its checksum"));
        }
        serde_json::from_slice(&bytes).map_err(|error| damaged(path, &error))
    }

    /// Writes the list under an unused name, and returns the payload for the next commit.
    pub(super) fn write(&self, folder: &Path) -> Result<String, Error> {
        let io = |error| Error::io(folder, io::Error::other(error));
        let bytes = serde_json::to_vec(self).map_err(io)?;
        let blake3 = blake3::hash(&bytes).to_hex().to_string();
        // Equal lists have equal names, so a list in use is at worst rewritten unchanged.
        let file = format!("{PREFIX}{}.json", &blake3[..16]);
        write_durably(&folder.join(&file), &bytes)?;
        serde_json::to_string(&Named { file, blake3 }).map_err(io)
    }

    /// Deletes lists of former and of failed commits.
    pub(super) fn sweep(folder: &Path, payload: Option<&str>) {
        let kept = payload.and_then(|payload| serde_json::from_str::<Named>(payload).ok());
        let Ok(files) = fs::read_dir(folder) else { return };
        for file in files.flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            let used = kept.as_ref().is_some_and(|named| *named.file == *name);
            if name.starts_with(PREFIX) && !used {
                // A failure is retried with the next change.
                let _ = fs::remove_file(file.path());
            }
        }
    }

    /// Returns the number of changed documents.
    pub(super) fn change(&mut self, change: Change, names: &[String], operation: &str) -> u64 {
        self.operation = Some(operation.to_owned());
        let mut changed = 0;
        for name in names {
            changed += u64::from(match change {
                Change::Remove => self.removed.insert(name.clone()),
                Change::Restore => self.removed.remove(name),
                Change::Mark => self.marked.insert(name.clone()),
                Change::Unmark => self.marked.remove(name),
            });
        }
        changed
    }

    /// Drops the state of a page that was replaced or deleted.
    pub(super) fn forget(&mut self, name: &str) {
        self.removed.remove(name);
        self.marked.remove(name);
    }
}

/// Writes a file, and syncs it before renaming it.
pub(super) fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let partial = path.with_extension("partial");
    let write = || {
        // Left behind by a killed process, or a link placed by someone else.
        let _ = fs::remove_file(&partial);
        let mut file = File::create_new(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)?;
        match path.parent() {
            // On other systems a folder cannot be opened as a file.
            Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
            Some(_) | None => Ok(()),
        }
    };
    write().map_err(|error| Error::io(path, error))
}
