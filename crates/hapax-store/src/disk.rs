//! The files under a repository, and who may touch them.
//!
//! Everything a repository reads and writes goes through here: the store's file piece by piece,
//! the index file as a whole. A [`Disk`] is asked before every access and may refuse it or cut a
//! write short, as a real disk would. [`RealDisk`] refuses nothing.
//!
//! # What this module does not know
//!
//! What is in the files.

use crate::checksums::{self, Tables};
use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use std::fmt::Debug;
use std::fs;
use std::io::{self, Write};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is about to happen to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Bytes are read.
    Read,
    /// So many bytes are written.
    Write(usize),
    /// The file gets this length.
    Resize(u64),
    /// What was written must reach the disk.
    Sync,
    /// The file gets its final name.
    Rename,
}

/// What the disk makes of it.
#[derive(Debug)]
pub enum Permit {
    Go,
    /// It is not done.
    Refuse(io::Error),
    /// Of a write, only the first bytes are done; of anything else, nothing.
    Short(usize, io::Error),
}

/// Asked before every access.
pub trait Disk: Debug + Send + Sync {
    /// May this be done?
    fn permit(&self, file: &Path, access: Access) -> Permit;
}

/// Every access is the operating system's affair.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn permit(&self, _: &Path, _: Access) -> Permit {
        Permit::Go
    }
}

fn allowed(disk: &dyn Disk, file: &Path, access: Access) -> io::Result<()> {
    match disk.permit(file, access) {
        Permit::Go => Ok(()),
        Permit::Refuse(error) | Permit::Short(_, error) => Err(error),
    }
}

pub(crate) fn read(disk: &dyn Disk, file: &Path) -> io::Result<Vec<u8>> {
    allowed(disk, file, Access::Read)?;
    fs::read(file)
}

/// A file that appears by rename once all of it is on the disk.
pub(crate) fn replace(disk: &dyn Disk, file: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let mut out = fs::File::create(&new)?;
    for part in parts {
        match disk.permit(&new, Access::Write(part.len())) {
            Permit::Go => out.write_all(part)?,
            Permit::Refuse(error) => return Err(error),
            Permit::Short(bytes, error) => {
                out.write_all(&part[..bytes.min(part.len())])?;
                return Err(error);
            }
        }
    }
    allowed(disk, &new, Access::Sync)?;
    out.sync_data()?;
    rename(disk, &new, file)
}

/// Gives a complete file its name, for good.
pub(crate) fn rename(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    allowed(disk, to, Access::Rename)?;
    fs::rename(from, to)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all())
}

/// The store's file: asked about, and its syncs counted.
#[derive(Debug)]
pub(crate) struct StoreFile {
    file: FileBackend,
    path: PathBuf,
    disk: Arc<dyn Disk>,
    syncs: Arc<AtomicU64>,
}

impl StoreFile {
    pub(crate) fn new(
        handle: fs::File,
        path: &Path,
        disk: Arc<dyn Disk>,
        syncs: Arc<AtomicU64>,
    ) -> Result<Self, redb::DatabaseError> {
        Ok(Self { file: FileBackend::new(handle)?, path: path.to_owned(), disk, syncs })
    }

    /// Are its checksums right? Also if nothing can be said.
    pub(crate) fn is_right(&self, tables: Tables) -> io::Result<bool> {
        checksums::are_right(&|at, out| self.read(at, out), self.len()?, tables)
    }
}

impl StorageBackend for StoreFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        allowed(&*self.disk, &self.path, Access::Read)?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        allowed(&*self.disk, &self.path, Access::Resize(len))?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        allowed(&*self.disk, &self.path, Access::Sync)?;
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match self.disk.permit(&self.path, Access::Write(data.len())) {
            Permit::Go => self.file.write(offset, data),
            Permit::Refuse(error) => Err(error),
            Permit::Short(bytes, error) => {
                self.file.write(offset, &data[..bytes.min(data.len())])?;
                Err(error)
            }
        }
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}
