//! Joins in a given amount of memory, with temporary files where that is not enough.
//!
//! The files are made in a folder of the caller's when they are needed, and are gone when the join is
//! done.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hapax::join::{Executor, Pair, PairOptions, Record, Spill, SpilledPairs};

use crate::error::Error;

/// How joins are done.
pub(crate) struct Joiner<'j> {
    pub(crate) executor: &'j dyn Executor,
    /// How much memory a join may take.
    pub(crate) memory: usize,
    /// Where temporary files go.
    pub(crate) scratch: &'j Path,
}

/// Pairs that are handed over at a time.
const TOGETHER: usize = 1 << 20;

impl Joiner<'_> {
    /// Hands all pairs of distinct fingerprints to `take`, many at a time and in order.
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
            // Those with one fingerprint were compared before.
            if pair.distance > 0 {
                waiting.push(pair);
            }
            if waiting.len() >= TOGETHER {
                take(&waiting);
                waiting.clear();
            }
            Ok(())
        })?;
        take(&waiting);
        Ok(())
    }
}

/// A file for each partition, open only while it is used: there may be thousands.
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
        // More records than 16 MiB hold, some of them a few bits from the one before.
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
