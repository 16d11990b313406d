//! The interface of all engines.
//!
//! An engine implements [`HammingIndex::visit_batch`] and gets the other methods. Matches are pushed rather
//! than pulled, because an engine works on many queries and tables at once to hide memory latency, and reports
//! the matches of a query in any order. The callback is `dyn`: it runs once per *verified* match, and those are
//! rare.

use std::ops::ControlFlow;

use crate::fingerprint::{BitSums, Fingerprint, MaxDistance};

/// A query: a fingerprint and, if known, the strength of its bits.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub fingerprint: Fingerprint,
    /// The sums behind the bits. Exact engines ignore them.
    pub sums: Option<&'a BitSums>,
}

impl From<Fingerprint> for Query<'_> {
    fn from(fingerprint: Fingerprint) -> Self {
        Self { fingerprint, sums: None }
    }
}

/// A stored entry near the query. Ordered by distance, then id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    pub distance: u32,
    pub id: u64,
}

/// Work counters of a search, for comparison with a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Number of buckets looked up.
    pub probes: u64,
    /// Number of stored fingerprints compared with a query.
    pub compared: u64,
    /// Sum of the expected recall over all queries. For an exact engine this is the number of
    /// queries.
    pub covered: f64,
}

/// A search was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The index was built for a smaller bound and would miss matches.
    #[error("the index answers within {built} bits, {asked} was asked for; rebuild it for {asked}")]
    BoundTooWide {
        /// The bound of the search.
        asked: MaxDistance,
        /// The bound of the index.
        built: MaxDistance,
    },
}

/// A set of fingerprints that supports searches within a distance.
pub trait HammingIndex {
    /// Calls `visit(q, m)` exactly once for each entry `m` found within `bound` of `queries[q]`, in
    /// any order. Breaking ends query `q` only.
    ///
    /// # Errors
    ///
    /// [`SearchError::BoundTooWide`] if `bound` exceeds [`widest`](Self::widest).
    fn visit_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<Effort, SearchError>;

    /// The largest supported bound.
    fn widest(&self) -> MaxDistance;

    /// Number of entries; a fingerprint with ten ids counts ten times.
    fn len(&self) -> usize;

    /// Heap memory in bytes, including spare capacity.
    fn memory_bytes(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All matches, nearest first, ties by id.
    ///
    /// # Errors
    ///
    /// As [`visit_batch`](Self::visit_batch).
    fn find_all(&self, query: &Query<'_>, bound: MaxDistance) -> Result<Vec<Match>, SearchError> {
        let mut found = Vec::new();
        self.visit_batch(&[*query], bound, &mut |_, m| {
            found.push(m);
            ControlFlow::Continue(())
        })?;
        found.sort_unstable();
        Ok(found)
    }

    /// Any one match; not necessarily the nearest.
    ///
    /// # Errors
    ///
    /// As [`visit_batch`](Self::visit_batch).
    fn find_first(
        &self,
        query: &Query<'_>,
        bound: MaxDistance,
    ) -> Result<Option<Match>, SearchError> {
        Ok(self.find_first_batch(&[*query], bound)?.pop().flatten())
    }

    /// All matches of each query, in the order of the queries.
    ///
    /// # Errors
    ///
    /// As [`visit_batch`](Self::visit_batch).
    fn find_all_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
    ) -> Result<Answers, SearchError> {
        let mut gathered = Gathered::default();
        self.visit_batch(queries, bound, &mut |query, m| {
            gathered.push(query, m);
            ControlFlow::Continue(())
        })?;
        let mut answers = Answers::default();
        answers.add(queries.len(), &mut gathered);
        Ok(answers)
    }

    /// One match of each query that has any.
    ///
    /// # Errors
    ///
    /// As [`visit_batch`](Self::visit_batch).
    fn find_first_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
    ) -> Result<Vec<Option<Match>>, SearchError> {
        let mut first = vec![None; queries.len()];
        self.visit_batch(queries, bound, &mut |query, m| {
            first[query] = Some(m);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }
}

/// The matches of a batch of queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// The matches of query `q` are `matches[starts[q]..starts[q + 1]]`.
    starts: Vec<usize>,
    matches: Vec<Match>,
}

impl Default for Answers {
    fn default() -> Self {
        Self { starts: vec![0], matches: Vec::new() }
    }
}

/// Unordered matches of some queries.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered(Vec<Found>);

impl Gathered {
    /// Adds a match of query number `query`.
    #[inline(always)]
    pub(super) fn push(&mut self, query: usize, found: Match) {
        self.0.push(Found::new(query, found));
    }
}

/// A match and its query in two words, because a batch has millions of them.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The query in the bits above the distance.
    query: u64,
    id: u64,
}

/// Distances are 0 to 64.
const DISTANCE_BITS: u32 = 7;

impl Found {
    fn new(query: usize, Match { distance, id }: Match) -> Self {
        Self { query: (query as u64) << DISTANCE_BITS | u64::from(distance), id }
    }

    fn query(self) -> usize {
        (self.query >> DISTANCE_BITS) as usize
    }

    fn distance(self) -> u32 {
        (self.query & ((1 << DISTANCE_BITS) - 1)) as u32
    }
}

impl Answers {
    /// Moves the matches of the next `queries` queries, numbered from 0 in `gathered`, here:
    /// grouped by query, each group sorted.
    pub(super) fn add(&mut self, queries: usize, gathered: &mut Gathered) {
        let Self { starts, matches } = self;
        let found = &mut gathered.0;
        let first = starts.len() - 1;
        let before = matches.len();
        // Counts, stored one place later; their prefix sums are starts, which advance to the ends.
        let mut ends = vec![0; queries + 1];
        for one in found.iter() {
            ends[one.query() + 1] += 1;
        }
        for query in 0..queries {
            ends[query + 1] += ends[query];
        }
        starts.extend(ends[1..].iter().map(|end| before + end));
        matches.resize(before + found.len(), Match { distance: 0, id: 0 });
        for one in found.iter() {
            let place = &mut ends[one.query()];
            matches[before + *place] = Match { distance: one.distance(), id: one.id };
            *place += 1;
        }
        found.clear();
        for ends in starts[first..].windows(2) {
            // One wide number can be compared without branches.
            matches[ends[0]..ends[1]]
                .sort_unstable_by_key(|m| u128::from(m.distance) << 64 | u128::from(m.id));
        }
    }

    /// The matches of query number `query`, nearest first, ties by id.
    pub fn of(&self, query: usize) -> &[Match] {
        &self.matches[self.starts[query]..self.starts[query + 1]]
    }

    /// The matches of all queries, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Match]> {
        self.starts.windows(2).map(|ends| &self.matches[ends[0]..ends[1]])
    }

    /// Number of matches of all queries.
    pub fn total(&self) -> usize {
        self.matches.len()
    }
}

/// Refuses a bound larger than the index was built for.
pub(super) fn check_bound(asked: MaxDistance, built: MaxDistance) -> Result<(), SearchError> {
    if asked <= built { Ok(()) } else { Err(SearchError::BoundTooWide { asked, built }) }
}
