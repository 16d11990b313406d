//! Temporary storage, lent by the caller.
//!
//! A join that does not fit in memory appends bytes to numbered partitions and reads them back,
//! each from its start. [`Spill`] is all it needs to know; a program implements it with one
//! temporary file for each partition, a test with vectors.

use super::JoinError;

/// Numbered byte sequences that can be appended to and read.
///
/// Partitions exist as soon as something is appended to them. They are read only when nothing
/// more will be appended, and no longer after [`forget`](Self::forget).
pub trait Spill {
    /// Adds `bytes` at the end of `partition`.
    fn append(&mut self, partition: u32, bytes: &[u8]) -> std::io::Result<()>;

    /// Fills `bytes` with what stands at `offset` of `partition`.
    fn read(&mut self, partition: u32, offset: u64, bytes: &mut [u8]) -> std::io::Result<()>;

    /// Gives up the space of `partition`.
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

/// Partitions held in memory: for tests and for trying things out.
#[derive(Clone, Debug, Default)]
pub struct MemorySpill {
    partitions: std::collections::BTreeMap<u32, Vec<u8>>,
}

impl MemorySpill {
    /// How many partitions there are now.
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
