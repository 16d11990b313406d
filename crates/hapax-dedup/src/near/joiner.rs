//! Joins in bounded memory, with temporary files if memory is too small.
//!
//! The files are created in the caller's folder only if they are needed, and are deleted after the join.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hapax::join::{Executor, Pair, PairOptions, Record, Spill, SpilledPairs};

use crate::error::Error;

/// How joins run.
pub(crate) struct Joiner<'j> {
    pub(crate) executor: &'j dyn Executor,
    /// Bytes of memory that a join may use.
    pub(crate) memory: usize,
    /// Folder for temporary files.
    pub(crate) scratch: &'j Path,
}

/// Pairs per call of the callback.
const BATCH_SIZE: usize = 1 << 20;

impl Joiner<'_> {
    /// Reports all pairs of distinct fingerprints within the bound to `take`, in batches and in
    /// order.
    pub(super) fn pairs(
        &self,
        records: Vec<Record<u32>>,
        options: &PairOptions,
        mut take: impl FnMut(&[Pair<u32>]),
    ) -> Result<(), Error> {
        if records.len() <= SpilledPairs::<u32, FileSpill>::most_in_memory(self.memory) {
            take(hapax::join::pairs(records, options, self.executor).pairs());
            return Ok(());
        }
        let spill = FileSpill { folder: self.scratch.to_owned() };
        let mut join = SpilledPairs::new(options.clone(), self.memory, spill, self.executor)?;
        for record in records {
            join.push(record)?;
        }
        let mut waiting = Vec::new();
        join.finish(|pair| {
            // Pairs of equal fingerprints are compared separately.
            if pair.distance > 0 {
                waiting.push(pair);
            }
            if waiting.len() >= BATCH_SIZE {
                take(&waiting);
                waiting.clear();
            }
            Ok(())
        })?;
        take(&waiting);
        Ok(())
    }
}

/// One file per partition, open only while in use, because there may be thousands.
struct FileSpill {
    folder: PathBuf,
}

impl FileSpill {
    fn path(&self, partition: u32) -> PathBuf {
        self.folder.join(format!("spill-{partition}"))
    }
}

impl Spill for FileSpill {
    fn append(&mut self, partition: u32, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(partition);
        let open = || OpenOptions::new().append(true).create(true).open(&path);
        let mut file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&self.folder)?;
                open()?
            }
            other => other?,
        };
        file.write_all(bytes)
    }

    fn read(&mut self, partition: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut file = File::open(self.path(partition))?;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }

    fn forget(&mut self, partition: u32) -> io::Result<()> {
        match fs::remove_file(self.path(partition)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax::fingerprint::MaxDistance;
    use hapax::join::OneThread;

    #[test]
    fn a_join_in_little_memory_finds_the_same_in_the_same_order() {
        // More records than fit in 16 MiB; some are a few bits from the one before.
        let mixed = |i: u64| {
            let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
        };
        let record = |id: u32| {
            let (i, flip) = (u64::from(id), 1 << (id % 61) | 1 << (id % 7));
            let fingerprint = if id % 100 == 1 { mixed(i - 1) ^ flip } else { mixed(i) };
            Record { fingerprint, id }
        };
        let records: Vec<Record<u32>> = (0..600_000).map(record).collect();
        let options = PairOptions::within(MaxDistance::new(3).unwrap()).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let [in_memory, spilled] = [1 << 30, 16 << 20].map(|memory| {
            let joiner = Joiner { executor: &OneThread, memory, scratch: scratch.path() };
            let mut all = Vec::new();
            joiner.pairs(records.clone(), &options, |some| all.extend_from_slice(some)).unwrap();
            all
        });
        assert!(in_memory.len() >= 6_000, "{}", in_memory.len());
        assert!(in_memory == spilled, "{} and {}", in_memory.len(), spilled.len());
        assert_eq!(scratch.path().read_dir().unwrap().count(), 0, "temporary files stay behind");
    }
}
