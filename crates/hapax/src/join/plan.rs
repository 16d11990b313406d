//! Plans which bits two near fingerprints must share, and the order of comparing by them.
//!
//! `k` flips leave at least `m - k` of `m > k` blocks unchanged, so a pair within `k` agrees on one of the C(m,
//! k) keys of `m - k` blocks. Keys with the same first block share a *stage*: the set is partitioned once by
//! that block, into parts that fit the cache, and bucketed once per key. Only the `k + 1` stages move the set
//! through memory. A larger `m` means smaller buckets and more keys; `m = k` compares everything. A pair
//! belongs to the first key whose *used* bits agree.
//!
//! Source: Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", 2007, for blocks and keys.
//!
//! ```text
//!   k = 3, m = 5         A  |  B  |  C  |  D  |  E
//!   stage 0            =====                         partition by A
//!     keys             AB    AC    AD    AE          bucket inside each part
//!   stage 1                  =====                   partition by B
//!     keys                   BC    BD    BE
//!   stage 2                        =====
//!     keys                         CD    CE
//!   stage 3                              =====
//!     key                                DE
//! ```

use crate::fingerprint::{Fingerprint, MaxDistance};
use crate::hamming::Kernel;

/// Larger bounds are refused, because they would cost as much as comparing everything.
pub(super) const WIDEST: u32 = 16;

/// Up to this bound, 32 of the bits outside the key suffice to rule out unrelated fingerprints:
/// within 7 bits, one unrelated pair in a thousand passes.
const HALF_WORDS_UP_TO: u32 = 7;

/// Bucket size below which finer buckets cost more than they save: one vector of words.
const BUCKET: usize = 16;

/// Limits the number of buckets, so that the counters stay in the first-level cache.
const MOST_INNER_BITS: u32 = 12;

/// Limits the number of parts, because writing more streams is slow.
pub(super) const MOST_OUTER_BITS: u32 = 11;

/// More keys than this are never the cheapest.
const MOST_KEYS: u64 = 1024;

/// Nanoseconds to move a record through main memory to its part and back into the cache.
const MOVE: f64 = 6.5;

/// Nanoseconds to put a record into its bucket in the cache, and to start comparing it.
const PLACE: f64 = 8.0;

/// Minimum number of words a record is compared with, however small its bucket: one vector and a
/// group.
const LEAST_WORDS: f64 = 24.0;

/// The plan of a join; see the module header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(super) bound: MaxDistance,
    pub(super) blocks: u32,
    pub(super) stages: Vec<Stage>,
}

/// Keys that share their first block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    /// The bits that number a part: adjacent, possibly none.
    pub(super) outer: u64,
    /// The bits that number a bucket inside a part, for each key.
    pub(super) inner: Vec<u64>,
    /// The bucket bits of all keys of earlier stages.
    pub(super) earlier: Vec<u64>,
}

impl Plan {
    /// The cheapest plan for `rows` distinct fingerprints, in parts of about `part` records.
    ///
    /// `None` if the bound exceeds 16.
    pub(super) fn cheapest(
        rows: usize,
        bound: MaxDistance,
        part: usize,
        kernel: Kernel,
    ) -> Option<Self> {
        let k = bound.bits();
        let plans = (k..=k + 4)
            .filter(|&blocks| k <= WIDEST && blocks <= Fingerprint::BITS)
            .filter(|&blocks| choose(blocks, k) <= MOST_KEYS)
            .map(|blocks| Self::with_blocks(blocks, rows, bound, part));
        let costs = plans.map(|plan| (plan.nanoseconds(rows, kernel), plan));
        costs.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, plan)| plan)
    }

    /// The plan with `blocks` blocks, which must be at least `k`.
    pub(super) fn with_blocks(blocks: u32, rows: usize, bound: MaxDistance, part: usize) -> Self {
        let k = bound.bits();
        if blocks == k || rows <= 1 {
            let all = Stage { outer: 0, inner: vec![0], earlier: Vec::new() };
            return Self { bound, blocks: k, stages: vec![all] };
        }
        let cut = cut(blocks);
        let outer_bits = bits_for(rows, part).min(MOST_OUTER_BITS);
        let wanted = bits_for(rows, BUCKET);
        let mut earlier = Vec::new();
        let stages = (0..=k as usize).map(|first| {
            let outer = highest(cut[first], outer_bits);
            let more = wanted.saturating_sub(outer.count_ones()).min(MOST_INNER_BITS);
            let inner: Vec<u64> = choices(&cut[first + 1..], (blocks - k - 1) as usize)
                .into_iter()
                .map(|others| highest((cut[first] & !outer) | others, more))
                .collect();
            let stage = Stage { outer, inner, earlier: earlier.clone() };
            earlier.extend(stage.inner.iter().map(|inner| outer | inner));
            stage
        });
        let stages = stages.collect();
        Self { bound, blocks, stages }
    }

    /// The bound within which it is exact.
    pub fn bound(&self) -> MaxDistance {
        self.bound
    }

    /// Number of blocks the bits are split into.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    pub fn keys(&self) -> usize {
        self.stages.iter().map(|stage| stage.inner.len()).sum()
    }

    /// Whether 32 bits rule out enough unrelated fingerprints.
    pub(super) fn half_words(&self) -> bool {
        self.bound.bits() <= HALF_WORDS_UP_TO
    }

    /// Predicted time on one thread.
    pub fn nanoseconds(&self, rows: usize, kernel: Kernel) -> f64 {
        // Each pair is compared once.
        rows as f64 * self.each_nanoseconds(rows as f64 / 2.0, kernel)
    }

    /// Predicted time per fingerprint that is streamed past this many queries, on one thread.
    pub fn streamed_nanoseconds(&self, queries: usize, kernel: Kernel) -> f64 {
        self.each_nanoseconds(queries as f64, kernel)
    }

    /// Per record that is compared with those of `others` in its buckets.
    fn each_nanoseconds(&self, others: f64, kernel: Kernel) -> f64 {
        let words = if self.half_words() { 1.0 } else { 2.0 };
        let each = word_nanoseconds(kernel) * words;
        let stage = |stage: &Stage| {
            let key = |inner: &u64| {
                let bits = (stage.outer | inner).count_ones();
                PLACE + (LEAST_WORDS + others / (1u64 << bits) as f64) * each
            };
            MOVE + stage.inner.iter().map(key).sum::<f64>()
        };
        self.stages.iter().map(stage).sum()
    }
}

