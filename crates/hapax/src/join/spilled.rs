//! Finds all pairs within a bound in bounded memory, with the same edges and order as the join in memory.
//!
//! ```text
//!   records --sort, in runs--> merge --collapse--> distinct (spilled), twins --+
//!   for each stage:                                                            |
//!       distinct --partition by the stage's first bits--> spilled partitions   |
//!       each partition, in memory: as a stage in memory --> pairs -------------+
//!   pairs and twins --sort, in runs--> merge --> the caller                    v
//! ```
//!
//! The first stage reads its partitions from the sorted distinct records. A partition too large for memory,
//! because very many distinct fingerprints share their first bits, is compared tile by tile. The budget covers
//! records, pairs and buffers; about 2 MB per thread and the pairs of one partition come on top.

use super::JoinError;
use super::bucket::Finder;
use super::executor::Executor;
use super::pairs::{PairOptions, arrange, find, pairs};
use super::parts::Digit;
use super::plan::{MOST_OUTER_BITS, Plan, Stage, highest};
use super::record::{Id, Pair, Record, Stored};
use super::sorter::{Numbers, Reader, Sequence, Sorter, Writer};
use super::spill::Spill;

/// Smaller budgets would not even hold the buffers.
const LEAST_MEMORY: usize = 16 << 20;

/// Joins a set with itself in bounded memory: push the records, then call finish.
pub struct SpilledPairs<'a, I, S> {
    options: PairOptions,
    memory: usize,
    spill: S,
    executor: &'a dyn Executor,
    numbers: Numbers,
    records: Sorter<Record<I>>,
}

/// The distinct records, in order, and their number for each value of the highest bits.
struct Distinct {
    records: Sequence,
    starts: Vec<u64>,
}

impl<'a, I: Id, S: Spill> SpilledPairs<'a, I, S> {
    /// A join that uses about `memory` bytes.
    ///
    /// # Errors
    ///
    /// [`JoinError::MemoryTooSmall`] below 16 MiB.
    pub fn new(
        options: PairOptions,
        memory: usize,
        spill: S,
        executor: &'a dyn Executor,
    ) -> Result<Self, JoinError> {
        if memory < LEAST_MEMORY {
            return Err(JoinError::MemoryTooSmall { given: memory, least: LEAST_MEMORY });
        }
        Ok(Self::of_any_size(options, memory, spill, executor))
    }

    pub(super) fn of_any_size(
        options: PairOptions,
        memory: usize,
        spill: S,
        executor: &'a dyn Executor,
    ) -> Self {
        let records = Sorter::new(Self::most_in_memory(memory));
        Self { options, memory, spill, executor, numbers: Numbers::default(), records }
    }

    /// Maximum number of records that are joined in memory: that takes two of each, and the pairs.
    #[must_use]
    pub const fn most_in_memory(memory: usize) -> usize {
        memory / (2 * size_of::<Record<I>>() + size_of::<Pair<I>>())
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// [`JoinError::Spill`] if the storage fails.
    pub fn push(&mut self, record: Record<I>) -> Result<(), JoinError> {
        self.records.push(record, &mut self.numbers, &mut self.spill, self.executor)
    }

    /// Passes every edge to `sink`: pairs of distinct fingerprints and twins, ordered by smaller
    /// id, then larger, exactly as [`Joined::edges`](super::Joined::edges) does. Confirm pairs in
    /// the sink.
    ///
    /// # Errors
    ///
    /// [`JoinError::Spill`] if the storage fails, and the errors of the sink.
    pub fn finish(
        self,
        mut sink: impl FnMut(Pair<I>) -> Result<(), JoinError>,
    ) -> Result<(), JoinError> {
        let Self { options, memory, mut spill, executor, mut numbers, records } = self;
        if records.is_in_memory() {
            let joined = pairs(records.into_buffer(), &options, executor);
            return joined.edges().try_for_each(sink);
        }
        let mut edges = Sorter::new(memory / 8 / size_of::<Pair<I>>());
        let mut join = Join { options: &options, memory, spill: &mut spill, executor };
        let distinct = join.collapse(records, &mut edges, &mut numbers)?;
        let rows = usize::try_from(distinct.records.len).unwrap_or(usize::MAX);
        let plan = options.plan(rows);
        if options.bound.bits() > 0 {
            for number in 0..plan.stages.len() {
                join.stage(&plan, number, &distinct, &mut edges, &mut numbers)?;
            }
        }
        spill.forget(distinct.records.partition)?;
        edges.finish(memory / 2, &mut numbers, &mut spill, executor, |edge, _, _| sink(edge))
    }
}

/// The state shared by the steps.
struct Join<'a, S> {
    options: &'a PairOptions,
    memory: usize,
    spill: &'a mut S,
    executor: &'a dyn Executor,
}

