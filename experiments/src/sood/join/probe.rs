//! Searches sorted stored fingerprints for a batch of queries, by flips of leading bits.
//!
//! Each query's leading `p` bits with each of its *flips* (including none) form a probe; [`Flips`] chooses them, and
//! all flips of at most `k` leading bits are exact. Probes of all queries are sorted once, and a chunk is merged with
//! them, so both are read in order. A probe stores 32 further bits of its query: sixteen are compared by one
//! instruction, and near ones are compared completely.
//!
//! ```text
//!   query 7 = 0110...  flips: none, bit 2      ->  probes (0110, 7) (0010, 7)
//!   probes, by leading bits   0010: 7 19   0011: 4   0110: 7 8 ...
//!   chunk, sorted             0010...  0010...  0110...
//! ```
//!
//! Source: Sood 2011, chapter V.B and equations 6.19 and 6.20; merging instead of searching for each probe is ours.

use std::ops::Range;

use hapax::fingerprint::MaxDistance;
use hapax::hamming::memory::filled;
use hapax::hamming::{Kernel, Lanes, Work};
use hapax::join::{Chunks, Executor, Hit, JoinError, Streamed, Wanted};

use super::{copies_at, next_chunk};

/// Chooses the leading bits to flip, for each query of a batch.
pub(crate) trait Flips: Sync {
    /// Number of leading bits, 1 to 28; flips must not touch other bits.
    fn leading_bits(&self) -> u32;

    /// Appends the distinct flips of a query, as numbers of [`leading_bits`](Self::leading_bits)
    /// bits. The empty flip is not implied.
    fn of(&self, query: usize, flips: &mut Vec<u32>);
}

/// Queries per task.
const BATCH_SIZE: usize = 1 << 13;

/// Approximate number of probes in a part, such that sorting happens in the cache.
const PART: usize = 1 << 16;
const PROBES_PER_QUERY: usize = 16;

/// Maximum bits of a part's number: more output streams would be slow.
const MOST_OUTER_BITS: u32 = 11;

/// Number of words compared at a time.
const STEP: usize = 16;

/// Removes probes when at least this share (1 / n) of the queries is answered.
const WORTH_REMOVING: usize = 4;

/// The probes of a batch of queries.
pub(crate) struct Probes<'q> {
    queries: &'q [u64],
    leading: u32,
    inner: u32,
    parts: Vec<Part>,
    kernel: Kernel,
}

/// The probes with the same first bits, grouped by the other leading bits.
struct Part {
    /// Probes with value `v` are at `ends[v]..ends[v + 1]`.
    ends: Vec<u32>,
    /// The 32 bits of the query after the leading ones; padded by a step.
    words: Vec<u32>,
    rows: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Probe {
    prefix: u32,
    word: u32,
    row: u32,
}

impl<'q> Probes<'q> {
    /// Computes and sorts the probes.
    ///
    /// # Errors
    ///
    /// [`JoinError::BatchTooLarge`] if there are more than 2^32 - 1 queries.
    pub(crate) fn new(
        queries: &'q [u64],
        flips: &impl Flips,
        executor: &dyn Executor,
    ) -> Result<Self, JoinError> {
        if u32::try_from(queries.len()).is_err() {
            return Err(JoinError::BatchTooLarge { given: queries.len() });
        }
        let leading = flips.leading_bits();
        let expected = queries.len() * PROBES_PER_QUERY;
        let outer = (expected / PART).max(1).ilog2().min(MOST_OUTER_BITS).min(leading);
        let inner = leading - outer;
        let tasks = (0..queries.len().div_ceil(BATCH_SIZE)).collect();
        let dealt = executor.map(tasks, |task: usize| {
            let range = task * BATCH_SIZE..((task + 1) * BATCH_SIZE).min(queries.len());
            deal(queries, range, flips, inner, 1 << outer)
        });
        let parts = executor.map((0..1usize << outer).collect(), |part| {
            let runs = dealt.iter().map(|dealt| {
                &dealt.probes[dealt.starts[part] as usize..dealt.starts[part + 1] as usize]
            });
            Part::new(runs, inner)
        });
        Ok(Self { queries, leading, inner, parts, kernel: Kernel::best() })
    }