/// Nanoseconds per additional 32-bit word; measured on a Zen 4 core.
fn word_nanoseconds(kernel: Kernel) -> f64 {
    match kernel.name() {
        "avx512" => 0.045,
        "avx2" | "neon" => 0.19,
        _ => 0.5,
    }
}

/// Number of bits to number `rows / each` things.
fn bits_for(rows: usize, each: usize) -> u32 {
    (rows / each.max(1)).max(1).next_power_of_two().ilog2()
}

/// The 64 bits in `blocks` runs of nearly equal length, from the high end.
fn cut(blocks: u32) -> Vec<u64> {
    let end = |block: u32| u64::from(block * Fingerprint::BITS / blocks);
    let below = |bits: u64| if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    (0..blocks).rev().map(|block| below(end(block + 1)) & !below(end(block))).collect()
}

/// The unions of every choice of `taken` blocks, earlier blocks first.
fn choices(blocks: &[u64], taken: usize) -> Vec<u64> {
    if taken == 0 {
        return vec![0];
    }
    let firsts = blocks.iter().enumerate();
    firsts
        .flat_map(|(i, first)| {
            choices(&blocks[i + 1..], taken - 1).into_iter().map(move |rest| first | rest)
        })
        .collect()
}

/// The `count` highest set bits of `mask`, or all if there are fewer.
pub(super) fn highest(mask: u64, count: u32) -> u64 {
    let mut left = mask;
    while left.count_ones() > count {
        left &= left - 1;
    }
    left
}

/// `n` over `k`.
fn choose(n: u32, k: u32) -> u64 {
    let k = u64::from(k.min(n - k));
    (0..k).fold(1, |product, i| product * (u64::from(n) - i) / (i + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bound(k: u32) -> MaxDistance {
        MaxDistance::new(k as u8).unwrap()
    }

    #[test]
    fn the_keys_of_three_bits_and_five_blocks_are_those_of_the_picture() {
        let plan = Plan::with_blocks(5, 1 << 24, bound(3), 1 << 15);
        let keys: Vec<usize> = plan.stages.iter().map(|stage| stage.inner.len()).collect();
        assert_eq!(keys, [4, 3, 2, 1]);
        assert_eq!(plan.stages[0].outer, 0xff80_0000_0000_0000);
        assert_eq!(plan.stages[1].earlier.len(), 4);
    }

    #[test]
    fn blocks_cover_all_bits_once() {
        for blocks in 1..=64 {
            let cut = cut(blocks);
            assert_eq!(cut.iter().fold(0, |all, block| all ^ block), u64::MAX);
            assert_eq!(cut.iter().map(|block| block.count_ones()).sum::<u32>(), 64);
        }
    }

    #[test]
    fn bounds_beyond_the_widest_have_no_plan() {
        let plan = |k| Plan::cheapest(1000, bound(k), 100, Kernel::PORTABLE);
        assert!(plan(17).is_none());
        for k in 0..=16 {
            assert!(plan(k).is_some());
        }
    }

    proptest! {
        #[test]
        fn flips_within_the_bound_leave_some_key_unchanged(
            positions in proptest::collection::vec(0u32..64, 0..=16),
            spare in 0u32..=16,
            more_blocks in 0u32..=3,
            rows in 2usize..1 << 27,
            part in 1usize..1 << 20,
        ) {
            let flips = positions.iter().fold(0u64, |flips, j| flips | (1 << j));
            let k = (flips.count_ones() + spare).min(16);
            prop_assume!(choose(k + more_blocks, k) <= MOST_KEYS);
            let plan = Plan::with_blocks(k + more_blocks, rows, bound(k), part);
            let found = plan.stages.iter().any(|stage| {
                stage.inner.iter().any(|inner| flips & (stage.outer | inner) == 0)
            });
            prop_assert!(found, "{plan:?}");
        }
    }
}
