//! Recovers from disk failures: opens the file again, and resumes writing when there is space.
//!
//! redb refuses all writes and reads once an access has failed. Guarantees that acknowledged data is read
//! afterwards, and that the index in memory is of the same commit. If a commit was reported as failed but is on
//! disk, an error asks to open the repository again.
//!
//! Does not handle damage; see [`repair`](mod@crate::repair).

use super::*;
use redb::TableDefinition;
use std::io;
use std::time::Duration;

/// Minimum time between attempts to open the file for reading while the disk fails.
const BETWEEN: Duration = Duration::from_secs(1);
/// Rows of this table are written to test whether writes are possible, and removed.
const PROBE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("probe");
const PROBE_ROWS: u64 = 16;
const PROBE_BYTES: usize = 64 << 10;

/// Whether it is a disk error.
pub(super) fn is_of_disk(fault: &Fault) -> bool {
    use redb::Error::{DatabaseClosed, Io, PreviousIo};
    matches!(fault, Fault::Store(error) if matches!(**error, Io(_) | PreviousIo | DatabaseClosed))
}

pub(super) fn closed() -> Fault {
    Fault::Store(Box::new(redb::Error::PreviousIo))
}

impl Repository {
    /// Checks that the repository can be read and written. After a refused write, tests this with a
    /// commit of 1 MiB, because a disk may take small files when this file cannot grow.
    ///
    /// # Errors
    ///
    /// The disk refuses, or the file cannot be opened again.
    pub fn ready(&self) -> Result<(), StoreError> {
        self.sound()?;
        if self.refused.load(Ordering::Relaxed) {
            self.probe()?;
        }
        self.stats()?;
        match self.writer().failed {
            true => Err(self.refusal(closed())),
            false => Ok(()),
        }
    }

    /// Writes a commit, and removes what it wrote.
    fn probe(&self) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let written = self.administer(&mut writer, |writing, _| {
            let mut table = writing.open_table(PROBE)?;
            for row in 0..PROBE_ROWS {
                table.insert(row, [0; PROBE_BYTES].as_slice())?;
            }
            Ok(())
        });
        let removed = written.and_then(|()| {
            self.administer(&mut writer, |writing, _| {
                writing.delete_table(PROBE)?;
                Ok(())
            })
        });
        // So that readers need not wait for the next write.
        let _ = self.reopened(&mut writer);
        removed.map_err(|fault| self.refusal(fault))?;
        self.refused.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Verifies the file from an offset for this long, and returns the offset to continue at; 0
    /// after the end. Others can read and write meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`]; from then on, nothing is written.
    pub fn scrub(&self, from: u64, within: Duration) -> Result<u64, StoreError> {
        let backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let start = Instant::now();
        let next = backend.scrub(from, &|| start.elapsed() < within);
        next.map_err(|error| self.refusal(redb::Error::Io(error).into()))
    }

    /// Fails if damage was found since opening.
    pub(super) fn sound(&self) -> Result<(), StoreError> {
        match self.watch.damage.get() {
            Some(_) => Err(self.refusal(closed())),
            None => Ok(()),
        }
    }

    /// Reopens for readers, who continue with the last commit.
    pub(super) fn reopen_if_failed(&self) {
        if self.refused.load(Ordering::Relaxed)
            && let Ok(mut writer) = self.writer.try_lock()
            && writer.tried.is_none_or(|tried| tried.elapsed() >= BETWEEN)
        {
            let _ = self.reopened(&mut writer);
        }
    }

    /// Opens the file again if the disk has failed.
    pub(super) fn reopened(&self, writer: &mut Writer) -> Outcome<()> {
        if !writer.failed {
            return Ok(());
        }
        if self.watch.damage.get().is_some() {
            return Err(closed());
        }
        writer.tried = Some(Instant::now());
        // Close it first, because it holds the lock.
        writer.db = None;
        let opened = || {
            let db =
                opening::open_file(&self.file, &self.disk, self.watch.clone(), self.cache_bytes)?;
            let counters = opening::read_counters(&db, &self.file)?;
            Ok((db, counters))
        };
        let (db, counters) = opened().map_err(fault_of)?;
        if counters.commits != writer.counters.commits {
            let what = "a write that failed is on the disk all the same; open the repository again";
            return Err(Fault::Damaged(what.into()));
        }
        *self.backend.lock().unwrap_or_else(PoisonError::into_inner) = db.backend().clone();
        let view = take_view(&db, &self.index, &writer.settings, counters)?;
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        (writer.db, writer.failed, writer.tried) = (Some(db), false, None);
        Ok(())
    }
}

fn fault_of(error: StoreError) -> Fault {
    match error {
        StoreError::Disk { source, .. } => Fault::Store(Box::new(redb::Error::Io(source))),
        other => Fault::Store(Box::new(redb::Error::Io(io::Error::other(other.to_string())))),
    }
}
