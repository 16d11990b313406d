//! Precision and recall that other bounds would have had, for every distance and similarity.
//!
//! Works on known pairs, without grouping: a pair counts as found if the texts are equal, or if the fingerprints are
//! within the distance and the sketches at least as similar as the bound, like the job's check of a pair. The
//! difference to the scores of groups is the effect of grouping.

use hapax_dedup::{Pages, Status};
use serde::Serialize;

use crate::metrics::counts::Counts;
use crate::truth::known::KnownPair;

/// Distances with a curve each; 64 means no bound.
pub const BOUNDS: [u8; 6] = [3, 4, 6, 8, 10, 64];

/// Distance and similarity of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub exact: bool,
    /// Whether both have enough text to be compared.
    pub comparable: bool,
    /// Distance of the fingerprints in bits.
    pub distance: u8,
    /// From 0 to 1, estimated from the sketches.
    pub similarity: f32,
}

impl Measured {
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

    /// Whether the pair is a duplicate with these bounds.
    pub fn within(&self, distance: u8, similarity: f32) -> bool {
        self.exact || self.comparable && self.distance <= distance && self.similarity >= similarity
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Minimum similarity, from 0 to 1.
    pub similarity: f32,
    /// Share of duplicates among the pairs within both bounds; `None` without known non-duplicates.
    pub precision: Option<f64>,
    /// Share of the duplicates that are within both bounds.
    pub recall: f64,
    /// `None` if precision is.
    pub f1: Option<f64>,
}

/// Precision and recall within one distance, for rising similarity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Maximum distance in bits; 64 means no bound.
    pub within: u8,
    /// By similarity, from 0 to 1 in steps of 0.02.
    pub points: Vec<Point>,
}

/// The curves of known pairs; empty without duplicates among them.
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

/// Number of duplicates and of other pairs at each distance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distances {
    /// Indexed by distance, from 0 to 64.
    pub duplicates: Vec<u64>,
    /// Indexed by distance, from 0 to 64.
    pub others: Vec<u64>,
}

/// Distances of the known pairs that have enough text to be compared.
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

/// Known pairs in a range of exact similarity, and how many of them are in one group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rung {
    /// Lower end of the range, inclusive; a range is 0.05 wide.
    pub from: f32,
    pub pairs: u64,
    /// Number of these pairs whose documents ended in one group.
    pub together: u64,
    /// Mean of estimated minus exact similarity, in percentage points.
    pub bias: f64,
    /// Mean absolute difference, in percentage points.
    pub error: f64,
}

/// Up to 21 rungs of the `wanted` pairs by exact similarity; rungs without pairs are left out.
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
