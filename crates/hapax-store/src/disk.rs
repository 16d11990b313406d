//! All file access of a repository: the store's file in pieces, the index file as a whole.
//!
//! A [`Disk`] is asked before every access and may refuse it or cut a write short, like a failing disk; tests
//! use this. [`RealDisk`] allows everything. Does not interpret the files.

use crate::blocks::{BLOCK, Blocks};
use crate::checksums::{HEADER, Image, Tables};
use crate::error::{Fault, StoreError};
use crate::tables;
use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use std::fmt::Debug;
use std::fs;
use std::io::{self, Write};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes per read when scrubbing.
const SCRUBBED: usize = 1 << 20;
/// Number of reads before a block is considered damaged.
const READS: usize = 3;

/// An access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Write this many bytes.
    Write(usize),
    /// Change the file's length.
    Resize(u64),
    /// Sync earlier writes to the disk.
    Sync,
    /// Rename the file to its final name.
    Rename,
}

/// The disk's answer.
#[derive(Debug)]
pub enum Permit {
    Go,
    Refuse(io::Error),
    /// Of a write, only the first bytes are done; other accesses are not done.
    Short(usize, io::Error),
}

/// Decides about every access.
pub trait Disk: Debug + Send + Sync {
    fn permit(&self, file: &Path, access: Access) -> Permit;
}

/// Allows everything; errors come from the operating system.
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

/// Writes a file that appears by renaming once it is completely on disk.
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

/// Renames a complete file, durably.
pub(crate) fn rename(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    allowed(disk, to, Access::Rename)?;
    fs::rename(from, to)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all())
}

/// Observations about a file since it was opened, over all handles.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Number of syncs.
    pub(crate) syncs: AtomicU64,
    /// Bytes of it in memory, as last measured.
    pub(crate) cached: AtomicU64,
    /// The first damage found.
    pub(crate) damage: OnceLock<String>,
}

impl Watch {
    /// The error to report: after damage, redb refuses everything with errors of its own, so the
    /// damage is the cause.
    pub(crate) fn refusal(&self, fault: Fault, file: &Path) -> StoreError {
        match self.damage.get() {
            Some(what) => StoreError::Damaged { file: file.to_owned(), what: what.clone() },
            None => fault.at(file),
        }
    }
}

/// The store's file: asks the disk, verifies reads, and counts syncs.
#[derive(Clone, Debug)]
pub(crate) struct StoreFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: FileBackend,
    path: PathBuf,
    disk: Arc<dyn Disk>,
    watch: Arc<Watch>,
    blocks: Blocks,
    /// Whether every block in use has a checksum.
    known: AtomicBool,
}

impl StoreFile {
    pub(crate) fn new(
        handle: fs::File,
        path: &Path,
        disk: Arc<dyn Disk>,
        watch: Arc<Watch>,
    ) -> Result<Self, redb::DatabaseError> {
        let (file, path) = (FileBackend::new(handle)?, path.to_owned());
        let (blocks, known) = (Blocks::default(), AtomicBool::new(false));
        Ok(Self(Arc::new(Inner { file, path, disk, watch, blocks, known })))
    }

    /// Reads the file if it was closed properly. redb decides what is valid in a file that was not.
    fn closed<T>(&self, with: impl FnOnce(&Image<'_>) -> io::Result<T>) -> io::Result<Option<T>> {
        let read = |at, out: &mut [u8]| self.read_raw(at, out);
        let image = Image::open(&read, self.len()?)?.filter(Image::is_closed);
        image.map(|image| with(&image)).transpose()
    }

    /// The damaged tables of a closed file.
    pub(crate) fn damage(&self, tables: Tables) -> io::Result<Vec<String>> {
        let found = self.closed(|image| Ok((image.damage(tables)?, image.header)))?;
        found.map_or(Ok(Vec::new()), |(damage, header)| self.unless_changed(damage, &header))
    }

    /// Another process may have opened and changed the file in between; opening it is refused later
    /// for that reason.
    fn unless_changed(&self, damage: Vec<String>, was: &[u8; HEADER]) -> io::Result<Vec<String>> {
        let mut now = [0; HEADER];
        self.read_raw(0, &mut now)?;
        Ok(if now == *was { damage } else { Vec::new() })
    }

    /// Memory of the checksums in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.blocks.memory_bytes()
    }

