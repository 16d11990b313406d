//! Predicts the costs of one sorted array: a segment that is searched in place.
//!
//! Bytes follow from the layout in `docs/internals/format.md` for evenly spread fingerprints. The search flips
//! up to `k` of the leading `p` bits; the engine chooses `p` with the constants repeated here, and the time
//! follows from the machine's. Does not handle mapped files, which need no memory of their own.

use super::{Machine, Mode};
use crate::index::segment::Encoding;
use crate::index::tables::cost::probes as all_flips;
use crate::index::tables::design::choose;

/// Nanoseconds by which the engine chooses its prefix.
struct Assumed {
    probe: f64,
    entry: f64,
    scanned: f64,
}

/// Fingerprints per bucket of a plain segment's directory.
const BUCKET: u64 = 16;

/// Buckets looked up together.
const AHEAD: f64 = 32.0;

/// Maximum prefix of a segment's directory in bits.
const MOST_PREFIX_BITS: u32 = 28;

const BITS: u32 = 64;

/// Numbers between two samples of an Elias-Fano sequence.
const SAMPLE: u64 = 256;

/// Bytes per checksum, and of the header.
const BLOCK: u64 = 64 << 10;
const HEADER: u64 = 80;

/// Bytes of a segment with this many fingerprints and ids up to `largest_id`.
pub(super) fn bytes(rows: u64, largest_id: u64, encoding: Encoding) -> u64 {
    let fingerprints = match encoding {
        Encoding::Plain => rows * 8 + ((1u64 << directory_bits(rows)) + 1) * 4,
        Encoding::Compressed => monotone_bytes(rows, u64::MAX),
    };
    let rank_bits = BITS - rows.saturating_sub(1).leading_zeros();
    let ranks = packed_bytes(rows, rank_bits);
    let body = fingerprints + ranks + monotone_bytes(rows, largest_id);
    HEADER + body + body.div_ceil(BLOCK) * 8
}

fn directory_bits(rows: u64) -> u32 {
    (rows / BUCKET).max(1).ilog2().min(MOST_PREFIX_BITS)
}

/// Size of an Elias-Fano sequence of `count` numbers up to `largest`: low bits, unary code,
/// samples.
fn monotone_bytes(count: u64, largest: u64) -> u64 {
    let low = low_bits(count, largest);
    let zeros = (largest >> low).saturating_add(1);
    let unary = count.saturating_add(zeros);
    packed_bytes(count, low) + unary.div_ceil(64) * 8 + unary.div_ceil(SAMPLE) * 8
}

fn low_bits(count: u64, largest: u64) -> u32 {
    let each = (u128::from(largest) + 1) / u128::from(count.max(1));
    each.max(1).ilog2().min(BITS - 1)
}

fn packed_bytes(count: u64, width: u32) -> u64 {
    let bits = u128::from(count) * u128::from(width);
    if width == 0 { 0 } else { bits.div_ceil(64) as u64 * 8 + 8 }
}

/// Probes, comparisons and nanoseconds per query.
pub(super) fn forecast(
    rows: u64,
    bound: u32,
    encoding: Encoding,
    mode: Mode,
    machine: &Machine,
) -> (f64, f64, f64) {
    let typical = Machine::typical();
    let costs = machine.costs(usize::try_from(rows).unwrap_or(usize::MAX));
    let (assumed, most_bits) = match encoding {
        Encoding::Plain => {
            (Assumed { probe: 12.0, entry: 0.3, scanned: 0.1 }, directory_bits(rows))
        }
        Encoding::Compressed => {
            let high = BITS - low_bits(rows, u64::MAX);
            (Assumed { probe: 100.0, entry: 2.0, scanned: 0.15 }, high.min(MOST_PREFIX_BITS))
        }
    };
    let cost = |bits: u32| match bits {
        0 => rows as f64 * assumed.scanned,
        _ => {
            let bucket = rows as f64 / f64::from(bits).exp2();
            all_flips(bits, bound) as f64 * (assumed.probe + bucket * assumed.entry)
        }
    };
    let prefix = (0..=most_bits).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0);
    let all = all_flips(prefix, bound) as f64;
    let (probes, searched) = match mode {
        Mode::All => (all, all),
        Mode::First => {
            (until_first(prefix, bound, AHEAD).min(all), until_first(prefix, bound, 1.0))
        }
    };
    let compared = match (prefix, mode) {
        (0, Mode::First) => rows as f64 / 2.0,
        _ => searched * rows as f64 / f64::from(prefix).exp2(),
    };
    let nanoseconds = if prefix == 0 {
        // The queries of a batch share the decoding of compressed fingerprints.
        compared * machine.scanned * assumed.scanned / 0.1
    } else {
        let slower = (assumed.probe - 12.0) * machine.near_probe / typical.near_probe;
        let entry = assumed.entry * machine.entry / typical.entry;
        probes * (costs.probe + slower) + compared * entry
    };
    (probes, compared, nanoseconds)
}

/// Average number of buckets until a match that differs in `bound` random bits: all with fewer
/// flips in the prefix, and half of those with as many; in steps of `step`.
fn until_first(prefix: u32, bound: u32, step: f64) -> f64 {
    let ways = choose(BITS, bound) as f64;
    let with = |flips: u32| {
        let chance = choose(prefix, flips) as f64 * choose(BITS - prefix, bound - flips) as f64;
        let before = if flips == 0 { 0 } else { all_flips(prefix, flips - 1) };
        let buckets = before as f64 + (choose(prefix, flips) as f64 + 1.0) / 2.0;
        chance / ways * (buckets / step).ceil() * step
    };
    (0..=bound.min(prefix)).filter(|flips| bound - flips <= BITS - prefix).map(with).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untouched_prefix_takes_one_bucket() {
        assert_eq!(until_first(0, 3, 1.0), 1.0);
        assert_eq!(until_first(20, 0, 1.0), 1.0);
        assert_eq!(until_first(20, 0, 32.0), 32.0);
        let three = until_first(20, 3, 1.0);
        assert!(three > 1.0 && three < all_flips(20, 3) as f64, "{three}");
    }
}
