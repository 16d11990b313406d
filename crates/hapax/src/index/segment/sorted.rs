//! Exact search in one sorted array of fingerprints.
//!
//! Two fingerprints within `k` bits differ in at most `k` of their first `p` bits, so flipping up to `k` of the
//! query's first `p` bits selects every bucket with a match: `C(p, 0) + ... + C(p, k)` buckets of `n / 2^p`
//! fingerprints. The best `p` follows from the costs of a bucket and a comparison; `p = 0` is a scan. With `k =
//! 3` this reads a few percent of a million fingerprints, with `k = 6` about half: the smallest engine, not the
//! fastest. Does not store fingerprints or ids.

use std::ops::{ControlFlow, Range};

use crate::hamming::{Lanes, Work};
use crate::index::near::{Effort, Query};

/// Fingerprints decoded at a time: 4 KiB.
const TILE: usize = 512;

/// Queries that share one pass if there is one bucket: one bit of a word each.
const BATCH_SIZE: usize = 64;

/// Number of probes whose memory is requested together.
const AHEAD: usize = 32;

/// Fingerprints in ascending order, in any representation.
pub(super) trait SortedArray {
    /// Nanoseconds to look up a bucket. These three constants affect speed only.
    const PROBE: f64;

    /// Nanoseconds to decode and compare one fingerprint of a bucket.
    const ENTRY: f64;

    /// Nanoseconds per fingerprint and query of a batch when everything is scanned.
    const SCANNED: f64;

    fn rows(&self) -> usize;

    /// Maximum number of leading bits for [`bucket`](Self::bucket).
    fn prefix_bits(&self) -> u32;

    /// Requests the memory that `bucket` will read.
    fn prefetch_bucket(&self, prefix: u64, bits: u32);

    /// The rows whose first `bits` bits are `prefix`.
    fn bucket(&self, prefix: u64, bits: u32) -> Range<usize>;

    /// Requests the memory that `load` will read.
    fn prefetch_rows(&self, row: usize);

    /// Decodes rows `start..start + out.len()`.
    fn load(&self, start: usize, out: &mut [u64]);
}

/// A search to run under a kernel. Calls `hit(query, row, distance)` once per match; breaking ends
/// the query.
pub(super) struct SortedSearch<'a, A, F> {
    pub(super) array: A,
    pub(super) queries: &'a [Query<'a>],
    pub(super) bound: u32,
    pub(super) hit: F,
}

impl<A, F> Work for SortedSearch<'_, A, F>
where
    A: SortedArray,
    F: FnMut(usize, usize, u32) -> ControlFlow<()>,
{
    type Output = Effort;

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> Effort {
        let mut effort = Effort { covered: self.queries.len() as f64, ..Effort::default() };
        match cheapest_prefix::<A>(&self.array, self.bound) {
            0 => self.scan(lanes, &mut effort),
            bits => {
                for number in 0..self.queries.len() {
                    let _ = self.probe(lanes, number, bits, &mut effort);
                }
            }
        }
        effort
    }
}