impl<S: Spill> Join<'_, S> {
    /// Merges the records and writes the distinct ones.
    fn collapse<I: Id>(
        &mut self,
        records: Sorter<Record<I>>,
        edges: &mut Sorter<Pair<I>>,
        numbers: &mut Numbers,
    ) -> Result<Distinct, JoinError> {
        let executor = self.executor;
        let digit = Digit::of(highest(u64::MAX, MOST_OUTER_BITS));
        let mut starts = vec![0u64; digit.values() + 1];
        let mut writer = Writer::new(numbers.take(), self.memory / 16);
        let mut last: Option<(Record<I>, I)> = None;
        records.finish(
            self.memory / 2,
            numbers,
            self.spill,
            executor,
            |record, numbers, spill| {
                if let Some((first, id)) = &mut last
                    && { first.fingerprint } == record.fingerprint
                {
                    let (before, now) = (*id, record.id);
                    *id = now;
                    if before != now {
                        let twin = Pair::of(first.id, record.id, 0);
                        edges.push(twin, numbers, &mut &mut *spill, executor)?;
                    }
                    return Ok(());
                }
                last = Some((record, record.id));
                starts[digit.get(record.fingerprint) + 1] += 1;
                writer.push(record, spill)
            },
        )?;
        let records = writer.finish(self.spill)?;
        for value in 0..digit.values() {
            starts[value + 1] += starts[value];
        }
        Ok(Distinct { records, starts })
    }

    fn stage<I: Id>(
        &mut self,
        plan: &Plan,
        number: usize,
        distinct: &Distinct,
        edges: &mut Sorter<Pair<I>>,
        numbers: &mut Numbers,
    ) -> Result<(), JoinError> {
        let stage = &plan.stages[number];
        let finder = Finder::new(plan, stage, self.options.kernel, self.options.cluster);
        // Two records each in five eighths of the memory, leaving space for parts of unequal size.
        let most = (self.memory / 8 * 5 / (2 * size_of::<Record<I>>())).max(2);
        let rows = usize::try_from(distinct.records.len).unwrap_or(usize::MAX);
        let bits = (rows / (most * 3 / 4).max(1) + 1).next_power_of_two().ilog2();
        let coarse = highest(stage.outer, bits);
        let partitions = if number == 0 {
            let step = (distinct.starts.len() - 1) >> coarse.count_ones();
            let bounds: Vec<u64> = distinct.starts.iter().step_by(step.max(1)).copied().collect();
            let partition = distinct.records.partition;
            bounds.windows(2).map(|ends| (partition, ends[0], ends[1])).collect()
        } else {
            self.partition::<I>(distinct.records, Digit::of(coarse), numbers)?
        };
        for (partition, start, end) in partitions {
            let mut tiles = Tiles { start, end, partition, most };
            while let Some((first, others)) = tiles.next_pairing() {
                self.tile(first, &others, stage, &finder, edges, numbers)?;
            }
            if number > 0 && end > 0 {
                self.spill.forget(partition)?;
            }
        }
        Ok(())
    }

    /// Writes the records to one partition per value of the digit.
    fn partition<I: Id>(
        &mut self,
        records: Sequence,
        digit: Digit,
        numbers: &mut Numbers,
    ) -> Result<Vec<(u32, u64, u64)>, JoinError> {
        let each = self.memory / 2 / digit.values();
        let mut writers: Vec<Writer> =
            (0..digit.values()).map(|_| Writer::new(numbers.take(), each.min(1 << 20))).collect();
        let mut reader = Reader::<Record<I>>::new(records, (self.memory / 16).min(1 << 20));
        while let Some(record) = reader.next(self.spill)? {
            writers[digit.get(record.fingerprint)].push(record, self.spill)?;
        }
        let whole = |sequence: Sequence| (sequence.partition, 0, sequence.len);
        writers.into_iter().map(|writer| writer.finish(self.spill).map(whole)).collect()
    }

    /// Finds the pairs inside the first range, and between it and each of the others.
    fn tile<I: Id>(
        &mut self,
        first: Tile,
        others: &[Tile],
        stage: &Stage,
        finder: &Finder<'_>,
        edges: &mut Sorter<Pair<I>>,
        numbers: &mut Numbers,
    ) -> Result<(), JoinError> {
        let mut records = Vec::new();
        self.load(first, &mut records)?;
        let border = records.len();
        for other in std::iter::once(None).chain(others.iter().map(Some)) {
            records.truncate(border);
            if let Some(&other) = other {
                self.load(other, &mut records)?;
            }
            let mut area = crate::hamming::memory::filled(records.len(), Record::default());
            let (one, two) = records.split_at(border);
            let chunk = self.options.chunk;
            let chunks: Vec<&[Record<I>]> = one.chunks(chunk).chain(two.chunks(chunk)).collect();
            let runs = arrange(&chunks, &mut area, stage, false, self.executor);
            let border = other.map(|_| one.chunks(chunk).len());
            let found = find(&runs, border, stage, finder, self.options, self.executor);
            for pair in found.into_iter().flatten() {
                edges.push(pair, numbers, self.spill, self.executor)?;
            }
        }
        Ok(())
    }

    fn load<I: Id>(&mut self, tile: Tile, into: &mut Vec<Record<I>>) -> Result<(), JoinError> {
        let records = usize::try_from(tile.end - tile.start).unwrap_or(usize::MAX);
        into.reserve_exact(records);
        let share = (self.memory / 16).min(1 << 20).max(Record::<I>::BYTES);
        let mut reader = Reader::part(tile.partition, tile.start, tile.end, share);
        while let Some(record) = reader.next(self.spill)? {
            into.push(record);
        }
        Ok(())
    }
}

/// A range of the records in a partition.
#[derive(Clone, Copy, Debug)]
struct Tile {
    partition: u32,
    start: u64,
    end: u64,
}

/// Splits a partition into tiles such that two fit into memory; one tile if it fits as a whole.
struct Tiles {
    partition: u32,
    start: u64,
    end: u64,
    most: usize,
}

impl Tiles {
    /// The next tile and those after it.
    fn next_pairing(&mut self) -> Option<(Tile, Vec<Tile>)> {
        if self.start >= self.end {
            return None;
        }
        let whole = self.end - self.start <= self.most as u64;
        let each = if whole { self.most as u64 } else { (self.most as u64 / 2).max(1) };
        let tile =
            |start: u64| Tile { partition: self.partition, start, end: self.end.min(start + each) };
        let first = tile(self.start);
        let others = (first.end..self.end).step_by(each as usize).map(tile).collect();
        self.start = first.end;
        Some((first, others))
    }
}
