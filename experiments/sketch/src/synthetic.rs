//! Random sets of chosen size and similarity, the same for every method.

use crate::errors::Errors;
use crate::method::Method;
use hapax::features::hash::scramble;
use rayon::prelude::*;

/// Shingles in each of the two sets of a pair.
pub(crate) const SIZES: [usize; 7] = [1, 5, 20, 100, 300, 1000, 5000];
/// Wanted Jaccard similarities; small sets take the nearest possible one.
pub(crate) const SIMILARITIES: [f64; 8] = [0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99];

/// The errors of every method at one size and one similarity.
pub(crate) struct Cell {
    pub(crate) size: usize,
    /// The wanted similarity.
    pub(crate) similarity: f64,
    /// The actual similarity of the pairs.
    pub(crate) exact: f64,
    /// In the order of the methods.
    pub(crate) errors: Vec<Errors>,
}

/// All cells, with `trials` pairs each. Omits similarities that small sets cannot reach without
/// repeating another cell.
pub(crate) fn cells(methods: &[Box<dyn Method>], trials: u64) -> Vec<Cell> {
    let mut wanted = Vec::new();
    for size in SIZES {
        let mut before = None;
        for similarity in SIMILARITIES {
            let shared = (2.0 * size as f64 * similarity / (1.0 + similarity)).round() as usize;
            if before.replace(shared) != Some(shared) {
                wanted.push((size, similarity, shared));
            }
        }
    }
    wanted
        .into_par_iter()
        .map(|(size, similarity, shared)| {
            let exact = shared as f64 / (2 * size - shared) as f64;
            let mut errors = vec![Errors::default(); methods.len()];
            for trial in 0..trials {
                let (a, b) = pair(size, shared, trial);
                for (method, errors) in methods.iter().zip(&mut errors) {
                    let estimate = method.jaccard(&method.sketch(&a), &method.sketch(&b));
                    errors.add(estimate - exact);
                }
            }
            Cell { size, similarity, exact, errors }
        })
        .collect()
}

/// Two sets of `size` random hashes of which `shared` are common.
pub(crate) fn pair(size: usize, shared: usize, trial: u64) -> (Vec<u64>, Vec<u64>) {
    let seed = scramble(trial << 40 | (size as u64) << 20 | shared as u64);
    let hashes = |range: std::ops::Range<usize>| -> Vec<u64> {
        range.map(|i| scramble(seed.wrapping_add(scramble(i as u64)))).collect()
    };
    (hashes(0..size), hashes(size - shared..2 * size - shared))
}
