//! The paper's Table I and Figures 4 to 7, for the user's own log.
//!
//! Queries are grouped by rank; for each bound, counts the documents removed by the queries of a group, and the
//! time. A removal counts for the query named in the record. Figure 7 becomes numbers: how many documents the
//! first queries cover, by frequency and in the greedy order.
//!
//! Source: Pi et al. 2009, section III.

use hapax::fingerprint::MaxDistance;
use serde::Serialize;

use crate::choose::{ResultSketch, Sample, by_fresh_documents, in_order};
use crate::job::{Outcome, QueryOutcome, Ranked};

/// The last ranks of the paper's groups of queries.
const GROUP_ENDS: [u64; 7] = [100, 200, 300, 400, 500, 1000, 2000];
/// The paper's bounds in bits.
pub const BOUNDS: [u8; 4] = [0, 1, 2, 3];
/// Numbers of queries after which coverage is reported.
const CHECKPOINTS: [usize; 12] = [1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/// The paper's bounds as types.
pub fn bounds() -> Vec<MaxDistance> {
    BOUNDS.iter().filter_map(|&bits| MaxDistance::new(bits)).collect()
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DuplicatesByRank {
    /// The bounds, one per entry of the lists below.
    pub bounds: Vec<u8>,
    pub groups: Vec<Group>,
}

/// Queries of similar rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    pub from: u64,
    /// Last rank, inclusive.
    pub to: u64,
    /// Number of queries processed.
    pub queries: u64,
    /// Number of documents removed, by bound.
    pub removed: Vec<u64>,
}

/// Seconds taken by the queries of each group, by bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Retrieval and dedup, by group and bound.
    pub seconds: Vec<Vec<f64>>,
}

impl DuplicatesByRank {
    /// From a job with several bounds.
    pub fn of(bounds: &[MaxDistance], queries: &[Ranked], outcome: &Outcome) -> Self {
        let last = queries.iter().map(|query| query.rank).max().unwrap_or(0);
        let mut groups = Vec::new();
        let mut from = 1;
        for end in GROUP_ENDS.into_iter().chain([u64::MAX]) {
            if from > last {
                break;
            }
            let ranks = from..=end.min(last);
            let of = |rank: u64| ranks.contains(&rank);
            let removed = outcome
                .sweep
                .iter()
                .map(|marks| marks.iter().filter(|mark| of(mark.query)).count() as u64)
                .collect();
            let queries = queries.iter().filter(|query| of(query.rank)).count() as u64;
            groups.push(Group { from, to: *ranks.end(), queries, removed });
            from = end.saturating_add(1);
        }
        let bounds = bounds.iter().map(|bound| bound.bits() as u8).collect();
        Self { bounds, groups }
    }

    /// Documents removed by all queries, by bound.
    pub fn totals(&self) -> Vec<u64> {
        let of = |at: usize| self.groups.iter().filter_map(|group| group.removed.get(at)).sum();
        (0..self.bounds.len()).map(of).collect()
    }
}

impl Times {
    /// From the same job.
    pub fn of(table: &DuplicatesByRank, found: &[QueryOutcome]) -> Self {
        let seconds = |group: &Group, bound: usize| -> f64 {
            let members = found.iter().filter(|it| (group.from..=group.to).contains(&it.rank));
            let of = |it: &QueryOutcome| {
                it.retrieval + it.sweep_times.get(bound).copied().unwrap_or_default()
            };
            members.map(|it| of(it).as_secs_f64()).sum()
        };
        let of_group =
            |group: &Group| (0..table.bounds.len()).map(|bound| seconds(group, bound)).collect();
        Self { seconds: table.groups.iter().map(of_group).collect() }
    }
}

/// The coverage of each query, in the order of the queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Number of documents that no more frequent query has.
    pub by_frequency: Vec<u64>,
    /// Position of each query in the greedy order, from 1.
    pub order_by_overlap: Vec<u64>,
    /// Number of documents that no earlier query of that order has.
    pub by_overlap: Vec<u64>,
    /// Number of documents of all queries.
    pub documents: u64,
}

/// Documents covered by the first queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Covered {
    pub queries: u64,
    /// By the most frequent queries.
    pub by_frequency: u64,
    /// By the first queries of the greedy order.
    pub by_overlap: u64,
}