    /// Streams the chunks and passes the hits of the probes to `sink`. With [`Wanted::First`] a
    /// query's hit is the nearest one in the first chunk with any, ties by position.
    ///
    /// # Errors
    ///
    /// [`JoinError::ChunkNotSorted`], and errors of the chunks and the sink.
    pub(crate) fn stream(
        mut self,
        bound: MaxDistance,
        wanted: Wanted,
        chunks: &mut impl Chunks,
        executor: &dyn Executor,
        mut sink: impl FnMut(Hit) -> Result<(), JoinError>,
    ) -> Result<Streamed, JoinError> {
        let mut streamed = Streamed::default();
        let mut stored = Vec::new();
        let mut answered = vec![false; self.queries.len()];
        let (mut open, mut removed) = (self.queries.len(), 0);
        while open > 0 && next_chunk(chunks, &mut stored, &mut streamed)? {
            let base = streamed.stored - stored.len() as u64;
            let mut hits = self.search(&stored, bound, &answered, executor);
            if wanted == Wanted::First {
                hits.sort_unstable_by_key(|hit| (hit.query, hit.distance, hit.position));
                hits.dedup_by_key(|hit| hit.query);
                open -= hits.len();
                hits.iter().for_each(|hit| answered[hit.query as usize] = true);
            } else {
                hits.sort_unstable();
            }
            streamed.hits += hits.len() as u64;
            for hit in hits {
                sink(Hit { position: base + hit.position, ..hit })?;
            }
            let closed = answered.len() - open;
            if (closed - removed) * WORTH_REMOVING > answered.len() - removed {
                let parts = self.parts.iter_mut().collect();
                executor.map(parts, |part: &mut Part| part.remove(&answered));
                removed = closed;
            }
        }
        Ok(streamed)
    }

    /// Hits with positions inside the chunk, unordered.
    fn search(
        &self,
        stored: &[u64],
        bound: MaxDistance,
        answered: &[bool],
        executor: &dyn Executor,
    ) -> Vec<Hit> {
        let (Some(&first), Some(&last)) = (stored.first(), stored.last()) else {
            return Vec::new();
        };
        let outer = self.leading - self.inner;
        let part_of = |fingerprint: u64| fingerprint.checked_shr(64 - outer).unwrap_or(0) as usize;
        let mut tasks = Vec::new();
        let mut start = 0;
        for part in part_of(first)..=part_of(last) {
            let length = stored[start..].partition_point(|&bits| part_of(bits) == part);
            if length > 0 {
                tasks.push((part, start..start + length));
            }
            start += length;
        }
        let found = executor.map(tasks, |(part, range)| {
            let mut found = Vec::new();
            let part = &self.parts[part];
            let found_here = &mut found;
            self.kernel.run(Merge {
                probes: self,
                part,
                stored,
                range,
                bound,
                answered,
                found_here,
            });
            found
        });
        found.concat()
    }
}

/// Streams the chunks and passes the hits of each query's flips to `sink`.
///
/// Unlike in [`Batch`](hapax::join::Batch), equal queries are searched separately, because their
/// flips may differ.
///
/// # Errors
///
/// Those of [`Probes::new`] and [`Probes::stream`].
#[cfg(test)]
pub(crate) fn probe(
    queries: &[u64],
    flips: &impl Flips,
    bound: MaxDistance,
    wanted: Wanted,
    chunks: &mut impl Chunks,
    executor: &dyn Executor,
    sink: impl FnMut(Hit) -> Result<(), JoinError>,
) -> Result<Streamed, JoinError> {
    Probes::new(queries, flips, executor)?.stream(bound, wanted, chunks, executor, sink)
}

/// The probes of some queries, by part.
struct Dealt {
    probes: Vec<Probe>,
    starts: Vec<u32>,
}

fn deal(
    queries: &[u64],
    range: Range<usize>,
    flips: &impl Flips,
    inner: u32,
    parts: usize,
) -> Dealt {
    let leading = flips.leading_bits();
    let mut starts = vec![0u32; parts + 1];
    let mut probes = Vec::with_capacity(range.len() * 8);
    let mut flipped = Vec::new();
    for row in range {
        let bits = queries[row];
        let prefix = (bits >> (64 - leading)) as u32;
        let word = (bits << leading >> 32) as u32;
        flipped.clear();
        flips.of(row, &mut flipped);
        for flip in &flipped {
            let prefix = prefix ^ flip;
            starts[(prefix >> inner) as usize + 1] += 1;
            probes.push(Probe { prefix, word, row: row as u32 });
        }
    }
    for part in 0..parts {
        starts[part + 1] += starts[part];
    }
    let mut next = starts.clone();
    let mut dealt = filled(probes.len(), Probe::default());
    for probe in probes {
        let place = &mut next[(probe.prefix >> inner) as usize];
        dealt[*place as usize] = probe;
        *place += 1;
    }
    Dealt { probes: dealt, starts }
}

impl Part {
    fn new<'a>(runs: impl Iterator<Item = &'a [Probe]> + Clone, inner: u32) -> Self {
        let value = |probe: &Probe| (probe.prefix & ((1 << inner) - 1)) as usize;
        let mut ends = vec![0u32; (1 << inner) + 1];
        for probe in runs.clone().flatten() {
            ends[value(probe) + 1] += 1;
        }
        for value in 0..1 << inner {
            ends[value + 1] += ends[value];
        }
        let count = ends[1 << inner] as usize;
        let mut next = ends.clone();
        let mut words = filled(count + STEP, 0u32);
        let mut rows = filled(count, 0u32);
        for probe in runs.flatten() {
            let place = &mut next[value(probe)];
            words[*place as usize] = probe.word;
            rows[*place as usize] = probe.row;
            *place += 1;
        }
        Self { ends, words, rows }
    }

