//! What would other bounds have said? Precision and recall for every distance and similarity.
//!
//! Works on pairs that are known, without grouping: a pair counts as found when the texts are equal, or the
//! fingerprints are within the bound and the sketches alike enough, which is what the job asks of a
//! pair. What grouping then adds or takes is the difference to the scores of groups.

use hapax_dedup::{Pages, Status};
use serde::Serialize;

use crate::metrics::counts::Counts;
use crate::truth::known::KnownPair;

/// Distances that have a curve each; the last is no bound at all.
pub const BOUNDS: [u8; 6] = [3, 4, 6, 8, 10, 64];

/// What fingerprints and sketches say about a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub exact: bool,
    /// Both can be comparable by their text.
    pub comparable: bool,
    /// Bits between the fingerprints.
    pub distance: u8,
    /// Estimated from the sketches.
    pub similarity: f32,
}

impl Measured {
    /// Measures a pair.
    pub fn of(pages: &Pages, a: u32, b: u32) -> Self {
        let exact = pages.content(a).is_some() && pages.content(a) == pages.content(b);
        let comparable = [a, b].iter().all(|&it| pages.status(it) == Status::Comparable);
        if !comparable {
            return Self {
                exact,
                comparable,
                distance: 64,
                similarity: f32::from(u8::from(exact)),
            };
        }
        Self {
            exact,
            comparable,
            distance: pages.fingerprint(a).distance(pages.fingerprint(b)) as u8,
            similarity: pages.sketch(a).estimate(pages.sketch(b)).jaccard as f32,
        }
    }

    /// Would these bounds take it for a duplicate?
    pub fn within(&self, distance: u8, similarity: f32) -> bool {
        self.exact || self.comparable && self.distance <= distance && self.similarity >= similarity
    }
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// At least so similar.
    pub similarity: f32,
    /// Of pairs within both bounds, those that are duplicates; `None` where no pair is known that is not.
    pub precision: Option<f64>,
    /// Of duplicates, those within both bounds.
    pub recall: f64,
    /// The harmonic mean, `None` as for precision.
    pub f1: Option<f64>,
}

/// Precision and recall within one distance, by similarity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Bits that may differ; 64 is no bound.
    pub within: u8,
    /// From any similarity to all.
    pub points: Vec<Point>,
}

/// The curves of known pairs; none unless there are duplicates among them.
pub fn curves(pairs: &[KnownPair], measured: &[Measured]) -> Vec<Curve> {
    if !pairs.iter().any(|pair| pair.duplicate == Some(true)) {
        return Vec::new();
    }
    let point = |within: u8, similarity: f32| {
        let mut counts = Counts::default();
        for (pair, measured) in pairs.iter().zip(measured) {
            if let Some(duplicate) = pair.duplicate {
                counts.add(duplicate, measured.within(within, similarity));
            }
        }
        let (precision, recall) = (counts.precision(), counts.recall());
        Point { similarity, precision, recall, f1: counts.f1() }
    };
    let steps = || (0..=50u8).map(|step| f32::from(step) / 50.0);
    BOUNDS
        .into_iter()
        .map(|within| Curve { within, points: steps().map(|it| point(within, it)).collect() })
        .collect()
}

/// How many duplicates, and how many others, are so many bits apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distances {
    /// By distance, from 0 to 64.
    pub duplicates: Vec<u64>,
    /// By distance, from 0 to 64.
    pub others: Vec<u64>,
}

/// Distances of known pairs that can be comparable.
pub fn distances(pairs: &[KnownPair], measured: &[Measured]) -> Distances {
    let mut found = Distances { duplicates: vec![0; 65], others: vec![0; 65] };
    for (pair, measured) in pairs.iter().zip(measured).filter(|(_, it)| it.comparable) {
        match pair.duplicate {
            Some(true) => found.duplicates[usize::from(measured.distance)] += 1,
            Some(false) => found.others[usize::from(measured.distance)] += 1,
            None => {}
        }
    }
    found
}

/// Pairs of a range of exact similarity, and how many of them ended in one group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rung {
    /// From this similarity up.
    pub from: f32,
    pub pairs: u64,
    /// Of these, duplicates by label that ended in one group.
    pub together: u64,
    /// Mean of estimate minus exact similarity, in points of a hundred.
    pub bias: f64,
    /// Mean of its size.
    pub error: f64,
}

/// Twenty rungs of known duplicates (of all pairs, if they are graded) by exact similarity.
pub fn ladder(
    pairs: &[KnownPair],
    measured: &[Measured],
    wanted: impl Fn(&KnownPair) -> bool,
    together: impl Fn(u32, u32) -> bool,
) -> Vec<Rung> {
    let mut rungs: Vec<Rung> = (0..=20u8)
        .map(|i| Rung { from: f32::from(i) / 20.0, pairs: 0, together: 0, bias: 0.0, error: 0.0 })
        .collect();
    let mut comparable = vec![0u64; rungs.len()];
    for (pair, measured) in pairs.iter().zip(measured) {
        let Some(jaccard) = pair.jaccard.filter(|_| wanted(pair)) else { continue };
        let at = ((jaccard * 20.0 + 1e-4) as usize).min(20);
        rungs[at].pairs += 1;
        rungs[at].together += u64::from(together(pair.a, pair.b));
        if measured.comparable {
            comparable[at] += 1;
            let off = 100.0 * f64::from(measured.similarity - jaccard);
            rungs[at].bias += off;
            rungs[at].error += off.abs();
        }
    }
    for (rung, comparable) in rungs.iter_mut().zip(comparable) {
        rung.bias /= comparable.max(1) as f64;
        rung.error /= comparable.max(1) as f64;
    }
    rungs.retain(|rung| rung.pairs > 0);
    rungs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(duplicate: bool) -> KnownPair {
        KnownPair { a: 0, b: 1, label: 0, duplicate: Some(duplicate), jaccard: None }
    }

    fn at(distance: u8, similarity: f32) -> Measured {
        Measured { exact: false, comparable: true, distance, similarity }
    }

    #[test]
    fn bounds_are_inclusive_and_equal_texts_are_always_found() {
        assert!(at(6, 0.8).within(6, 0.8) && !at(7, 0.8).within(6, 0.8));
        assert!(!at(6, 0.79).within(6, 0.8));
        let short = Measured { exact: true, comparable: false, distance: 64, similarity: 1.0 };
        assert!(short.within(0, 1.0));
    }

    #[test]
    fn curves_follow_the_bounds() {
        let pairs = [pair(true), pair(true), pair(false)];
        let measured = [at(2, 0.9), at(9, 0.7), at(5, 0.6)];
        let curves = curves(&pairs, &measured);
        let six = curves.iter().find(|curve| curve.within == 6).unwrap();
        assert_eq!((six.points[0].precision, six.points[0].recall), (Some(0.5), 0.5));
        let open = curves.last().unwrap();
        assert_eq!((open.points[0].recall, open.points[50].recall), (1.0, 0.0));
        assert_eq!(distances(&pairs, &measured).duplicates[9], 1);
    }
}
