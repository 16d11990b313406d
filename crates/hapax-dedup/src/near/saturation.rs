//! Saturation: more near fingerprints than can be looked at pair by pair.
//!
//! A short template filled with other words in each page gives thousands of fingerprints within a
//! few bits of each other whose texts are not alike, so no representative can speak for them. All their
//! pairs would be quadratic, in time and in memory. A sample of pages is compared with all
//! pages; if the pairs it foretells exceed [`BUDGET`] a page, there is saturation: pages around the sample's
//! dense places are *saturated* and should be compared within fewer bits, as many as the budget
//! allows, if nothing better is at hand. Fewer of their near-duplicates are found then; the caller
//! says how many pages that concerns.
//!
//! # What it promises
//!
//! Work linear in pages: [`SAMPLE`] distances each. Few pages are never saturated.

use hapax::fingerprint::MaxDistance;
use hapax::hamming::Kernel;
use hapax::join::Executor;
use std::ops::ControlFlow;

/// Fewer pages than this are compared with each other anyway.
pub(crate) const FEW: usize = 1 << 13;
/// Pages that are compared with all pages.
const SAMPLE: usize = 1024;
/// Pairs a page, on average, that are looked at.
const BUDGET: f64 = 16.0;
/// A page of the sample with more pages near it than this stands in saturation: twice what the budget
/// allows.
const DENSE: u64 = 64;

/// Where the saturation is, and how far one can see in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Saturation {
    /// The bound for saturated pages.
    pub(super) narrow: MaxDistance,
    /// Which pages are saturated, by position in the list.
    pub(super) saturated: Vec<bool>,
}

/// Looks for saturation among fingerprints.
pub(super) fn saturation(
    fingerprints: &[u64],
    within: MaxDistance,
    executor: &dyn Executor,
) -> Option<Saturation> {
    if fingerprints.len() < FEW {
        return None;
    }
    let sample = sample(fingerprints);
    let counts = count(&sample, fingerprints, within, executor);
    let seen = predict(&sample, &counts, fingerprints.len(), within)?;
    let saturated = around(&seen.dense, fingerprints, within, executor);
    Some(Saturation { narrow: seen.narrow, saturated })
}

/// How many fingerprints are near each of the sample, by distance. Counts of parts of a set add up.
pub(crate) fn count(
    sample: &[u64],
    fingerprints: &[u64],
    within: MaxDistance,
    executor: &dyn Executor,
) -> Vec<Vec<u64>> {
    let kernel = Kernel::best();
    executor.map(sample.to_vec(), |query| {
        let mut counts = vec![0u64; within.bits() as usize + 1];
        let _ = kernel.visit_within(fingerprints, query, within, |_, distance| {
            counts[distance as usize] += 1;
            ControlFlow::Continue(())
        });
        counts
    })
}

/// What a sample says about saturation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Forecast {
    /// The bound for saturated pages.
    pub(crate) narrow: MaxDistance,
    /// Fingerprints of the sample that stand in saturation; what is near one of them is saturated.
    pub(crate) dense: Vec<u64>,
}

/// Is there saturation? `counts` are those of [`count`] among all `rows` fingerprints.
pub(crate) fn predict(
    sample: &[u64],
    counts: &[Vec<u64>],
    rows: usize,
    within: MaxDistance,
) -> Option<Forecast> {
    if rows < FEW {
        return None;
    }
    let pairs_of_sample = rows as f64 / (2 * sample.len()) as f64;
    let forecast = |bits: usize| {
        let near: u64 = counts.iter().flat_map(|counts| &counts[..=bits]).sum();
        // Each of the sample was counted as near itself.
        (near - sample.len() as u64) as f64 * pairs_of_sample
    };
    let budget = BUDGET * rows as f64;
    if forecast(within.bits() as usize) <= budget {
        return None;
    }
    let narrow = (0..within.bits()).rev().find(|&bits| forecast(bits as usize) <= budget);
    let dense = sample.iter().zip(counts);
    let dense = dense.filter(|(_, counts)| counts.iter().sum::<u64>() > DENSE + 1);
    let dense = dense.map(|(query, _)| *query).collect();
    Some(Forecast { narrow: MaxDistance::new(narrow.unwrap_or(0) as u8)?, dense })
}

/// Which fingerprints are near one of those that stand in saturation.
pub(crate) fn around(
    dense: &[u64],
    fingerprints: &[u64],
    within: MaxDistance,
    executor: &dyn Executor,
) -> Vec<bool> {
    let kernel = Kernel::best();
    let around = executor.map(dense.to_vec(), |query| {
        let mut around = Vec::new();
        let _ = kernel.visit_within(fingerprints, query, within, |at, _| {
            around.push(at as u32);
            ControlFlow::Continue(())
        });
        around
    });
    let mut saturated = vec![false; fingerprints.len()];
    around.into_iter().flatten().for_each(|at| saturated[at as usize] = true);
    saturated
}

/// A choice that looks at the fingerprints, not at their order. The sample of samples is the sample
/// of all.
pub(crate) fn sample(fingerprints: &[u64]) -> Vec<u64> {
    let key = |fingerprint: &u64| fingerprint.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    let mut sample = fingerprints.to_vec();
    if sample.len() > SAMPLE {
        sample.select_nth_unstable_by_key(SAMPLE, key);
        sample.truncate(SAMPLE);
    }
    sample.sort_unstable_by_key(key);
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax::join::OneThread;

    /// Spread over all 64 bits.
    fn scattered(i: u64) -> u64 {
        let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    #[test]
    fn scattered_fingerprints_are_not_saturated() {
        let fingerprints: Vec<u64> = (0..20_000).map(scattered).collect();
        let within = MaxDistance::new(6).unwrap();
        assert_eq!(saturation(&fingerprints, within, &OneThread), None);
    }

    #[test]
    fn fingerprints_in_few_bits_are_saturated_and_the_others_are_not() {
        let few_bits = (0..10_000).map(|i| scattered(i) & 0xFFFFF);
        let fingerprints: Vec<u64> = few_bits.chain((0..10_000).map(scattered)).collect();
        let within = MaxDistance::new(6).unwrap();
        let found = saturation(&fingerprints, within, &OneThread).unwrap();
        assert!(found.narrow < within, "{:?}", found.narrow);
        let saturated = |range: std::ops::Range<usize>| {
            found.saturated[range].iter().filter(|saturated| **saturated).count()
        };
        assert!(saturated(0..10_000) > 9_900, "{}", saturated(0..10_000));
        assert_eq!(saturated(10_000..20_000), 0);
    }
}