    /// Removes the probes of answered queries.
    fn remove(&mut self, answered: &[bool]) {
        let mut kept = 0;
        let mut start = 0;
        for end in &mut self.ends[1..] {
            for place in start..*end as usize {
                let row = self.rows[place];
                if !answered[row as usize] {
                    self.rows[kept] = row;
                    self.words[kept] = self.words[place];
                    kept += 1;
                }
            }
            start = *end as usize;
            *end = kept as u32;
        }
        self.rows.truncate(kept);
        self.words.truncate(kept + STEP);
    }
}

/// Compares a part with the stored fingerprints that have the same first bits.
struct Merge<'a, 'q> {
    probes: &'a Probes<'q>,
    part: &'a Part,
    stored: &'a [u64],
    range: Range<usize>,
    bound: MaxDistance,
    answered: &'a [bool],
    found_here: &'a mut Vec<Hit>,
}

impl Work for Merge<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { probes, part, stored, range, bound, answered, found_here } = self;
        let (leading, inner) = (probes.leading, probes.inner);
        let mut last = None;
        for index in range {
            let fingerprint = stored[index];
            if last.replace(fingerprint) == Some(fingerprint) {
                continue;
            }
            let value = (fingerprint >> (64 - leading)) as usize & ((1 << inner) - 1);
            let (mut at, end) = (part.ends[value] as usize, part.ends[value + 1] as usize);
            let word = (fingerprint << leading >> 32) as u32;
            while at < end {
                let Some(window) = part.words[at..].first_chunk::<STEP>() else { break };
                let mut near = lanes.within_16(window, word, bound.bits());
                near &= u16::MAX >> (STEP - (end - at).min(STEP));
                while near != 0 {
                    let row = part.rows[at + near.trailing_zeros() as usize];
                    near &= near - 1;
                    let distance = (probes.queries[row as usize] ^ fingerprint).count_ones();
                    if bound.admits(distance) && !answered[row as usize] {
                        let copies = copies_at(stored, index);
                        let (position, distance) = (index as u64, distance as u8);
                        found_here.push(Hit { query: row, position, copies, distance });
                    }
                }
                at += STEP;
            }
        }
    }
}
