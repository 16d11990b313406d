//! Predicts the probes of a search and the bytes of a table, before there are pages.
//!
//! Probes are counted by the plan that a search follows, made from a calibration and applied to the pages of
//! its sample. Bytes follow from the layout of `table`. Both assume distinct, evenly spread fingerprints and
//! queries with sums. Does not predict time; [`index::plan`](crate::index::plan) does.

use super::calibration::Calibration;
use super::plan::{Leading, Plan};
use super::table::Table;
use super::{Aim, Recall, WeakOptions};
use crate::fingerprint::MaxDistance;

/// Average probes per query of an index with these [`prefix_bits`](WeakOptions::prefix_bits),
/// calibration, bound and recall; some value above `most` as soon as that is certain.
pub(in crate::index) fn probes(
    calibration: &Calibration,
    prefix_bits: u32,
    bound: MaxDistance,
    recall: Recall,
    most: f64,
) -> f64 {
    let bits = prefix_bits.min(WeakOptions::MOST_PREFIX_BITS) as usize;
    let order = calibration.least_flipped(bound.bits());
    let leading = Leading::new(order[..bits].iter().fold(0, |mask, bit| mask | 1 << bit));
    let plan = Plan::new(calibration, &leading, bound.bits(), recall, Aim::Average);
    let (pairs, _) = calibration.within(bound.bits());
    plan.probes(&pairs, &leading, most)
}

/// Heap bytes of an index of this many fingerprints with one id up to `largest_id` each.
pub(in crate::index) fn bytes(
    rows: u64,
    largest_id: u64,
    prefix_bits: u32,
    bound: MaxDistance,
) -> u64 {
    let plans = (u64::from(bound.bits()) + 1) * size_of::<Plan>() as u64;
    Table::predicted_bytes(rows, largest_id, prefix_bits) + plans
}
