//! Counts the sets of flips that are tried before the right one.
//!
//! The thesis tries sets of bits by probability: a bit with sum `W` flips with probability `1 - |W| / |W vector|`
//! (equation 4.5), a set with the product (4.6). The first `k` attempts find a pair exactly if its set is among them,
//! so one *rank* per pair gives the recall of every `k`. [`Heap`] is the thesis's enumeration (algorithm 2); ranks
//! are counted without it. The engine uses another rule (`hapax::index::weak`).

use std::collections::BinaryHeap;

use hapax::fingerprint::BitSums;

/// Bound on the difference of sums of logarithms in another order.
const ROUNDING: f64 = 1e-11;

/// The logarithm of each bit's flip probability (4.5).
pub(super) fn chances(sums: &BitSums) -> [f64; 64] {
    let length = sums.as_array().iter().map(|&it| (it as f64).powi(2)).sum::<f64>().sqrt();
    sums.as_array().map(|sum| match length > 0.0 {
        true => (1.0 - (sum as f64).abs() / length).max(1e-12).ln(),
        false => 0.0,
    })
}

/// The rank of the set `flips` among all sets of its size, from 1.
pub(super) fn rank_of_its_size(chances: &[f64; 64], flips: u64) -> u64 {
    let mut sorted = *chances;
    sorted.sort_by(|a, b| b.total_cmp(a));
    let size = flips.count_ones() as usize;
    1 + above(&sorted, size, 0.0, weight(chances, flips) + ROUNDING)
}

/// The rank of the part of `flips` in the `prefix` highest bits, among all sets of at most `most`
/// of those bits, from 1. The empty set is the first.
pub(super) fn rank_in_prefix(chances: &[f64; 64], flips: u64, prefix: u32, most: usize) -> u64 {
    let mut sorted = leading(chances, prefix);
    sorted.sort_by(|a, b| b.total_cmp(a));
    let there = flips & !(u64::MAX.checked_shr(prefix).unwrap_or(0));
    let target = weight(chances, there) + ROUNDING;
    1 + (0..=most).map(|size| above(&sorted, size, 0.0, target)).sum::<u64>()
}

fn leading(chances: &[f64; 64], prefix: u32) -> Vec<f64> {
    chances[64 - prefix as usize..].to_vec()
}

fn weight(chances: &[f64; 64], flips: u64) -> f64 {
    (0..64).filter(|bit| flips >> bit & 1 == 1).map(|bit| chances[bit]).sum()
}

/// Number of sets of `size` of these descending numbers whose sum, plus `already`, is above the
/// target.
fn above(falling: &[f64], size: usize, already: f64, target: f64) -> u64 {
    match size {
        0 => u64::from(already > target),
        1 => falling.partition_point(|it| already + it > target) as u64,
        _ => {
            let mut count = 0;
            for (at, &one) in falling.iter().enumerate() {
                // All following numbers are at most as large.
                if already + one * size as f64 <= target {
                    break;
                }
                count += above(&falling[at + 1..], size - 1, already + one, target);
            }
            count
        }
    }
}

/// The smallest number of attempts that reaches this share of the ranks.
pub(super) fn needed(ranks: &mut [u64], share: f64) -> u64 {
    if ranks.is_empty() {
        return 0;
    }
    ranks.sort_unstable();
    let at = (ranks.len() as f64 * share).ceil() as usize;
    ranks[at.clamp(1, ranks.len()) - 1]
}

/// The share of ranks within this number of attempts.
pub(super) fn recall(ranks: &[u64], attempts: u64) -> f64 {
    let found = ranks.iter().filter(|&&rank| rank <= attempts).count();
    found as f64 / ranks.len().max(1) as f64
}

/// Sets of bits in the order of their probability, by the thesis's algorithm 2.
pub(super) struct Heap {
    /// Descending.
    chances: Vec<f64>,
    most: usize,
    heap: BinaryHeap<Candidate>,
}

struct Candidate {
    weight: f64,
    /// Ranks of bits; the weakest bit has rank 0.
    set: u64,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.weight.total_cmp(&other.weight).then(other.set.cmp(&self.set))
    }
}

