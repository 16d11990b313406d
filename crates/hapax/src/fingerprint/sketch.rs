//! A similarity sketch of 128 bytes: MinHash with [`BINS`] values and one bit of each.
//!
//! Two sketches agree in a bin with probability J + (1 - J) / 2 for Jaccard similarity J of the shingles, so J
//! is twice the share of equal bins minus one. By *fast similarity sketching*, round 0 assigns every shingle to
//! one bin; further rounds with other hashes fill only the empty bins, so short texts fill all bins, too, in
//! about `BINS * ln(BINS)` steps. [`minima`] defines the values. One bit per bin was the best choice measured
//! (`docs/internals/sketch-choice.md`). Hashes must be uniform.
//!
//! Source: Dahlgaard, Knudsen and Thorup, "Fast similarity sketching", 2017; Li and König, "b-bit minwise
//! hashing", 2010.

use crate::features::hash::scramble;
use crate::hamming::lanes::SLACK;
use crate::hamming::vacant::MOST_BINS;
use crate::hamming::{Kernel, Lanes, Vacant, Work};
use std::fmt;
use std::str::FromStr;

/// Number of minima in a sketch.
pub const BINS: usize = 1024;
/// Size of a sketch in bytes.
pub const BYTES: usize = BINS / 8;

/// An entry has the number of its round above its value, so that earlier rounds win.
const ROUND_SHIFT: u32 = 48;
const VALUE_MASK: u64 = (1 << ROUND_SHIFT) - 1;
const EMPTY: u64 = u64::MAX;
/// If fewer than one bin in this many is empty, bins are tested before they are written. Affects
/// speed only.
const FEW_EMPTY: usize = 8;

/// One bit of each of the [`BINS`] minima.
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
    /// The estimated Jaccard similarity of the two shingle sets.
    pub fn estimate(&self, other: &Self) -> Estimate {
        let differing: u32 = self.0.iter().zip(&other.0).map(|(a, b)| (a ^ b).count_ones()).sum();
        Estimate::of(BINS as u32, differing, 2.0)
    }

    /// Encodes the sketch: bin `i` is bit `i % 8` of byte `i / 8`.
    #[inline] // Callers in other crates want a few of the bytes.
    pub fn to_bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&self.0) {
            *chunk = word.to_le_bytes();
        }
        bytes
    }

    /// Decodes a sketch; any 128 bytes are valid.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let mut words = [0; BINS / 64];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*chunk);
        }
        Self(words)
    }
}

impl Estimate {
    /// The estimate from the number of differing bins, each reduced to one of `values` values.
    #[inline]
    pub(super) fn of(bins: u32, differing: u32, values: f64) -> Self {
        let (bins, differing) = (f64::from(bins), f64::from(differing));
        let by_chance = values / (values - 1.0);
        let jaccard = (1.0 - by_chance * differing / bins).max(0.0);
        // The error at the estimate, smoothed by half a bin on both sides, so that it is not 0 at 0
        // and 1.
        let agree = ((bins - differing) + 0.5) / (bins + 1.0);
        Self { jaccard, standard_error: by_chance * (agree * (1.0 - agree) / bins).sqrt() }
    }
}

/// The bytes as 256 hexadecimal digits.
impl fmt::Display for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|word| write!(f, "{:016x}", word.swap_bytes()))
    }
}

/// The text is not a sketch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sketch is 256 hexadecimal digits")]
pub struct ParseSketchError;

impl FromStr for Sketch {
    type Err = ParseSketchError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        if s.len() != 2 * BYTES || !s.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ParseSketchError);
        }
        let mut words = [0; BINS / 64];
        for (word, digits) in words.iter_mut().zip(s.as_bytes().as_chunks::<16>().0) {
            let digits = std::str::from_utf8(digits).map_err(|_| ParseSketchError)?;
            *word = u64::from_str_radix(digits, 16).map_err(|_| ParseSketchError)?.swap_bytes();
        }
        Ok(Self(words))
    }
}

impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sketch({:016x}…)", self.0[0])
    }
}

/// A text with this many shingles per bin that still leaves bins empty consists of repeats.
const MANY_SHINGLES: usize = 8;

/// Smaller sets do not fill a register and are processed one by one.
const FEW_SHINGLES: usize = 8;

/// Makes sketches. Reuse it to keep its bins.
#[derive(Clone, Debug)]
pub struct Sketcher {
    kernel: Kernel,
    bins: Vec<u64>,
    distinct: Vec<u64>,
    hits: Vec<u64>,
    state: State,
}

/// What is known of a set whose shingles come in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is no shingle.
    Nothing,
    /// Round 0 has left bins empty; `distinct` holds the set.
    Gaps,
    /// Round 0 has filled all bins, so the set is not needed.
    Full,
    /// The bins are those of the set.
    Done,
}

impl Default for Sketcher {
    fn default() -> Self {
        Self::of(BINS)
    }
}

impl Sketcher {
    /// With this many bins, a power of two up to [`BINS`].
    pub(super) fn of(bins: usize) -> Self {
        Self::with_kernel(bins, Kernel::best())
    }

    fn with_kernel(bins: usize, kernel: Kernel) -> Self {
        debug_assert!(bins <= MOST_BINS);
        Self {
            kernel,
            bins: vec![EMPTY; bins],
            distinct: Vec::new(),
            hits: Vec::new(),
            state: State::Nothing,
        }
    }

    /// The sketch of a set of shingles; repeats are ignored. `None` for an empty set.
    pub fn sketch(&mut self, shingles: &[u64]) -> Option<Sketch> {
        self.add(shingles, true);
        self.finish()
    }

    /// Adds shingles to the set; `last` says that no more will come.
    pub(super) fn add(&mut self, shingles: &[u64], last: bool) {
        match self.state {
            State::Nothing if last => {
                if self.minima(shingles).is_some() {
                    self.state = State::Done;
                }
                return;
            }
            State::Nothing if shingles.is_empty() => return,
            State::Nothing => {
                self.bins.fill(EMPTY);
                self.distinct.clear();
                self.state = State::Gaps;
            }
            State::Gaps | State::Full | State::Done => {}
        }
        round_zero(shingles, &mut self.bins);
        if self.state == State::Gaps {
            if self.bins.contains(&EMPTY) {
                self.distinct.extend_from_slice(shingles);
                self.distinct.sort_unstable();
                self.distinct.dedup();
            } else {
                self.state = State::Full;
            }
        }
    }

    /// The sketch of the shingles that were [added](Self::add) since the last call; `None` for an
    /// empty set.
    pub(super) fn finish(&mut self) -> Option<Sketch> {
        let kernel = self.kernel;
        Some(kernel.run(LowBits(self.finish_minima()?)))
    }

    /// As [`finish`](Self::finish), the minima.
    pub(super) fn finish_minima(&mut self) -> Option<&[u64]> {
        match std::mem::replace(&mut self.state, State::Nothing) {
            State::Nothing => None,
            State::Full | State::Done => Some(&self.bins),
            State::Gaps => {
                fill(self.kernel, &self.distinct, false, &mut self.bins, &mut self.hits);
                Some(&self.bins)
            }
        }
    }

    /// The minima of a set of shingles; `None` for an empty set.
    pub(super) fn minima(&mut self, shingles: &[u64]) -> Option<&[u64]> {
        if shingles.is_empty() {
            return None;
        }
        let mut set = shingles;
        let bins = self.bins.len();
        let many = shingles.len() > MANY_SHINGLES * bins;
        let full = many && fills(shingles, bins);
        if many && !full {
            // Without this, every round would process a million repeats of ten shingles.
            distinct(shingles, MANY_SHINGLES * bins, &mut self.distinct);
            set = &self.distinct;
        }
        fill(self.kernel, set, full, &mut self.bins, &mut self.hits);
        Some(&self.bins)
    }
}

