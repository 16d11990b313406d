//! The compared sketches, each in the same number of bytes.
//!
//! A method turns a set of 64-bit hashes into words of storage and estimates the Jaccard similarity of two sets from
//! their words alone. Other data that it needs, such as a set's size, are stored in them too, so that storage is
//! comparable. Estimates are not clamped to 0..=1, because clamping would hide bias.

use crate::minima::{Minima, STEP};
use hapax::features::hash::scramble;
use std::f64::consts::PI;

/// One way to summarise a set.
pub(crate) trait Method: Sync {
    /// Name in the tables.
    fn name(&self) -> String;
    /// The sketch of a non-empty set without repetitions.
    fn sketch(&self, set: &[u64]) -> Vec<u64>;
    /// The estimated Jaccard similarity of the sets of two sketches.
    fn jaccard(&self, a: &[u64], b: &[u64]) -> f64;
}

/// All methods that use `bytes` of storage.
pub(crate) fn all(bytes: usize) -> Vec<Box<dyn Method>> {
    let bits = bytes * 8;
    let mut methods: Vec<Box<dyn Method>> = Vec::new();
    for (minima, widths) in [
        (Minima::Classic, &[1, 2, 8][..]),
        (Minima::Rotation, &[1, 2, 4, 8, 16]),
        (Minima::Optimal, &[1, 2, 4, 8, 16]),
        (Minima::Fast, &[1, 2, 4, 8, 16]),
        (Minima::FastFullMixing, &[1]),
    ] {
        for &width in widths {
            methods.push(Box::new(CutMinima { minima, bins: bits / width, width }));
        }
    }
    methods.push(Box::new(Odd { bins: bits, bits }));
    methods.push(Box::new(Odd { bins: 2 * bits, bits }));
    methods.push(Box::new(BottomK { kept: bits / 32 }));
    methods.push(Box::new(WideSimHash { bits: bits - 64 }));
    methods.push(Box::new(SetSketch { registers: bytes - 8 }));
    methods
}

/// The low `width` bits of each of `bins` minima (Li and König 2010).
struct CutMinima {
    minima: Minima,
    bins: usize,
    width: usize,
}

impl Method for CutMinima {
    fn name(&self) -> String {
        format!("{} {}x{}", self.minima.name(), self.bins, self.width)
    }

    fn sketch(&self, set: &[u64]) -> Vec<u64> {
        let mask = (1 << self.width) - 1;
        let mut words = vec![0; self.bins * self.width / 64];
        for (i, min) in self.minima.of(set, self.bins).into_iter().enumerate() {
            let at = i * self.width;
            words[at / 64] |= (min & mask) << (at % 64);
        }
        words
    }

    fn jaccard(&self, a: &[u64], b: &[u64]) -> f64 {
        let mask = (1u64 << self.width) - 1;
        let mut agreeing = 0;
        for (a, b) in a.iter().zip(b) {
            let differing = a ^ b;
            agreeing +=
                (0..64).step_by(self.width).filter(|&lane| (differing >> lane) & mask == 0).count();
        }
        let share = agreeing as f64 / self.bins as f64;
        let chance = 0.5f64.powi(self.width as i32);
        (share - chance) / (1.0 - chance)
    }
}

/// Each of `bins` minima flips one of `bits` bits, chosen by its value (Mitzenmacher, Pagh
/// and Pham, "Efficient estimation for high similarities using odd sketches", 2014).
struct Odd {
    bins: usize,
    bits: usize,
}

impl Method for Odd {
    fn name(&self) -> String {
        format!("odd sketch of {} minima", self.bins)
    }

    fn sketch(&self, set: &[u64]) -> Vec<u64> {
        let mut words = vec![0; self.bits / 64];
        for (i, min) in Minima::Fast.of(set, self.bins).into_iter().enumerate() {
            let at = scramble(min ^ (i as u64) << 48) as usize % self.bits;
            words[at / 64] ^= 1 << (at % 64);
        }
        words
    }

