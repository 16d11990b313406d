//! Finds all pairs within a bound, in memory.
//!
//! ```text
//!   records --partition by highest bits--> parts --collapse--> distinct, sorted
//!   for each stage of the plan:
//!       distinct --partition by the stage's bits--> parts --bucket, compare--> pairs
//!   pairs --sort--> result
//! ```
//!
//! The first stage uses the highest bits, by which the set is sorted already. Besides the pairs it needs two
//! arrays of records: 24 bytes per fingerprint with 32-bit ids.

use std::ops::Range;

use super::JoinError;
use super::bucket::{Finder, Scratch};
use super::collapse::Collapse;
use super::executor::Executor;
use super::joined::Joined;
use super::parts::{CHUNK, Digit, PART, Runs, partition, ranges, runs_of_sorted, split_by};
use super::plan::{Plan, Stage, WIDEST};
use super::record::{Id, Pair, Record};
use crate::fingerprint::MaxDistance;
use crate::hamming::Kernel;
use crate::hamming::memory::filled;

/// Records per block in a bucket, from which on splitting it again costs less than comparing it:
/// about 20 nanoseconds to move a record against 0.05 to compare two.
const DENSE: usize = 1024;

/// Tasks per thread, so that no thread waits long for the last one.
const TASKS: usize = 4;

/// Smaller parts and chunks cost more than idle threads do.
const LEAST: usize = 1 << 12;

/// Options for joining a set with itself.
#[derive(Clone, Debug)]
pub struct PairOptions {
    pub(super) bound: MaxDistance,
    pub(super) kernel: Kernel,
    pub(super) blocks: Option<u32>,
    pub(super) part: usize,
    pub(super) chunk: usize,
    pub(super) cluster: usize,
}

impl PairOptions {
    /// All pairs within `bound`, by the cheapest plan.
    ///
    /// # Errors
    ///
    /// [`JoinError::BoundOutOfRange`] for more than 16 bits.
    pub fn within(bound: MaxDistance) -> Result<Self, JoinError> {
        if bound.bits() > WIDEST {
            return Err(JoinError::BoundOutOfRange { asked: bound.bits(), most: WIDEST });
        }
        let cluster = DENSE * (bound.bits() as usize + 1);
        Ok(Self { bound, kernel: Kernel::best(), blocks: None, part: PART, chunk: CHUNK, cluster })
    }

    /// Uses this instruction set instead of the best of this CPU.
    #[must_use]
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Splits fingerprints into this many blocks instead of the cheapest number: from the bound
    /// (compares everything) to four above it. Does not change the result.
    #[must_use]
    pub fn blocks(mut self, blocks: u32) -> Self {
        let k = self.bound.bits();
        self.blocks = Some(blocks.clamp(k, k + 4));
        self
    }

    /// Uses other sizes of chunks and parts, in records. Does not change the result.
    #[must_use]
    pub fn sizes(mut self, chunk: usize, part: usize) -> Self {
        self.chunk = chunk.clamp(1, 1 << 30);
        self.part = part.max(1);
        self
    }

    /// Sets the bucket size from which on a bucket is keyed again instead of compared. Does not
    /// change the result.
    #[must_use]
    pub fn cluster(mut self, records: usize) -> Self {
        self.cluster = records.max(1);
        self
    }

    /// Chunks and parts small enough that all threads have work on a set of this many records.
    fn spread(&self, records: usize, executor: &dyn Executor) -> Self {
        let each = (records / (TASKS * executor.width().max(1))).max(LEAST);
        Self { chunk: self.chunk.min(each), part: self.part.min(each), ..self.clone() }
    }

    /// The plan for this many distinct fingerprints.
    pub fn plan(&self, rows: usize) -> Plan {
        let forced = self.blocks.map(|m| Plan::with_blocks(m, rows, self.bound, self.part));
        forced
            .or_else(|| Plan::cheapest(rows, self.bound, self.part, self.kernel))
            .unwrap_or_else(|| Plan::with_blocks(self.bound.bits(), rows, self.bound, self.part))
    }
}

