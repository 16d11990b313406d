//! Chooses how candidates are proposed: by fingerprints or by sketches.
//!
//! Chance matches of fingerprints, in a large corpus or around a short template, grow with the square of its
//! size. A sample predicts the cost of each method, and the cheaper one is used: fingerprints miss nothing and
//! may cost half as much again, up to [`BUDGET`] pairs per page; [`bands`](mod@super::bands) if they find
//! enough at the minimum similarity; otherwise *saturated* pages are compared within fewer bits, and the caller
//! reports how many. Guarantees linear work, [`SAMPLE`] distances per page. Small corpora are never saturated.
//! The choice depends on the fingerprints alone, because the costs are constants.

use hapax::fingerprint::MaxDistance;
use hapax::hamming::Kernel;
use hapax::join::Executor;
use std::ops::ControlFlow;

use super::bands;

/// Fewer pages than this are never saturated.
pub(crate) const FEW: usize = 1 << 13;
/// Size of the sample; each sampled page is compared with all pages.
const SAMPLE: usize = 1024;
/// Average pairs per page up to which all are compared. A larger set of similar pages would have
/// been a dense cluster.
const BUDGET: f64 = 16.0;
/// Factor by which fingerprints may cost more, because they miss nothing.
const EXACT_ALLOWANCE: f64 = 1.5;
/// Nanoseconds of one thread per page of a join by fingerprints. All four costs were measured on
/// texts of 80 words, see `bench/records/2026-11-18/documents.md`.
const JOINED: f64 = 1000.0;
/// Nanoseconds per pair within the bound: its chance neighbours in buckets, and its confirmation.
const PAIR: f64 = 1100.0;
/// Nanoseconds per comparison of two sketches.
const COMPARED: f64 = 250.0;
/// Approximate maximum number of bands in which two similar pages agree.
const REPEATED: f64 = 24.0;
/// A sampled page with more neighbours than this is in a saturated region: twice what the budget
/// allows.
const DENSE: u64 = 64;

/// How candidates are proposed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Proposal {
    /// By fingerprints within the bound.
    Fingerprints,
    /// By sketches; the value is the probability of proposing a pair of the minimum similarity.
    Sketches(f64),
    /// By fingerprints, within fewer bits in saturated regions.
    Narrow(Narrow),
}

/// The saturated regions and the bound for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Narrow {
    /// The distance bound for saturated pages.
    pub(crate) within: MaxDistance,
    /// Sampled fingerprints in saturated regions; a page close to one of them is saturated.
    pub(crate) dense: Vec<u64>,
}

/// Chooses the method for a set of fingerprints; `least` is the minimum similarity of a match.
pub(super) fn choose(
    fingerprints: &[u64],
    within: MaxDistance,
    least: f64,
    executor: &dyn Executor,
) -> Proposal {
    if fingerprints.len() < FEW {
        return Proposal::Fingerprints;
    }
    let sample = sample(fingerprints);
    let counts = count(&sample, fingerprints, within, executor);
    predict(&sample, &counts, fingerprints.len(), within, least)
}

/// Number of neighbours of each sampled fingerprint, by distance. Counts over parts of a set add
/// up.
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

/// Chooses the method from the counts of [`count`] among all `rows` fingerprints.
pub(crate) fn predict(
    sample: &[u64],
    counts: &[Vec<u64>],
    rows: usize,
    within: MaxDistance,
    least: f64,
) -> Proposal {
    if rows < FEW {
        return Proposal::Fingerprints;
    }
    let pairs_of_sample = rows as f64 / (2 * sample.len()) as f64;
    let forecast = |bits: u32| {
        let near: u64 = counts.iter().flat_map(|counts| &counts[..=bits as usize]).sum();
        // Each sampled page counted itself.
        (near - sample.len() as u64) as f64 * pairs_of_sample
    };
    let pages = rows as f64;
    let (all, budget) = (forecast(within.bits()), BUDGET * pages);
    if bands::suffice(least) {
        // Chance pairs multiply with every bit, so pairs within half the bits are nearly all
        // similar.
        let alike = forecast(within.bits() / 2);
        let by_fingerprints = pages * JOINED + all * PAIR;
        let by_sketches = bands::nanoseconds(rows) + alike * REPEATED * COMPARED;
        return match all <= budget && by_fingerprints <= EXACT_ALLOWANCE * by_sketches {
            true => Proposal::Fingerprints,
            false => Proposal::Sketches(bands::chance(least)),
        };
    }
    if all <= budget {
        return Proposal::Fingerprints;
    }
    let narrow = (0..within.bits()).rev().find(|&bits| forecast(bits) <= budget).unwrap_or(0);
    let dense = sample.iter().zip(counts);
    let dense = dense.filter(|(_, counts)| counts.iter().sum::<u64>() > DENSE + 1);
    let dense = dense.map(|(query, _)| *query).collect();
    // Never fails: less than a valid bound.
    let within = MaxDistance::new(narrow as u8).unwrap_or(within);
    Proposal::Narrow(Narrow { within, dense })
}

