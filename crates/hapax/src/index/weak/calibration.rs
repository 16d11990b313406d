//! Learns from pairs how likely a bit of a near-duplicate is flipped.
//!
//! The *strength* of a bit with sum `W` is `|W| / rms`, where `rms` is the root mean square of the document's
//! 64 sums: near 0 a small edit flips it, from about 1 on hardly any does. A [`Calibration`] is a sample of
//! pairs: strengths, and which bits are flipped. A [`Shape`] is fitted to the pairs within a bound. Does not
//! use an index; [`plan`](super::plan) does.
//!
//! Source: Sood 2011, IV.A; the logistic shape, the fit and the normalisation are ours.
//!
//! | shape | flip probability at strength z | |
//! |---|---|---|
//! | logistic | `1 / (1 + exp(a + b z))` | a mixture of large and small edits, with a long tail |
//! | normal | `Phi(-z / s)` | edits of one size; as few probes as logistic at 0.95, more at 0.99 |
//! | linear | `c (1 - z / 8)` | equation 4.5, because the length of W is 8 rms; six times the probes |

use std::sync::OnceLock;

use crate::fingerprint::BitSums;

/// Strengths are stored in steps of `1 / STEPS`, up to 255. Stronger bits (twice the mean) do not
/// flip in practice.
const STEPS: f32 = 128.0;

/// Number of different strengths.
pub(super) const LEVELS: usize = 256;

/// Maximum number of pairs. One half chooses bits and the other half decides when to stop; the 0.99
/// quantile of 32,000 is known to 0.0006, if they are of different families.
const MOST_PAIRS: usize = 64_000;

/// Number of generated pairs if there are none.
const IMAGINED_PAIRS: usize = 6000;

/// If fewer pairs are within a bound, the sample is extended from a model.
pub(super) const FEWEST_PAIRS: usize = 200;

/// How the probability of a flip decreases with the strength of a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Log-odds decrease linearly.
    #[default]
    Logistic,
    /// The tail of a normal distribution.
    Normal,
    /// The thesis's equation 4.5.
    Linear,
}

/// A sample of near-duplicates, to learn flips from.
#[derive(Clone, Debug)]
pub struct Calibration {
    shape: Shape,
    pairs: Vec<SamplePair>,
}

/// A page's bits, and which of them are flipped in a near-duplicate.
#[derive(Clone, Copy, Debug)]
pub(super) struct SamplePair {
    pub(super) strengths: [u8; 64],
    pub(super) flips: u64,
}

impl Calibration {
    /// From near-duplicates: the sums of one page, and the XOR of the two fingerprints. Pairs of
    /// equal fingerprints teach nothing and are ignored. A few thousand suffice; of more than
    /// 64,000 an even selection is kept. Keep the pairs of a page together, so that the halves of
    /// the sample are of different pages and the number of pages is known.
    pub fn fit<'a>(pairs: impl IntoIterator<Item = (&'a BitSums, u64)>) -> Self {
        let all: Vec<SamplePair> = pairs
            .into_iter()
            .filter(|&(_, flips)| flips != 0)
            .map(|(sums, flips)| SamplePair { strengths: strengths(sums), flips })
            .collect();
        let every = all.len().div_ceil(MOST_PAIRS).max(1);
        let pairs: Vec<SamplePair> = all.into_iter().step_by(every).collect();
        Self { shape: Shape::default(), pairs }
    }

    /// Uses a curve of another shape.
    #[must_use]
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// All bit positions, those flipped least within `bound` first; the highest first without data.
    /// Uses the first half of the pairs.
    pub(super) fn least_flipped(&self, bound: u32) -> [u8; 64] {
        let mut flipped = [0u32; 64];
        let pairs = &self.pairs[..self.pairs.len() / 2];
        for pair in pairs.iter().filter(|pair| pair.flips.count_ones() <= bound) {
            for (bit, flipped) in flipped.iter_mut().enumerate() {
                *flipped += (pair.flips >> bit & 1) as u32;
            }
        }
        let mut order: [u8; 64] = std::array::from_fn(|i| 63 - i as u8);
        order.sort_by_key(|&bit| flipped[usize::from(bit)]);
        order
    }

    /// The pairs within `bound` in the second half of the sample, extended from a model if they are
    /// too few, and the curve fitted to them.
    pub(super) fn within(&self, bound: u32) -> (Vec<SamplePair>, Curve) {
        let mut pairs = self.pairs[self.pairs.len() / 2..].to_vec();
        pairs.retain(|pair| pair.flips.count_ones() <= bound);
        if pairs.len() < FEWEST_PAIRS {
            pairs.extend(imagined().iter().filter(|pair| pair.flips.count_ones() <= bound));
        }
        let curve = Curve::fit(&pairs, self.shape);
        (pairs, curve)
    }
}