impl Heap {
    /// Sets of 1 to `most` of the `prefix` highest bits.
    pub(super) fn new(chances: &[f64; 64], prefix: u32, most: usize) -> Self {
        let mut sorted = leading(chances, prefix);
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut this = Self { chances: sorted, most, heap: BinaryHeap::new() };
        for size in 1..=most.min(prefix as usize) {
            this.push((1 << size) - 1);
        }
        this
    }

    fn push(&mut self, set: u64) {
        let mut left = set;
        let mut weight = 0.0;
        while left != 0 {
            weight += self.chances[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        self.heap.push(Candidate { weight, set });
    }

    /// The most likely set not returned yet, as ranks of bits, and its weight.
    pub(super) fn next(&mut self) -> Option<(u64, f64)> {
        let Candidate { weight, set } = self.heap.pop()?;
        debug_assert!(set.count_ones() as usize <= self.most);
        let highest = 63 - set.leading_zeros();
        if (highest as usize) + 1 < self.chances.len() {
            self.push(set ^ (0b11 << highest));
        }
        // Creates a gap below the highest run: the bit under it moves up.
        let run = (!(set << (63 - highest))).leading_zeros();
        if highest + 1 > run {
            let gap = highest - run;
            if gap > 0 && set >> (gap - 1) & 1 == 1 {
                self.push(set ^ (0b11 << (gap - 1)));
            }
        }
        Some((set, weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_synth::Rng;

    fn some_sums(seed: u64) -> BitSums {
        let mut rng = Rng::new(seed);
        BitSums::new(std::array::from_fn(|_| rng.below(1 << 41) as i64 - (1 << 40)))
    }

    /// All sets of at most three of the prefix's bits, most likely first.
    fn brute_force(chances: &[f64; 64], prefix: u32) -> Vec<(f64, u64)> {
        let low = 64 - prefix;
        let mut sets = vec![0u64];
        for a in low..64 {
            sets.push(1 << a);
            for b in a + 1..64 {
                sets.push(1 << a | 1 << b);
                sets.extend((b + 1..64).map(|c| 1 << a | 1 << b | 1 << c));
            }
        }
        let mut all: Vec<(f64, u64)> =
            sets.into_iter().map(|set| (weight(chances, set), set)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all
    }

    #[test]
    fn ranks_are_positions_in_the_list_of_all_sets() {
        for prefix in [1, 9, 20] {
            let chances = chances(&some_sums(u64::from(prefix)));
            for (place, (_, set)) in (1u64..).zip(brute_force(&chances, prefix)) {
                assert_eq!(rank_in_prefix(&chances, set, prefix, 3), place);
                // Bits below the prefix do not matter.
                assert_eq!(rank_in_prefix(&chances, set | 1, prefix, 3), place);
            }
        }
    }

    #[test]
    fn ranks_by_size_count_sets_of_that_size() {
        let chances = chances(&some_sums(3));
        let all = brute_force(&chances, 64);
        for size in 1..=3 {
            let of_size = all.iter().filter(|it| it.1.count_ones() == size);
            for (place, (_, set)) in (1u64..).zip(of_size).step_by(97) {
                assert_eq!(rank_of_its_size(&chances, *set), place);
            }
        }
    }

    #[test]
    fn the_heap_gives_every_set_once_and_in_order() {
        for prefix in [1, 2, 5, 21] {
            let chances = chances(&some_sums(40 + u64::from(prefix)));
            let expected = brute_force(&chances, prefix);
            let mut heap = Heap::new(&chances, prefix, 3);
            let mut seen = std::collections::BTreeSet::new();
            for (weight, _) in &expected[1..] {
                let (set, found) = heap.next().unwrap();
                assert!((found - weight).abs() < 1e-9);
                assert!(seen.insert(set), "{set:b} twice");
            }
            assert!(heap.next().is_none());
        }
    }

    #[test]
    fn needed_attempts_reach_the_share() {
        let mut ranks: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(needed(&mut ranks, 0.95), 95);
        assert_eq!(recall(&ranks, 95), 0.95);
        assert_eq!((needed(&mut [], 0.95), needed(&mut [7], 0.5)), (0, 7));
    }
}