/// Fills the bins with the minima of a non-empty set; `full` says that round 0 fills all.
fn fill(kernel: Kernel, set: &[u64], full: bool, bins: &mut [u64], hits: &mut Vec<u64>) {
    if set.len() < FEW_SHINGLES {
        minima(set, bins);
        return;
    }
    // If round 0 fills all bins, there are no hits to remember.
    let most = if full { 0 } else { set.len() + SLACK };
    hits.resize(hits.len().max(most), 0);
    kernel.run(Minima { shingles: set, bins, hits });
}

/// Computes [`minima`] without the round numbers: it knows before each round which bins are vacant.
struct Minima<'a> {
    shingles: &'a [u64],
    bins: &'a mut [u64],
    hits: &'a mut [u64],
}

impl Work for Minima<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { shingles, bins, hits } = self;
        bins.fill(EMPTY);
        round_zero(shingles, bins);
        let mut vacant = Vacant::of(bins.iter().map(|bin| *bin == EMPTY));
        let rounds = bins.len() as u64;
        for round in 1..rounds {
            if vacant.left() == 0 {
                return;
            }
            let found = lanes.to_vacant(&vacant, shingles, multiplier(round), hits);
            for product in &hits[..found] {
                let hash = fold(*product);
                let at = vacant.bin(hash);
                bins[at] = bins[at].min(hash & VALUE_MASK);
                vacant.take(at);
            }
        }
        fill_by_all(shingles, bins);
    }
}

#[inline(always)]
fn round_zero(shingles: &[u64], bins: &mut [u64]) {
    let to_bin = 64 - bins.len().trailing_zeros();
    for &shingle in shingles {
        let bin = &mut bins[(shingle >> to_bin) as usize];
        *bin = (*bin).min(shingle & VALUE_MASK);
    }
}

/// Extracts the lowest bit of every minimum.
struct LowBits<'a>(&'a [u64]);

impl Work for LowBits<'_> {
    type Output = Sketch;

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) -> Sketch {
        let mut words = [0; BINS / 64];
        for (word, bins) in words.iter_mut().zip(self.0.as_chunks::<64>().0) {
            *word = bins.iter().enumerate().fold(0, |bits, (i, min)| bits | (min & 1) << i);
        }
        Sketch(words)
    }
}

/// The distinct shingles of a list with many repeats, computed in pieces to bound memory.
fn distinct(shingles: &[u64], at_a_time: usize, out: &mut Vec<u64>) {
    out.clear();
    let mut rest = shingles;
    while !rest.is_empty() {
        let (some, others) = rest.split_at(rest.len().min(at_a_time.max(out.len())));
        out.extend_from_slice(some);
        out.sort_unstable();
        out.dedup();
        rest = others;
    }
}

/// Whether round 0 fills all bins.
fn fills(shingles: &[u64], bins: usize) -> bool {
    let mut hit = [false; BINS];
    let mut left = bins;
    shingles.iter().any(|shingle| {
        let bin = &mut hit[(shingle >> (64 - bins.trailing_zeros())) as usize];
        left -= usize::from(!std::mem::replace(bin, true));
        left == 0
    })
}

