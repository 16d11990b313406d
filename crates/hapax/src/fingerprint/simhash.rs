//! Accumulates weighted hashes into the 64 SimHash sums.
//!
//! At every position, adds the weight where the hash has a 1 and subtracts it where it has a 0 (Sood, Algorithm
//! 1 and equation 2.4). Counters are bit-sliced: a 64-bit word holds one binary digit of 64 counters, so adding
//! a hash takes on average one carry-save step of five operations per digit of its weight; each level keeps one
//! word waiting and carries when a second arrives. With `c` the weight of the ones at a position and `total`
//! that of all features, the sum is exactly `2c - total`.
//!
//! Source: Charikar 2002; Sood 2011, II.A; carry-save counting after Harley and Seal (Warren, Hacker's Delight,
//! 5-1).
//!
//! ```text
//!   level 2  (fours)   . . 1 .      each column is one counter,
//!   level 1  (twos)    1 . . .      each row one machine word:
//!   level 0  (ones)    1 . 1 1      counters 3 0 5 1
//! ```

use super::bits::{BitSums, Fingerprint};
use crate::hamming::{Kernel, Lanes, Work};

/// The value of a bit whose sum is exactly zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "text", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "text", serde(rename_all = "kebab-case"))]
pub enum Tie {
    /// 0: the rule of Sood and of most implementations; the default.
    #[default]
    Zero,
    /// 1, the rule of Khan's paper (section II.A, figure 7).
    One,
}

/// Enough levels for 2^31 features of weight 2^16 each.
const LEVELS: usize = 48;

/// Accumulates SimHash sums; the order of features does not matter.
#[derive(Clone, Debug)]
pub struct Tally {
    level: [u64; LEVELS],
    waiting: [u64; LEVELS],
    /// Bit `l` is set when `waiting[l]` holds a word.
    has_waiting: u64,
    total: i64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { level: [0; LEVELS], waiting: [0; LEVELS], has_waiting: 0, total: 0 }
    }
}

impl Tally {
    #[inline]
    pub fn add(&mut self, hash: u64, weight: u32) {
        self.total += i64::from(weight);
        let mut digits = weight;
        while digits != 0 {
            self.add_at(digits.trailing_zeros() as usize, hash);
            digits &= digits - 1;
        }
    }

    /// Adds features of weight 1.
    pub fn add_all(&mut self, hashes: &[u64]) {
        self.total += hashes.len() as i64;
        let (blocks, rest) = hashes.as_chunks::<8>();
        let [mut ones, mut twos, mut fours] = [self.level[0], self.level[1], self.level[2]];
        for &[a, b, c, d, e, f, g, h] in blocks {
            let (two_a, two_b, two_c, two_d, four_a, four_b, eight);
            (ones, two_a) = carry_save(ones, a, b);
            (ones, two_b) = carry_save(ones, c, d);
            (twos, four_a) = carry_save(twos, two_a, two_b);
            (ones, two_c) = carry_save(ones, e, f);
            (ones, two_d) = carry_save(ones, g, h);
            (twos, four_b) = carry_save(twos, two_c, two_d);
            (fours, eight) = carry_save(fours, four_a, four_b);
            self.add_at(3, eight);
        }
        [self.level[0], self.level[1], self.level[2]] = [ones, twos, fours];
        for &hash in rest {
            self.add_at(0, hash);
        }
    }

    #[inline]
    fn add_at(&mut self, mut level: usize, mut word: u64) {
        while self.has_waiting >> level & 1 == 1 {
            self.has_waiting ^= 1 << level;
            let (sum, carry) = carry_save(self.level[level], self.waiting[level], word);
            self.level[level] = sum;
            word = carry;
            level += 1;
        }
        self.waiting[level] = word;
        self.has_waiting |= 1 << level;
    }

    /// Total weight of all features so far.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// The sum at every bit position.
    pub fn sums(&self) -> BitSums {
        self.sums_by(Kernel::PORTABLE)
    }

    /// As [`sums`](Self::sums), with the instructions of the given kernel.
    pub fn sums_by(&self, kernel: Kernel) -> BitSums {
        kernel.run(Sums(self))
    }
}

struct Sums<'a>(&'a Tally);