impl Coverage {
    /// From queries and their sampled results; counts are scaled up.
    pub fn of(queries: &[Ranked], found: &[QueryOutcome], sample: Sample) -> Self {
        let sketch = |(query, found): (&Ranked, &QueryOutcome)| ResultSketch {
            count: query.query.count,
            sampled: found.sampled.clone(),
        };
        let mut order: Vec<usize> = (0..queries.len()).collect();
        order.sort_by_key(|&at| queries[at].rank);
        let sketches: Vec<ResultSketch> = queries.iter().zip(found).map(sketch).collect();
        let by_rank: Vec<ResultSketch> = order.iter().map(|&at| sketches[at].clone()).collect();
        let mut coverage = Self {
            by_frequency: vec![0; queries.len()],
            order_by_overlap: vec![0; queries.len()],
            by_overlap: vec![0; queries.len()],
            documents: 0,
        };
        let scale = u64::from(sample.one_of.max(1));
        for chosen in in_order(&by_rank) {
            coverage.by_frequency[order[chosen.query]] = chosen.fresh * scale;
            coverage.documents += chosen.fresh * scale;
        }
        for (place, chosen) in (1..).zip(by_fresh_documents(&by_rank)) {
            let at = order[chosen.query];
            coverage.order_by_overlap[at] = place;
            coverage.by_overlap[at] = chosen.fresh * scale;
        }
        coverage
    }

    /// The coverage of both orders at some numbers of queries, and at the end.
    pub fn curve(&self, queries: &[Ranked]) -> Vec<Covered> {
        let mut by_frequency: Vec<(u64, u64)> =
            queries.iter().map(|it| it.rank).zip(self.by_frequency.iter().copied()).collect();
        let mut by_overlap: Vec<(u64, u64)> =
            self.order_by_overlap.iter().copied().zip(self.by_overlap.iter().copied()).collect();
        by_frequency.sort_unstable();
        by_overlap.sort_unstable();
        let sum = |list: &[(u64, u64)], most: usize| list[..most].iter().map(|it| it.1).sum();
        let all = queries.len();
        let points = CHECKPOINTS.into_iter().filter(|&point| point < all).chain([all]);
        points
            .map(|point| Covered {
                queries: point as u64,
                by_frequency: sum(&by_frequency, point),
                by_overlap: sum(&by_overlap, point),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::DocumentId;
    use crate::job::ranked;
    use crate::log::Query;

    fn queries(count: u64) -> Vec<Ranked> {
        let query = |at| Query { text: format!("q{at}"), count: 1000 - at };
        ranked(&(0..count).map(query).collect::<Vec<_>>())
    }

    #[test]
    fn groups_are_those_of_the_paper_up_to_the_number_of_queries() {
        let of = |count| DuplicatesByRank::of(&bounds(), &queries(count), &Outcome::default());
        let ranges = |table: DuplicatesByRank| -> Vec<(u64, u64)> {
            table.groups.iter().map(|group| (group.from, group.to)).collect()
        };
        assert_eq!(ranges(of(150)), [(1, 100), (101, 150)]);
        let all = ranges(of(2100));
        assert_eq!(all[5..], [(501, 1000), (1001, 2000), (2001, 2100)]);
        assert!(ranges(of(0)).is_empty());
    }

    #[test]
    fn coverage_counts_documents_once_in_both_orders() {
        let queries = queries(3);
        let found = |ids: &[u64]| QueryOutcome {
            sampled: ids.iter().copied().map(DocumentId).collect(),
            ..QueryOutcome::default()
        };
        let found = [found(&[1, 2, 3, 4]), found(&[1, 2, 3]), found(&[5, 6])];
        let coverage = Coverage::of(&queries, &found, Sample { one_of: 1 });
        assert_eq!(coverage.by_frequency, [4, 0, 2]);
        assert_eq!(coverage.order_by_overlap, [1, 3, 2]);
        assert_eq!((coverage.by_overlap.as_slice(), coverage.documents), (&[4, 0, 2][..], 6));
        let curve = coverage.curve(&queries);
        assert_eq!(curve.last().unwrap().by_frequency, 6);
        assert_eq!(curve[0], Covered { queries: 1, by_frequency: 4, by_overlap: 4 });
    }
}
