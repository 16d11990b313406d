//! Logarithm, exponential and normal distribution with the same bits on every platform.
//!
//! `ln`, `exp` and `powf` of the standard library depend on the platform and may differ in the last bit; a length or
//! a rank computed from them could differ by one. This module uses only `+ - * /`, `sqrt` and bit patterns, which
//! IEEE 754 defines exactly and Rust never contracts or reorders. The relative error of about 1e-15 matters less than
//! reproducibility.

use crate::rng::Rng;

const LN_2: f64 = std::f64::consts::LN_2;

/// Natural logarithm of a positive, normal number.
pub(crate) fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0);
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)), |s| <= 0.1716: 2 s^21 / 21 is below 1e-17.
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for odd in (1..=21).rev().step_by(2) {
        sum = sum * square + 1.0 / f64::from(odd);
    }
    exponent as f64 * LN_2 + 2.0 * s * sum
}

/// e to the power `x`, for `x` in `-700.0..=700.0`.
pub(crate) fn exp(x: f64) -> f64 {
    debug_assert!(x.abs() <= 700.0);
    let scaled = x / LN_2;
    let k = (if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 }) as i64;
    let r = x - k as f64 * LN_2;
    // |r| <= 0.3466: r^14 / 14! is below 1e-17.
    let mut sum = 1.0;
    for n in (1..=14).rev() {
        sum = 1.0 + r / f64::from(n) * sum;
    }
    sum * f64::from_bits(((k + 1023) as u64) << 52)
}

/// `x` to the power `y`, for positive `x`.
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    exp(y * ln(x))
}

/// A draw from the log-normal distribution, cut to `low..=high`.
pub(crate) fn log_normal(rng: &mut Rng, mu: f64, sigma: f64, low: u64, high: u64) -> u64 {
    let value = exp((mu + sigma * normal(rng)).clamp(-1.0, 40.0));
    (value as u64).clamp(low, high)
}

/// A draw between `low` and `high` whose logarithm is uniform.
pub(crate) fn log_uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low * exp(rng.unit() * ln(high / low))
}

/// A draw from the standard normal distribution: one of the two values of Marsaglia's polar method.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    loop {
        let x = 2.0 * rng.unit() - 1.0;
        let y = 2.0 * rng.unit() - 1.0;
        let square = x * x + y * y;
        // The lower bound keeps the argument of the logarithm normal.
        if square < 1.0 && square > 1e-300 {
            return x * (-2.0 * ln(square) / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_agree_with_the_standard_library() {
        let mut rng = Rng::new(3);
        for _ in 0..2000 {
            let x = rng.unit() * 1e6 + 1e-9;
            assert!((ln(x) - x.ln()).abs() <= 1e-14 * (1.0 + x.ln().abs()), "ln {x}");
            let y = rng.unit() * 60.0 - 30.0;
            assert!((exp(y) / y.exp() - 1.0).abs() <= 1e-14, "exp {y}");
            assert!((pow(x, 0.85) / x.powf(0.85) - 1.0).abs() <= 1e-13, "pow {x}");
        }
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn results_are_fixed_to_the_last_bit() {
        let seen = [ln(3.0), ln(1e-5), exp(1.0), exp(-12.5), pow(2_000_000.0, -1.6)];
        let golden = GOLDEN_BITS.map(f64::from_bits);
        assert_eq!(seen.map(f64::to_bits), GOLDEN_BITS, "{seen:?} instead of {golden:?}");
    }

    const GOLDEN_BITS: [u64; 5] = [
        4607626529066517258,
        13846042855763782235,
        4613303445314885482,
        4525909737269159566,
        4455967518305230418,
    ];

    #[test]
    fn the_normal_draws_have_mean_zero_and_variance_one() {
        let mut rng = Rng::new(4);
        let n = 40_000;
        let draws: Vec<f64> = (0..n).map(|_| normal(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
