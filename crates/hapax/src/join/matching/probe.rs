//! Queries look for stored fingerprints, where likely flips lead.
//!
//! A chunk is sorted, so a directory of its leading `p` bits finds any bucket in one read. Each
//! query looks into the buckets of its own leading bits with each of its *flips* applied (none
//! flipped is one of them), and compares what is there whole. Which flips are worth a look is for
//! the caller to say, once for the batch and not once a chunk: weak bits say it best. With all
//! flips of at most `k` leading bits the search is exact.
//!
//! Queries go in the order of their fingerprints, so that those next to each other look at the
//! same places. Find-first stops a query at its first hit, in the order of its flips.
//!
//! Source: Sood 2011, chapter V.B and equation 6.19.

use std::ops::Range;

use super::{Chunks, Hit, Streamed, Wanted, next_chunk};
use crate::fingerprint::MaxDistance;
use crate::hamming::memory::prefetch;
use crate::join::JoinError;
use crate::join::executor::Executor;

/// Which leading bits to flip, for each query of a batch.
pub trait Flips: Sync {
    /// How many leading bits name a bucket, 1 to 32; no flip may touch others.
    fn leading_bits(&self) -> u32;

    /// The flips of a query, likeliest first, each once. A flip of nothing is not implied.
    fn of(&self, query: usize) -> &[u64];
}

/// Queries between asking for a line of memory and reading it.
const AHEAD: usize = 4;

/// Queries that one task handles.
const TOGETHER: usize = 1 << 14;

/// Streams the chunks by and hands to `sink` what the flips of each query lead to.
///
/// Unlike in [`Batch`](super::Batch), identical queries are searched for each by itself: their
/// flips may differ.
///
/// # Errors
///
/// [`JoinError::BatchTooLarge`] beyond 2^32 - 1 queries, [`JoinError::ChunkNotSorted`], and what
/// the chunks and the sink return.
pub fn probe(
    queries: &[u64],
    flips: &impl Flips,
    bound: MaxDistance,
    wanted: Wanted,
    chunks: &mut impl Chunks,
    executor: &impl Executor,
    mut sink: impl FnMut(Hit) -> Result<(), JoinError>,
) -> Result<Streamed, JoinError> {
    if u32::try_from(queries.len()).is_err() {
        return Err(JoinError::BatchTooLarge { given: queries.len() });
    }
    let mut open: Vec<u32> = (0..queries.len() as u32).collect();
    open.sort_unstable_by_key(|&query| (queries[query as usize], query));
    let mut streamed = Streamed::default();
    let mut stored = Vec::new();
    while !open.is_empty() && next_chunk(chunks, &mut stored, &mut streamed)? {
        let base = streamed.stored - stored.len() as u64;
        let search = Search {
            directory: directory(&stored, flips.leading_bits()),
            stored: &stored,
            queries,
            flips,
            bound,
            wanted,
        };
        let found = executor.map(open.chunks(TOGETHER).collect(), |queries| search.run(queries));
        let mut hits = found.concat();
        if wanted == Wanted::First {
            let mut answered = hits.iter().map(|hit| hit.query).peekable();
            // Both are in the order of the open queries.
            open.retain(|query| answered.next_if_eq(query).is_none());
        }
        hits.sort_unstable();
        streamed.hits += hits.len() as u64;
        for hit in hits {
            sink(Hit { position: base + hit.position, ..hit })?;
        }
    }
    Ok(streamed)
}

/// Where each value of the leading bits starts.
fn directory(stored: &[u64], bits: u32) -> Vec<u32> {
    let mut starts = vec![0u32; (1 << bits) + 1];
    for fingerprint in stored {
        starts[(fingerprint >> (u64::BITS - bits)) as usize + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}

struct Search<'a, F> {
    directory: Vec<u32>,
    stored: &'a [u64],
    queries: &'a [u64],
    flips: &'a F,
    bound: MaxDistance,
    wanted: Wanted,
}

impl<F: Flips> Search<'_, F> {
    /// Hits with positions inside the chunk, in the order of the queries given.
    ///
    /// A query's directory entries are asked for well ahead of it, its buckets half as far.
    fn run(&self, queries: &[u32]) -> Vec<Hit> {
        let mut found = Vec::new();
        for (number, &query) in queries.iter().enumerate() {
            if let Some(&ahead) = queries.get(number + 2 * AHEAD) {
                self.each_prefix(ahead, |prefix| prefetch(&self.directory, prefix));
            }
            if let Some(&ahead) = queries.get(number + AHEAD) {
                self.each_prefix(ahead, |prefix| {
                    prefetch(self.stored, self.directory[prefix] as usize);
                });
            }
            self.one(query, &mut found);
        }
        found
    }

    #[inline(always)]
    fn each_prefix(&self, query: u32, mut each: impl FnMut(usize)) {
        let fingerprint = self.queries[query as usize];
        let shift = u64::BITS - self.flips.leading_bits();
        for flip in self.flips.of(query as usize) {
            each(((fingerprint ^ flip) >> shift) as usize);
        }
    }

    #[inline(always)]
    fn one(&self, query: u32, found: &mut Vec<Hit>) {
        let fingerprint = self.queries[query as usize];
        let shift = u64::BITS - self.flips.leading_bits();
        for flip in self.flips.of(query as usize) {
            let prefix = ((fingerprint ^ flip) >> shift) as usize;
            let bucket = self.directory[prefix] as usize..self.directory[prefix + 1] as usize;
            self.bucket(query, fingerprint, bucket, found);
            let answered = found.last().is_some_and(|hit| hit.query == query);
            if answered && self.wanted == Wanted::First {
                return;
            }
        }
    }

    #[inline(always)]
    fn bucket(&self, query: u32, fingerprint: u64, bucket: Range<usize>, found: &mut Vec<Hit>) {
        let mut last = None;
        for (index, &stored) in bucket.clone().zip(&self.stored[bucket]) {
            let distance = (stored ^ fingerprint).count_ones();
            if !self.bound.admits(distance) {
                continue;
            }
            if let (Some(before), Some(hit)) = (last.replace(stored), found.last_mut())
                && before == stored
            {
                hit.copies += 1;
            } else if self.wanted == Wanted::All
                || found.last().is_none_or(|hit| hit.query != query)
            {
                let (position, distance) = (index as u64, distance as u8);
                found.push(Hit { query, position, copies: 1, distance });
            } else {
                return;
            }
        }
    }
}
