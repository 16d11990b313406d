//! Orders queries such that each contributes as many new documents as possible, for when not all can be
//! processed.
//!
//! By frequency alone, many popular queries show the same documents ("BASKETBALL GAME" and "NBA"). The greedy
//! order takes the query with the most new documents, weighted by its frequency. Results are sampled: only
//! documents whose hash is below a bound are counted, and counts are scaled up. Gains only decrease, so a heap
//! with lazy updates finds the greedy order.
//!
//! Source: Pi et al. 2009, section IV and Figure 7; lazy greedy choice: Minoux 1978.

use std::collections::{BTreeSet, BinaryHeap};

use rayon::prelude::*;

use crate::engine::{DocumentId, Engine};
use crate::log::Query;
use crate::policy::Policy;

/// The sampled results of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSketch {
    /// Frequency of the query.
    pub count: u64,
    /// Results in the sample.
    pub sampled: Vec<DocumentId>,
}

/// Defines which documents are in the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// One document in this many is in the sample.
    pub one_of: u32,
}

impl Sample {
    /// Whether this document is in the sample.
    pub fn holds(self, id: DocumentId) -> bool {
        // The finaliser of SplitMix, which spreads neighbouring numbers.
        let mut z = id.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).is_multiple_of(u64::from(self.one_of.max(1)))
    }

    /// The sampled results of a query.
    pub fn sketch(self, count: u64, results: &[DocumentId]) -> ResultSketch {
        let sampled = results.iter().copied().filter(|&id| self.holds(id)).collect();
        ResultSketch { count, sampled }
    }
}

/// Samples the best results of each query, on all threads of the current pool.
pub fn sketches<E: Engine>(
    engine: &E,
    queries: &[Query],
    policy: &Policy,
    sample: Sample,
    done: impl Fn() + Sync,
) -> Result<Vec<ResultSketch>, E::Error> {
    queries
        .par_iter()
        .enumerate()
        .map(|(at, query)| {
            let most = policy.most_results(at as u64 + 1) as usize;
            let found = engine.top(&query.text, most, &|_| false)?;
            done();
            Ok(sample.sketch(query.count, &found.top))
        })
        .collect()
}

/// A query in the chosen order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Index in the given list.
    pub query: usize,
    /// Number of sampled documents that no earlier query has.
    pub fresh: u64,
}

/// The number of new documents of each query, in the given order.
pub fn in_order(queries: &[ResultSketch]) -> Vec<Chosen> {
    let mut examined = BTreeSet::new();
    let fresh = |query: &ResultSketch, examined: &mut BTreeSet<DocumentId>| {
        query.sampled.iter().filter(|&&id| examined.insert(id)).count() as u64
    };
    let queries = queries.iter().enumerate();
    queries.map(|(query, sketch)| Chosen { query, fresh: fresh(sketch, &mut examined) }).collect()
}

/// The greedy order: at each step the query with the largest product of count and new documents,
/// ties in the given order. Queries without new documents are last, in the given order.
pub fn by_fresh_documents(queries: &[ResultSketch]) -> Vec<Chosen> {
    let gain = |count: u64, fresh: u64| u128::from(count) * u128::from(fresh);
    // (gain at the last update, smaller index first, number of documents covered then)
    let mut heap: BinaryHeap<(u128, std::cmp::Reverse<usize>, usize)> = queries
        .iter()
        .enumerate()
        .map(|(at, query)| {
            (gain(query.count, query.sampled.len() as u64), std::cmp::Reverse(at), usize::MAX)
        })
        .collect();
    let mut examined: BTreeSet<DocumentId> = BTreeSet::new();
    let mut order = Vec::with_capacity(queries.len());
    while let Some((_, std::cmp::Reverse(at), seen)) = heap.pop() {
        let query = &queries[at];
        let fresh: BTreeSet<DocumentId> =
            query.sampled.iter().copied().filter(|id| !examined.contains(id)).collect();
        if seen == examined.len() {
            order.push(Chosen { query: at, fresh: fresh.len() as u64 });
            examined.extend(fresh);
        } else {
            let renewed = gain(query.count, fresh.len() as u64);
            heap.push((renewed, std::cmp::Reverse(at), examined.len()));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn sketches() -> impl Strategy<Value = Vec<ResultSketch>> {
        let query = (0u64..6, vec(0u64..20, 0..12)).prop_map(|(count, ids)| ResultSketch {
            count,
            sampled: ids.into_iter().map(DocumentId).collect(),
        });
        vec(query, 0..12)
    }

    /// Reference implementation: examines every query in every step.
    fn slowly(queries: &[ResultSketch]) -> Vec<Chosen> {
        let mut examined: BTreeSet<DocumentId> = BTreeSet::new();
        let mut left: Vec<usize> = (0..queries.len()).collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let fresh = |at: usize| {
                let all: BTreeSet<_> = queries[at].sampled.iter().copied().collect();
                all.difference(&examined).count() as u64
            };
            let best = (0..left.len())
                .max_by_key(|&i| (queries[left[i]].count * fresh(left[i]), std::cmp::Reverse(i)))
                .unwrap();
            let query = left.remove(best);
            order.push(Chosen { query, fresh: fresh(query) });
            examined.extend(queries[query].sampled.iter().copied());
        }
        order
    }

    proptest! {
        #[test]
        fn the_lazy_order_is_the_greedy_one(queries in sketches()) {
            prop_assert_eq!(by_fresh_documents(&queries), slowly(&queries));
        }

        #[test]
        fn both_orders_bring_the_same_documents_in_the_end(queries in sketches()) {
            let total = |order: Vec<Chosen>| order.iter().map(|chosen| chosen.fresh).sum::<u64>();
            prop_assert_eq!(total(in_order(&queries)), total(by_fresh_documents(&queries)));
        }
    }

    #[test]
    fn a_popular_query_that_shows_the_same_documents_waits() {
        let sample = Sample { one_of: 1 };
        let results = |ids: std::ops::Range<u64>| ids.map(DocumentId).collect::<Vec<_>>();
        let queries = [
            sample.sketch(100, &results(0..10)),
            sample.sketch(90, &results(0..9)),
            sample.sketch(10, &results(20..30)),
        ];
        let order: Vec<usize> = by_fresh_documents(&queries).iter().map(|it| it.query).collect();
        assert_eq!(order, [0, 2, 1]);
    }

    #[test]
    fn a_sample_holds_about_its_share_of_documents() {
        let sample = Sample { one_of: 16 };
        let held = (0..160_000).filter(|&id| sample.holds(DocumentId(id))).count();
        assert!((9_500..10_500).contains(&held), "{held}");
    }
}
