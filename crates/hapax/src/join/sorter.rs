//! External sort: sorts more than fits into memory.
//!
//! Pushed values collect in a buffer; a full buffer is split into one run per thread, the runs are sorted in
//! parallel and written to the spill; finally, all runs are merged. If the buffer never fills up, nothing is
//! written.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::JoinError;
use super::executor::Executor;
use super::record::Stored;
use super::spill::Spill;

/// Generates unique partition numbers.
#[derive(Debug, Default)]
pub(super) struct Numbers(u32);

impl Numbers {
    pub(super) fn take(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
}

/// Collects values to sort.
pub(super) struct Sorter<T> {
    buffer: Vec<T>,
    most: usize,
    runs: Vec<Sequence>,
}

/// Consecutive values in a partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    pub(super) partition: u32,
    pub(super) len: u64,
}

impl<T: Stored + Ord + Send> Sorter<T> {
    /// Holds at most `most` values in memory.
    pub(super) fn new(most: usize) -> Self {
        Self { buffer: Vec::new(), most: most.max(1), runs: Vec::new() }
    }

    /// Whether nothing has been written yet.
    pub(super) fn is_in_memory(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn push(
        &mut self,
        thing: T,
        numbers: &mut Numbers,
        spill: &mut impl Spill,
        executor: &dyn Executor,
    ) -> Result<(), JoinError> {
        if self.buffer.len() == self.most {
            self.write(numbers, spill, executor)?;
        }
        self.buffer.push(thing);
        Ok(())
    }

    /// Returns the buffer, if nothing has been written.
    pub(super) fn into_buffer(self) -> Vec<T> {
        self.buffer
    }

    /// All values in order; holds at most `bytes` of them at a time besides the buffer.
    pub(super) fn finish(
        mut self,
        bytes: usize,
        numbers: &mut Numbers,
        spill: &mut impl Spill,
        executor: &dyn Executor,
        mut each: impl FnMut(T, &mut Numbers, &mut dyn Spill) -> Result<(), JoinError>,
    ) -> Result<(), JoinError> {
        if self.is_in_memory() {
            self.buffer.sort_unstable();
            let mut things = self.buffer.into_iter();
            return things.try_for_each(|thing| each(thing, numbers, spill));
        }
        self.write(numbers, spill, executor)?;
        drop(std::mem::take(&mut self.buffer));
        let share = bytes / self.runs.len();
        let mut readers: Vec<Reader<T>> =
            self.runs.iter().map(|&run| Reader::new(run, share)).collect();
        let mut firsts = BinaryHeap::with_capacity(readers.len());
        for (number, reader) in readers.iter_mut().enumerate() {
            firsts.extend(reader.next(spill)?.map(|first| Reverse((first, number))));
        }
        while let Some(mut least) = firsts.peek_mut() {
            let Reverse((thing, number)) = *least;
            match readers[number].next(spill)? {
                Some(following) => *least = Reverse((following, number)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(least);
                }
            }
            each(thing, numbers, spill)?;
        }
        self.runs.iter().try_for_each(|run| Ok(spill.forget(run.partition)?))
    }

    /// Sorts the buffer into runs and writes them.
    fn write(
        &mut self,
        numbers: &mut Numbers,
        spill: &mut impl Spill,
        executor: &dyn Executor,
    ) -> Result<(), JoinError> {
        let each = self.buffer.len().div_ceil(executor.width().max(1)).max(1);
        executor.map(self.buffer.chunks_mut(each).collect(), |run: &mut [T]| run.sort_unstable());
        for run in self.buffer.chunks(each) {
            let partition = numbers.take();
            let mut writer = Writer::new(partition, WRITTEN_AT_ONCE);
            run.iter().try_for_each(|&thing| writer.push(thing, spill))?;
            self.runs.push(writer.finish(spill)?);
        }
        self.buffer.clear();
        Ok(())
    }
}

/// Buffer size for writing a run in bytes.
const WRITTEN_AT_ONCE: usize = 1 << 16;

/// Appends values to a partition, with buffering.
pub(super) struct Writer {
    bytes: Vec<u8>,
    most: usize,
    written: Sequence,
}

impl Writer {
    /// Passes about `most` bytes at a time to the spill.
    pub(super) fn new(partition: u32, most: usize) -> Self {
        Self { bytes: Vec::new(), most, written: Sequence { partition, len: 0 } }
    }

