//! Chooses whether fingerprints or sketches propose pairs.
//!
//! Close fingerprints of unrelated texts, in a large corpus or around a short template, make pairs that grow with
//! its square. A sample predicts the cost of each way, and the cheaper one is taken: fingerprints miss nothing and
//! may cost half as much again, up to [`BUDGET`] pairs a page; [`bands`](mod@super::bands), where they are sure
//! enough at the least similarity; otherwise *saturated* pages are compared within fewer bits, and the caller
//! reports how many.
//!
//! Guarantees linear work, [`SAMPLE`] distances a page. Small corpora are never saturated. The choice depends on
//! the fingerprints alone: costs are constants, measured once.

use hapax::fingerprint::MaxDistance;
use hapax::hamming::Kernel;
use hapax::join::Executor;
use std::ops::ControlFlow;

use super::bands;

/// Fewer pages than this are compared with each other anyway.
pub(crate) const FEW: usize = 1 << 13;
/// Pages that are compared with all pages.
const SAMPLE: usize = 1024;
/// Pairs a page, on average, that are looked at; more of them that are alike were dense clusters.
const BUDGET: f64 = 16.0;
/// How much more fingerprints may cost, because they miss nothing.
const EXACT_IS_WORTH: f64 = 1.5;
/// Nanoseconds of one thread for a page to be joined with all others by fingerprints. These and those of bands: measured
/// on texts of 80 words, see `bench/records/2026-11-18/documents.md`.
const JOINED: f64 = 1000.0;
/// Nanoseconds for every pair within the bound: those that share a bucket with it by chance, and its confirmation.
const PAIR: f64 = 1100.0;
/// Nanoseconds to compare two sketches.
const COMPARED: f64 = 250.0;
/// In how many bands two pages agree that are alike, at most about.
const REPEATED: f64 = 24.0;
/// A page of the sample with more pages near it than this stands in saturation: twice what the budget
/// allows.
const DENSE: u64 = 64;

/// Who proposes pairs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Proposal {
    /// Fingerprints, within the bound.
    Fingerprints,
    /// Sketches, which find a pair at the least similarity with this chance.
    Sketches(f64),
    /// Fingerprints within fewer bits where it is dense.
    Narrow(Narrow),
}

/// Where the saturation is, and how far one can see in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Narrow {
    /// The bound for saturated pages.
    pub(crate) within: MaxDistance,
    /// Fingerprints of the sample that stand in saturation; what is near one of them is saturated.
    pub(crate) dense: Vec<u64>,
}

/// Chooses for a set of fingerprints, whose pairs have this similarity at least.
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

/// Who proposes; `counts` are those of [`count`] among all `rows` fingerprints.
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
        // Each of the sample was counted as near itself.
        (near - sample.len() as u64) as f64 * pairs_of_sample
    };
    let pages = rows as f64;
    let (all, budget) = (forecast(within.bits()), BUDGET * pages);
    if bands::suffice(least) {
        // By chance there are many times as many pairs with every bit more: what is near within half the bits is alike.
        let alike = forecast(within.bits() / 2);
        let by_fingerprints = pages * JOINED + all * PAIR;
        let by_sketches = bands::nanoseconds(rows) + alike * REPEATED * COMPARED;
        return match all <= budget && by_fingerprints <= EXACT_IS_WORTH * by_sketches {
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
    // Fewer bits than a bound are one.
    let within = MaxDistance::new(narrow as u8).unwrap_or(within);
    Proposal::Narrow(Narrow { within, dense })
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

    /// Fingerprints in few bits, and as many that are scattered.
    fn half_dense() -> Vec<u64> {
        let few_bits = (0..10_000).map(|i| scattered(i) & 0xFFFFF);
        few_bits.chain((0..10_000).map(scattered)).collect()
    }

    fn six() -> MaxDistance {
        MaxDistance::new(6).unwrap()
    }

    #[test]
    fn of_scattered_fingerprints_every_pair_is_looked_at() {
        let fingerprints: Vec<u64> = (0..20_000).map(scattered).collect();
        for least in [0.5, 0.84] {
            let chosen = choose(&fingerprints, six(), least, &OneThread);
            assert_eq!(chosen, Proposal::Fingerprints);
        }
    }

    #[test]
    fn where_bands_are_not_sure_fingerprints_in_few_bits_are_saturated_and_the_others_are_not() {
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
    fn sketches_propose_where_they_are_sure_and_cost_less() {
        let chosen = choose(&half_dense(), six(), 0.84, &OneThread);
        assert!(matches!(chosen, Proposal::Sketches(chance) if chance > 0.99), "{chosen:?}");
    }

    #[test]
    fn sketches_begin_to_propose_where_fingerprints_are_predicted_to_cost_half_as_much_again() {
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
        assert!((ratio / EXACT_IS_WORTH - 1.0).abs() < 0.01, "{ratio}");
    }
}