impl Work for Sums<'_> {
    type Output = BitSums;

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) -> BitSums {
        let Tally { level: levels, waiting, has_waiting, total } = self.0;
        let mut ones = [0i64; 64];
        for (level, (&sum, &waiting)) in levels.iter().zip(waiting).enumerate() {
            let waiting = if has_waiting >> level & 1 == 1 { waiting } else { 0 };
            if sum | waiting == 0 {
                continue;
            }
            for (j, count) in ones.iter_mut().enumerate() {
                let digits = (sum >> j & 1) + (waiting >> j & 1);
                *count += (digits as i64) << level;
            }
        }
        BitSums::new(ones.map(|c| 2 * c - total))
    }
}

/// The signs of the sums as bits: 1 above zero, 0 below, the tie rule at zero.
pub fn cut(sums: &BitSums, tie: Tie) -> Fingerprint {
    let least_one = match tie {
        Tie::Zero => 1,
        Tie::One => 0,
    };
    let bits = sums
        .as_array()
        .iter()
        .enumerate()
        .fold(0u64, |bits, (j, &sum)| bits | u64::from(sum >= least_one) << j);
    Fingerprint::from_bits(bits)
}

/// Adds three words digit by digit; returns (sum, carry).
#[inline(always)]
const fn carry_save(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation: Algorithm 1 of the thesis.
    fn slow_sums(features: &[(u64, u32)]) -> BitSums {
        let mut sums = [0i64; 64];
        for &(hash, weight) in features {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += if hash >> j & 1 == 1 { i64::from(weight) } else { -i64::from(weight) };
            }
        }
        BitSums::new(sums)
    }

    #[test]
    fn the_worked_example_of_soods_table_one() {
        // Six words, four bits (written most significant first), weights in hundredths.
        let words = [(0b0101, 5), (0b1101, 2), (0b0001, 1), (0b1110, 3), (0b0100, 5), (0b0011, 9)];
        let mut tally = Tally::default();
        for (hash, weight) in words {
            tally.add(hash, weight);
        }
        let sums = tally.sums();
        let printed: Vec<i64> = (0..4).rev().map(|j| sums.as_array()[j]).collect();
        assert_eq!(printed, [-15, 5, -1, 9]);
        assert_eq!(cut(&sums, Tie::Zero).to_bits() & 0b1111, 0b0101);
        assert_eq!(&sums.weakest_first()[..4], &[1, 2, 0, 3]);
    }

    #[test]
    fn at_zero_the_tie_rule_decides() {
        let mut tally = Tally::default();
        tally.add(1, 1);
        tally.add(!1, 1);
        let sums = tally.sums();
        assert_eq!(sums.as_array(), &[0; 64]);
        assert_eq!(cut(&sums, Tie::Zero).to_bits(), 0);
        assert_eq!(cut(&sums, Tie::One).to_bits(), u64::MAX);
    }

    proptest! {
        #[test]
        fn word_parallel_sums_are_those_of_the_algorithm(
            features in proptest::collection::vec((any::<u64>(), prop_oneof![0u32..4, any::<u32>()]), 0..80),
            unit in proptest::collection::vec(any::<u64>(), 0..80),
        ) {
            let mut tally = Tally::default();
            for &(hash, weight) in &features {
                tally.add(hash, weight);
            }
            tally.add_all(&unit);
            let all: Vec<(u64, u32)> =
                features.iter().copied().chain(unit.iter().map(|&h| (h, 1))).collect();
            let slow = slow_sums(&all);
            prop_assert_eq!(tally.sums(), slow.clone());
            for kernel in Kernel::available() {
                prop_assert_eq!(tally.sums_by(kernel), slow.clone(), "{:?}", kernel);
            }
        }

        #[test]
        fn the_order_of_features_does_not_matter(
            features in proptest::collection::vec((any::<u64>(), 0u32..300), 0..40),
        ) {
            let mut forwards = Tally::default();
            let mut backwards = Tally::default();
            for &(h, w) in &features {
                forwards.add(h, w);
            }
            for &(h, w) in features.iter().rev() {
                backwards.add(h, w);
            }
            prop_assert_eq!(forwards.sums(), backwards.sums());
        }
    }
}