    pub(crate) fn is_closed(&self) -> io::Result<bool> {
        Ok(self.closed(|_| Ok(()))?.is_some())
    }

    /// Loads the block checksums that were saved on closing; `false` if there are none.
    pub(crate) fn load_blocks(&self) -> io::Result<bool> {
        let Inner { blocks, disk, known, .. } = &*self.0;
        let loaded = self.closed(|image| Ok(blocks.load(&**disk, self.folder(), &image.header)))?;
        known.store(loaded == Some(true), Ordering::Relaxed);
        Ok(loaded == Some(true))
    }

    /// Reads the file, verified by its own checksums, and records block checksums. Returns the
    /// damaged tables.
    pub(crate) fn learn_blocks(&self) -> io::Result<Vec<String>> {
        let read = |at, out: &mut [u8]| {
            self.read_raw(at, out)?;
            self.0.blocks.learn(at, out);
            Ok(())
        };
        let Some(image) = Image::open(&read, self.len()?)? else { return Ok(Vec::new()) };
        let mut damage = image.damage(Tables::Own)?;
        damage.extend(image.damage(Tables::Content)?);
        self.0.known.store(damage.is_empty(), Ordering::Relaxed);
        self.unless_changed(damage, &image.header)
    }

    /// Verifies the file from an offset while `go_on` is true. Returns the offset to continue at; 0
    /// after the end.
    pub(crate) fn scrub(&self, from: u64, go_on: &dyn Fn() -> bool) -> io::Result<u64> {
        let len = self.len()?;
        let mut buffer = vec![0; SCRUBBED];
        let mut at = from - from % BLOCK as u64;
        while at < len {
            let piece = &mut buffer[..SCRUBBED.min((len - at) as usize)];
            self.read(at, piece)?;
            at += piece.len() as u64;
            if !go_on() {
                break;
            }
        }
        Ok(if at < len { at } else { 0 })
    }

    fn folder(&self) -> &Path {
        self.0.path.parent().unwrap_or(Path::new("."))
    }

    fn read_raw(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        allowed(&*self.0.disk, &self.0.path, Access::Read)?;
        self.0.file.read(offset, out)
    }

    /// Saves the block checksums for the next opening, if redb says that the file is closed
    /// properly.
    fn keep_blocks(&self) -> io::Result<()> {
        let Inner { blocks, disk, known, path, .. } = &*self.0;
        let named = path.file_name().is_some_and(|name| name == tables::FILE);
        if !named || !known.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.closed(|image| blocks.save(&**disk, self.folder(), &image.header)).map(drop)
    }
}

impl StorageBackend for StoreFile {
    fn len(&self) -> io::Result<u64> {
        self.0.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut wrong = None;
        // Repeated, because the block may have been written in between, or the transfer may have
        // failed rather than the disk.
        for _ in 0..READS {
            self.read_raw(offset, out)?;
            wrong = self.0.blocks.wrong(offset, out);
            if wrong.is_none() {
                break;
            }
        }
        let Some(block) = wrong else { return Ok(()) };
        let start = block * BLOCK as u64;
        let what = format!("bytes {start} to {} are not as written", start + BLOCK as u64 - 1);
        let what = self.0.watch.damage.get_or_init(|| what);
        Err(io::Error::new(io::ErrorKind::InvalidData, what.as_str()))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        allowed(&*self.0.disk, &self.0.path, Access::Resize(len))?;
        self.0.blocks.cut(len);
        self.0.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        allowed(&*self.0.disk, &self.0.path, Access::Sync)?;
        self.0.watch.syncs.fetch_add(1, Ordering::Relaxed);
        self.0.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.blocks.forget(offset, data.len());
        match self.0.disk.permit(&self.0.path, Access::Write(data.len())) {
            Permit::Go => {
                self.0.file.write(offset, data)?;
                self.0.blocks.learn(offset, data);
                Ok(())
            }
            Permit::Refuse(error) => Err(error),
            Permit::Short(bytes, error) => {
                self.0.file.write(offset, &data[..bytes.min(data.len())])?;
                Err(error)
            }
        }
    }

    fn close(&self) -> io::Result<()> {
        // Only a cache: without it, the file is read on opening.
        let _ = self.keep_blocks();
        self.0.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.0.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.query_lock_range(start, end)
    }
}
