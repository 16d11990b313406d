//! Enumerates the most likely sets of flipped bits, each exactly once.
//!
//! Bits are ranked, weakest first, each with the *odds* that a near-duplicate has it flipped. The weight of a
//! set is the product of its odds and a factor for its size; it never exceeds that of a subset. [`Likeliest`]
//! yields sets in order of weight from a heap: a set has at most two followers of its size, and every set but
//! the first follows exactly one. [`above`] yields all sets down to a weight, unordered and several times
//! faster. Both multiply in the same order, so weights are equal to the last bit.
//!
//! Source: Sood 2011, IV.B, algorithm 2.
//!
//! ```text
//!   ranks      1 2 . . 5 6      the highest rank moves up:              1 2 . . 5 . 7
//!              1 2 . 4 5 6      a gap of one below the highest run:     1 . 3 4 5 6
//! ```

use std::collections::BinaryHeap;

/// Maximum number of ranked bits.
pub(super) const MOST_RANKS: usize = 32;

/// Maximum number of flips in a set.
pub(super) const MOST_FLIPS: usize = 16;

/// Odds so small that a bit does not affect the total weight.
const NEGLIGIBLE: f32 = 2e-4;

/// Queries ranked together.
pub(super) const BATCH_SIZE: usize = 16;

/// The odds of a query's bits, in order of rank.
#[derive(Clone, Debug)]
pub(super) struct Ranking {
    /// Odds of each rank, descending, at most 1.
    pub(super) odds: [f32; MOST_RANKS],
    /// The bit of the prefix with each rank.
    pub(super) bits: [u32; MOST_RANKS],
    pub(super) ranks: usize,
    /// Factor for each size of a set: starts at 1, does not increase, and is 0 beyond `most`.
    pub(super) sizes: [f32; MOST_FLIPS + 1],
    /// Maximum number of flips.
    pub(super) most: usize,
}

impl Ranking {
    /// The total weight of all sets, without the least likely bits.
    #[inline(always)]
    pub(super) fn total(&self) -> f32 {
        // Arrays of a fixed size stay in registers.
        match self.most {
            0..4 => self.total_of::<4>(),
            4..8 => self.total_of::<8>(),
            _ => self.total_of::<{ MOST_FLIPS + 1 }>(),
        }
    }

    #[inline(always)]
    fn total_of<const SIZES: usize>(&self) -> f32 {
        let mut by_size = [0f32; SIZES];
        by_size[0] = 1.0;
        for &odds in self.odds[..self.ranks].iter().take_while(|&&odds| odds > NEGLIGIBLE) {
            for size in (1..SIZES).rev() {
                by_size[size] += by_size[size - 1] * odds;
            }
        }
        by_size.iter().zip(&self.sizes).fold(0.0, |total, (odds, share)| total + odds * share)
    }

