//! Pairwise precision, recall and F1.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Score;
use super::bootstrap::{self, Sums};

/// Confusion matrix of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// True positives.
    pub hits: u64,
    /// False positives.
    pub false_alarms: u64,
    /// False negatives.
    pub misses: u64,
    /// True negatives.
    pub passed: u64,
}

impl Counts {
    pub fn add(&mut self, duplicate: bool, predicted: bool) {
        *match (duplicate, predicted) {
            (true, true) => &mut self.hits,
            (false, true) => &mut self.false_alarms,
            (true, false) => &mut self.misses,
            (false, false) => &mut self.passed,
        } += 1;
    }

    /// Whether any pair is not a duplicate; without one no prediction can be wrong.
    pub fn has_negatives(&self) -> bool {
        self.false_alarms + self.passed > 0
    }

    /// Share of predicted duplicates that are duplicates; 1 without predictions, `None` without
    /// [negatives](Self::has_negatives).
    pub fn precision(&self) -> Option<f64> {
        self.has_negatives().then(|| ratio(self.hits, self.hits + self.false_alarms))
    }

    /// Share of the duplicates that were predicted; 1 if there are none.
    pub fn recall(&self) -> f64 {
        ratio(self.hits, self.hits + self.misses)
    }

    /// Harmonic mean of precision and recall; `None` without [negatives](Self::has_negatives).
    pub fn f1(&self) -> Option<f64> {
        let whole = 2 * self.hits + self.false_alarms + self.misses;
        self.has_negatives().then(|| ratio(2 * self.hits, whole))
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Scores of pairs with their intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PairScores {
    pub counts: Counts,
    /// See [`Counts::precision`].
    pub precision: Option<Score>,
    /// See [`Counts::recall`].
    pub recall: Score,
    /// See [`Counts::f1`].
    pub f1: Option<Score>,
    /// Why precision and F1 are `None`; `None` if they are known.
    pub not_known: Option<&'static str>,
}

/// Why precision and F1 are unknown, and how to make them known.
pub const NO_NEGATIVES: &str = "the truth names no pairs that are not duplicates, so nothing removed can be counted as wrong; \
    add such pairs to it (id1, id2, nondup)";

impl PairScores {
    /// From triples (block, is a duplicate, is predicted to be one).
    pub fn of(pairs: impl IntoIterator<Item = (u32, bool, bool)>) -> Self {
        let mut counts = Counts::default();
        let mut blocks: BTreeMap<u32, Counts> = BTreeMap::new();
        for (block, duplicate, predicted) in pairs {
            counts.add(duplicate, predicted);
            blocks.entry(block).or_default().add(duplicate, predicted);
        }
        let sums = |parts: fn(&Counts) -> (u64, u64)| -> (Vec<Sums>, u64) {
            let blocks: Vec<Sums> = blocks
                .values()
                .map(parts)
                .filter(|(_, whole)| *whole > 0)
                .map(|(part, whole)| [part as f64, whole as f64, 0.0, 0.0])
                .collect();
            (blocks, parts(&counts).1)
        };
        let score = |parts| {
            let (blocks, of) = sums(parts);
            bootstrap::share(&blocks, of)
        };
        let known = counts.has_negatives();
        Self {
            counts,
            precision: known.then(|| score(|it| (it.hits, it.hits + it.false_alarms))),
            recall: score(|it| (it.hits, it.hits + it.misses)),
            f1: known.then(|| score(|it| (2 * it.hits, 2 * it.hits + it.false_alarms + it.misses))),
            not_known: (!known).then_some(NO_NEGATIVES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_agree_with_their_definitions() {
        let pairs = [
            (0, true, true),
            (1, true, true),
            (2, true, false),
            (3, false, true),
            (4, false, false),
        ];
        let scores = PairScores::of(pairs);
        assert_eq!(scores.counts, Counts { hits: 2, false_alarms: 1, misses: 1, passed: 1 });
        assert!((scores.precision.unwrap().value - 2.0 / 3.0).abs() < 1e-12);
        assert!((scores.f1.unwrap().value - scores.counts.f1().unwrap()).abs() < 1e-12);
        assert_eq!(scores.recall.of, 3);
    }

    #[test]
    fn precision_without_predictions_is_one() {
        let silent = Counts { misses: 3, passed: 1, ..Counts::default() };
        assert_eq!((silent.precision(), silent.recall(), silent.f1()), (Some(1.0), 0.0, Some(0.0)));
    }

    #[test]
    fn without_negatives_precision_is_unknown() {
        let scores = PairScores::of([(0, true, true), (1, true, false)]);
        assert_eq!((scores.precision, scores.f1), (None, None));
        assert_eq!((scores.recall.value, scores.not_known), (0.5, Some(NO_NEGATIVES)));
    }
}
