//! Streams stored fingerprints past tables over the queries.
//!
//! The queries are in buckets, once per key of the plan. A chunk is partitioned by the bits of each stage, like
//! a set that is joined with itself, bucketed in the cache, and compared with the queries in the same buckets,
//! groups against vectors. A chunk is sorted, so the first stage moves nothing. The thesis's baseline does a
//! binary search for each stored fingerprint in each table (equation 6.14).

use std::ops::Range;

use super::{Chunks, Hit, Streamed, Wanted, copies_at, next_chunk};
use crate::hamming::lanes::Word;
use crate::hamming::memory::filled;
use crate::hamming::{BitGather, Kernel, Lanes, Work};
use crate::join::JoinError;
use crate::join::bucket::{GROUP, Placed, STEP, Scratch, any_across, lowest_32, near_across};
use crate::join::executor::Executor;
use crate::join::pairs::{PairOptions, arrange, collapse};
use crate::join::parts::{Digit, Runs, ranges};
use crate::join::plan::Plan;
use crate::join::record::{Pair, Record};

/// One in this many queries must be answered before the tables are rebuilt without them.
const WORTH_REBUILDING: usize = 4;

/// Parts hold fewer queries than records of a self-join by this factor, because a chunk's share of
/// the part must fit into the cache, too, and a chunk may be larger than the batch.
const PARTS_SMALLER: usize = 4;

/// A batch of queries in tables.
pub struct Batch {
    options: PairOptions,
    plan: Plan,
    /// Distinct queries, ascending by fingerprint, with their smallest numbers.
    queries: Vec<Record<u32>>,
    twins: Vec<Pair<u32>>,
    tables: Vec<Table>,
}

/// The queries in the order of one key's buckets.
struct Table {
    /// `ends[b]..ends[b + 1]` are the entries of bucket `b`.
    ends: Vec<u32>,
    words: Words,
    rows: Vec<u32>,
}

/// 32 or all bits of each query, padded by a vector.
enum Words {
    Halves(Vec<u32>),
    Wholes(Vec<u64>),
}

impl Batch {
    /// Prepares a batch; query number `i` is `queries[i]`.
    ///
    /// # Errors
    ///
    /// [`JoinError::BatchTooLarge`] for more than 2^32 - 1 queries.
    pub fn new(
        queries: &[u64],
        options: PairOptions,
        executor: &dyn Executor,
    ) -> Result<Self, JoinError> {
        if u32::try_from(queries.len()).is_err() {
            return Err(JoinError::BatchTooLarge { given: queries.len() });
        }
        let part = options.part.div_ceil(PARTS_SMALLER);
        let chunk = options.chunk;
        let options = options.sizes(chunk, part);
        let mut records: Vec<Record<u32>> =
            (0u32..).zip(queries).map(|(id, &fingerprint)| Record { fingerprint, id }).collect();
        let mut area = filled(records.len(), Record::default());
        let (chunks, twins) = collapse(&mut records, &mut area, &options, executor);
        let distinct = chunks.concat();
        let mut twins = twins.concat();
        twins.sort_unstable();
        drop(area);
        let plan = options.plan(distinct.len());
        let tables = tables(&plan, &distinct, options.kernel, executor);
        Ok(Self { options, plan, queries: distinct, twins, tables })
    }

    /// For each query that equals an earlier one: the number of the first such query, and its own.
    /// Hits are reported for the first only.
    pub fn twins(&self) -> &[Pair<u32>] {
        &self.twins
    }

