//! Hashes words and shingles.
//!
//! The hash of a word is XXH3-64 of its folded UTF-8 bytes with the recipe's seed; a shingle of one word has
//! that hash. A longer shingle is the polynomial of its words' hashes in [`BASE`] modulo 2^64, scrambled by
//! [`scramble`]. The polynomial rolls, so the cost does not depend on the shingle's length. A text shorter than
//! a shingle is one shingle.
//!
//! Source: Broder 1997 for shingles; Karp and Rabin 1987 for the rolling polynomial; the scrambling is the
//! finaliser of SplitMix64 (Steele, Lea and Flood 2014).

use crate::hamming::{Kernel, Lanes, Work};
use xxhash_rust::xxh3::{xxh3_64_with_secret, xxh3_64_with_seed};

/// Base of the polynomial. Odd, and 3 modulo 4, so that swapping two words of a shingle leaves its
/// hash unchanged only if their hashes agree in 63 bits.
pub const BASE: u64 = 0x9E37_79B9_7F4A_7C17;

/// Maximum number of words per shingle.
pub const MAX_SHINGLE: u8 = 8;

/// Number of words per shingle: 1 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShingleSize(u8);

impl ShingleSize {
    pub const ONE: Self = Self(1);

    /// `None` unless `words` is 1 to [`MAX_SHINGLE`].
    pub const fn new(words: u8) -> Option<Self> {
        if words >= 1 && words <= MAX_SHINGLE { Some(Self(words)) } else { None }
    }

    pub const fn words(self) -> usize {
        self.0 as usize
    }
}

/// The hash of one folded word.
#[inline]
pub fn word_hash(word: &str, seed: u64) -> u64 {
    xxh3_64_with_seed(word.as_bytes(), seed)
}

/// Size of the secret for [`keyed_word_hash`] in bytes.
pub const SECRET: usize = 192;

/// XXH3-64 of one folded word with a secret; it cannot be computed without the secret.
#[inline]
pub fn keyed_word_hash(word: &str, secret: &[u8; SECRET]) -> u64 {
    xxh3_64_with_secret(word.as_bytes(), secret)
}

/// A bijection of 64-bit values in which every output bit depends on every input bit.
#[inline]
pub const fn scramble(value: u64) -> u64 {
    let mut z = value;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Appends the hash of every shingle of `words` to `out`, in text order.
///
/// These are `words.len() - size + 1` hashes; one if there are fewer words than `size`; none
/// without words.
pub fn shingles(words: &[u64], size: ShingleSize, out: &mut Vec<u64>) {
    shingles_by(Kernel::PORTABLE, words, size, out);
}

/// As [`shingles`], with the instructions of the given kernel.
pub fn shingles_by(kernel: Kernel, words: &[u64], size: ShingleSize, out: &mut Vec<u64>) {
    let n = size.words().min(words.len());
    if n == 0 || size == ShingleSize::ONE {
        out.extend_from_slice(words);
        return;
    }
    let from = out.len();
    out.resize(from + words.len() + 1 - n, 0);
    kernel.run(Shingles { words, n, out: &mut out[from..] });
}

struct Shingles<'a> {
    words: &'a [u64],
    /// Words per shingle, from 1 to the number of words.
    n: usize,
    out: &'a mut [u64],
}

impl Work for Shingles<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) {
        let Self { words, n, out } = self;
        if L::MULTIPLIES {
            polynomials(words, n, out);
        } else {
            rolling_polynomials(words, n, out);
        }
        out.iter_mut().for_each(|it| *it = scramble(*it));
    }
}

/// Computes every polynomial independently: as many multiplications as a shingle has words, but
/// none waits for another.
#[inline(always)]
fn polynomials(words: &[u64], n: usize, out: &mut [u64]) {
    /// Small enough for the first-level cache.
    const AT_ONCE: usize = 512;
    for (at, out) in out.chunks_mut(AT_ONCE).enumerate() {
        let words = &words[at * AT_ONCE..];
        out.copy_from_slice(&words[..out.len()]);
        for next in 1..n {
            for (sum, word) in out.iter_mut().zip(&words[next..]) {
                *sum = sum.wrapping_mul(BASE).wrapping_add(*word);
            }
        }
    }
}

/// Computes every polynomial from the previous one.
#[inline(always)]
fn rolling_polynomials(words: &[u64], n: usize, out: &mut [u64]) {
    let (head, tail) = words.split_at(n);
    let Some((first, others)) = out.split_first_mut() else { return };
    let mut rolling = head.iter().fold(0u64, |acc, &w| acc.wrapping_mul(BASE).wrapping_add(w));
    *first = rolling;
    let leaving_weight = (1..n).fold(1u64, |power, _| power.wrapping_mul(BASE));
    for (sum, (&leaving, &entering)) in others.iter_mut().zip(words.iter().zip(tail)) {
        rolling = rolling
            .wrapping_sub(leaving.wrapping_mul(leaving_weight))
            .wrapping_mul(BASE)
            .wrapping_add(entering);
        *sum = rolling;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation: hashes each window independently.
    fn slow_shingles(words: &[u64], n: usize) -> Vec<u64> {
        if words.is_empty() {
            return Vec::new();
        }
        if n == 1 {
            return words.to_vec();
        }
        words
            .windows(n.min(words.len()))
            .map(|w| scramble(w.iter().fold(0, |a: u64, &x| a.wrapping_mul(BASE).wrapping_add(x))))
            .collect()
    }

    fn fast_shingles(words: &[u64], n: u8) -> Vec<u64> {
        let mut out = Vec::new();
        shingles(words, ShingleSize::new(n).unwrap(), &mut out);
        out
    }

    #[test]
    fn sizes_outside_one_to_eight_are_refused() {
        assert_eq!(ShingleSize::new(0), None);
        assert_eq!(ShingleSize::new(9), None);
        assert_eq!(ShingleSize::new(8).map(ShingleSize::words), Some(8));
    }

    #[test]
    fn word_order_matters_inside_a_shingle() {
        let [a, b] = ["to", "be"].map(|w| word_hash(w, 0));
        assert_ne!(fast_shingles(&[a, b], 2), fast_shingles(&[b, a], 2));
    }

    #[test]
    fn the_hash_of_a_word_is_the_published_xxh3() {
        // The empty input's value is in the XXH3 specification's test vectors.
        assert_eq!(word_hash("", 0), 0x2D06_8005_38D3_94C2);
    }

    proptest! {
        #[test]
        fn rolling_hashes_equal_those_of_each_window(
            words in prop_oneof![
                proptest::collection::vec(0u64..5, 0..40),
                proptest::collection::vec(any::<u64>(), 500..1100),
            ],
            n in 1u8..=8,
        ) {
            let slow = slow_shingles(&words, usize::from(n));
            prop_assert_eq!(&fast_shingles(&words, n), &slow);
            for kernel in Kernel::available() {
                let mut fast = vec![7];
                shingles_by(kernel, &words, ShingleSize::new(n).unwrap(), &mut fast);
                prop_assert_eq!(fast[0], 7);
                prop_assert_eq!(&fast[1..], &slow, "{:?}", kernel);
            }
        }
    }
}
