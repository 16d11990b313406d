//! Random numbers that never change between versions, in integer arithmetic modulo 2^64.
//!
//! [`mix`] (the finalizer of SplitMix64) scrambles a number, [`key`] combines a seed, a purpose and two indices into
//! one, and [`Rng`] (xoshiro256++) is the stream that starts there; each index has its own stream, so results do not
//! depend on the order of calls. The stream is the same on every platform and in every later version, as golden
//! values check. Ranges use the high half of a product: the bias is below 2^-32, and a draw always consumes one
//! number. Source: Vigna, SplitMix64 and Blackman and Vigna, xoshiro256++ (both public domain).

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scrambles a number; a bijection of the 64-bit values.
#[inline]
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The use of a stream. Streams for different purposes are independent.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Purpose {
    Layout = 1,
    Shuffle,
    Family,
    Content,
    Copy,
    Edit,
    Host,
    Noise,
    Links,
    Popularity,
    Phrase,
    Advertisement,
    Topic,
    Query,
    LogEntry,
    Change,
    ChangeClass,
    Planted,
    Sums,
}

/// Combines a seed, a purpose and two indices into one number.
#[inline]
pub(crate) const fn key(seed: u64, purpose: Purpose, a: u64, b: u64) -> u64 {
    let s = mix(seed.wrapping_add(GOLDEN.wrapping_mul(purpose as u64)));
    let s = mix(s ^ a.wrapping_add(GOLDEN));
    mix(s ^ b.wrapping_mul(GOLDEN).wrapping_add(1))
}

/// A stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The stream that starts at `key`.
    #[inline]
    pub fn new(key: u64) -> Self {
        // Four successive outputs of SplitMix64: never all zero, because `mix` is a bijection.
        let at = |n: u64| mix(key.wrapping_add(GOLDEN.wrapping_mul(n)));
        Self { state: [at(1), at(2), at(3), at(4)] }
    }

    /// The stream for a seed, a purpose and two indices.
    #[inline]
    pub(crate) fn keyed(seed: u64, purpose: Purpose, a: u64, b: u64) -> Self {
        Self::new(key(seed, purpose, a, b))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let c2 = c ^ a;
        let d2 = d ^ b;
        self.state = [a ^ d2, b ^ c2, c2 ^ (b << 17), d2.rotate_left(45)];
        result
    }

    /// A uniform number in `0..n`; 0 if `n` is 0 or 1.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A uniform number in `low..=high`.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// A uniform number in `0.0 <= x < 1.0`, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with this probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Draws an index by weight. `weights` must not sum to zero.
    pub(crate) fn pick(&mut self, weights: &[u32]) -> usize {
        let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
        let mut left = self.below(total);
        for (index, &weight) in weights.iter().enumerate() {
            if left < u64::from(weight) {
                return index;
            }
            left -= u64::from(weight);
        }
        unreachable!("the draw {left} is below the sum of the weights")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_are_the_published_algorithms() {
        // First outputs of SplitMix64 with seed 0, as published with the algorithm.
        assert_eq!(mix(GOLDEN), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(GOLDEN.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
        // First output of xoshiro256++ from the state 1, 2, 3, 4.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        assert_eq!(rng.bits(), 41_943_041);
        assert_eq!(rng.bits(), 58_720_359);
    }

    #[test]
    fn ranges_are_inclusive_and_every_value_occurs() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 5];
        for _ in 0..1000 {
            seen[(rng.between(3, 7) - 3) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 140), "{seen:?}");
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn a_weighted_draw_follows_the_weights_and_skips_zero() {
        let mut rng = Rng::new(2);
        let mut seen = [0u32; 3];
        for _ in 0..4000 {
            seen[rng.pick(&[3, 0, 1])] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!((2800..3200).contains(&seen[0]), "{seen:?}");
    }
}