    /// The weight of a set of ranks.
    #[inline(always)]
    fn weight(&self, set: u32) -> f32 {
        let mut left = set;
        let mut product = 1.0;
        while left != 0 {
            product *= self.odds[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        product * self.sizes[set.count_ones() as usize]
    }

    /// The bits of the prefix for a set of ranks.
    #[inline(always)]
    fn flips(&self, set: u32) -> u32 {
        let mut left = set;
        let mut flips = 0;
        while left != 0 {
            flips |= self.bits[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        flips
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Combination {
    /// Bits of the prefix.
    pub(super) flips: u32,
    pub(super) size: u32,
    pub(super) weight: f32,
}

/// Yields sets in order of weight. The heap is reused between queries.
#[derive(Debug, Default)]
pub(super) struct Likeliest {
    /// The weight as an integer (positive floats sort like their bits) above the complement of the
    /// set, so that equal weights are in the order of their sets.
    heap: BinaryHeap<u64>,
}

impl Likeliest {
    pub(super) fn restart(&mut self, ranking: &Ranking) {
        self.heap.clear();
        self.push(ranking, 0);
    }

    fn push(&mut self, ranking: &Ranking, set: u32) {
        let weight = ranking.weight(set);
        self.heap.push(u64::from(weight.to_bits()) << 32 | u64::from(!set));
    }

    /// The next most likely set.
    pub(super) fn next(&mut self, ranking: &Ranking) -> Option<Combination> {
        let top = self.heap.pop()?;
        let set = !(top as u32);
        let size = set.count_ones();
        // The first set of a size has the weakest bits, and is followed by the first of the next
        // size.
        let first_of_size = set.trailing_ones() == size;
        if first_of_size && (size as usize) < ranking.most.min(ranking.ranks) {
            self.push(ranking, set << 1 | 1);
        }
        for follower in next(set, ranking.ranks).into_iter().flatten() {
            self.push(ranking, follower);
        }
        let weight = f32::from_bits((top >> 32) as u32);
        Some(Combination { flips: ranking.flips(set), size, weight })
    }
}

/// The followers of a set among those of its size.
fn next(set: u32, ranks: usize) -> [Option<u32>; 2] {
    if set == 0 {
        return [None; 2];
    }
    let highest = set.ilog2();
    let moved = (highest as usize + 1 < ranks).then(|| set ^ (0b11 << highest));
    // The run of ones that includes the highest rank.
    let run = (set << (u32::BITS - 1 - highest)).leading_ones();
    let start = highest + 1 - run;
    let gap_of_one = start >= 2 && set >> (start - 2) & 1 == 1;
    [moved, gap_of_one.then(|| set ^ (0b11 << (start - 2)))]
}

/// A set of flips, and where it may be extended.
#[derive(Clone, Copy, Debug, Default)]
struct Extendable {
    flips: u32,
    product: f32,
    next: u32,
    size: u32,
}

/// The sets found, in reused memory.
#[derive(Debug, Default)]
pub(super) struct Enumeration {
    /// Longer than the number of sets, so that a set can be written without a call.
    sets: Vec<Extendable>,
    found: usize,
}

impl Enumeration {
    /// The flips of each set and their number.
    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.sets[..self.found].iter().map(|set| (set.flips, set.size))
    }

    pub(super) fn len(&self) -> usize {
        self.found
    }

    pub(super) fn clear(&mut self) {
        self.found = 0;
    }

    pub(super) fn push(&mut self, set: Combination) {
        self.make_room();
        let Combination { flips, size, .. } = set;
        self.sets[self.found] = Extendable { flips, size, ..Extendable::default() };
        self.found += 1;
    }

    /// Reserves space for as many sets as there are ranks.
    #[inline(always)]
    fn make_room(&mut self) {
        let least = self.found + MOST_RANKS;
        if self.sets.len() < least {
            self.sets.resize(2 * least, Extendable::default());
        }
    }
}

/// Finds every set with weight `least` or more, smaller ones before larger ones, and returns their
/// total weight. Always finds the empty set.
#[inline(never)]
pub(super) fn above(ranking: &Ranking, least: f32, found: &mut Enumeration) -> f32 {
    let ranks = ranking.ranks.min(MOST_RANKS);
    found.clear();
    found.make_room();
    found.sets[0] = Extendable { product: 1.0, ..Extendable::default() };
    found.found = 1;
    let mut covered = ranking.sizes[0];
    // Extends the sets in the order of their discovery.
    let mut at = 0;
    while at < found.found {
        let Extendable { flips, product, next, size } = found.sets[at];
        at += 1;
        if size as usize >= ranking.most {
            break;
        }
        found.make_room();
        let factor = ranking.sizes[size as usize + 1];
        let mut end = found.found;
        for rank in next as usize..ranks {
            let product = product * ranking.odds[rank];
            let weight = product * factor;
            if weight < least {
                break;
            }
            covered += weight;
            let flips = flips | ranking.bits[rank];
            found.sets[end] = Extendable { flips, product, next: rank as u32 + 1, size: size + 1 };
            end += 1;
        }
        found.found = end;
    }
    covered
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Some odds and size factors are equal, some are zero.
    fn rankings() -> impl Strategy<Value = Ranking> {
        let odds = prop_oneof![Just(0.0f32), Just(0.5), Just(1.0), 0.0f32..1.0];
        (vec(odds, 0..9), vec(0.0f32..=1.0, MOST_FLIPS), 0usize..=9).prop_map(
            |(mut given, factors, most)| {
                given.sort_by(|a, b| b.total_cmp(a));
                let mut odds = [0.0; MOST_RANKS];
                odds[..given.len()].copy_from_slice(&given);
                let mut sizes = [1.0; MOST_FLIPS + 1];
                for (i, factor) in factors.iter().enumerate() {
                    sizes[i + 1] = if i < most { sizes[i] * factor } else { 0.0 };
                }
                // Ranks are the bits of the prefix in reverse.
                let bits = std::array::from_fn(|rank| {
                    given.len().checked_sub(rank + 1).map_or(0, |bit| 1 << bit)
                });
                Ranking { odds, bits, ranks: given.len(), sizes, most }
            },
        )
    }

    /// Reference implementation: weighs every set of at most `most` ranks.
    fn brute_force(ranking: &Ranking) -> Vec<Combination> {
        (0..1u32 << ranking.ranks)
            .filter(|set| set.count_ones() as usize <= ranking.most)
            .map(|set| Combination {
                flips: ranking.flips(set),
                size: set.count_ones(),
                weight: ranking.weight(set),
            })
            .collect()
    }

    fn by_flips(mut sets: Vec<Combination>) -> Vec<Combination> {
        sets.sort_by_key(|set| set.flips);
        sets
    }

    proptest! {
        #[test]
        fn the_heap_gives_every_set_once_and_the_likeliest_first(ranking in rankings()) {
            let mut likeliest = Likeliest::default();
            likeliest.restart(&ranking);
            let mut given = Vec::new();
            while let Some(set) = likeliest.next(&ranking) {
                given.push(set);
            }
            prop_assert!(given.windows(2).all(|pair| pair[0].weight >= pair[1].weight));
            prop_assert_eq!(by_flips(given), by_flips(brute_force(&ranking)));
        }

        #[test]
        fn all_sets_above_a_weight_are_the_first_from_the_heap(
            ranking in rankings(),
            least in 0.0f32..1.0,
        ) {
            let mut found = Enumeration::default();
            let covered = above(&ranking, least, &mut found);
            let mut given: Vec<(u32, u32)> = found.iter().collect();
            given.sort_unstable();
            let mut expected = by_flips(brute_force(&ranking));
            expected.retain(|set| set.size == 0 || set.weight >= least);
            let weight: f32 = expected.iter().map(|set| set.weight).sum();
            prop_assert!((covered - weight).abs() <= 1e-4 * weight);
            prop_assert_eq!(found.len(), expected.len());
            let expected: Vec<_> = expected.iter().map(|set| (set.flips, set.size)).collect();
            prop_assert_eq!(given, expected);
        }

        #[test]
        fn the_total_is_the_sum_of_all_weights(ranking in rankings()) {
            let sum: f32 = brute_force(&ranking).iter().map(|set| set.weight).sum();
            prop_assert!((ranking.total() - sum).abs() <= 2e-3 * sum.max(1.0));
        }
    }

    #[test]
    fn the_example_of_the_thesis_follows() {
        // The thesis counts ranks from 1: {1,2,3} is followed by {1,2,4} only, and that by two
        // sets.
        assert_eq!(next(0b0111, 6), [Some(0b1011), None]);
        assert_eq!(next(0b1011, 6), [Some(0b10011), Some(0b1101)]);
        assert_eq!(next(0b1101, 6), [Some(0b10101), Some(0b1110)]);
    }
}