    pub(super) fn push<T: Stored>(
        &mut self,
        thing: T,
        spill: &mut (impl Spill + ?Sized),
    ) -> Result<(), JoinError> {
        if self.bytes.len() + T::BYTES > self.most {
            spill.append(self.written.partition, &self.bytes)?;
            self.bytes.clear();
        }
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(self.most.max(T::BYTES));
        }
        let start = self.bytes.len();
        self.bytes.resize(start + T::BYTES, 0);
        thing.write(&mut self.bytes[start..]);
        self.written.len += 1;
        Ok(())
    }

    /// Writes the rest and returns the location of the values.
    pub(super) fn finish(self, spill: &mut (impl Spill + ?Sized)) -> Result<Sequence, JoinError> {
        if !self.bytes.is_empty() {
            spill.append(self.written.partition, &self.bytes)?;
        }
        Ok(self.written)
    }
}

/// Reads values of a partition, with buffering.
pub(super) struct Reader<T> {
    partition: u32,
    next: u64,
    end: u64,
    bytes: Vec<u8>,
    used: usize,
    share: usize,
    things: std::marker::PhantomData<T>,
}

impl<T: Stored> Reader<T> {
    /// Holds about `share` bytes at a time.
    pub(super) fn new(sequence: Sequence, share: usize) -> Self {
        Self::part(sequence.partition, 0, sequence.len, share)
    }

    /// Reads values `start` (inclusive) to `end` (exclusive).
    pub(super) fn part(partition: u32, start: u64, end: u64, share: usize) -> Self {
        let things = std::marker::PhantomData;
        let share = (share / T::BYTES).max(1) * T::BYTES;
        Self { partition, next: start, end, bytes: Vec::new(), used: 0, share, things }
    }

    pub(super) fn next(
        &mut self,
        spill: &mut (impl Spill + ?Sized),
    ) -> Result<Option<T>, JoinError> {
        if self.used == self.bytes.len() {
            if self.next == self.end {
                return Ok(None);
            }
            let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
            let things = left.min(self.share / T::BYTES);
            self.bytes.resize(things * T::BYTES, 0);
            spill.read(self.partition, self.next * T::BYTES as u64, &mut self.bytes)?;
            self.next += things as u64;
            self.used = 0;
        }
        let thing = T::read(&self.bytes[self.used..]);
        self.used += T::BYTES;
        Ok(Some(thing))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::join::record::Record;
    use crate::join::{MemorySpill, OneThread};

    proptest! {
        #[test]
        fn a_spilled_sort_is_a_sort(
            things in vec((0u64..50, any::<u32>()), 0..300),
            most in 1usize..100,
            bytes in 1usize..2000,
        ) {
            let mut records: Vec<Record<u32>> =
                things.into_iter().map(|(fingerprint, id)| Record { fingerprint, id }).collect();
            let (mut numbers, mut spill) = (Numbers::default(), MemorySpill::default());
            let mut sorter = Sorter::new(most);
            for &record in &records {
                sorter.push(record, &mut numbers, &mut spill, &OneThread).unwrap();
            }
            let mut sorted = Vec::new();
            sorter
                .finish(bytes, &mut numbers, &mut spill, &OneThread, |record, _, _| {
                    sorted.push(record);
                    Ok(())
                })
                .unwrap();
            records.sort_unstable();
            prop_assert_eq!(sorted, records);
            prop_assert_eq!(spill.partitions(), 0);
        }
    }
}