impl<A, F> SortedSearch<'_, A, F>
where
    A: SortedArray,
    F: FnMut(usize, usize, u32) -> ControlFlow<()>,
{
    /// Compares everything with every query; decodes each tile once per 64 queries.
    #[inline(always)]
    fn scan<L: Lanes>(&mut self, lanes: L, effort: &mut Effort) {
        let mut tile = [0u64; TILE];
        for (group, together) in self.queries.chunks(BATCH_SIZE).enumerate() {
            let mut done = 0u64;
            let all = u64::MAX >> (BATCH_SIZE - together.len());
            for start in (0..self.array.rows()).step_by(TILE) {
                let tile = &mut tile[..TILE.min(self.array.rows() - start)];
                self.array.load(start, tile);
                for (slot, query) in together.iter().enumerate() {
                    if (done >> slot) & 1 == 1 {
                        continue;
                    }
                    effort.compared += tile.len() as u64;
                    let number = group * BATCH_SIZE + slot;
                    let bits = query.fingerprint.to_bits();
                    let hit = &mut self.hit;
                    let flow = lanes.within(tile, bits, self.bound, |position, distance| {
                        hit(number, start + position, distance)
                    });
                    done |= u64::from(flow.is_break()) << slot;
                }
                if done == all {
                    break;
                }
            }
            effort.probes += together.len() as u64;
        }
    }

    /// Searches one query bucket by bucket: its own first, then those with one bit flipped, and so
    /// on.
    #[inline(always)]
    fn probe<L: Lanes>(
        &mut self,
        lanes: L,
        number: usize,
        bits: u32,
        effort: &mut Effort,
    ) -> ControlFlow<()> {
        let query = self.queries[number].fingerprint.to_bits();
        let own = query >> (64 - bits);
        let mut patterns = Patterns::new(bits, self.bound);
        let mut ahead = [0u64; AHEAD];
        let mut buckets = [const { 0..0 }; AHEAD];
        let mut tile = [0u64; TILE];
        loop {
            let mut filled = 0;
            while filled < AHEAD
                && let Some(flips) = patterns.next()
            {
                ahead[filled] = own ^ flips;
                self.array.prefetch_bucket(own ^ flips, bits);
                filled += 1;
            }
            if filled == 0 {
                return ControlFlow::Continue(());
            }
            for (bucket, &prefix) in buckets.iter_mut().zip(&ahead[..filled]) {
                *bucket = self.array.bucket(prefix, bits);
                self.array.prefetch_rows(bucket.start);
            }
            effort.probes += filled as u64;
            for bucket in &buckets[..filled] {
                effort.compared += bucket.len() as u64;
                for start in bucket.clone().step_by(TILE) {
                    let tile = &mut tile[..TILE.min(bucket.end - start)];
                    self.array.load(start, tile);
                    let hit = &mut self.hit;
                    lanes.within(tile, query, self.bound, |position, distance| {
                        hit(number, start + position, distance)
                    })?;
                }
            }
        }
    }
}

/// The number of leading bits with the lowest predicted cost.
fn cheapest_prefix<A: SortedArray>(array: &A, bound: u32) -> u32 {
    let rows = array.rows() as f64;
    let mut best = (rows * A::SCANNED, 0);
    for bits in 1..=array.prefix_bits() {
        let (mut probes, mut of_weight) = (1.0, 1.0);
        for weight in 1..=bound.min(bits) {
            of_weight *= f64::from(bits - weight + 1) / f64::from(weight);
            probes += of_weight;
        }
        let cost = probes * (A::PROBE + rows / (1u64 << bits) as f64 * A::ENTRY);
        if cost < best.0 {
            best = (cost, bits);
        }
    }
    best.1
}

/// All patterns of `bits` bits with at most `most` set: no bit, then one, and so on.
struct Patterns {
    bits: u32,
    most: u32,
    weight: u32,
    next: u64,
}

impl Patterns {
    fn new(bits: u32, most: u32) -> Self {
        Self { bits, most: most.min(bits), weight: 0, next: 0 }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if self.weight > self.most {
            return None;
        }
        let pattern = self.next;
        // The next larger number with the same number of set bits (Gosper).
        let lowest = pattern & pattern.wrapping_neg();
        let ripple = pattern.wrapping_add(lowest);
        let larger = if lowest == 0 {
            u64::MAX
        } else {
            ripple | (((pattern ^ ripple) >> 2) >> lowest.trailing_zeros())
        };
        if larger >> self.bits == 0 {
            self.next = larger;
        } else {
            self.weight += 1;
            self.next = (1 << self.weight) - 1;
        }
        Some(pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::Patterns;

    #[test]
    fn every_pattern_occurs_once() {
        for (bits, most) in [(1, 0), (1, 6), (5, 2), (9, 9), (12, 3)] {
            let mut patterns = Patterns::new(bits, most);
            let mut found: Vec<u64> = std::iter::from_fn(|| patterns.next()).collect();
            assert!(found.is_sorted_by_key(|pattern| pattern.count_ones()));
            found.sort_unstable();
            let expected: Vec<u64> =
                (0..1u64 << bits).filter(|pattern| pattern.count_ones() <= most).collect();
            assert_eq!(found, expected);
        }
    }
}
