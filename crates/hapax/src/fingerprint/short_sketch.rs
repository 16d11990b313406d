//! A short sketch of 32 bytes, to distinguish forged matches from true ones.
//!
//! Made with a [`Key`](super::keyed::Key), it refutes matches of public signatures between dissimilar texts; it
//! does not propose or confirm anything by itself. It is a MinHash of [`BINS`] values as in
//! [`sketch`](super::sketch), with two bits of each: two sketches agree in a bin with probability J + (1 - J) /
//! 4, where J is the Jaccard similarity. With an eighth of the sketch's bins it takes an eighth of the time on
//! short texts; the larger error is harmless, because only estimates far below the bound count
//! (`docs/internals/sketch-choice.md`).

use super::sketch::{Estimate, Sketcher};

/// Number of minima in a short sketch.
pub const BINS: usize = 128;
/// Size of a short sketch in bytes.
pub const BYTES: usize = BINS / 4;

const PER_WORD: usize = 32;
/// The lower bit of each bin.
const LOWER: u64 = u64::MAX / 3;

/// Two bits of each of the [`BINS`] minima.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShortSketch([u64; BINS / PER_WORD]);

/// Makes short sketches. Reuse it to keep its bins.
#[derive(Clone, Debug)]
pub struct ShortSketcher(Sketcher);

impl Default for ShortSketcher {
    fn default() -> Self {
        Self(Sketcher::of(BINS))
    }
}

impl ShortSketcher {
    /// The sketch of a set of shingles; repeats are ignored. `None` for an empty set.
    pub fn sketch(&mut self, shingles: &[u64]) -> Option<ShortSketch> {
        self.add(shingles, true);
        self.finish()
    }

    /// Adds shingles to the set; `last` says that no more will come.
    pub(super) fn add(&mut self, shingles: &[u64], last: bool) {
        self.0.add(shingles, last);
    }

    /// The sketch of the shingles that were [added](Self::add) since the last call; `None` for an
    /// empty set.
    pub(super) fn finish(&mut self) -> Option<ShortSketch> {
        let minima = self.0.finish_minima()?;
        let mut words = [0; BINS / PER_WORD];
        for (word, bins) in words.iter_mut().zip(minima.chunks(PER_WORD)) {
            *word = bins.iter().rev().fold(0, |bits, min| bits << 2 | min & 3);
        }
        Some(ShortSketch(words))
    }
}

impl ShortSketch {
    /// The estimated Jaccard similarity of the two shingle sets.
    pub fn estimate(&self, other: &Self) -> Estimate {
        let differing = |(a, b): (&u64, &u64)| ((a ^ b | (a ^ b) >> 1) & LOWER).count_ones();
        let differing: u32 = self.0.iter().zip(&other.0).map(differing).sum();
        Estimate::of(BINS as u32, differing, 4.0)
    }

    /// Encodes the sketch: bin `i` is bits `2 (i % 4)` and above of byte `i / 4`.
    pub fn to_bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&self.0) {
            *chunk = word.to_le_bytes();
        }
        bytes
    }

    /// Decodes a sketch; any 32 bytes are valid.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let mut words = [0; BINS / PER_WORD];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*chunk);
        }
        Self(words)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::minima;
    use super::*;
    use crate::features::hash::scramble;
    use proptest::prelude::*;

    fn set(range: std::ops::Range<u64>) -> Vec<u64> {
        range.map(|i| scramble(i ^ 0xABCD_EF01)).collect()
    }

    fn sketch(shingles: &[u64]) -> ShortSketch {
        ShortSketcher::default().sketch(shingles).unwrap()
    }

    proptest! {
        #[test]
        fn it_keeps_two_bits_of_each_minimum_and_survives_encoding(size in 1u64..400) {
            let set = set(0..size);
            let mut slow = vec![0; BINS];
            minima(&set, &mut slow);
            let bytes = sketch(&set).to_bytes();
            for (i, min) in slow.iter().enumerate() {
                prop_assert_eq!(u64::from(bytes[i / 4] >> (2 * (i % 4)) & 3), min & 3, "bin {}", i);
            }
            prop_assert_eq!(ShortSketch::from_bytes(&bytes), sketch(&set));
        }
    }

    #[test]
    fn the_error_is_as_stated_and_unbiased() {
        for (size, shared) in [(1, 0), (12, 8), (90, 80), (400, 300), (3000, 2700)] {
            let trials = if size > 1000 { 200 } else { 2000 };
            let exact = shared as f64 / (2 * size - shared) as f64;
            let (mut sum, mut squares) = (0.0, 0.0);
            for trial in 0..trials {
                let from = trial << 32;
                let a = sketch(&set(from..from + size)).to_bytes();
                let b = sketch(&set(from + size - shared..from + 2 * size - shared)).to_bytes();
                let two = |bytes: &[u8], i: usize| bytes[i / 4] >> (2 * (i % 4)) & 3;
                let agreeing = (0..BINS).filter(|&i| two(&a, i) == two(&b, i)).count();
                let estimate = (4.0 * agreeing as f64 / BINS as f64 - 1.0) / 3.0;
                let said = ShortSketch::from_bytes(&a).estimate(&ShortSketch::from_bytes(&b));
                assert!((said.jaccard - estimate.max(0.0)).abs() < 1e-12);
                sum += estimate - exact;
                squares += (estimate - exact).powi(2);
            }
            let agree = exact + (1.0 - exact) / 4.0;
            let stated = 4.0 / 3.0 * (agree * (1.0 - agree) / BINS as f64).sqrt();
            let error = (squares / trials as f64).sqrt();
            assert!(error <= 1.15 * stated, "{size} {shared}: {error} {stated}");
            let bias = (sum / trials as f64).abs();
            assert!(bias <= 4.0 * stated / (trials as f64).sqrt(), "{size} {shared}: {bias}");
        }
    }

    #[test]
    fn an_empty_set_has_no_sketch() {
        assert_eq!(ShortSketcher::default().sketch(&[]), None);
    }
}
