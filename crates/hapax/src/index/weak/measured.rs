//! Builds weak bits with a recall measured on the given queries.
//!
//! Some queries are answered exactly by streaming. The matches of one half train the calibration; the share of
//! the other half's matches that the index finds is its recall. The halves are of different pages. If the
//! recall is too low, the index is built again to find more; if a sample has too few matches, it grows. All
//! matches count, including repetitions, except those identical to their query, which are always found.

use super::streamed::{Stream, StreamedError};
use super::{Calibration, Recall, WeakBits, WeakOptions};
use crate::fingerprint::{BitSums, MaxDistance};
use crate::index::near::{HammingIndex, Query};
use crate::join::{Batch, Chunks, Executor, Hit, PairOptions, Wanted};
use std::ops::ControlFlow;

/// Queries of the first sample; a sample with too few matches grows by this factor.
pub(in crate::index) const SAMPLE: usize = 2000;
const GROWTH: usize = 4;

/// Minimum number of matches for a meaningful recall, not counting identical ones.
const LEAST_MATCHES: usize = 200;

/// Maximum number of matches kept per half, an even selection: 1.5 MB.
const MOST_MATCHES: usize = 1 << 16;

/// Number of attempts to build an index, each time to find more.
const TRIES: usize = 3;

/// An index and its measured recall.
#[derive(Debug)]
pub struct Measured {
    pub index: WeakBits,
    /// The share of the sample's matches that it found; at least the requested recall.
    pub recall: f64,
    /// Number of pairs in the calibration.
    pub pairs: usize,
    /// Number of matches behind the recall.
    pub matches: u64,
}

/// No index has a reliable recall.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Unmeasured {
    /// All queries with sums together have too few matches.
    #[error(
        "{matches} matches in a sample are too few to state a recall of weak bits by, {} would do",
        LEAST_MATCHES
    )]
    TooFew {
        /// Of the half with fewer matches.
        matches: usize,
    },
    /// After all attempts it still finds less than requested.
    #[error("weak bits were measured to find {found:.3} of the matches, less than {asked}")]
    Short { found: f64, asked: Recall },
}

impl WeakBits {
    /// Builds an index of a stream, like [`build_streamed`](Self::build_streamed), that finds the
    /// share `recall` of the matches within `bound` of these queries. Ignores queries without sums.
    ///
    /// # Errors
    ///
    /// As [`build_streamed`](Self::build_streamed). The inner error says why an exact engine should
    /// be used.
    pub fn build_measured<C: Chunks>(
        queries: &[Query<'_>],
        bound: MaxDistance,
        recall: Recall,
        mut open: impl FnMut() -> C,
        executor: &dyn Executor,
    ) -> Result<Result<Measured, Unmeasured>, StreamedError> {
        let known: Vec<Query<'_>> = queries.iter().copied().filter(|q| q.sums.is_some()).collect();
        let mut size = SAMPLE;
        let sample = loop {
            let sample = Sample::take(&known, size, bound, open(), executor)?;
            let matches = sample.calibrating.len().min(sample.measuring.len());
            if matches >= LEAST_MATCHES {
                break sample;
            }
            if size >= known.len() {
                return Ok(Err(Unmeasured::TooFew { matches }));
            }
            size *= GROWTH;
        };
        let flips = sample.flips(&mut Stream(&mut open))?;
        let calibration = Calibration::fit(flips);
        let (mut target, mut found) = (recall, 0.0);
        for _ in 0..TRIES {
            let options = WeakOptions::within(bound, target).calibration(calibration.clone());
            let index = Self::build_streamed(&mut open, options)?;
            found = sample.recall_of(&index, bound);
            if found >= recall.get() {
                let (pairs, matches) = (calibration.len(), sample.matches());
                return Ok(Ok(Measured { index, recall: found, pairs, matches }));
            }
            // Moves the target half-way towards 1.
            target = Recall(f64::midpoint(target.get(), 1.0));
        }
        Ok(Err(Unmeasured::Short { found, asked: recall }))
    }
}

/// Some queries and their matches.
struct Sample<'a> {
    queries: Vec<Query<'a>>,
    /// Matches of the queries with even numbers, ordered by query, then position.
    calibrating: Vec<Hit>,
    /// Matches of the queries with odd numbers.
    measuring: Vec<Hit>,
}

