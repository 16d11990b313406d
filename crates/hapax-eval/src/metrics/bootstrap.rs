//! Bootstrap confidence intervals of scores.
//!
//! Pairs are not independent: one page with 278 copies makes 38,503. So whole *blocks* are resampled, which are sets
//! of documents connected by truth or prediction. The interval is the 2.5th to 97.5th percentile of [`ROUNDS`] draws.
//! A score of exactly 1 over n blocks has no spread; its lower end is `1 - 3 / n` (the rule of three), and likewise
//! for 0. The same data give the same interval.
//!
//! Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 8 and 13.

use super::Score;

pub const ROUNDS: usize = 500;

/// A block's contribution to the sums that a score is computed from.
pub type Sums = [f64; 4];

/// A score computed from sums over blocks, with its interval; `of` is the number of scored items.
pub fn score(blocks: &[Sums], of: u64, statistic: impl Fn(&Sums) -> f64) -> Score {
    let total = |picked: &mut dyn Iterator<Item = &Sums>| {
        picked.fold([0.0; 4], |mut sum, block| {
            sum.iter_mut().zip(block).for_each(|(s, b)| *s += b);
            sum
        })
    };
    let value = statistic(&total(&mut blocks.iter()));
    if blocks.is_empty() || of == 0 {
        return Score { value: 0.0, low: 0.0, high: 0.0, of: 0 };
    }
    let mut random = Draws(0x9E37_79B9_7F4A_7C15);
    let mut drawn: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let mut picks = (0..blocks.len()).map(|_| &blocks[random.below(blocks.len())]);
            statistic(&total(&mut picks))
        })
        .filter(|it| it.is_finite())
        .collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * drawn.len().saturating_sub(1) as f64).round() as usize;
        drawn.get(place).copied().unwrap_or(value)
    };
    let (mut low, mut high) = (at(0.025).min(value), at(0.975).max(value));
    let three = (3.0 / blocks.len() as f64).min(1.0);
    if value >= 1.0 {
        low = 1.0 - three;
    } else if value <= 0.0 {
        high = three;
    }
    if !value.is_finite() {
        return Score { value: 0.0, low: 0.0, high: 1.0, of };
    }
    low = low.max(-1.0);
    high = high.min(1.0);
    Score { value, low, high, of }
}

/// The first sum divided by the second.
pub fn share(blocks: &[Sums], of: u64) -> Score {
    score(blocks, of, |sums| sums[0] / sums[1])
}

/// The SplitMix64 generator.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_score_and_narrows_with_more_blocks() {
        let blocks = |n: usize| -> Vec<Sums> {
            (0..n).map(|i| [f64::from(u8::from(i % 10 != 0)), 1.0, 0.0, 0.0]).collect()
        };
        let (few, many) = (share(&blocks(50), 50), share(&blocks(5000), 5000));
        for it in [few, many] {
            assert!((it.value - 0.9).abs() < 1e-9 && it.low < 0.9 && it.high > 0.9, "{it:?}");
        }
        assert!(many.high - many.low < (few.high - few.low) / 5.0, "{few:?} {many:?}");
        // With 5000 draws at 0.9 the standard error is 0.0042.
        assert!((many.low - (0.9 - 1.96 * 0.00424)).abs() < 0.003, "{many:?}");
    }

    #[test]
    fn a_perfect_score_has_an_interval_too() {
        let perfect = share(&[[1.0, 1.0, 0.0, 0.0]; 100], 100);
        assert_eq!((perfect.value, perfect.low, perfect.high), (1.0, 0.97, 1.0));
        assert_eq!(share(&[], 0).of, 0);
    }

    #[test]
    fn one_large_block_is_one_observation() {
        let mut blocks = vec![[0.0, 1000.0, 0.0, 0.0]];
        blocks.extend([[10.0, 10.0, 0.0, 0.0]; 100]);
        let it = share(&blocks, 2000);
        assert!(it.low < 0.3 && it.high > 0.95, "{it:?}");
    }
}