/// For use without pairs: generates pairs with normal sums and edits of a fiftieth to a half of
/// their size. Recall then differs from the requested one as far as real edits differ from these;
/// measure it, or [`fit`](Calibration::fit).
impl Default for Calibration {
    fn default() -> Self {
        Self { shape: Shape::default(), pairs: Vec::new() }
    }
}

/// The strength of each bit, in steps. All are 0 if all sums are.
fn strengths(sums: &BitSums) -> [u8; 64] {
    let unit = steps_per_unit(sums);
    sums.as_array().map(|sum| level(sum, unit) as u8)
}

/// The strength of a bit, in steps.
#[inline(always)]
pub(super) fn level(sum: i64, steps_per_unit: f32) -> u32 {
    ((sum as f32).abs() * steps_per_unit).min((LEVELS - 1) as f32) as u32
}

/// Factor that turns the size of a sum into its strength in steps; 0 if all sums are 0.
#[inline(always)]
pub(super) fn steps_per_unit(sums: &BitSums) -> f32 {
    // Sixteen sums in parallel, which the compiler keeps in a register or two.
    let mut squares = [0f32; 16];
    for some in sums.as_array().as_chunks::<16>().0 {
        for (square, &sum) in squares.iter_mut().zip(some) {
            let sum = sum as f32 * UNIT;
            *square += sum * sum;
        }
    }
    let mean = squares.iter().sum::<f32>() / 64.0;
    if mean > 0.0 { STEPS * UNIT / mean.sqrt() } else { 0.0 }
}

/// Sums are squared in units of 2^32, so that no square overflows or underflows.
const UNIT: f32 = 1.0 / 4_294_967_296.0;

/// The odds of a flip at each strength.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) odds: [f32; LEVELS],
    /// Average share of flipped bits.
    pub(super) share: f64,
}

impl Curve {
    fn fit(pairs: &[SamplePair], shape: Shape) -> Self {
        let mut seen = [(0f64, 0f64); LEVELS];
        for pair in pairs {
            for (bit, &level) in pair.strengths.iter().enumerate() {
                seen[usize::from(level)].0 += (pair.flips >> bit & 1) as f64;
                seen[usize::from(level)].1 += 1.0;
            }
        }
        let (flipped, all) = seen.iter().fold((0.0, 0.0), |(f, n), &(a, b)| (f + a, n + b));
        let share = if all > 0.0 { flipped / all } else { 0.0 };
        let probability: Box<dyn Fn(f64) -> f64> = match shape {
            Shape::Logistic => {
                let (a, b) = fit_logistic(&seen);
                Box::new(move |z| 1.0 / (1.0 + (a + b * z).exp()))
            }
            Shape::Normal => {
                let spread = fit_spread(&seen);
                Box::new(move |z| normal_tail(z / spread))
            }
            Shape::Linear => {
                let mean = |(n, sum): (f64, f64), (level, &(_, count)): (usize, &(f64, f64))| {
                    (n + count, sum + count * (1.0 - strength(level) / 8.0))
                };
                let (n, sum) = seen.iter().enumerate().fold((0.0, 0.0), mean);
                let factor = if sum > 0.0 { share * n / sum } else { 0.0 };
                Box::new(move |z| factor * (1.0 - z / 8.0))
            }
        };
        let odds = std::array::from_fn(|level| {
            let q = probability(strength(level)).clamp(1e-6, 0.5);
            (q / (1.0 - q)) as f32
        });
        Self { odds, share }
    }
}

/// The middle of a step.
fn strength(level: usize) -> f64 {
    (level as f64 + 0.5) / f64::from(STEPS)
}

/// Logistic regression of flips on strength, by Newton's method.
fn fit_logistic(seen: &[(f64, f64); LEVELS]) -> (f64, f64) {
    let (mut a, mut b) = (1.0, 5.0);
    for _ in 0..30 {
        // Gradient and curvature of the log-likelihood; a small prior keeps the result finite for a
        // sample without flips.
        let pull = 1e-3;
        let (mut ga, mut gb) = (pull * (1.0 - a), pull * (5.0 - b));
        let (mut haa, mut hab, mut hbb) = (pull, 0.0, pull);
        for (level, &(flipped, count)) in seen.iter().enumerate() {
            let z = strength(level);
            let q = 1.0 / (1.0 + (a + b * z).exp());
            let (error, spread) = (count * q - flipped, count * q * (1.0 - q));
            ga += error;
            gb += error * z;
            haa += spread;
            hab += spread * z;
            hbb += spread * z * z;
        }
        let determinant = haa * hbb - hab * hab;
        if determinant <= 0.0 {
            break;
        }
        let (da, db) = ((hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant);
        // Newton's method may overshoot.
        a = (a + da.clamp(-1.0, 1.0)).clamp(-20.0, 20.0);
        b = (b + db.clamp(-3.0, 3.0)).clamp(0.0, 100.0);
    }
    (a, b)
}

/// The most likely spread of the normal shape.
fn fit_spread(seen: &[(f64, f64); LEVELS]) -> f64 {
    let likelihood = |spread: f64| -> f64 {
        let each = seen.iter().enumerate().filter(|(_, seen)| seen.1 > 0.0);
        each.map(|(level, &(flipped, count))| {
            let q = normal_tail(strength(level) / spread).max(1e-9);
            flipped * q.ln() + (count - flipped) * (1.0 - q).ln()
        })
        .sum()
    };
    let spreads = (1..=200).map(|i| f64::from(i) * 0.01);
    spreads
        .map(|s| (likelihood(s), s))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(0.2, |best| best.1)
}

/// The probability that a standard normal value exceeds `x`, for `x` of 0 or more, to about 1e-7.
fn normal_tail(x: f64) -> f64 {
    // Abramowitz and Stegun, 7.1.26.
    let y = x / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * y);
    let terms = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    0.5 * terms.iter().fold(0.0, |sum, term| (sum + term) * t) * (-y * y).exp()
}

