//! A shuffle without memory that can be inverted.
//!
//! A keyed bijection of `0..n`: a Feistel network over the next even number of bits, repeated while it is outside the
//! range (at most four steps on average). Separates neighbours; is not a cipher.
//!
//! Source: Black and Rogaway 2002, cycle walking and the generalised Feistel construction.

use crate::rng::mix;

const ROUNDS: u64 = 4;

#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u64,
    half: u32,
    key: u64,
}

impl Permutation {
    /// The bijection of `0..n` for `key`; `n` is at most 2^62.
    pub fn new(n: u64, key: u64) -> Self {
        assert!(n <= 1 << 62, "a permutation of {n} numbers, more than 2^62");
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Self { n, half: bits.div_ceil(2).max(1), key }
    }

    /// The image of `x`, which must be below `n`.
    #[inline]
    pub fn apply(&self, x: u64) -> u64 {
        self.walk(x, |value| {
            (0..ROUNDS).fold(value, |(left, right), round| (right, left ^ self.round(round, right)))
        })
    }

    /// The preimage of `y`, which must be below `n`: `invert(apply(x)) == x`.
    #[inline]
    pub fn invert(&self, y: u64) -> u64 {
        self.walk(y, |value| {
            (0..ROUNDS)
                .rev()
                .fold(value, |(left, right), round| (right ^ self.round(round, left), left))
        })
    }

    #[inline]
    fn walk(&self, x: u64, step: impl Fn((u64, u64)) -> (u64, u64)) -> u64 {
        debug_assert!(x < self.n);
        let low = (1u64 << self.half) - 1;
        let mut value = x;
        loop {
            let (left, right) = step((value >> self.half, value & low));
            value = left << self.half | right;
            if value < self.n {
                return value;
            }
        }
    }

    #[inline]
    fn round(&self, round: u64, right: u64) -> u64 {
        mix(self.key.wrapping_add(round) ^ right.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            >> (u64::BITS - self.half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_is_a_bijection_and_can_be_inverted() {
        for n in [1u64, 2, 3, 5, 64, 65, 1000, 65_536] {
            for key in 0..4 {
                let shuffle = Permutation::new(n, key);
                let mut hit = vec![false; n as usize];
                for x in 0..n {
                    let y = shuffle.apply(x);
                    assert!(!hit[y as usize], "{y} twice, n {n} key {key}");
                    hit[y as usize] = true;
                    assert_eq!(shuffle.invert(y), x);
                }
            }
        }
    }

    #[test]
    fn neighbours_are_separated_and_keys_matter() {
        let (one, two) = (Permutation::new(65_536, 1), Permutation::new(65_536, 2));
        let near = (0..65_535).filter(|&x| one.apply(x).abs_diff(one.apply(x + 1)) < 64).count();
        let same = (0..65_536).filter(|&x| one.apply(x) == two.apply(x)).count();
        // Expected by chance: 128 and 1.
        assert!(near < 260, "{near}");
        assert!(same < 12, "{same}");
    }
}
