//! A similarity sketch: how much of two texts is the same, from 128 bytes each.
//!
//! SimHash proposes pairs, the sketch confirms them. It is a MinHash of [`BINS`] values, one
//! bit of each kept: two sketches agree in a bin with probability J + (1 - J) / 2, where J is
//! the Jaccard similarity of the sets of shingles, so J is twice the share of agreeing bins
//! minus one.
//!
//! The minima come from *fast similarity sketching*: in round 0 every shingle goes to one
//! bin; bins still empty are filled by further rounds with other hashes, and after `BINS`
//! rounds bin by bin, so every bin is filled however short the text is, and each agrees with
//! probability exactly J before it is cut to a bit. Later rounds never replace what an
//! earlier one put. A long text needs one round: one step per shingle.
//!
//! One bit a bin was chosen by measurement: of the ways to spend 128 bytes it has the least
//! error from J = 0.5 up, where decisions are made (`docs/fingerprint.md` has the table).
//!
//! Source: Dahlgaard, Knudsen and Thorup, "Fast similarity sketching", 2017; Li and König,
//! "b-bit minwise hashing", 2010.

use crate::features::hash::scramble;

/// How many minima a sketch is made of.
pub const BINS: usize = 1024;
/// Bytes of a sketch.
pub const BYTES: usize = BINS / 8;

/// A value with the round that brought it in the leading bits: smaller rounds always win.
const ROUND_SHIFT: u32 = 48;
const VALUE_MASK: u64 = (1 << ROUND_SHIFT) - 1;
const EMPTY: u64 = u64::MAX;

/// One bit of each of [`BINS`] minima.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sketch([u64; BINS / 64]);

/// An estimated Jaccard similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// `0.0..=1.0`.
    pub jaccard: f64,
    /// Standard error of the estimate, never zero.
    pub standard_error: f64,
}

impl Sketch {
    /// The estimated Jaccard similarity of the two sets of shingles.
    pub fn estimate(&self, other: &Self) -> Estimate {
        let differing: u32 = self.0.iter().zip(&other.0).map(|(a, b)| (a ^ b).count_ones()).sum();
        let bins = BINS as f64;
        let jaccard = (1.0 - 2.0 * f64::from(differing) / bins).max(0.0);
        // The error at the estimate; half a bin more on both sides keeps it honest at 0 and 1.
        let agree = ((bins - f64::from(differing)) + 0.5) / (bins + 1.0);
        Estimate { jaccard, standard_error: 2.0 * (agree * (1.0 - agree) / bins).sqrt() }
    }

    /// The sketch as stored: bin `i` is bit `i % 8` of byte `i / 8`.
    pub fn to_bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&self.0) {
            *chunk = word.to_le_bytes();
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote; every 128 bytes are some sketch.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let mut words = [0; BINS / 64];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*chunk);
        }
        Self(words)
    }
}

impl std::fmt::Debug for Sketch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sketch({:016x}…)", self.0[0])
    }
}

/// Makes sketches. Reuse it: it keeps its bins.
#[derive(Clone, Debug)]
pub struct Sketcher {
    bins: Vec<u64>,
}

impl Default for Sketcher {
    fn default() -> Self {
        Self { bins: vec![EMPTY; BINS] }
    }
}

impl Sketcher {
    /// The sketch of a set of shingles; repeats do no harm. `None` of an empty set.
    pub fn sketch(&mut self, shingles: &[u64]) -> Option<Sketch> {
        if shingles.is_empty() {
            return None;
        }
        minima(shingles, &mut self.bins);
        let mut words = [0; BINS / 64];
        for (word, bins) in words.iter_mut().zip(self.bins.as_chunks::<64>().0) {
            *word = bins.iter().enumerate().fold(0, |bits, (i, min)| bits | (min & 1) << i);
        }
        Some(Sketch(words))
    }
}

/// Fills `bins` with the minima of a non-empty set; their number must be a power of two up
/// to 2^16. Two sets agree in a bin with probability J.
pub fn minima(shingles: &[u64], bins: &mut [u64]) {
    debug_assert!(bins.len().is_power_of_two() && bins.len() <= 1 << 16);
    debug_assert!(!shingles.is_empty());
    bins.fill(EMPTY);
    let to_bin = 64 - bins.len().trailing_zeros();
    let mut empty = bins.len();
    // Round 0 spends no further hash: shingles are hashes already.
    for &shingle in shingles {
        put(&mut bins[(shingle >> to_bin) as usize], shingle & VALUE_MASK, &mut empty);
    }
    let rounds = bins.len() as u64;
    let mut round = 1;
    while empty > 0 && round < rounds {
        for &shingle in shingles {
            let hash = rehash(shingle, round);
            let value = round << ROUND_SHIFT | hash & VALUE_MASK;
            put(&mut bins[(hash >> to_bin) as usize], value, &mut empty);
        }
        round += 1;
    }
    if empty > 0 {
        for (i, bin) in bins.iter_mut().enumerate().filter(|(_, bin)| **bin == EMPTY) {
            let values = shingles.iter().map(|&s| rehash(s, rounds + i as u64) & VALUE_MASK);
            *bin = values.min().unwrap_or(EMPTY);
        }
    }
}

#[inline(always)]
fn put(bin: &mut u64, value: u64, empty: &mut usize) {
    *empty -= usize::from(*bin == EMPTY);
    *bin = (*bin).min(value);
}

/// An independent hash of the shingle for every round.
#[inline(always)]
const fn rehash(shingle: u64, round: u64) -> u64 {
    scramble(shingle.wrapping_add(round.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(range: std::ops::Range<u64>) -> Vec<u64> {
        range.map(|i| scramble(i ^ 0xABCD_EF01)).collect()
    }

    fn sketch(shingles: &[u64]) -> Sketch {
        Sketcher::default().sketch(shingles).unwrap()
    }

    #[test]
    fn nothing_has_no_sketch() {
        assert_eq!(Sketcher::default().sketch(&[]), None);
    }

    #[test]
    fn estimates_are_within_their_error_for_short_and_long_texts() {
        for size in [1u64, 3, 20, 300, 5000] {
            let a = set(0..size);
            for shared in [0, size / 2, size * 9 / 10, size] {
                let b = set(size - shared..2 * size - shared);
                let exact = shared as f64 / (2 * size - shared) as f64;
                let estimate = sketch(&a).estimate(&sketch(&b));
                let off = (estimate.jaccard - exact).abs();
                assert!(
                    off <= 4.0 * estimate.standard_error,
                    "{size} {shared}: {off} {estimate:?}"
                );
            }
        }
    }

    #[test]
    fn a_sketch_survives_being_stored() {
        let s = sketch(&set(0..50));
        assert_eq!(Sketch::from_bytes(&s.to_bytes()), s);
    }

    proptest! {
        #[test]
        fn order_and_repeats_do_not_matter(
            mut shingles in proptest::collection::vec(any::<u64>(), 1..60),
        ) {
            let before = sketch(&shingles);
            shingles.reverse();
            shingles.extend_from_within(..shingles.len() / 2);
            prop_assert_eq!(sketch(&shingles), before);
        }
    }
}
