//! The location of a file: local or in a store.
//!
//! Local files are opened for every reading; every reading of a remote file sees the version that was found
//! first. Formats that need random access, such as Parquet, are copied from a store to a temporary file first,
//! as far as they are needed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::iter::once;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use hapax_remote::{Finder, Found, Object, is_address};
use xxhash_rust::xxh3::xxh3_64;

/// Identifies the version of a file without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub bytes: u64,
    /// Nanoseconds since 1970, or a hash of the version stated by a store; 0 if unknown.
    pub changed: u64,
}

/// A file that can be read repeatedly.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Path(PathBuf),
    Remote(Object),
}

/// A seekable reader.
pub(crate) trait Seekable: Read + Seek + Send {}

impl<T: Read + Seek + Send> Seekable for T {}

/// Bytes to read from the end of a table; enough for the footers of most tables.
const TAIL: u64 = 256 << 10;

/// Opens a local file, or a temporary copy of the object at an address, for random access.
///
/// # Errors
///
/// The file is missing or unreadable, or the address is a folder.
pub fn open_file(path: &Path) -> io::Result<File> {
    match Origin::find(path)? {
        Origin::Path(path) => File::open(path),
        Origin::Remote(object) => object.copy(once(0..object.size())),
    }
}

impl Origin {
    /// A file by path, or one object by address.
    pub(crate) fn find(path: &Path) -> io::Result<Self> {
        match path.to_str().filter(|text| is_address(text)) {
            None => Ok(Self::Path(path.to_owned())),
            Some(address) => match Finder::default().find(address)? {
                Found::One(object) => Ok(Self::Remote(object)),
                Found::Matching(_) | Found::Below(_) => Err(io::ErrorKind::IsADirectory.into()),
            },
        }
    }

    pub(crate) fn name(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Remote(object) => Path::new(object.name()),
        }
    }

    pub(crate) fn open(&self) -> io::Result<Box<dyn Seekable>> {
        Ok(match self {
            Self::Path(path) => {
                let file = File::open(path)?;
                if file.metadata()?.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                Box::new(file)
            }
            Self::Remote(object) => Box::new(object.reader()),
        })
    }

    /// Like [`open`](Self::open), but started in the background; `None` if that gains nothing.
    pub(crate) fn ahead(&self) -> Option<Box<dyn Seekable>> {
        match self {
            Self::Path(_) => None,
            Self::Remote(object) => Some(Box::new(object.reader_ahead())),
        }
    }

    /// A file that has at least the footer of the table at its place.
    pub(crate) fn footer(&self) -> io::Result<File> {
        let object = match self {
            Self::Path(path) => return File::open(path),
            Self::Remote(object) => object,
        };
        let size = object.size();
        let mut tail = object.copy(once(size.saturating_sub(TAIL)..size))?;
        let mut length = [0; 4];
        if size >= 8 {
            tail.seek(SeekFrom::Start(size - 8))?;
            tail.read_exact(&mut length)?;
        }
        // The length, then a magic of four bytes.
        let footer = u64::from(u32::from_le_bytes(length)) + 8;
        if footer > TAIL && footer <= size {
            tail = object.copy(once(size - footer..size))?;
        }
        Ok(tail)
    }

    /// A file that has at least these byte ranges at their places.
    pub(crate) fn parts(&self, ranges: impl FnOnce() -> Vec<Range<u64>>) -> io::Result<File> {
        match self {
            Self::Path(path) => File::open(path),
            Self::Remote(object) => object.copy(ranges()),
        }
    }

    pub(crate) fn stamp(&self) -> Option<Stamp> {
        match self {
            Self::Path(path) => {
                let there = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
                let changed = there.modified().ok()?.duration_since(UNIX_EPOCH).ok();
                let changed = changed.map_or(0, |it| it.as_nanos() as u64);
                Some(Stamp { bytes: there.len(), changed })
            }
            Self::Remote(object) => {
                Some(Stamp { bytes: object.size(), changed: xxh3_64(object.version().as_bytes()) })
            }
        }
    }
}
