//! Checks the file names inside an index.
//!
//! An index may be untrusted. Tantivy deletes every path on its list that no segment uses, wherever it is, and
//! a commit names its list of removed documents: both must be files of the folder, and links in place of these
//! files are not followed. Names of segments are harmless: they are numbers that Tantivy formats itself.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::error::Error;

/// Tantivy's list of its files.
const MANAGED: &str = ".managed.json";
/// Maximum size of that list in bytes; some hundred thousand names.
const MOST_MANAGED: u64 = 16 << 20;
/// Tantivy creates these if they are missing, even through a link.
const LOCKS: [&str; 2] = [".tantivy-writer.lock", ".tantivy-meta.lock"];

/// Whether this is the name of a file in a folder, without a path.
pub(super) fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name)
}

/// Reads a regular file; refuses links, devices and pipes.
pub(super) fn read_ordinary(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let failed = |error| Error::unreadable(path, error);
    let damaged = |what: &str| Error::Damaged { path: path.to_owned(), what: what.to_owned() };
    if !fs::symlink_metadata(path).map_err(failed)?.is_file() {
        return Err(damaged("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(damaged("it is too long"));
    }
    Ok(bytes)
}

/// Checks that Tantivy will touch nothing outside the folder.
pub(super) fn check_managed(folder: &Path) -> Result<(), Error> {
    for lock in LOCKS.map(|name| folder.join(name)) {
        if lock.symlink_metadata().is_ok_and(|there| !there.is_file()) {
            let what = "it is not a regular file".to_owned();
            return Err(Error::Damaged { path: lock, what });
        }
    }
    let path = folder.join(MANAGED);
    let bytes = match read_ordinary(&path, MOST_MANAGED) {
        Ok(bytes) => bytes,
        // Then nothing is deleted.
        Err(Error::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let damaged = |what: String| Error::Damaged { path: path.clone(), what };
    // Parsed like Tantivy does, so that the same names are checked.
    let names: Vec<String> = serde_json::from_str(&String::from_utf8_lossy(&bytes))
        .map_err(|error| damaged(error.to_string()))?;
    match names.iter().find(|name| !is_plain(name)) {
        Some(name) => Err(damaged(format!("it lists {name:?}, which is not a file of the folder"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_files_in_the_folder_are_plain() {
        for name in ["0123.idx", "meta.json", "..."] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", ".", "..", "/", "/etc/passwd", "../a", "a/b", "a/", "a/.", "./a", "a/.."] {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(matches!(read_ordinary(&path, 9), Err(Error::Unreadable { .. })));
        fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_ordinary(&path, 10).unwrap(), b"0123456789");
        assert!(matches!(read_ordinary(&path, 9), Err(Error::Damaged { .. })));
        assert!(matches!(read_ordinary(folder.path(), 9), Err(Error::Damaged { .. })));
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            assert!(matches!(read_ordinary(&link, 10), Err(Error::Damaged { .. })));
        }
    }
}