/// See [`Calibration::default`].
fn imagined() -> &'static [SamplePair] {
    static PAIRS: OnceLock<Vec<SamplePair>> = OnceLock::new();
    PAIRS.get_or_init(|| {
        let mut random = Noise(1);
        let mut pairs = Vec::with_capacity(IMAGINED_PAIRS);
        while pairs.len() < IMAGINED_PAIRS {
            let spread = 0.02 * 25f64.powf(random.unit());
            let sums: [f64; 64] = std::array::from_fn(|_| random.normal());
            let flips = sums.iter().enumerate().fold(0u64, |flips, (bit, &sum)| {
                let edited = sum + spread * random.normal();
                flips | u64::from((edited > 0.0) != (sum > 0.0)) << bit
            });
            if flips != 0 {
                let sums = BitSums::new(sums.map(|sum| (sum * 1e4) as i64));
                pairs.push(SamplePair { strengths: strengths(&sums), flips });
            }
        }
        pairs
    })
}

/// A reproducible random sequence (SplitMix of Steele, Lea and Flood).
struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The sum of twelve uniform values is nearly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strengths_do_not_depend_on_the_unit_of_the_weights(
            sums in proptest::array::uniform32(-1000i64..1000),
            unit in 1i64..1000,
        ) {
            let of = |unit: i64| BitSums::new(std::array::from_fn(|j| sums[j % 32] * unit));
            for (a, b) in strengths(&of(1)).iter().zip(strengths(&of(unit))) {
                prop_assert!(a.abs_diff(b) <= 1);
            }
        }
    }

    #[test]
    fn zero_and_enormous_sums_have_a_strength() {
        assert_eq!(strengths(&BitSums::new([0; 64])), [0; 64]);
        assert_eq!(strengths(&BitSums::new([i64::MIN; 64])), [128; 64]);
        assert_eq!(strengths(&BitSums::new([7; 64])), [128; 64]);
    }

    #[test]
    fn a_fitted_curve_is_near_the_one_that_made_the_flips() {
        let (a, b) = (1.0, 8.0);
        let mut random = Noise(5);
        let pairs: Vec<SamplePair> = (0..4000)
            .map(|_| {
                let sums: [f64; 64] = std::array::from_fn(|_| random.normal());
                let sums = BitSums::new(sums.map(|sum| (sum * 1e4) as i64));
                let strengths = strengths(&sums);
                let flips = strengths.iter().enumerate().fold(0, |flips, (bit, &level)| {
                    let q = 1.0 / (1.0 + (a + b * strength(usize::from(level))).exp());
                    flips | u64::from(random.unit() < q) << bit
                });
                SamplePair { strengths, flips }
            })
            .collect();
        let curve = Curve::fit(&pairs, Shape::Logistic);
        for level in [0, 20, 50] {
            let expected = (-(a + b * strength(level))).exp();
            let ratio = f64::from(curve.odds[level]) / expected;
            assert!((0.8..1.25).contains(&ratio), "level {level}: {ratio}");
        }
    }

    #[test]
    fn odds_fall_with_strength_and_never_exceed_one_even_without_data() {
        for shape in [Shape::Logistic, Shape::Normal, Shape::Linear] {
            for pairs in [Vec::new(), imagined().to_vec()] {
                let curve = Curve::fit(&pairs, shape);
                assert!(curve.odds[0] <= 1.0 && curve.odds[LEVELS - 1] > 0.0);
                assert!(curve.odds.windows(2).all(|pair| pair[0] >= pair[1]), "{shape:?}");
            }
        }
    }

    #[test]
    fn the_normal_tail_is_that_of_the_tables() {
        for (x, expected) in [(0.0, 0.5), (1.0, 0.158_655), (2.0, 0.022_750), (3.0, 0.001_350)] {
            assert!((normal_tail(x) - expected).abs() < 1e-6);
        }
    }
}
