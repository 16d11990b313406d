//! Where a file lies: on this machine or in a store.
//!
//! Local files are opened anew for every reading; of a remote one every reading sees the version that was found.
//! What has to be jumped about in, as Parquet has, is copied from a store to a temporary file first, only the parts
//! that are needed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::iter::once;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use hapax_remote::{Finder, Found, Object, is_address};
use xxhash_rust::xxh3::xxh3_64;

/// What a file is known by without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub bytes: u64,
    /// Nanoseconds since 1970, or a hash of the version that a store states; 0 where nobody says.
    pub changed: u64,
}

/// A file that can be read more than once.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Path(PathBuf),
    Remote(Object),
}

/// Can be read from anywhere.
pub(crate) trait Seekable: Read + Seek + Send {}

impl<T: Read + Seek + Send> Seekable for T {}

/// The end of a table is read with as many bytes before it as most tables describe themselves in.
const TAIL: u64 = 256 << 10;

/// Opens a local file, or a temporary copy of the object at an address, for what is read from its end or anywhere.
///
/// # Errors
///
/// It is not there or cannot be read, or the address stands for a folder.
pub fn open_file(path: &Path) -> io::Result<File> {
    match Origin::find(path)? {
        Origin::Path(path) => File::open(path),
        Origin::Remote(object) => object.copy(once(0..object.size())),
    }
}

impl Origin {
    /// A file by its path, or one object by its address.
    pub(crate) fn find(path: &Path) -> io::Result<Self> {
        match path.to_str().filter(|text| is_address(text)) {
            None => Ok(Self::Path(path.to_owned())),
            Some(address) => match Finder::default().find(address)? {
                Found::One(object) => Ok(Self::Remote(object)),
                Found::Matching(_) | Found::Below(_) => Err(io::ErrorKind::IsADirectory.into()),
            },
        }
    }

    /// Its path or address.
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

    /// What [`open`](Self::open) would give, on its way already; `None` where that would gain nothing.
    pub(crate) fn ahead(&self) -> Option<Box<dyn Seekable>> {
        match self {
            Self::Path(_) => None,
            Self::Remote(object) => Some(Box::new(object.reader_ahead())),
        }
    }

    /// A file with at least the footer of a table in its place.
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
        // The length, then four letters.
        let footer = u64::from(u32::from_le_bytes(length)) + 8;
        if footer > TAIL && footer <= size {
            tail = object.copy(once(size - footer..size))?;
        }
        Ok(tail)
    }

    /// A file with at least these bytes in their places.
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
