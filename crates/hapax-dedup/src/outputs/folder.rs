//! The output folder: everything in it is complete, or it is not there.
//!
//! Files are made in a hidden folder inside and moved out when all of them are done,
//! [`LAST`] at the very end: where that file is, the others are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The hidden folder.
pub(crate) const WORK: &str = ".hapax-work";
/// The file that appears last.
pub(crate) const LAST: &str = "summary.json";

/// An output folder in the making.
#[derive(Debug)]
pub(crate) struct OutFolder {
    path: PathBuf,
    /// It was not there before.
    created: bool,
    done: bool,
}

impl OutFolder {
    /// Makes sure that the folder is there and empty. What an interrupted job left is not
    /// counted.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let created = match fs::read_dir(path) {
            Ok(entries) => {
                for entry in entries {
                    let name = entry.map_err(|e| Error::io("list", path, e))?.file_name();
                    if name != WORK {
                        let found = name.to_string_lossy().into_owned();
                        return Err(Error::NotEmpty { path: path.to_owned(), found });
                    }
                }
                false
            }
            Err(_) if path.is_file() => {
                return Err(Error::NotAFolder { path: path.to_owned() });
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(Error::io("list", path, error)),
        };
        let folder = Self { path: path.to_owned(), created, done: false };
        let work = folder.path.join(WORK);
        fs::create_dir_all(&work).map_err(|e| Error::io("create", &work, e))?;
        Ok(folder)
    }

    /// Where a file is made.
    pub(crate) fn making(&self, name: &str) -> PathBuf {
        self.path.join(WORK).join(name)
    }

    /// Writes a whole file where it is made.
    pub(crate) fn make(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.making(name);
        let written = fs::File::create(&path).and_then(|mut file| {
            std::io::Write::write_all(&mut file, bytes)?;
            file.sync_all()
        });
        written.map_err(|e| Error::io("write", &path, e))
    }

    /// Moves the files out, in this order, and takes the hidden folder away.
    pub(crate) fn publish(mut self, names: &[&str]) -> Result<Vec<PathBuf>, Error> {
        let mut paths = Vec::with_capacity(names.len());
        for name in names {
            let path = self.path.join(name);
            fs::rename(self.making(name), &path)
                .map_err(|e| Error::io("rename a finished file to", &path, e))?;
            paths.push(path);
        }
        self.done = true;
        let work = self.path.join(WORK);
        fs::remove_dir_all(&work).map_err(|e| Error::io("remove", &work, e))?;
        // The renames are on disk when the folder is. Not every system can sync a folder.
        if let Ok(folder) = fs::File::open(&self.path) {
            let _ = folder.sync_all();
        }
        Ok(paths)
    }
}

impl Drop for OutFolder {
    fn drop(&mut self) {
        if !self.done {
            let _ = fs::remove_dir_all(self.path.join(WORK));
            if self.created {
                // Only if it is empty.
                let _ = fs::remove_dir(&self.path);
            }
        }
    }
}