    /// The plan behind the keys.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        let table = |table: &Table| {
            let words = match &table.words {
                Words::Halves(words) => words.capacity() * size_of::<u32>(),
                Words::Wholes(words) => words.capacity() * size_of::<u64>(),
            };
            (table.ends.capacity() + table.rows.capacity()) * size_of::<u32>() + words
        };
        self.queries.capacity() * size_of::<Record<u32>>()
            + self.twins.capacity() * size_of::<Pair<u32>>()
            + self.tables.iter().map(table).sum::<usize>()
    }

    /// Streams all chunks and passes the hits to `sink`. With [`Wanted::First`], a query gets the
    /// nearest hit of the first chunk that has any; ties go to the earliest.
    ///
    /// # Errors
    ///
    /// [`JoinError::ChunkNotSorted`], and the errors of chunks and sink.
    pub fn stream(
        mut self,
        wanted: Wanted,
        chunks: &mut impl Chunks,
        executor: &dyn Executor,
        mut sink: impl FnMut(Hit) -> Result<(), JoinError>,
    ) -> Result<Streamed, JoinError> {
        let mut streamed = Streamed::default();
        let mut stored = Vec::new();
        let mut answered = vec![false; self.queries.len()];
        let mut open = self.queries.len();
        while open > 0 && next_chunk(chunks, &mut stored, &mut streamed)? {
            let base = streamed.stored - stored.len() as u64;
            let mut hits = self.search(&stored, base, &answered, executor);
            if wanted == Wanted::First {
                hits.sort_unstable_by_key(|(_, hit)| (hit.query, hit.distance, hit.position));
                hits.dedup_by_key(|(_, hit)| hit.query);
                open -= hits.len();
                hits.iter().for_each(|&(row, _)| answered[row as usize] = true);
            } else {
                hits.sort_unstable_by_key(|(_, hit)| *hit);
            }
            streamed.hits += hits.len() as u64;
            hits.into_iter().try_for_each(|(_, hit)| sink(hit))?;
            if (answered.len() - open) * WORTH_REBUILDING > answered.len() {
                let mut answers = answered.iter();
                self.queries.retain(|_| !answers.next().copied().unwrap_or(false));
                self.plan = self.options.plan(self.queries.len());
                self.tables = tables(&self.plan, &self.queries, self.options.kernel, executor);
                answered = vec![false; open];
            }
        }
        Ok(streamed)
    }

    /// The hits of one chunk, unordered, each with the row of its query.
    fn search(
        &self,
        stored: &[u64],
        base: u64,
        answered: &[bool],
        executor: &dyn Executor,
    ) -> Vec<(u32, Hit)> {
        let records: Vec<Record<u32>> = distinct(stored);
        let mut area = filled(records.len(), Record::default());
        let chunks: Vec<&[Record<u32>]> = records.chunks(self.options.chunk).collect();
        let mut hits = Vec::new();
        let mut tables = self.tables.as_slice();
        for (number, stage) in self.plan.stages.iter().enumerate() {
            let (here, later) = tables.split_at(stage.inner.len());
            tables = later;
            let runs = arrange(&chunks, &mut area, stage, number == 0, executor);
            let parts = ranges(&runs, Digit::of(stage.outer).values(), self.options.chunk);
            let found = executor.map(parts, |parts| {
                let mut found = Vec::new();
                self.options.kernel.run(SearchParts {
                    batch: self,
                    stage: number,
                    tables: here,
                    runs: &runs,
                    parts,
                    answered,
                    found: &mut found,
                });
                found
            });
            let hit = |(row, index, distance): (u32, u32, u8)| {
                let copies = copies_at(stored, index as usize);
                let query = self.queries[row as usize].id;
                (row, Hit { query, position: base + u64::from(index), copies, distance })
            };
            hits.extend(found.into_iter().flatten().map(hit));
        }
        hits
    }
}

/// The distinct stored fingerprints, each with its position in the chunk.
fn distinct(stored: &[u64]) -> Vec<Record<u32>> {
    let mut records = Vec::with_capacity(stored.len());
    let mut last = None;
    for (id, &fingerprint) in (0u32..).zip(stored) {
        if last != Some(fingerprint) {
            records.push(Record { fingerprint, id });
        }
        last = Some(fingerprint);
    }
    records
}

/// One table per key of the plan, in this order.
fn tables(
    plan: &Plan,
    queries: &[Record<u32>],
    kernel: Kernel,
    executor: &dyn Executor,
) -> Vec<Table> {
    let keys: Vec<(u64, u64)> = plan
        .stages
        .iter()
        .flat_map(|stage| stage.inner.iter().map(|&inner| (stage.outer, inner)))
        .collect();
    let half_words = plan.half_words();
    executor.map(keys, |(outer, inner)| kernel.run(Build { queries, outer, inner, half_words }))
}

struct Build<'a> {
    queries: &'a [Record<u32>],
    outer: u64,
    inner: u64,
    half_words: bool,
}

