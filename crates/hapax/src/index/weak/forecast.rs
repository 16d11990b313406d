//! What a search and a table are going to take, before there are pages.
//!
//! Probes come from the very plan that a search follows: made from a calibration, asked about the
//! pages of its sample. Bytes come from the layout of `table`. Both are for fingerprints that are
//! all different and spread evenly, and for queries that come with sums.
//!
//! What this module does not know: time. That is the business of
//! [`index::plan`](crate::index::plan).

use super::calibration::Calibration;
use super::plan::{Leading, Plan};
use super::table::Table;
use super::{Aim, Recall, WeakOptions};
use crate::fingerprint::MaxDistance;

/// Mean probes of a query on an index made with these
/// [`prefix_bits`](WeakOptions::prefix_bits), calibration, bound and recall; or something above
/// `most`, as soon as that is clear.
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

/// Heap bytes of an index of so many fingerprints with one id up to `largest_id` each.
pub(in crate::index) fn bytes(
    rows: u64,
    largest_id: u64,
    prefix_bits: u32,
    bound: MaxDistance,
) -> u64 {
    let plans = (u64::from(bound.bits()) + 1) * size_of::<Plan>() as u64;
    Table::predicted_bytes(rows, largest_id, prefix_bits) + plans
}
