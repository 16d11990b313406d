//! Compares new pages with the stored pages of a machine.
//!
//! [`StoredPages`] are sorted by size. With Jaccard similarity *t* the smaller set has at least *t* times the members
//! of the larger, so other sizes are skipped without loss. With [`Bounds`], pages outside the length ranges are
//! skipped, too; then the answer is the same for any number of machines. Finds every stored page that the bounds
//! admit and that is similar enough, and no other. **Bounds hold for the Jaccard similarity of feature sets, not for
//! the distance of SimHash fingerprints.**
//!
//! Source: Zhu et al. 2012, 4 and 4.2; the bound by size after Arasu et al. 2006 and Theobald et al. 2008.

use super::PartitionError;
use super::bounds::Bounds;
use super::dictionary::LengthVector;

/// The Jaccard similarity of two ascending lists; `None` if it is below `least` or both are empty.
pub fn jaccard_from(a: &[u64], b: &[u64], least: f64) -> Option<f64> {
    let all = a.len() + b.len();
    // Maximum of members in only one list: |a| + |b| - 2s where s / (|a| + |b| - s) is least.
    let allowed = (all as f64 * (1.0 - least) / (1.0 + least) + 1e-9) as usize;
    let (mut i, mut j, mut alone) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
        alone += usize::from(x != y);
        if alone > allowed {
            return None;
        }
    }
    alone += a.len() - i + b.len() - j;
    let shared = (all - alone) / 2;
    let similarity = shared as f64 / ((all - shared) as f64);
    (all > 0 && similarity >= least).then_some(similarity)
}

/// A similar stored page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    pub id: u32,
    pub similarity: f64,
}

/// Stored pages, sorted for comparisons with new pages.
#[derive(Clone, Debug)]
pub struct StoredPages {
    least: f64,
    /// Sorted by the number of features; the features of a page are distinct and ascending.
    pages: Vec<(LengthVector, u32, Vec<u64>)>,
    sizes: Vec<u32>,
}

impl StoredPages {
    /// From lengths, ids and features of pages; `least` is the minimum similarity of a match.
    ///
    /// # Errors
    ///
    /// The similarity is not in (0, 1].
    pub fn new(
        pages: impl IntoIterator<Item = (LengthVector, u32, Vec<u64>)>,
        least: f64,
    ) -> Result<Self, PartitionError> {
        Bounds::new(least, 1.0)?;
        let mut pages: Vec<_> = pages.into_iter().collect();
        pages.sort_by_key(|(_, id, page)| (page.len(), *id));
        let sizes = pages.iter().map(|(.., page)| page.len() as u32).collect();
        Ok(Self { least, pages, sizes })
    }

    /// Adds the stored pages that are similar to a new one to `found`, in order of size.
    pub fn compare(
        &self,
        lengths: &LengthVector,
        page: &[u64],
        bounds: Option<&Bounds>,
        found: &mut Vec<Match>,
    ) {
        let size = page.len() as f64;
        // The margin keeps pages exactly at the bound in spite of rounding.
        let from = self.sizes.partition_point(|&it| f64::from(it) < size * self.least - 1e-6);
        let to = self.sizes.partition_point(|&it| f64::from(it) * self.least <= size + 1e-6);
        let ranges = bounds.map(|bounds| LengthRanges::of(lengths, bounds));
        for (stored, id, other) in &self.pages[from..to.max(from)] {
            if ranges.as_ref().is_some_and(|ranges| !ranges.admits(stored)) {
                continue;
            }
            if let Some(similarity) = jaccard_from(page, other, self.least) {
                found.push(Match { id: *id, similarity });
            }
        }
    }
}

/// The length ranges of a new page, computed once.
struct LengthRanges {
    ranges: Vec<(u32, u32)>,
}

impl LengthRanges {
    fn of(lengths: &LengthVector, bounds: &Bounds) -> Self {
        Self { ranges: lengths.lengths().iter().map(|&length| bounds.range(length)).collect() }
    }

    fn admits(&self, page: &LengthVector) -> bool {
        let lengths = page.lengths();
        self.ranges.iter().zip(lengths).all(|((from, to), length)| from <= length && length <= to)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    /// The Jaccard similarity by its definition.
    fn jaccard(a: &[u64], b: &[u64]) -> f64 {
        let (a, b): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
        match a.union(&b).count() {
            0 => 0.0,
            all => a.intersection(&b).count() as f64 / all as f64,
        }
    }

    /// Sets of few different members, so that many are similar.
    fn sets() -> impl Strategy<Value = Vec<Vec<u64>>> {
        vec(btree_set(0u64..14, 0..14), 1..30)
            .prop_map(|sets| sets.into_iter().map(|set| set.into_iter().collect()).collect())
    }

    fn lengths(set: &[u64]) -> LengthVector {
        let odd = set.iter().filter(|it| *it % 2 == 1).count() as u32;
        LengthVector::new(&[odd, set.len() as u32 - odd]).unwrap()
    }

    proptest! {
        #[test]
        fn sorted_pages_give_the_same_matches_as_comparing_with_every_page(
            stored in sets(),
            new in sets(),
            least in prop::sample::select(vec![0.3, 0.5, 2.0 / 3.0, 0.75, 0.8, 1.0]),
            rho in prop::option::of(1.0f64..1.5),
        ) {
            let bounds = rho.map(|rho| Bounds::new(least, rho).unwrap());
            let pages =
                stored.iter().enumerate().map(|(id, set)| (lengths(set), id as u32, set.clone()));
            let shelf = StoredPages::new(pages, least).unwrap();
            for page in &new {
                let mut found = Vec::new();
                shelf.compare(&lengths(page), page, bounds.as_ref(), &mut found);
                let mut ids: Vec<u32> = found.iter().map(|it| it.id).collect();
                ids.sort_unstable();
                let expected: Vec<u32> = (0..stored.len())
                    .filter(|&id| {
                        let other = &stored[id];
                        let admitted = bounds
                            .is_none_or(|bounds| bounds.admit(&lengths(page), &lengths(other)));
                        admitted && jaccard(page, other) >= least
                    })
                    .map(|id| id as u32)
                    .collect();
                prop_assert_eq!(ids, expected);
                for it in found {
                    let exact = jaccard(page, &stored[it.id as usize]);
                    prop_assert!((it.similarity - exact).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn a_similarity_out_of_range_is_refused() {
        assert!(StoredPages::new([], 0.0).is_err());
        assert!(StoredPages::new([], 1.0).is_ok());
    }
}
