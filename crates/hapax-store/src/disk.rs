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
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Bytes per read when scrubbing.
const SCRUBBED: usize = 1 << 20;
/// Number of reads that must give the same wrong block before it is considered damaged.
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

    /// Called after the store's file was read at an offset. May take long or change the bytes, like
    /// a slow or faulty transfer. No write happens during reads of a single block of 4 KiB, so this
    /// must not wait for one.
    fn transfer(&self, file: &Path, offset: u64, bytes: &mut [u8]) {
        let _ = (file, offset, bytes);
    }
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
    /// Held while the file and its checksums change, so that whoever holds it can compare them.
    writing: Mutex<()>,
    /// Whether the file was closed: then it may be written through another handle.
    closed: AtomicBool,
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
        let (blocks, writing) = (Blocks::default(), Mutex::default());
        let (closed, known) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self(Arc::new(Inner { file, path, disk, watch, blocks, writing, closed, known })))
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
        let mut buffer = vec![0; SCRUBBED];
        let mut at = from - from % BLOCK as u64;
        loop {
            let len = self.len()?;
            if at >= len {
                return Ok(0);
            }
            let piece = &mut buffer[..SCRUBBED.min((len - at) as usize)];
            let end = at + piece.len() as u64;
            match self.read(at, piece) {
                Ok(()) => at = end,
                Err(_) if self.0.closed.load(Ordering::Acquire) => return Ok(at),
                // It was shortened meanwhile.
                Err(_) if self.len()? < end && self.0.watch.damage.get().is_none() => {}
                Err(error) => return Err(error),
            }
            if !go_on() {
                return Ok(if at < len { at } else { 0 });
            }
        }
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.0.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a block again while nothing is written. It is damaged only if it is wrong then, too,
    /// and the same each time: before, it may have been written between reading it and comparing.
    fn read_alone(&self, block: u64, out: &mut [u8]) -> io::Result<()> {
        let Inner { blocks, closed, watch, .. } = &*self.0;
        let _alone = self.writing();
        if closed.load(Ordering::Acquire) {
            return Err(io::Error::other("the file is closed"));
        }
        let start = block * BLOCK as u64;
        let bytes = format!("bytes {start} to {}", start + BLOCK as u64 - 1);
        let mut first: Option<Vec<u8>> = None;
        for _ in 0..READS {
            self.read_raw(start, out)?;
            if blocks.wrong(start, out).is_empty() {
                return Ok(());
            }
            if *out != **first.get_or_insert_with(|| out.to_vec()) {
                let what = format!("{bytes} differ from one read to the next");
                return Err(io::Error::other(what));
            }
        }
        let what = watch.damage.get_or_init(|| format!("{bytes} are not as written"));
        Err(io::Error::new(io::ErrorKind::InvalidData, what.as_str()))
    }

    fn folder(&self) -> &Path {
        self.0.path.parent().unwrap_or(Path::new("."))
    }

    fn read_raw(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        allowed(&*self.0.disk, &self.0.path, Access::Read)?;
        self.0.file.read(offset, out)?;
        self.0.disk.transfer(&self.0.path, offset, out);
        Ok(())
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
        self.read_raw(offset, out)?;
        for block in self.0.blocks.wrong(offset, out) {
            let start = (block * BLOCK as u64 - offset) as usize;
            self.read_alone(block, &mut out[start..start + BLOCK])?;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        allowed(&*self.0.disk, &self.0.path, Access::Resize(len))?;
        let _alone = self.writing();
        self.0.blocks.cut(len);
        self.0.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        allowed(&*self.0.disk, &self.0.path, Access::Sync)?;
        self.0.watch.syncs.fetch_add(1, Ordering::Relaxed);
        self.0.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let _alone = self.writing();
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
        let _alone = self.writing();
        self.0.closed.store(true, Ordering::Release);
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
