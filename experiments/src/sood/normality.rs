//! Tests a sample for normality by moments and by the largest distance to a normal distribution function.
//!
//! The distance is that of Kolmogorov and Smirnov, to the normal distribution with the sample's own mean and spread.
//! With tens of thousands of values any real sample fails a test at a fixed level, so the distance itself is
//! reported: 0.01 is invisible in a drawing, 0.1 is visible.

/// Width of a bin of [`histogram`], in standard deviations.
const WIDTH: f64 = 0.25;

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(super) struct Normality {
    pub(super) count: usize,
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// 0 for a symmetric distribution.
    pub(super) skewness: f64,
    /// 0 for a normal distribution, positive for longer tails.
    pub(super) excess_kurtosis: f64,
    /// Maximum difference of the distribution functions.
    pub(super) distance: f64,
}

impl Normality {
    pub(super) fn of(values: &[f64]) -> Self {
        let count = values.len();
        let n = count.max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let moment = |power: i32| values.iter().map(|it| (it - mean).powi(power)).sum::<f64>() / n;
        let deviation = moment(2).sqrt().max(f64::MIN_POSITIVE);
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mut distance = 0f64;
        for (at, value) in sorted.iter().enumerate() {
            let there = normal_below((value - mean) / deviation);
            let (before, after) = (at as f64 / n, (at + 1) as f64 / n);
            distance = distance.max((there - before).abs()).max((there - after).abs());
        }
        Self {
            count,
            mean,
            deviation,
            skewness: moment(3) / deviation.powi(3),
            excess_kurtosis: moment(4) / deviation.powi(4) - 3.0,
            distance,
        }
    }

    /// Whether a drawing would look like a normal distribution.
    pub(super) fn looks_normal(&self) -> bool {
        self.distance <= 0.05
    }

    /// Whether the mean is 0 within the width of a bin.
    pub(super) fn centred(&self) -> bool {
        self.mean.abs() < WIDTH * self.deviation
    }
}

/// The share of a normal distribution below `z`: Abramowitz and Stegun's 26.2.17, to 1e-7.
pub(super) fn normal_below(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let tail = density(z) * series.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// The density of the normal distribution.
pub(super) fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Density of a sample between -4 and 4 deviations, in bins of a quarter.
pub(super) fn histogram(values: &[f64], by: &Normality) -> Vec<(f64, f64)> {
    const BINS: usize = 32;
    let mut counts = [0u64; BINS];
    for value in values {
        let at = ((value - by.mean) / by.deviation + 4.0) / WIDTH;
        if (0.0..BINS as f64).contains(&at) {
            counts[at as usize] += 1;
        }
    }
    let scale = 1.0 / (values.len().max(1) as f64 * WIDTH);
    (0..BINS).map(|at| (-4.0 + (at as f64 + 0.5) * WIDTH, counts[at] as f64 * scale)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_function_is_that_of_tables() {
        for (z, share) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.96, 0.024_997_9), (3.0, 0.998_650_1)]
        {
            assert!((normal_below(z) - share).abs() < 1e-6, "{z}");
        }
    }

    #[test]
    fn quantiles_of_a_normal_distribution_are_normal_and_even_numbers_are_not() {
        // The value with this share below it, by bisection.
        let quantile = |share: f64| {
            let (mut low, mut high) = (-8.0, 8.0);
            for _ in 0..60 {
                let middle = (low + high) / 2.0;
                if normal_below(middle) < share { low = middle } else { high = middle }
            }
            7.0 + 2.0 * low
        };
        let normal: Vec<f64> = (0..2000).map(|at| quantile((at as f64 + 0.5) / 2000.0)).collect();
        let found = Normality::of(&normal);
        assert!((found.mean - 7.0).abs() < 0.01 && (found.deviation - 2.0).abs() < 0.01);
        assert!(found.distance < 0.002 && found.excess_kurtosis.abs() < 0.05, "{found:?}");
        let even: Vec<f64> = (0..2000).map(f64::from).collect();
        let found = Normality::of(&even);
        assert!((found.excess_kurtosis + 1.2).abs() < 0.01 && found.distance > 0.05, "{found:?}");
        let sum: f64 = histogram(&normal, &Normality::of(&normal)).iter().map(|it| it.1).sum();
        assert!((sum * 0.25 - 1.0).abs() < 0.01);
    }
}