    fn jaccard(&self, a: &[u64], b: &[u64]) -> f64 {
        let bits = self.bits as f64;
        // The logarithm ends at half of the bits: larger distances cannot be distinguished.
        let odd = f64::from(differing(a, b)).min(bits / 2.0 - 1.0);
        let differing_minima = -bits / 4.0 * (1.0 - 2.0 * odd / bits).ln();
        1.0 - differing_minima / self.bins as f64
    }
}

/// The smallest `kept` hashes, 32 bits each: a sample of the union without repetitions, and the
/// whole set if it is small (Broder 1997).
struct BottomK {
    kept: usize,
}

impl Method for BottomK {
    fn name(&self) -> String {
        format!("bottom-{} of 32 bits", self.kept)
    }

    fn sketch(&self, set: &[u64]) -> Vec<u64> {
        let mut values: Vec<u64> = set.iter().map(|s| s >> 32).collect();
        if values.len() > self.kept {
            values.select_nth_unstable(self.kept - 1);
            values.truncate(self.kept);
        }
        values.sort_unstable();
        values.resize(self.kept, u64::from(u32::MAX));
        values.chunks(2).map(|pair| pair[0] | pair[1] << 32).collect()
    }

    fn jaccard(&self, a: &[u64], b: &[u64]) -> f64 {
        let halves = |words: &[u64]| -> Vec<u32> {
            let both = words.iter().flat_map(|w| [*w as u32, (w >> 32) as u32]);
            both.take_while(|&v| v != u32::MAX).collect()
        };
        let (a, b) = (halves(a), halves(b));
        let (mut i, mut j, mut union, mut shared) = (0, 0, 0, 0);
        while union < self.kept && (i < a.len() || j < b.len()) {
            let (x, y) = (a.get(i), b.get(j));
            let next = x.min(y.or(x)).or(y);
            let (from_a, from_b) = (x == next, y == next);
            i += usize::from(from_a);
            j += usize::from(from_b);
            shared += usize::from(from_a && from_b);
            union += 1;
        }
        shared as f64 / union as f64
    }
}

/// SimHash of the set, and its size; the angle gives the cosine, which gives the Jaccard similarity
/// with both sizes (Charikar 2002).
struct WideSimHash {
    bits: usize,
}

impl Method for WideSimHash {
    fn name(&self) -> String {
        format!("SimHash of {} bits and size", self.bits)
    }

    fn sketch(&self, set: &[u64]) -> Vec<u64> {
        let mut ones = vec![0u32; self.bits];
        for &s in set {
            for (word, ones) in ones.chunks_mut(64).enumerate() {
                let hash = scramble(s.wrapping_add((word as u64).wrapping_mul(STEP)));
                for (i, ones) in ones.iter_mut().enumerate() {
                    *ones += (hash >> i & 1) as u32;
                }
            }
        }
        let half = set.len() as u32;
        let mut words: Vec<u64> = ones
            .chunks(64)
            .map(|ones| ones.iter().rev().fold(0, |w, &n| w << 1 | u64::from(2 * n > half)))
            .collect();
        words.push(set.len() as u64);
        words
    }

    fn jaccard(&self, a: &[u64], b: &[u64]) -> f64 {
        let ([a @ .., size_a], [b @ .., size_b]) = (a, b) else { return f64::NAN };
        let cosine = (PI * f64::from(differing(a, b)) / self.bits as f64).cos();
        let (size_a, size_b) = (*size_a as f64, *size_b as f64);
        let shared = cosine * (size_a * size_b).sqrt();
        shared / (size_a + size_b - shared)
    }
}

/// Logarithms of independent exponential minima in registers of 8 bits, and the set's size; the
/// maximum likelihood estimate from comparing registers (Ertl, "SetSketch", 2021).
///
/// Filled slowly, with one hash per register and element.
struct SetSketch {
    registers: usize,
}

/// Ratio of neighbouring register values: 254 steps span 10^20.
const SET_SKETCH_BASE: f64 = 1.2;

