//! How many buckets a weak-bit search looks into for a recall.
//!
//! The search flips the likeliest combinations of a query's leading `p` bits, one bucket each.
//! How many it needs depends on how unsure the bits of real pages are, which no formula knows.
//! So this is a table with interpolation. The table: on pairs of real pages, with `p = 26`,
//! ordered by the sum of the bits' weights,
//!
//! ```text
//!              recall 0.95      recall 0.99
//!   k = 0            1                1
//!   k = 3      11 to 17  (14)   41 to 44  (42.5)
//!   k = 6      53 to 65  (59)  243 to 270 (256)
//! ```
//!
//! The interpolation: the logarithm of the probes is linear in `-ln(1 - recall)` (each further
//! share of the missed matches costs a constant factor), piecewise linear in `k`, and
//! proportional to `p`. Beyond the table it is a guess, and never more than all combinations of
//! at most `k` bits.

use super::Recall;
use crate::index::tables::cost::probes as all_flips;

/// The widest bound for which the number of probes is predicted.
pub const WEAK_BITS_WIDEST: u32 = 16;

/// The leading bits for which the table was measured.
const TABLE_PREFIX_BITS: f64 = 26.0;

/// Bounds of the table, and the logarithms of its probes at both recalls.
const TABLE: [(f64, [f64; 2]); 3] = [
    (0.0, [0.0, 0.0]),
    // ln 14 and ln 42.5, ln 59 and ln 256.
    (3.0, [2.639, 3.750]),
    (6.0, [4.078, 5.545]),
];

/// `-ln(1 - recall)` of the table's columns.
const MISSED: [f64; 2] = [2.9957, 4.6052];

/// Probes against recall, for one bound and prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    /// Logarithm of the probes at recall 0, by extrapolation.
    intercept: f64,
    slope: f64,
    /// All combinations.
    most: u64,
}

impl Curve {
    pub(super) fn new(bound: u32, prefix_bits: u32) -> Self {
        let k = f64::from(bound);
        let (low, high) = if k <= TABLE[1].0 { (TABLE[0], TABLE[1]) } else { (TABLE[1], TABLE[2]) };
        let along = (k - low.0) / (high.0 - low.0);
        let scale = f64::from(prefix_bits) / TABLE_PREFIX_BITS;
        let at = |column: usize| (low.1[column] + along * (high.1[column] - low.1[column])) * scale;
        let slope = (at(1) - at(0)) / (MISSED[1] - MISSED[0]);
        let most = all_flips(prefix_bits, bound);
        Self { intercept: at(0) - slope * MISSED[0], slope, most }
    }

    /// Probes that reach this recall.
    pub(super) fn probes(&self, recall: Recall) -> u64 {
        let missed = -(1.0 - recall.share()).ln();
        let probes = (self.intercept + self.slope * missed).exp().ceil();
        // The cast saturates, and recall 1 is infinitely far.
        (probes as u64).clamp(1, self.most)
    }

    /// Mean probes until a match is found, when at most `limit` are made: after `j` probes a
    /// share of `(j / e^intercept)^(-1 / slope)` is still unfound, and pays for another one.
    pub(super) fn until_first(&self, limit: u64) -> f64 {
        if self.slope <= 0.0 {
            return 1.0;
        }
        let unfound = |j: f64| (j.ln().mul_add(-1.0, self.intercept) / self.slope).exp().min(1.0);
        // Summing a million terms is quick; behind them the share hardly changes.
        let summed = limit.min(1_000_000);
        let sum: f64 = (1..summed).map(|j| unfound(j as f64)).sum();
        1.0 + sum + (limit - summed) as f64 * unfound(limit as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(bound: u32, recall: f64) -> u64 {
        Curve::new(bound, 26).probes(Recall::new(recall).unwrap())
    }

    #[test]
    fn the_table_comes_back() {
        assert!((11..=17).contains(&probes(3, 0.95)));
        assert!((41..=44).contains(&probes(3, 0.99)));
        assert!((53..=65).contains(&probes(6, 0.95)));
        assert!((243..=270).contains(&probes(6, 0.99)));
        assert_eq!(probes(0, 0.99), 1);
    }

    #[test]
    fn more_recall_bits_or_prefix_never_take_fewer_probes() {
        for bound in 0..=WEAK_BITS_WIDEST {
            for prefix in 1..=32 {
                let recalls = [0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0];
                let here = recalls.map(|r| Curve::new(bound, prefix).probes(Recall(r)));
                assert!(here.is_sorted(), "{bound} {prefix} {here:?}");
                let wider = recalls.map(|r| Curve::new(bound + 1, prefix).probes(Recall(r)));
                assert!(here.iter().zip(wider).all(|(a, b)| *a <= b), "{bound} {prefix}");
            }
        }
    }

    #[test]
    fn full_recall_takes_every_combination() {
        assert_eq!(probes(3, 1.0), 1 + 26 + 325 + 2600);
    }

    #[test]
    fn the_first_match_comes_sooner_than_the_last_probe() {
        for bound in 1..=8 {
            let curve = Curve::new(bound, 26);
            let limit = curve.probes(Recall(0.99));
            let mean = curve.until_first(limit);
            assert!(mean >= 1.0 && mean < limit as f64, "{bound}: {mean} of {limit}");
        }
    }
}
