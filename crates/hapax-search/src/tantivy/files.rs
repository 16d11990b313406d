//! What the files of an index may say about other files.
//!
//! An index may be untrusted. Tantivy deletes every path of its list that no segment uses,
//! wherever it leads, and a commit names the list that belongs to it: both must name files of the
//! folder, and links in place of those files are not followed.
//!
//! Names of segments are no danger: they are numbers that Tantivy writes out itself.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::error::Error;

/// Tantivy's list of the files it made.
const MANAGED: &str = ".managed.json";
/// The most bytes of that list: some hundred thousand names.
const MOST_MANAGED: u64 = 16 << 20;
/// Tantivy creates these if they are not there, also through a link.
const LOCKS: [&str; 2] = [".tantivy-writer.lock", ".tantivy-meta.lock"];

/// Is this the name of a file in whatever folder it is joined to?
pub(super) fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name)
}

/// Reads a file that is no link, device or pipe.
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

/// Makes sure that Tantivy will touch nothing outside the folder.
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
        // Nothing is deleted then.
        Err(Error::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let damaged = |what: String| Error::Damaged { path: path.clone(), what };
    // Read as Tantivy reads it: what it would take for a name is what is looked at.
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
    fn what_is_no_ordinary_file_or_too_long_is_not_read() {
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