impl Work for Build<'_> {
    type Output = Table;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Table {
        let (outer, inner) = (Digit::of(self.outer), BitGather::new(self.inner));
        let bucket = |fingerprint: u64| {
            outer.get(fingerprint) << inner.bits() | lanes.gather(&inner, fingerprint) as usize
        };
        let mut ends = vec![0u32; (outer.values() << inner.bits()) + 1];
        for query in self.queries {
            ends[bucket(query.fingerprint) + 1] += 1;
        }
        for bucket in 1..ends.len() {
            ends[bucket] += ends[bucket - 1];
        }
        let mut next = ends.clone();
        let mut rows = filled(self.queries.len(), 0);
        for (row, query) in (0u32..).zip(self.queries) {
            let place = &mut next[bucket(query.fingerprint)];
            rows[*place as usize] = row;
            *place += 1;
        }
        drop(next);
        let gather = BitGather::new(lowest_32(!(self.outer | self.inner)));
        let whole = |&row: &u32| self.queries[row as usize].fingerprint;
        let words = if self.half_words {
            let mut words = filled(rows.len() + STEP, 0u32);
            for (word, row) in words.iter_mut().zip(&rows) {
                *word = lanes.gather(&gather, whole(row)) as u32;
            }
            Words::Halves(words)
        } else {
            let mut words = filled(rows.len() + STEP, 0u64);
            for (word, row) in words.iter_mut().zip(&rows) {
                *word = whole(row);
            }
            Words::Wholes(words)
        };
        Table { ends, words, rows }
    }
}

struct SearchParts<'a> {
    batch: &'a Batch,
    stage: usize,
    tables: &'a [Table],
    runs: &'a [Runs<'a, u32>],
    parts: Range<usize>,
    answered: &'a [bool],
    /// Row of the query, position in the chunk, distance.
    found: &'a mut Vec<(u32, u32, u8)>,
}

impl Work for SearchParts<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let stage = &self.batch.plan.stages[self.stage];
        let bound = self.batch.plan.bound().bits();
        let mut scratch = Scratch::new();
        for part in self.parts {
            scratch.clear();
            for run in self.runs {
                scratch.extend(run.part(part));
            }
            for (number, (table, &inner)) in self.tables.iter().zip(&stage.inner).enumerate() {
                let bucket = BitGather::new(inner);
                let first = part << bucket.bits();
                let ends = &table.ends[first..=first + (1 << bucket.bits())];
                let hit = |fingerprint: u64, id: u32, place: usize| {
                    let row = table.rows[place];
                    let flips = fingerprint ^ self.batch.queries[row as usize].fingerprint;
                    if flips.count_ones() <= bound
                        && !self.answered[row as usize]
                        && stage.earlier.iter().all(|used| flips & used != 0)
                        && stage.inner[..number].iter().all(|used| flips & used != 0)
                    {
                        self.found.push((row, id, flips.count_ones() as u8));
                    }
                };
                match &table.words {
                    Words::Halves(words) => {
                        let gather = BitGather::new(lowest_32(!(stage.outer | inner)));
                        let word = |fingerprint| lanes.gather(&gather, fingerprint) as u32;
                        let placed = scratch.halves_in_buckets(lanes, &bucket, word);
                        across(placed, ends, words, bound, hit);
                    }
                    Words::Wholes(words) => {
                        let placed = scratch.wholes_in_buckets(lanes, &bucket);
                        across(placed, ends, words, bound, hit);
                    }
                }
            }
        }
    }
}

/// Compares each bucket of the part with the same bucket of the table.
#[inline(always)]
fn across<W: Word>(
    placed: Placed<'_, W>,
    table_ends: &[u32],
    table: &[W],
    bound: u32,
    mut hit: impl FnMut(u64, u32, usize),
) {
    let mut start = 0;
    for (&end, bounds) in placed.ends.iter().zip(table_ends.windows(2)) {
        let (end, from, to) = (end as usize, bounds[0] as usize, bounds[1] as usize);
        let steps = (to - from).div_ceil(STEP);
        let (stored, _) = table[from..].as_chunks::<STEP>();
        for group_start in (start..end).step_by(GROUP) {
            let Some(group) = placed.words[group_start..].first_chunk::<GROUP>() else { continue };
            for (number, stored) in stored[..steps].iter().enumerate() {
                if any_across(group, stored, bound) {
                    near_across(group, stored, bound, |a, b| {
                        let (a, b) = (group_start + a, from + number * STEP + b);
                        if a < end && b < to {
                            let record = placed.order[a] as usize;
                            hit(placed.fingerprints[record], placed.ids[record], b);
                        }
                    });
                }
            }
        }
        start = end;
    }
}
