//! Draws ranks from bounded Zipf distributions, in constant time with a small table.
//!
//! Rank `r` has probability proportional to `1 / (r + 1)^s`. Ranks below 127 have a block each; later blocks are as
//! wide as a 64th of their first rank. A block is drawn by Walker's alias method, a rank inside it uniformly, so two
//! million words take about a thousand entries and the relative error of probabilities is at most `s/128`. A
//! [`Mixture`] stores several distributions in one table. The same on every platform (see [`crate::stable_math`]).
//!
//! Source: Walker 1977 and Vose 1991 for the alias table.

use std::ops::Range;

use crate::rng::Rng;
use crate::stable_math::pow;

/// A Zipf distribution over a range of ranks.
#[derive(Clone, Debug)]
pub struct Zipf(Mixture);

impl Zipf {
    /// The distribution over the ranks `0..n` with exponent `s`.
    ///
    /// # Panics
    ///
    /// Panics if `n` is zero or `s` is negative or above 8.
    pub fn new(n: u64, s: f64) -> Self {
        Self::over(0..n, s)
    }

    /// The same distribution restricted to a range of its ranks, such as its tail.
    ///
    /// # Panics
    ///
    /// Panics if `ranks` is empty or `s` is negative or above 8.
    pub fn over(ranks: Range<u64>, s: f64) -> Self {
        Self(Mixture::new(&[(1.0, ranks, s)]))
    }

    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.0.draw(rng).1
    }
}

/// A mixture of Zipf distributions.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    /// Probability (of 2^32) that a cell keeps its own block, and its alias.
    cells: Vec<(u32, u32)>,
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    first: u64,
    width: u32,
    law: u32,
}

impl Mixture {
    /// Components given as share, ranks and exponent. Shares may have any sum.
    pub(crate) fn new(laws: &[(f64, Range<u64>, f64)]) -> Self {
        let mut blocks = Vec::new();
        let mut weights = Vec::new();
        for (law, (share, ranks, s)) in (0u32..).zip(laws) {
            assert!(ranks.start < ranks.end, "a Zipf law over no ranks");
            assert!((0.0..=8.0).contains(s), "a Zipf exponent of {s}, which is not in 0..=8");
            let of_this_law = weights.len();
            let mut first = ranks.start;
            while first < ranks.end {
                let width = ((first + 1) >> 6).clamp(1, ranks.end - first).min(1 << 31);
                // The middle of the block represents its ranks; the error is of second order.
                let middle = first as f64 + (width as f64 + 1.0) * 0.5;
                blocks.push(Block { first, width: width as u32, law });
                weights.push(width as f64 * pow(middle, -s));
                first += width;
            }
            let total: f64 = weights[of_this_law..].iter().sum();
            weights[of_this_law..].iter_mut().for_each(|weight| *weight *= share / total);
        }
        Self { cells: alias(&weights), blocks }
    }

    /// Draws a component and a rank of it. Always consumes two numbers, because a branch on the
    /// block's width would be mispredicted too often.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> (u32, u64) {
        let bits = rng.bits();
        let cell = (((bits >> 32) * self.cells.len() as u64) >> 32) as usize;
        let (keep, other) = self.cells[cell];
        let block = if (bits as u32) < keep { cell } else { other as usize };
        let Block { first, width, law } = self.blocks[block];
        (law, first + (((rng.bits() >> 32) * u64::from(width)) >> 32))
    }
}

/// Walker's table: equal cells, each shared by at most two outcomes.
fn alias(weights: &[f64]) -> Vec<(u32, u32)> {
    let count = weights.len();
    let total: f64 = weights.iter().sum();
    let mut share: Vec<f64> = weights.iter().map(|w| w / total * count as f64).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..count).partition(|&block| share[block] < 1.0);
    // A cell without a partner keeps its own block.
    let mut cells: Vec<(u32, u32)> = (0..count as u32).map(|own| (u32::MAX, own)).collect();
    while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
        small.pop();
        cells[poor] = ((share[poor] * 4_294_967_296.0) as u32, rich as u32);
        share[rich] -= 1.0 - share[poor];
        if share[rich] < 1.0 {
            large.pop();
            small.push(rich);
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        for (n, s) in [(10u64, 0.95), (5000, 0.95), (2_000_000, 1.6)] {
            let law = Zipf::new(n, s);
            let mut rng = Rng::new(n);
            let total: f64 = (1..=n).map(|k| (k as f64).powf(-s)).sum();
            let draws = 200_000;
            // Compares cumulative counts at a few ranks with the exact sums.
            let marks = [1, 2, 5, 10, 100, 1000, 100_000].map(|m: u64| m.min(n));
            let mut below = [0u32; 7];
            for _ in 0..draws {
                let rank = law.draw(&mut rng);
                assert!(rank < n);
                for (count, mark) in below.iter_mut().zip(marks) {
                    *count += u32::from(rank < mark);
                }
            }
            for (count, mark) in below.into_iter().zip(marks) {
                let want = (1..=mark).map(|k| (k as f64).powf(-s)).sum::<f64>() / total;
                let got = f64::from(count) / f64::from(draws);
                assert!((got - want).abs() < 0.005, "n {n} s {s} below {mark}: {got} not {want}");
            }
        }
    }

    #[test]
    fn a_tail_has_the_shape_of_the_whole_distribution() {
        let tail = Zipf::over(5_000..2_005_000, 1.6);
        let mut rng = Rng::new(1);
        let mut first_octave = 0;
        for _ in 0..100_000 {
            let rank = tail.draw(&mut rng);
            assert!((5_000..2_005_000).contains(&rank));
            first_octave += u32::from(rank < 10_000);
        }
        // 1 - 2^-0.6 plus a little, because the tail is finite: 0.349.
        assert!((34_300..35_500).contains(&first_octave), "{first_octave}");
    }

    #[test]
    fn a_table_stays_small() {
        assert!(Zipf::new(2_000_000, 1.6).0.cells.len() < 1100);
        assert!(Zipf::new(8_000_000_000, 0.85).0.cells.len() < 1700);
        assert_eq!(Zipf::new(1, 1.0).draw(&mut Rng::new(0)), 0);
    }
}
