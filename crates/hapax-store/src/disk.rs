//! All access to the files of a repository: the store's file piece by piece, the index file as a whole.
//!
//! A [`Disk`] is asked before every access and may refuse it or cut a write short, as a real disk would; tests use
//! that. [`RealDisk`] refuses nothing. Does not interpret the files.

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

/// Bytes that are read at once to compare them with what was written.
const SCRUBBED: usize = 1 << 20;
/// Times that a block is read before it is called damaged.
const READS: usize = 3;

/// What is about to happen to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
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
    Refuse(io::Error),
    /// Of a write, only the first bytes are done; of anything else, nothing.
    Short(usize, io::Error),
}

/// Asked before every access.
pub trait Disk: Debug + Send + Sync {
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

/// What happened to a file while it was open, however often it was opened.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Times it was synced.
    pub(crate) syncs: AtomicU64,
    /// Bytes of it in memory, when that was looked at last.
    pub(crate) cached: AtomicU64,
    /// What was found damaged first.
    pub(crate) damage: OnceLock<String>,
}

impl Watch {
    /// After damage was found the store below takes nothing more: that is why, whatever it says then.
    pub(crate) fn refusal(&self, fault: Fault, file: &Path) -> StoreError {
        match self.damage.get() {
            Some(what) => StoreError::Damaged { file: file.to_owned(), what: what.clone() },
            None => fault.at(file),
        }
    }
}

/// The store's file: asked about, what is read of it verified, and its syncs counted.
#[derive(Clone, Debug)]
pub(crate) struct StoreFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: FileBackend,
    path: PathBuf,
    disk: Arc<dyn Disk>,
    watch: Arc<Watch>,
    blocks: Blocks,
    /// Every block in use has a checksum.
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

    /// Reads the file if it was closed. What of one that was not closed counts is the store's to find out.
    fn closed<T>(&self, with: impl FnOnce(&Image<'_>) -> io::Result<T>) -> io::Result<Option<T>> {
        let read = |at, out: &mut [u8]| self.read_raw(at, out);
        let image = Image::open(&read, self.len()?)?.filter(Image::is_closed);
        image.map(|image| with(&image)).transpose()
    }

    /// Which tables of a closed file are not as they were written?
    pub(crate) fn damage(&self, tables: Tables) -> io::Result<Vec<String>> {
        let found = self.closed(|image| Ok((image.damage(tables)?, image.header)))?;
        found.map_or(Ok(Vec::new()), |(damage, header)| self.unless_changed(damage, &header))
    }

    /// Another process may have opened and changed it meanwhile; it is refused for that, later.
    fn unless_changed(&self, damage: Vec<String>, was: &[u8; HEADER]) -> io::Result<Vec<String>> {
        let mut now = [0; HEADER];
        self.read_raw(0, &mut now)?;
        Ok(if now == *was { damage } else { Vec::new() })
    }

    /// Bytes in memory, of the checksums.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.blocks.memory_bytes()
    }

    pub(crate) fn is_closed(&self) -> io::Result<bool> {
        Ok(self.closed(|_| Ok(()))?.is_some())
    }

    /// Takes the checksums of its blocks that were kept when it was closed. Were they?
    pub(crate) fn load_blocks(&self) -> io::Result<bool> {
        let Inner { blocks, disk, known, .. } = &*self.0;
        let loaded = self.closed(|image| Ok(blocks.load(&**disk, self.folder(), &image.header)))?;
        known.store(loaded == Some(true), Ordering::Relaxed);
        Ok(loaded == Some(true))
    }

    /// Reads the file by its own checksums, and believes what is right. The damaged tables.
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

    /// Reads from a place on while that is wanted. Where to go on; 0 after the end.
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

    /// Keeps the checksums of the blocks for the next time, if the store says that the file is whole.
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
        // More than once: it may have been written meanwhile, or not the disk may be wrong, but the way from it.
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
        // A cache: without it, the file is read when it is opened.
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
