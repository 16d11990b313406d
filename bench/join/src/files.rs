//! Temporary files: spilled partitions of a join, and plain numbers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use hapax::join::Spill;
use tempfile::TempDir;

/// One file per partition.
pub(crate) struct Files {
    folder: TempDir,
    open: BTreeMap<u32, (File, u64)>,
    pub(crate) written: u64,
}

impl Files {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { folder: tempfile::tempdir()?, open: BTreeMap::new(), written: 0 })
    }
}

impl Spill for Files {
    fn append(&mut self, partition: u32, bytes: &[u8]) -> io::Result<()> {
        if !self.open.contains_key(&partition) {
            let path = self.folder.path().join(partition.to_string());
            let file = File::options().read(true).write(true).create_new(true).open(path)?;
            self.open.insert(partition, (file, 0));
        }
        let (file, len) =
            self.open.get_mut(&partition).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        file.write_all_at(bytes, *len)?;
        *len += bytes.len() as u64;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn read(&mut self, partition: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let file = self.open.get(&partition).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        file.0.read_exact_at(bytes, offset)
    }

    fn forget(&mut self, partition: u32) -> io::Result<()> {
        match self.open.remove(&partition) {
            Some(_) => std::fs::remove_file(self.folder.path().join(partition.to_string())),
            None => Ok(()),
        }
    }
}

pub(crate) fn write_numbers(path: &Path, numbers: &[u64]) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    numbers.iter().try_for_each(|number| file.write_all(&number.to_le_bytes()))?;
    file.flush()
}

/// Reads a file of numbers in pieces.
pub(crate) fn read_numbers(
    path: &Path,
    at_once: usize,
    mut each: impl FnMut(&[u64]) -> bool,
) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut left = file.metadata()?.len() as usize / 8;
    let mut bytes = vec![0; at_once.min(left) * 8];
    let mut numbers = Vec::with_capacity(at_once.min(left));
    while left > 0 {
        let count = left.min(at_once);
        file.read_exact(&mut bytes[..count * 8])?;
        numbers.clear();
        let (words, _) = bytes[..count * 8].as_chunks::<8>();
        numbers.extend(words.iter().map(|&word| u64::from_le_bytes(word)));
        left -= count;
        if !each(&numbers) {
            break;
        }
    }
    Ok(())
}
