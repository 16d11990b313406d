//! Scores of clusterings: adjusted Rand index, B-cubed, and exactly correct sets.
//!
//! A partition maps every document to the number of its group. All scores are computed from the sizes of groups and
//! of their intersections, never from pairs; time is O(n log n) in the number of documents.
//!
//! Source: Hubert and Arabie, "Comparing partitions", 1985; Amigó, Gonzalo, Artiles and Verdejo, "A comparison of
//! extrinsic clustering evaluation metrics", 2009.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Score;
use super::bootstrap::{self, Sums};

/// Scores of a partition against the true one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GroupScores {
    /// 1 for equal partitions, about 0 for a random one.
    pub adjusted_rand: Score,
    /// Mean over documents of the share of the predicted group that belongs to the true group.
    pub b_cubed_precision: Score,
    /// Mean over documents of the share of the true group that is in the predicted group.
    pub b_cubed_recall: Score,
    pub b_cubed_f1: f64,
    /// Share of documents whose predicted set of duplicates is the true set.
    pub exact_sets: Score,
    /// The same among documents that have duplicates.
    pub exact_sets_of_duplicates: Score,
}

impl GroupScores {
    /// Compares partitions. `blocks` gives the resampling block of each document, `scored` selects
    /// the documents that count for exact sets.
    pub fn of(
        truth: &[u32],
        predicted: &[u32],
        blocks: &[u32],
        scored: impl Fn(u32) -> bool,
    ) -> Self {
        let true_sizes = sizes(truth);
        let predicted_sizes = sizes(predicted);
        let mut common: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for pair in truth.iter().copied().zip(predicted.iter().copied()) {
            *common.entry(pair).or_default() += 1;
        }
        let n = truth.len() as u64;
        // By block: pairs together in both, in the prediction, in the truth; then documents.
        let mut rand: BTreeMap<u32, Sums> = BTreeMap::new();
        let mut precision: BTreeMap<u32, Sums> = BTreeMap::new();
        let mut recall: BTreeMap<u32, Sums> = BTreeMap::new();
        let (mut exact, mut with_duplicates) = (BTreeMap::new(), BTreeMap::new());
        let (mut asked, mut asked_duplicates) = (0, 0);
        for page in 0..truth.len() {
            let (block, own) = (blocks[page], (truth[page], predicted[page]));
            let (t, p) = (true_sizes[&own.0], predicted_sizes[&own.1]);
            let both = common[&own];
            let add = |to: &mut BTreeMap<u32, Sums>, parts: Sums| {
                let sums = to.entry(block).or_default();
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            };
            // Half of every document's partners, because each pair is counted twice.
            let half = |size: u64| (size - 1) as f64 / 2.0;
            add(&mut rand, [half(both), half(p), half(t), 1.0]);
            add(&mut precision, [both as f64 / p as f64, 1.0, 0.0, 0.0]);
            add(&mut recall, [both as f64 / t as f64, 1.0, 0.0, 0.0]);
            if scored(page as u32) {
                let right = f64::from(u8::from(both == t && both == p));
                asked += 1;
                add(&mut exact, [right, 1.0, 0.0, 0.0]);
                if t > 1 {
                    asked_duplicates += 1;
                    add(&mut with_duplicates, [right, 1.0, 0.0, 0.0]);
                }
            }
        }
        let sums = |of: BTreeMap<u32, Sums>| -> Vec<Sums> { of.into_values().collect() };
        let b_cubed_precision = bootstrap::share(&sums(precision), n);
        let b_cubed_recall = bootstrap::share(&sums(recall), n);
        let (p, r) = (b_cubed_precision.value, b_cubed_recall.value);
        Self {
            adjusted_rand: bootstrap::score(&sums(rand), n, adjusted_rand),
            b_cubed_precision,
            b_cubed_recall,
            b_cubed_f1: if p + r > 0.0 { 2.0 * p * r / (p + r) } else { 0.0 },
            exact_sets: bootstrap::share(&sums(exact), asked),
            exact_sets_of_duplicates: bootstrap::share(&sums(with_duplicates), asked_duplicates),
        }
    }
}

fn sizes(partition: &[u32]) -> BTreeMap<u32, u64> {
    let mut sizes = BTreeMap::new();
    for group in partition {
        *sizes.entry(*group).or_default() += 1;
    }
    sizes
}

/// From the numbers of pairs together in both, in the prediction and in the truth, and of
/// documents.
fn adjusted_rand(&[both, predicted, truth, documents]: &Sums) -> f64 {
    let all = documents * (documents - 1.0) / 2.0;
    let expected = predicted * truth / all;
    let most = (predicted + truth) / 2.0;
    if most == expected { 1.0 } else { (both - expected) / (most - expected) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(truth: &[u32], predicted: &[u32]) -> GroupScores {
        let blocks: Vec<u32> = (0..truth.len() as u32).collect();
        GroupScores::of(truth, predicted, &blocks, |_| true)
    }

    #[test]
    fn a_worked_example() {
        // Three documents of one group and two of another; one of the first is predicted in the
        // second.
        let it = of(&[0, 0, 0, 1, 1], &[5, 5, 7, 7, 7]);
        // Pairs together: in both (0,1), (3,4); predicted 4; true 4; of 10.
        assert!((it.adjusted_rand.value - (2.0 - 1.6) / (4.0 - 1.6)).abs() < 1e-12, "{it:?}");
        let precision = (1.0 + 1.0 + 1.0 / 3.0 + 2.0 / 3.0 + 2.0 / 3.0) / 5.0;
        let recall = (2.0 / 3.0 + 2.0 / 3.0 + 1.0 / 3.0 + 1.0 + 1.0) / 5.0;
        assert!((it.b_cubed_precision.value - precision).abs() < 1e-12, "{it:?}");
        assert!((it.b_cubed_recall.value - recall).abs() < 1e-12, "{it:?}");
        assert_eq!(it.exact_sets.value, 0.0);
    }

    /// The adjusted Rand index counted over all pairs.
    fn slow_rand(truth: &[u32], predicted: &[u32]) -> f64 {
        let mut sums = [0.0; 4];
        for i in 0..truth.len() {
            for j in i + 1..truth.len() {
                let (t, p) = (truth[i] == truth[j], predicted[i] == predicted[j]);
                sums[0] += f64::from(u8::from(t && p));
                sums[1] += f64::from(u8::from(p));
                sums[2] += f64::from(u8::from(t));
            }
        }
        sums[3] = truth.len() as f64;
        adjusted_rand(&sums)
    }

    proptest! {
        #[test]
        fn scores_from_sizes_equal_scores_from_pairs(
            two in (2usize..30).prop_flat_map(|n| {
                (proptest::collection::vec(0u32..6, n), proptest::collection::vec(0u32..6, n))
            })
        ) {
            let it = of(&two.0, &two.1);
            prop_assert!((it.adjusted_rand.value - slow_rand(&two.0, &two.1)).abs() < 1e-9);
            prop_assert!(of(&two.0, &two.0).exact_sets.value == 1.0);
            prop_assert!(it.b_cubed_precision.value <= 1.0 + 1e-12);
        }
    }
}