/// Whether each fingerprint is close to one of those in saturated regions.
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

/// Chooses by fingerprint, independent of the order. Sampling the merged samples of parts samples
/// the whole set.
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

    /// Numbers spread over all 64 bits.
    fn scattered(i: u64) -> u64 {
        let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    /// Half of the fingerprints differ in few bits, half are spread.
    fn half_dense() -> Vec<u64> {
        let few_bits = (0..10_000).map(|i| scattered(i) & 0xFFFFF);
        few_bits.chain((0..10_000).map(scattered)).collect()
    }

    fn six() -> MaxDistance {
        MaxDistance::new(6).unwrap()
    }

    #[test]
    fn scattered_fingerprints_are_compared_within_the_whole_bound() {
        let fingerprints: Vec<u64> = (0..20_000).map(scattered).collect();
        for least in [0.5, 0.84] {
            let chosen = choose(&fingerprints, six(), least, &OneThread);
            assert_eq!(chosen, Proposal::Fingerprints);
        }
    }

    #[test]
    fn where_bands_miss_too_much_only_fingerprints_in_few_bits_are_saturated() {
        let fingerprints = half_dense();
        let Proposal::Narrow(found) = choose(&fingerprints, six(), 0.5, &OneThread) else {
            panic!("no saturation")
        };
        assert!(found.within < six(), "{:?}", found.within);
        let around = around(&found.dense, &fingerprints, six(), &OneThread);
        let saturated = |range: std::ops::Range<usize>| {
            around[range].iter().filter(|saturated| **saturated).count()
        };
        assert!(saturated(0..10_000) > 9_900, "{}", saturated(0..10_000));
        assert_eq!(saturated(10_000..20_000), 0);
    }

    #[test]
    fn sketches_propose_where_they_find_enough_and_cost_less() {
        let chosen = choose(&half_dense(), six(), 0.84, &OneThread);
        assert!(matches!(chosen, Proposal::Sketches(chance) if chance > 0.99), "{chosen:?}");
    }

    #[test]
    fn sketches_propose_once_fingerprints_would_cost_half_as_much_again() {
        let rows = 1 << 20;
        let counts = |near: u64| {
            let mut counts = vec![vec![0; 7]; SAMPLE];
            counts.iter_mut().for_each(|it| it[0] = 1);
            counts[0][6] = near;
            counts
        };
        let sample: Vec<u64> = (0..SAMPLE as u64).map(scattered).collect();
        let chosen = |near| predict(&sample, &counts(near), rows, six(), 0.84);
        let exact = |near| chosen(near) == Proposal::Fingerprints;
        let (mut low, mut high) = (0, 1 << 20);
        assert!(exact(low) && !exact(high));
        while high - low > 1 {
            let middle = low.midpoint(high);
            *(if exact(middle) { &mut low } else { &mut high }) = middle;
        }
        let pairs = high as f64 * rows as f64 / (2 * SAMPLE) as f64;
        let by_fingerprints = rows as f64 * JOINED + pairs * PAIR;
        let ratio = by_fingerprints / bands::nanoseconds(rows);
        assert!((ratio / EXACT_ALLOWANCE - 1.0).abs() < 0.01, "{ratio}");
    }
}