impl<'a> Sample<'a> {
    fn take(
        known: &[Query<'a>],
        size: usize,
        bound: MaxDistance,
        mut chunks: impl Chunks,
        executor: &dyn Executor,
    ) -> Result<Self, StreamedError> {
        let every = known.len().div_ceil(size).max(1);
        let queries: Vec<Query<'a>> = known.iter().copied().step_by(every).collect();
        let fingerprints: Vec<u64> = queries.iter().map(|q| q.fingerprint.to_bits()).collect();
        let batch = Batch::new(&fingerprints, PairOptions::within(bound)?, executor)?;
        let mut halves = [Selection::default(), Selection::default()];
        batch.stream(Wanted::All, &mut chunks, executor, |hit| {
            if hit.distance > 0 {
                halves[hit.query as usize % 2].add(hit);
            }
            Ok(())
        })?;
        let [calibrating, measuring] = halves.map(Selection::sorted);
        Ok(Self { queries, calibrating, measuring })
    }

    /// The sums of the query and the differing bits, for each calibrating pair.
    fn flips<C: Chunks>(
        &self,
        stream: &mut Stream<impl FnMut() -> C>,
    ) -> Result<Vec<(&'a BitSums, u64)>, StreamedError> {
        let mut wanted: Vec<(u64, usize)> =
            self.calibrating.iter().enumerate().map(|(at, hit)| (hit.position, at)).collect();
        wanted.sort_unstable();
        let mut stored = vec![None; wanted.len()];
        let mut wanted = wanted.into_iter().peekable();
        stream.chunks(|first, chunk| {
            let inside = |position: u64| chunk.get(position.checked_sub(first)? as usize);
            while let Some(&(position, at)) = wanted.peek() {
                let Some(&bits) = inside(position) else { break };
                stored[at] = Some(bits);
                wanted.next();
            }
            Ok::<(), StreamedError>(())
        })?;
        let pair = |(hit, stored): (&Hit, Option<u64>)| {
            let query = &self.queries[hit.query as usize];
            Some((query.sums?, query.fingerprint.to_bits() ^ stored?))
        };
        Ok(self.calibrating.iter().zip(stored).filter_map(pair).collect())
    }

    /// Number of matches behind the recall.
    fn matches(&self) -> u64 {
        self.measuring.iter().map(|hit| u64::from(hit.copies)).sum()
    }

    /// The share of the measuring matches that this index finds.
    fn recall_of(&self, index: &WeakBits, bound: MaxDistance) -> f64 {
        let asked: Vec<Query<'_>> = self.queries.iter().copied().skip(1).step_by(2).collect();
        let mut found = 0;
        let visited = index.visit_batch(&asked, bound, &mut |number, m| {
            let key = (number as u32 * 2 + 1, m.id);
            let at = self.measuring.binary_search_by_key(&key, |hit| (hit.query, hit.position));
            found += at.map_or(0, |at| u64::from(self.measuring[at].copies));
            ControlFlow::Continue(())
        });
        // Cannot fail: the index was made for this bound.
        visited.map_or(0.0, |_| found as f64 / self.matches().max(1) as f64)
    }
}

/// An even selection of hits, independent of their order.
#[derive(Default)]
struct Selection {
    hits: Vec<Hit>,
    /// Keeps hits whose hash has none of these bits.
    mask: u64,
}

impl Selection {
    fn add(&mut self, hit: Hit) {
        if scattered(&hit) & self.mask == 0 {
            self.hits.push(hit);
        }
        while self.hits.len() > MOST_MATCHES {
            self.mask = self.mask << 1 | 1;
            self.hits.retain(|hit| scattered(hit) & self.mask == 0);
        }
    }

    fn sorted(mut self) -> Vec<Hit> {
        self.hits.sort_unstable();
        self.hits
    }
}

/// A hash that is independent of the page (SplitMix of Steele, Lea and Flood).
fn scattered(hit: &Hit) -> u64 {
    let mut z = (hit.position << 32 ^ u64::from(hit.query)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 31)
}
