//! Finds all cells that can contain a similar set, without loss.
//!
//! Lengths are counted in the compared sets themselves, so a difference in length means members of only one set. Let
//! the new page *A* have *p* members that *B* lacks, and *B* have *q* that *A* lacks; for a cell, *Bi* is the end of
//! its interval nearest to *Ai*. Every stored set with Jaccard similarity tau is in one of the cells, at the price of
//! wider ranges than [`Bounds`]. Does not bound the distance of fingerprints or use languages: query the cells of all
//! languages.
//!
//! ```text
//!   J = (|A| - p) / (|A| + q) >= tau      if and only if      p + tau q <= (1 - tau) |A|
//!   p >= sum of max(0, Ai - Bi)           q >= sum of max(0, Bi - Ai)
//! ```
//!
//! Source: Arasu et al. 2006 and Theobald et al. 2008, applied to parts of a set; cells as in Zhu et al. 2012, 4.

use super::PartitionError;
use super::bounds::Bounds;
use super::dictionary::LengthVector;
use super::grid::Cells;

/// The possible lengths of similar sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactBounds {
    tau: f64,
}

impl ExactBounds {
    /// Bounds for sets with a Jaccard similarity of at least `tau`.
    ///
    /// # Errors
    ///
    /// `tau` is not in (0, 1].
    pub fn new(tau: f64) -> Result<Self, PartitionError> {
        Bounds::new(tau, 1.0).map(|bounds| Self { tau: bounds.tau() })
    }

    /// The minimum similarity.
    pub fn tau(&self) -> f64 {
        self.tau
    }

    /// Whether a set with these lengths can be similar.
    pub fn admit(&self, page: &LengthVector, other: &LengthVector) -> bool {
        let lengths = page.lengths().iter().zip(other.lengths());
        let change: f64 = lengths.map(|(&own, &at)| self.change(own, at, at)).sum();
        change <= self.most_change(page)
    }

    /// The cells that can contain similar sets, ascending; includes the page's own.
    pub fn cells(&self, cells: &Cells, page: &LengthVector) -> Vec<usize> {
        let most = self.most_change(page);
        let lengths = page.lengths().iter().copied().chain(std::iter::repeat(0));
        let mut met = vec![(0usize, 0.0f64)];
        for (ends, length) in cells.intervals().iter().zip(lengths) {
            let change = |at: usize| {
                let last = ends.get(at + 1).map_or(u32::MAX, |&next| next - 1);
                self.change(length, ends[at], last)
            };
            let changes: Vec<(usize, f64)> =
                (0..ends.len()).map(|at| (at, change(at))).filter(|it| it.1 <= most).collect();
            met = met
                .iter()
                .flat_map(|&(cell, before)| {
                    let sum = move |&(at, change): &(usize, f64)| {
                        (cell * ends.len() + at, before + change)
                    };
                    changes.iter().map(sum)
                })
                .filter(|&(_, change)| change <= most)
                .collect();
        }
        met.into_iter().map(|(cell, _)| cell).collect()
    }

    /// The minimum of `p + tau q` in a dimension, if the other length is in `least..=most`.
    fn change(&self, length: u32, least: u32, most: u32) -> f64 {
        let lost = f64::from(length.saturating_sub(most));
        lost + self.tau * f64::from(least.saturating_sub(length))
    }

    /// The maximum of `p + tau q`, with a margin that keeps sets exactly at the bound in spite of
    /// rounding.
    fn most_change(&self, page: &LengthVector) -> f64 {
        (1.0 - self.tau) * page.total() as f64 + 1e-6
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::super::Dictionary;
    use super::super::compare::jaccard_from;
    use super::*;

    /// A hash that puts consecutive numbers into different dimensions.
    fn member(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Sets of few different members, so that many are similar.
    fn sets() -> impl Strategy<Value = Vec<Vec<u64>>> {
        let set = btree_set((0u64..24).prop_map(member), 0..24);
        vec(set.prop_map(|set| set.into_iter().collect()), 1..25)
    }

    fn cells(dimensions: usize) -> impl Strategy<Value = Cells> {
        let ends = btree_set(1u32..12, 0..6).prop_map(|ends| {
            let ends: Vec<u32> = std::iter::once(0).chain(ends).collect();
            ends
        });
        vec(ends, dimensions).prop_map(|ends| Cells::new(ends).unwrap())
    }

    proptest! {
        #[test]
        fn a_similar_set_is_in_one_of_the_cells(
            (cells, dimensions) in (1usize..=4).prop_flat_map(|n| (cells(n), Just(n))),
            sets in sets(),
            tau in prop::sample::select(vec![0.2, 0.5, 2.0 / 3.0, 0.75, 0.8, 0.9, 1.0]),
        ) {
            let bounds = ExactBounds::new(tau).unwrap();
            let dictionary = Dictionary::by_hash(dimensions).unwrap();
            for new in &sets {
                let lengths = dictionary.lengths(new);
                let met = bounds.cells(&cells, &lengths);
                prop_assert!(met.windows(2).all(|two| two[0] < two[1]));
                prop_assert!(met.contains(&cells.of(&lengths)));
                for stored in &sets {
                    let other = dictionary.lengths(stored);
                    let alike = jaccard_from(new, stored, tau).is_some();
                    prop_assert!(!alike || bounds.admit(&lengths, &other));
                    prop_assert!(!bounds.admit(&lengths, &other) || met.contains(&cells.of(&other)));
                }
            }
        }
    }

    #[test]
    fn the_bound_is_tight_in_one_dimension() {
        // Ten members: sets of 8 to 12.5 members can have similarity 0.8.
        let bounds = ExactBounds::new(0.8).unwrap();
        let page = |length: u32| LengthVector::new(&[length]).unwrap();
        let admitted: Vec<u32> = (0..20).filter(|&it| bounds.admit(&page(10), &page(it))).collect();
        assert_eq!(admitted, (8..=12).collect::<Vec<u32>>());
    }

    #[test]
    fn bounds_by_words_lose_a_pair_that_bounds_by_members_keep() {
        // A change in one dimension only: 100 of 1000 words, all of the second one.
        let (new, stored) = ([900, 100], [900, 0]);
        let lengths = |it: [u32; 2]| LengthVector::new(&it).unwrap();
        let (new, stored) = (lengths(new), lengths(stored));
        assert!(!Bounds::new(0.8, 1.3).unwrap().admit(&new, &stored));
        assert!(ExactBounds::new(0.8).unwrap().admit(&new, &stored));
    }

    #[test]
    fn a_similarity_out_of_range_is_refused() {
        for tau in [0.0, -1.0, 1.1, f64::NAN] {
            assert!(ExactBounds::new(tau).is_err());
        }
    }
}