/// Fills `bins` with the minima of a non-empty set; their number `n` must be a power of two from 2
/// to 2^16. Two sets agree in a bin with probability J.
///
/// In round 0 the hash of a shingle is the shingle itself. In round `r` it is `p ^ p >> 32` where
/// `p` is the shingle times `scramble(r) | 1`, modulo 2^64. Its leading `log2 n` bits select a bin,
/// its low 48 bits are its value. The minimum of a bin is the smallest value of the first round
/// that has values for it. If rounds 0 to `n - 1` have none for bin `i`, its minimum is the
/// smallest value of all shingles in round `n + i`.
///
/// The low 48 bits of an entry are the value; the bits above are the number of the round.
pub fn minima(shingles: &[u64], bins: &mut [u64]) {
    debug_assert!(bins.len().is_power_of_two() && (2..=1 << 16).contains(&bins.len()));
    debug_assert!(!shingles.is_empty());
    bins.fill(EMPTY);
    let to_bin = 64 - bins.len().trailing_zeros();
    let mut empty = bins.len();
    for &shingle in shingles {
        put(&mut bins[(shingle >> to_bin) as usize], shingle & VALUE_MASK, &mut empty);
    }
    let rounds = bins.len() as u64;
    let mut round = 1;
    while empty > 0 && round < rounds {
        let multiplier = multiplier(round);
        let stamp = round << ROUND_SHIFT;
        if empty >= bins.len() / FEW_EMPTY {
            for &shingle in shingles {
                let hash = rehash(shingle, multiplier);
                let bin = &mut bins[(hash >> to_bin) as usize];
                put(bin, stamp | hash & VALUE_MASK, &mut empty);
            }
        } else {
            // Nearly every bin is filled by an earlier round, and a branch that is rarely taken
            // costs less than a write that changes nothing.
            for &shingle in shingles {
                let hash = rehash(shingle, multiplier);
                let bin = &mut bins[(hash >> to_bin) as usize];
                if *bin >= stamp {
                    put(bin, stamp | hash & VALUE_MASK, &mut empty);
                }
            }
        }
        round += 1;
    }
    if empty > 0 {
        fill_by_all(shingles, bins);
    }
}

/// Fills each bin that is still empty by a round of its own.
fn fill_by_all(shingles: &[u64], bins: &mut [u64]) {
    let rounds = bins.len() as u64;
    for (i, bin) in bins.iter_mut().enumerate().filter(|(_, bin)| **bin == EMPTY) {
        let multiplier = multiplier(rounds + i as u64);
        let values = shingles.iter().map(|&s| rehash(s, multiplier) & VALUE_MASK);
        *bin = values.min().unwrap_or(EMPTY);
    }
}

#[inline(always)]
fn put(bin: &mut u64, value: u64, empty: &mut usize) {
    *empty -= usize::from(*bin == EMPTY);
    *bin = (*bin).min(value);
}

/// The multiplier that defines a round's hash.
const fn multiplier(round: u64) -> u64 {
    scramble(round) | 1
}

/// The hash of a shingle in a round. One multiplication suffices because shingles are hashes
/// already: an odd multiple of a uniform value is uniform.
#[inline(always)]
const fn rehash(shingle: u64, multiplier: u64) -> u64 {
    fold(shingle.wrapping_mul(multiplier))
}

