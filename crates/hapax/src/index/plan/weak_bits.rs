//! Predicts the costs of weak bits: Sood's 6.16 and 6.21, adapted to our engine.
//!
//! ```text
//!   time   =  ranked + K * (combination + n / 2^p * filtered)                 (6.16)
//!   bytes  =  n * (32 + (32 - p) + id bits) / 8  +  4 * 2^p                   (6.17)
//! ```
//!
//! `K`, the average number of probes for bound, recall and `p`, is counted by the engine's own plan on a
//! calibration (`weak::forecast`), so the search will do exactly this. In a batch, combinations are enumerated
//! down to a probability, without the heap whose steps 6.16 counts. Tries every `p` until the probes alone take
//! longer than the best so far. Assumes the engine's default model of flips.

use super::{Machine, Request};
use crate::index::weak::{Calibration, WeakBits, WeakOptions, forecast};

/// The widest bound that weak bits support.
pub const WEAK_BITS_WIDEST: u32 = WeakBits::WIDEST;

/// The forecast for one length of the prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeakForecast {
    pub(super) prefix_bits: u32,
    pub(super) bytes: u64,
    pub(super) probes: f64,
    pub(super) compared: f64,
    pub(super) nanoseconds: f64,
}

/// A forecast for each reasonable prefix length, for an index of this many rows.
pub(super) fn forecasts(rows: u64, request: &Request, machine: &Machine) -> Vec<WeakForecast> {
    let calibration = &Calibration::default();
    let combination = machine.combination(rows);
    let most_bits = rows.ilog2().min(WeakOptions::MOST_PREFIX_BITS);
    let mut all = Vec::new();
    let mut best = machine.ranked + rows as f64 * machine.filtered;
    for prefix_bits in 1..=most_bits {
        let bucket = rows as f64 / f64::from(prefix_bits).exp2();
        let each = combination + bucket * machine.filtered;
        // Above four times the best, an exact count is not needed.
        let most = 4.0 * best / each;
        let probes =
            forecast::probes(calibration, prefix_bits, request.bound, request.recall, most);
        if probes > most {
            if probes * combination > best {
                break;
            }
            continue;
        }
        let nanoseconds = machine.ranked + probes * each;
        best = best.min(nanoseconds);
        let bytes = forecast::bytes(rows, request.pages - 1, prefix_bits, request.bound);
        let compared = probes * bucket;
        all.push(WeakForecast { prefix_bits, bytes, probes, compared, nanoseconds });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::MaxDistance;
    use crate::index::Recall;

    fn best(rows: u64, bound: u8, recall: f64) -> WeakForecast {
        let request = Request::new(rows, MaxDistance::new(bound).unwrap())
            .recall(Recall::new(recall).unwrap());
        let all = forecasts(rows, &request, &Machine::typical());
        *all.iter().min_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds)).unwrap()
    }

    #[test]
    fn more_recall_or_a_wider_bound_takes_longer() {
        let time = |bound, recall| best(1 << 26, bound, recall).nanoseconds;
        for recalls in [[0.5, 0.9], [0.9, 0.95], [0.95, 0.99]] {
            assert!(time(3, recalls[0]) < time(3, recalls[1]), "{recalls:?}");
        }
        for bounds in [[1, 3], [3, 6], [6, 8]] {
            assert!(time(bounds[0], 0.95) < time(bounds[1], 0.95), "{bounds:?}");
        }
    }

    #[test]
    fn more_pages_have_longer_prefixes() {
        let bits = [1 << 12, 1 << 20, 1 << 28].map(|rows| best(rows, 3, 0.95).prefix_bits);
        assert!(bits.is_sorted() && bits[0] < bits[2], "{bits:?}");
    }

    #[test]
    fn one_page_has_no_prefix_to_choose() {
        let request = Request::new(1, MaxDistance::new(3).unwrap());
        assert!(forecasts(1, &request, &Machine::typical()).is_empty());
    }
}
