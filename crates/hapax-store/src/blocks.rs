//! Checks every block of the store's file: a read returns what was written, or an error.
//!
//! Compares each 4 KiB read with a checksum in memory (a thousandth of the file). Checksums come from writes
//! since the file was opened; before that from `pages.sums` or, if that does not belong to the file, from
//! reading the file once by its own checksums. `pages.sums` is a cache, written on close and safe to delete.
//! Does not cover the file's first block, whose used part is verified on opening.
//!
//! ```text
//!   pages.sums: HPXSUMS1, XXH3 of the file's header, 4 bytes for each block, XXH3 of all that
//! ```

use crate::checksums::HEADER;
use crate::disk::{self, Disk};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

pub(crate) const FILE: &str = "pages.sums";
const MAGIC: &[u8; 8] = b"HPXSUMS1";
pub(crate) const BLOCK: usize = 4096;
const UNKNOWN: u32 = 0;

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    sums: RwLock<Vec<AtomicU32>>,
}

impl Blocks {
    /// Records the checksums of bytes that were read from verified pages.
    pub(crate) fn learn(&self, offset: u64, bytes: &[u8]) {
        self.forget(offset, bytes.len());
        self.each(offset, bytes, |known, sum, _| known.store(sum, Ordering::Release));
    }

    /// Drops the checksums of bytes that are about to be overwritten.
    pub(crate) fn forget(&self, offset: u64, len: usize) {
        let (first, end) = (offset / BLOCK as u64, (offset + len as u64).div_ceil(BLOCK as u64));
        let len = self.sums.read().unwrap_or_else(PoisonError::into_inner).len();
        if len < end as usize {
            let mut sums = self.sums.write().unwrap_or_else(PoisonError::into_inner);
            let more = (end as usize).saturating_sub(sums.len());
            sums.extend(std::iter::repeat_with(|| AtomicU32::new(UNKNOWN)).take(more));
        }
        let sums = self.sums.read().unwrap_or_else(PoisonError::into_inner);
        let of = sums.get(first as usize..end as usize).unwrap_or(&[]);
        of.iter().for_each(|sum| sum.store(UNKNOWN, Ordering::Release));
    }

    /// The blocks of bytes read at `offset` whose checksums differ from the present ones. If blocks
    /// may be written meanwhile, this proves nothing.
    pub(crate) fn wrong(&self, offset: u64, bytes: &[u8]) -> Vec<u64> {
        let mut wrong = Vec::new();
        self.each(offset, bytes, |known, sum, block| {
            let known = known.load(Ordering::Acquire);
            if known != UNKNOWN && known != sum {
                wrong.push(block);
            }
        });
        wrong
    }

    /// Drops the checksums beyond the file's new length.
    pub(crate) fn cut(&self, len: u64) {
        let mut sums = self.sums.write().unwrap_or_else(PoisonError::into_inner);
        sums.truncate(len.div_ceil(BLOCK as u64) as usize);
    }

    /// Calls `with` for each complete block in the bytes.
    fn each(&self, offset: u64, bytes: &[u8], mut with: impl FnMut(&AtomicU32, u32, u64)) {
        let skip = (offset.next_multiple_of(BLOCK as u64) - offset) as usize;
        let first = offset.div_ceil(BLOCK as u64);
        let sums = self.sums.read().unwrap_or_else(PoisonError::into_inner);
        for (block, bytes) in (first..).zip(bytes.get(skip..).unwrap_or(&[]).chunks_exact(BLOCK)) {
            if let Some(known) = sums.get(block as usize) {
                with(known, sum(block, bytes), block);
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let sums = self.sums.read().unwrap_or_else(PoisonError::into_inner);
        sums.capacity() * size_of::<AtomicU32>()
    }

    /// Loads the saved checksums of a file that was closed with this header; `false` if there are
    /// none.
    pub(crate) fn load(&self, disk: &dyn Disk, folder: &Path, header: &[u8; HEADER]) -> bool {
        let sums =
            disk::read(disk, &folder.join(FILE)).ok().and_then(|bytes| parse(&bytes, header));
        let there = sums.is_some();
        *self.sums.write().unwrap_or_else(PoisonError::into_inner) = sums.unwrap_or_default();
        there
    }

    /// Saves the checksums for the next opening.
    pub(crate) fn save(
        &self,
        disk: &dyn Disk,
        folder: &Path,
        header: &[u8; HEADER],
    ) -> io::Result<()> {
        let sums = self.sums.read().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::with_capacity(16 + 4 * sums.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&xxh3_64(header).to_le_bytes());
        bytes.extend(sums.iter().flat_map(|sum| sum.load(Ordering::Acquire).to_le_bytes()));
        let checksum = xxh3_64(&bytes);
        disk::replace(disk, &folder.join(FILE), &[&bytes, &checksum.to_le_bytes()])
    }
}

fn parse(bytes: &[u8], header: &[u8; HEADER]) -> Option<Vec<AtomicU32>> {
    let (bytes, checksum) = bytes.split_last_chunk::<8>()?;
    let (magic, rest) = bytes.split_first_chunk::<8>()?;
    let (of, rest) = rest.split_first_chunk::<8>()?;
    let (sums, []) = rest.as_chunks::<4>() else { return None };
    let ours = magic == MAGIC
        && xxh3_64(bytes).to_le_bytes() == *checksum
        && xxh3_64(header).to_le_bytes() == *of;
    ours.then(|| sums.iter().map(|&sum| AtomicU32::new(u32::from_le_bytes(sum))).collect())
}

/// Includes the block's number, so that swapped blocks are detected, too.
fn sum(block: u64, bytes: &[u8]) -> u32 {
    (xxh3_64_with_seed(bytes, block) as u32).max(1)
}
