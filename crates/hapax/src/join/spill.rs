//! Temporary storage provided by the caller.
//!
//! A join that does not fit into memory appends bytes to numbered partitions and reads them back from their
//! starts. Programs implement [`Spill`] with one temporary file per partition, tests with vectors.

use super::JoinError;

/// Numbered byte sequences for appending and reading.
///
/// A partition exists once something is appended to it. It is read only after the last append, and
/// not after [`forget`](Self::forget).
pub trait Spill {
    /// Appends `bytes` to `partition`.
    fn append(&mut self, partition: u32, bytes: &[u8]) -> std::io::Result<()>;

    /// Fills `bytes` with the contents of `partition` at `offset`.
    fn read(&mut self, partition: u32, offset: u64, bytes: &mut [u8]) -> std::io::Result<()>;

    /// Releases the space of `partition`.
    fn forget(&mut self, partition: u32) -> std::io::Result<()>;
}

impl From<std::io::Error> for JoinError {
    fn from(source: std::io::Error) -> Self {
        Self::Spill { source }
    }
}

impl<S: Spill + ?Sized> Spill for &mut S {
    fn append(&mut self, partition: u32, bytes: &[u8]) -> std::io::Result<()> {
        (**self).append(partition, bytes)
    }

    fn read(&mut self, partition: u32, offset: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        (**self).read(partition, offset, bytes)
    }

    fn forget(&mut self, partition: u32) -> std::io::Result<()> {
        (**self).forget(partition)
    }
}

/// Partitions in memory, for tests and experiments.
#[derive(Clone, Debug, Default)]
pub struct MemorySpill {
    partitions: std::collections::BTreeMap<u32, Vec<u8>>,
}

impl MemorySpill {
    /// Number of existing partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }
}

impl Spill for MemorySpill {
    fn append(&mut self, partition: u32, bytes: &[u8]) -> std::io::Result<()> {
        self.partitions.entry(partition).or_default().extend_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, partition: u32, offset: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        let all = self.partitions.get(&partition).map_or(&[][..], Vec::as_slice);
        let there =
            usize::try_from(offset).ok().and_then(|start| all.get(start..)?.get(..bytes.len()));
        bytes.copy_from_slice(there.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn forget(&mut self, partition: u32) -> std::io::Result<()> {
        self.partitions.remove(&partition);
        Ok(())
    }
}