impl Method for SetSketch {
    fn name(&self) -> String {
        format!("SetSketch {}x8 and size", self.registers)
    }

    fn sketch(&self, set: &[u64]) -> Vec<u64> {
        let mut words = vec![0; self.registers / 8];
        for (i, max) in Minima::Classic.hashes(set, self.registers).into_iter().enumerate() {
            // An exponential variable from the hash; the smallest hash gives the smallest value.
            let uniform = (max as f64 + 0.5) / 2f64.powi(64);
            let exponential = -(-uniform).ln_1p();
            let level = (50.0 - exponential.ln() / SET_SKETCH_BASE.ln()).floor().clamp(0.0, 255.0);
            words[i / 8] |= (level as u64) << (i % 8 * 8);
        }
        words.push(set.len() as u64);
        words
    }

    fn jaccard(&self, a: &[u64], b: &[u64]) -> f64 {
        let ([a @ .., size_a], [b @ .., size_b]) = (a, b) else { return f64::NAN };
        let (size_a, size_b) = (*size_a as f64, *size_b as f64);
        let (mut above, mut below) = (0.0, 0.0);
        for (a, b) in
            a.iter().flat_map(|w| w.to_le_bytes()).zip(b.iter().flat_map(|w| w.to_le_bytes()))
        {
            above += f64::from(u8::from(a > b));
            below += f64::from(u8::from(a < b));
        }
        let equal = self.registers as f64 - above - below;
        let (u, v) = (size_a / (size_a + size_b), size_b / (size_a + size_b));
        let step = |x: f64| {
            let x = x.max(0.0);
            -(1.0 - x * (SET_SKETCH_BASE - 1.0) / SET_SKETCH_BASE).ln() / SET_SKETCH_BASE.ln()
        };
        let term = |count: f64, p: f64| if count == 0.0 { 0.0 } else { count * p.max(1e-300).ln() };
        let likelihood = |j: f64| {
            let (p, q) = (step(u - v * j), step(v - u * j));
            term(above, p) + term(below, q) + term(equal, 1.0 - p - q)
        };
        maximum(likelihood, 0.0, (u / v).min(v / u))
    }
}

/// The maximum of a unimodal function, by golden-section search.
fn maximum(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    const SECTION: f64 = 0.618_033_988_749_895;
    for _ in 0..60 {
        let (left, right) = (high - SECTION * (high - low), low + SECTION * (high - low));
        if f(left) < f(right) {
            low = left;
        } else {
            high = right;
        }
    }
    (low + high) / 2.0
}

fn differing(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::pair;

    #[test]
    fn every_method_fits_its_bytes_and_recognizes_equal_sets() {
        for bytes in [64, 128] {
            for method in all(bytes) {
                let sketch = method.sketch(&pair(300, 0, 1).0);
                assert_eq!(sketch.len() * 8, bytes, "{}", method.name());
                let estimate = method.jaccard(&sketch, &sketch);
                assert!((estimate - 1.0).abs() < 1e-6, "{}: {estimate}", method.name());
            }
        }
    }

    #[test]
    fn every_method_is_nearly_unbiased() {
        // 360 common of 440 in the union.
        let exact = 360.0 / 440.0;
        for method in all(128) {
            let estimates = (0..200).map(|trial| {
                let (a, b) = pair(400, 360, trial);
                method.jaccard(&method.sketch(&a), &method.sketch(&b))
            });
            let mean = estimates.sum::<f64>() / 200.0;
            assert!((mean - exact).abs() < 0.02, "{}: {mean}", method.name());
        }
    }

    #[test]
    fn small_sets_are_exact_in_a_bottom_k_sketch() {
        let bottom = BottomK { kept: 32 };
        let (a, b) = pair(20, 15, 7);
        assert_eq!(bottom.jaccard(&bottom.sketch(&a), &bottom.sketch(&b)), 15.0 / 25.0);
    }
}