/// Folds in the high half, because the lowest bits of a product depend on few bits of the shingle.
#[inline(always)]
const fn fold(product: u64) -> u64 {
    product ^ product >> 32
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

    /// Reference implementation: the definition, bin by bin.
    fn slow_minimum(shingles: &[u64], bins: u64, bin: u64) -> u64 {
        let hash = |shingle: u64, round: u64| {
            let product = shingle.wrapping_mul(scramble(round) | 1);
            if round == 0 { shingle } else { product ^ product >> 32 }
        };
        let value = |shingle: u64, round: u64| hash(shingle, round) % (1 << 48);
        let first = (0..bins).find_map(|round| {
            let here = shingles.iter().filter(|&&s| hash(s, round) / (u64::MAX / bins + 1) == bin);
            here.map(|&s| value(s, round)).min()
        });
        first.or_else(|| shingles.iter().map(|&s| value(s, bins + bin)).min()).unwrap()
    }

    fn values(shingles: &[u64], bins: usize) -> Vec<u64> {
        let mut minima = vec![0; bins];
        super::minima(shingles, &mut minima);
        minima.iter().map(|min| min & VALUE_MASK).collect()
    }

    fn slow_values(shingles: &[u64], bins: usize) -> Vec<u64> {
        (0..bins as u64).map(|bin| slow_minimum(shingles, bins as u64, bin)).collect()
    }

    #[test]
    fn full_sketches_have_the_minima_of_the_definition() {
        for size in [1, 20, 300, 3000, 20_000] {
            let set = set(0..size);
            let (fast, slow) = (values(&set, BINS), slow_values(&set, BINS));
            assert_eq!(fast, slow, "{size}");
            let bytes = sketch(&set).to_bytes();
            for (i, min) in slow.iter().enumerate() {
                assert_eq!(u64::from(bytes[i / 8] >> (i % 8) & 1), min & 1, "{size}, bin {i}");
            }
        }
    }

    /// The error must not exceed the formula for independent bins; a thousand pairs determine it to
    /// a few percent.
    #[test]
    fn the_error_is_as_stated_and_unbiased() {
        for (size, shared) in [(1, 0), (12, 8), (90, 80), (400, 300), (3000, 2700)] {
            let trials = if size > 1000 { 100 } else { 1000 };
            let exact = shared as f64 / (2 * size - shared) as f64;
            let (mut sum, mut squares) = (0.0, 0.0);
            for trial in 0..trials {
                let from = trial << 32;
                let a = sketch(&set(from..from + size));
                let b = sketch(&set(from + size - shared..from + 2 * size - shared));
                let agreeing =
                    (0..BYTES).map(|i| (a.to_bytes()[i] ^ b.to_bytes()[i]).count_zeros());
                let estimate = 2.0 * f64::from(agreeing.sum::<u32>()) / BINS as f64 - 1.0;
                sum += estimate - exact;
                squares += (estimate - exact).powi(2);
            }
            let stated = ((1.0 - exact * exact) / BINS as f64).sqrt();
            let error = (squares / trials as f64).sqrt();
            assert!(error <= 1.15 * stated, "{size} {shared}: {error} {stated}");
            let bias = (sum / trials as f64).abs();
            assert!(bias <= 4.0 * stated / (trials as f64).sqrt(), "{size} {shared}: {bias}");
        }
    }

    #[test]
    fn repeats_in_a_long_text_do_not_change_the_sketch() {
        let said = set(0..10);
        let again: Vec<u64> = said.iter().copied().cycle().take(3 * MANY_SHINGLES * BINS).collect();
        assert_eq!(sketch(&again), sketch(&said));
    }

    #[test]
    fn long_texts_take_no_buffers_of_their_length() {
        let most = 4 * MANY_SHINGLES * BINS;
        let (new, said) = (set(0..100_000), set(0..10));
        let again: Vec<u64> = said.iter().copied().cycle().take(100_000).collect();
        let mut sketcher = Sketcher::default();
        for text in [new, again] {
            sketcher.sketch(&text);
            assert!(sketcher.distinct.capacity() + sketcher.hits.capacity() < most);
        }
    }

    #[test]
    fn an_empty_set_has_no_sketch() {
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
    fn a_sketch_survives_encoding() {
        let s = sketch(&set(0..50));
        assert_eq!(Sketch::from_bytes(&s.to_bytes()), s);
        let digits: String = s.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(s.to_string(), digits);
        assert_eq!(digits.to_uppercase().parse(), Ok(s));
    }

    #[test]
    fn a_sketch_has_exactly_256_digits() {
        let plus = format!("+f{}", "0".repeat(254));
        for wrong in ["", "0", &"0".repeat(255), &"0".repeat(258), &"é".repeat(128), &plus] {
            assert_eq!(wrong.parse::<Sketch>(), Err(ParseSketchError), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn minima_are_those_of_the_definition(
            shingles in proptest::collection::vec(any::<u64>(), 1..200),
            log_bins in 1u32..9,
        ) {
            let bins = 1 << log_bins;
            let slow = slow_values(&shingles, bins);
            prop_assert_eq!(&values(&shingles, bins), &slow);
            for kernel in Kernel::available() {
                let mut sketcher = Sketcher::with_kernel(bins, kernel);
                let minima = sketcher.minima(&shingles).unwrap().iter();
                prop_assert_eq!(&minima.map(|it| it & VALUE_MASK).collect::<Vec<_>>(), &slow, "{:?}", kernel);
            }
        }

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