/// All pairs of distinct fingerprints within the bound, and all twins.
///
/// Ids should be unique; a pair of an id with itself is not reported. The result depends on the set
/// of records and the bound alone: not on their order, the executor or the other options.
pub fn pairs<I: Id>(
    mut records: Vec<Record<I>>,
    options: &PairOptions,
    executor: &dyn Executor,
) -> Joined<I> {
    let options = &options.spread(records.len(), executor);
    let mut area = filled(records.len(), Record::default());
    let (chunks, twins) = collapse(&mut records, &mut area, options, executor);
    let rows = chunks.iter().map(|chunk| chunk.len()).sum();
    let mut found = Vec::new();
    if options.bound.bits() > 0 {
        let plan = options.plan(rows);
        for (number, stage) in plan.stages.iter().enumerate() {
            let finder = Finder::new(&plan, stage, options.kernel, options.cluster);
            let in_order = number == 0;
            let runs = arrange(&chunks, &mut area, stage, in_order, executor);
            found.extend(find(&runs, None, stage, &finder, options, executor));
        }
    }
    drop(area);
    Joined::new(found, twins, executor)
}

/// The chunks of distinct records, ascending, and the twins of each chunk.
pub(super) type Collapsed<'a, I> = (Vec<&'a [Record<I>]>, Vec<Vec<Pair<I>>>);

/// Sorts and collapses the records in place, with `area` as the space to partition into.
pub(super) fn collapse<'a, I: Id>(
    records: &'a mut [Record<I>],
    area: &mut [Record<I>],
    options: &PairOptions,
    executor: &dyn Executor,
) -> Collapsed<'a, I> {
    let fixed = (records.len() / options.part).max(1).next_power_of_two().ilog2().min(11);
    let digit = Digit::of(((1 << fixed) - 1) << ((64 - fixed) % 64));
    let tasks = records.chunks(options.chunk).zip(area.chunks_mut(options.chunk)).collect();
    let runs = executor.map(tasks, |(chunk, target)| partition(chunk, digit, target));
    let ranges = ranges(&runs, digit.values(), options.chunk);
    let len = |range: &Range<usize>| -> usize {
        runs.iter().map(|run| (run.ends[range.end] - run.ends[range.start]) as usize).sum()
    };
    let targets = split_by(records, ranges.iter().map(len));
    let tasks = ranges.into_iter().zip(targets).collect();
    let done = executor.map(tasks, |(range, target): (Range<usize>, &'a mut [Record<I>])| {
        let mut scratch = Collapse::new();
        let mut twins = Vec::new();
        let mut filled = 0;
        for part in range {
            filled += scratch.part(&runs, part, fixed, &mut target[filled..], &mut twins);
        }
        (&target[..filled], twins)
    });
    done.into_iter().unzip()
}

/// The chunks in the order of the stage's bits, moved to `area` unless they are in this order
/// already.
pub(super) fn arrange<'a, I: Id>(
    chunks: &[&'a [Record<I>]],
    area: &'a mut [Record<I>],
    stage: &Stage,
    in_order: bool,
    executor: &dyn Executor,
) -> Vec<Runs<'a, I>> {
    let digit = Digit::of(stage.outer);
    if in_order {
        return executor.map(chunks.to_vec(), |chunk| runs_of_sorted(chunk, digit));
    }
    let targets = split_by(area, chunks.iter().map(|chunk| chunk.len()));
    let tasks = chunks.iter().copied().zip(targets).collect();
    executor.map(tasks, |(chunk, target)| partition(chunk, digit, target))
}

/// The pairs of a stage, one list per task. With a border, only pairs of a record in the chunks
/// before it with a record in the chunks after it.
pub(super) fn find<I: Id>(
    runs: &[Runs<'_, I>],
    border: Option<usize>,
    stage: &Stage,
    finder: &Finder<'_>,
    options: &PairOptions,
    executor: &dyn Executor,
) -> Vec<Vec<Pair<I>>> {
    let tasks = ranges(runs, Digit::of(stage.outer).values(), options.chunk);
    executor.map(tasks, |range| {
        let mut scratch = Scratch::new();
        let mut found = Vec::new();
        for part in range {
            scratch.clear();
            for (number, run) in runs.iter().enumerate() {
                if border == Some(number) {
                    scratch.set_border();
                }
                scratch.extend(run.part(part));
            }
            finder.find(&mut scratch, &mut found);
        }
        found
    })
}
