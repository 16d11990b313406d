//! Bounds on the difference in length of near-duplicates.
//!
//! If two pages have a Jaccard similarity above *tau*, their numbers of shingles differ by at most that factor.
//! Lengths in a dimension follow up to *epsilon* (distinct shingles against words) and *delta* (uneven spread over
//! dimensions), which widens the range by `rho = (1+delta)(1+epsilon) / ((1-delta)(1-epsilon))`: only pages with `L
//! tau / rho < L' < L rho / tau` in every dimension can match. [`Deviations`] are quantiles of a sample, because its
//! maxima would exclude no page; the paper used a rho of 1 to 1.3. Source: Zhu et al. 2012, 4.1 and 4.2, expression
//! 1.

use super::PartitionError;
use super::dictionary::LengthVector;

/// The length ranges of near-duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    tau: f64,
    rho: f64,
    factor: f64,
}

impl Bounds {
    /// Bounds for pages with a similarity above `tau`, widened by the factor `rho`.
    ///
    /// # Errors
    ///
    /// `tau` is not above 0 and at most 1, or `rho` is less than 1.
    pub fn new(tau: f64, rho: f64) -> Result<Self, PartitionError> {
        if tau.is_nan() || tau <= 0.0 || tau > 1.0 {
            return Err(PartitionError::Similarity { given: tau });
        }
        if !rho.is_finite() || rho < 1.0 {
            return Err(PartitionError::Enlargement { given: rho });
        }
        Ok(Self { tau, rho, factor: rho / tau })
    }

    /// The similarity threshold, exclusive.
    pub fn tau(&self) -> f64 {
        self.tau
    }

    /// The factor that widens the range; at least 1.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// Whether the second page is in the range of the first, in every dimension.
    pub fn admit(&self, page: &LengthVector, other: &LengthVector) -> bool {
        page.lengths().iter().zip(other.lengths()).all(|(&length, other)| {
            let (from, to) = self.range(length);
            (from..=to).contains(other)
        })
    }

    /// The lengths that near-duplicates of a page with this length can have, both ends inclusive.
    /// Length 0 counts as 1.
    pub fn range(&self, length: u32) -> (u32, u32) {
        let most = f64::from(length.max(1)) * self.factor;
        let least = f64::from(length) / self.factor;
        // The range is open: a length exactly at its end is outside, except the page's own.
        let above = least.floor() as u32 + u32::from(length > 0);
        let below = (most.ceil() as u32).saturating_sub(1);
        (above.min(length), below.max(length))
    }
}

/// Deviations of pages from the assumptions of the bound, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviations {
    /// Deviation of the number of distinct shingles from the number of words.
    pub epsilon: f64,
    /// Deviation of the words in a dimension from an even share.
    pub delta: f64,
}

impl Deviations {
    /// The deviations that a share of the sampled pages do not exceed, from lengths and the number
    /// of distinct shingles of each page. Skips pages without words in some dimension.
    ///
    /// # Errors
    ///
    /// No page remains.
    pub fn sampled(
        pages: impl IntoIterator<Item = (LengthVector, u32)>,
        share: f64,
    ) -> Result<Self, PartitionError> {
        let (mut epsilons, mut deltas) = (Vec::new(), Vec::new());
        for (lengths, shingles) in pages {
            let words = lengths.total() as f64;
            let dimensions = lengths.lengths().len() as f64;
            if lengths.lengths().contains(&0) {
                continue;
            }
            epsilons.push((f64::from(shingles) / words - 1.0).abs());
            let delta = |&length: &u32| (words / (dimensions * f64::from(length)) - 1.0).abs();
            deltas.push(lengths.lengths().iter().map(delta).fold(0.0, f64::max));
        }
        let quantile = |values: &mut Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            let at = (share.clamp(0.0, 1.0) * (values.len().saturating_sub(1)) as f64).round();
            values.get(at as usize).copied().ok_or(PartitionError::NoSample)
        };
        Ok(Self { epsilon: quantile(&mut epsilons)?, delta: quantile(&mut deltas)? })
    }

    /// The widening factor; infinite if a deviation is total.
    pub fn rho(&self) -> f64 {
        let of = |deviation: f64| match deviation < 1.0 {
            true => (1.0 + deviation) / (1.0 - deviation),
            false => f64::INFINITY,
        };
        of(self.delta) * of(self.epsilon)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_range_contains_the_page_and_the_open_interval(
            length in 0u32..5000,
            other in 0u32..8000,
            tau in 0.5f64..=1.0,
            rho in 1.0f64..1.5,
        ) {
            let bounds = Bounds::new(tau, rho).unwrap();
            let (from, to) = bounds.range(length);
            prop_assert!(from <= length && length <= to);
            let inside = f64::from(other) > f64::from(length) * tau / rho
                && f64::from(other) < f64::from(length) * rho / tau;
            if inside {
                prop_assert!((from..=to).contains(&other), "{other} not in {from}..={to}");
            }
        }

        #[test]
        fn ranges_are_symmetric(a in 1u32..5000, b in 1u32..5000, rho in 1.0f64..1.4) {
            let bounds = Bounds::new(0.8, rho).unwrap();
            let holds = |x: u32, y: u32| {
                let (from, to) = bounds.range(x);
                (from..=to).contains(&y)
            };
            // A length exactly at the end of the interval may fall on either side by rounding.
            let ratio = f64::from(a.max(b)) / f64::from(a.min(b));
            prop_assume!((ratio * 0.8 / rho - 1.0).abs() > 1e-9);
            prop_assert_eq!(holds(a, b), holds(b, a));
        }
    }

    #[test]
    fn the_range_agrees_with_the_example_of_the_paper() {
        // Figure 2: with tau = 0.9, A = (280, 500) can have duplicates above 300 in dimension one.
        let bounds = Bounds::new(0.9, 1.0).unwrap();
        assert_eq!(bounds.range(100), (91, 111));
        let (from, to) = bounds.range(280);
        assert!(from < 300 && to >= 300);
    }

    #[test]
    fn deviations_are_quantiles_of_the_sample() {
        let page = |lengths: &[u32], shingles| (LengthVector::new(lengths).unwrap(), shingles);
        let even = Deviations::sampled([page(&[50, 50], 100)], 1.0).unwrap();
        assert_eq!((even.epsilon, even.delta, even.rho()), (0.0, 0.0, 1.0));
        let pages = [page(&[50, 50], 100), page(&[40, 60], 80), page(&[0, 9], 9)];
        let all = Deviations::sampled(pages, 1.0).unwrap();
        assert!((all.epsilon - 0.2).abs() < 1e-12 && (all.delta - 0.25).abs() < 1e-12);
        assert!((all.rho() - 1.25 / 0.75 * 1.2 / 0.8).abs() < 1e-12);
        assert_eq!(Deviations::sampled(pages, 0.0).unwrap(), even);
        assert_eq!(Deviations::sampled([], 0.5), Err(PartitionError::NoSample));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert!(Bounds::new(0.0, 1.0).is_err() && Bounds::new(1.1, 1.0).is_err());
        assert!(Bounds::new(0.9, 0.9).is_err() && Bounds::new(0.9, f64::NAN).is_err());
    }
}
