//! The question every engine answers.
//!
//! An engine writes [`HammingIndex::visit_batch`] and gets the rest. Matches are pushed rather
//! than pulled, because an engine works on many queries and tables at once to hide the wait for
//! memory, and reports the matches of a query in no particular order. The callback is `dyn`: it
//! runs once per *verified* match, and those are rare.

use std::ops::ControlFlow;

use crate::fingerprint::{BitSums, Fingerprint, MaxDistance};

/// What is asked: a fingerprint, and how sure each of its bits is when that is known.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub fingerprint: Fingerprint,
    /// What the bits were cut from. Exact engines do not look at it.
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

/// What a search did, to be compared with what a plan promised.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Buckets looked up.
    pub probes: u64,
    /// Stored fingerprints compared with a query.
    pub compared: u64,
    /// Sum over the queries of the share of their matches that was expected to be found. For an
    /// exact engine this is the number of queries.
    pub covered: f64,
}

/// Why a search was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The index was built for a smaller bound, and would miss matches.
    #[error("the index answers within {built} bits, {asked} was asked for; rebuild it for {asked}")]
    BoundTooWide {
        /// The bound in the question.
        asked: MaxDistance,
        /// The bound the index was built for.
        built: MaxDistance,
    },
}

/// A set of fingerprints that can be asked who lives nearby.
pub trait HammingIndex {
    /// Calls `visit(q, m)` exactly once for each entry `m` found within `bound` of `queries[q]`,
    /// in any order, until it breaks: breaking ends query `q` and no other.
    ///
    /// # Errors
    ///
    /// [`SearchError::BoundTooWide`] when `bound` is beyond [`widest`](Self::widest).
    fn visit_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<Effort, SearchError>;

    /// The widest bound that can be asked for.
    fn widest(&self) -> MaxDistance;

    /// How many entries are stored; one fingerprint with ten ids counts ten times.
    fn len(&self) -> usize;

    /// Heap bytes held, spare capacity included.
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

    /// Some match, if there is one: the first the engine comes upon, which need not be the
    /// nearest.
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

    /// Some match of each query that has one.
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

/// Matches of some queries, in no order.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered(Vec<Found>);

impl Gathered {
    /// Query number `query` has this match.
    #[inline(always)]
    pub(super) fn push(&mut self, query: usize, found: Match) {
        self.0.push(Found::new(query, found));
    }
}

/// A match and whose it is, in two words: a batch has millions of them.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The query above the distance.
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
    /// Adds what was gathered for the next `queries` queries, which are numbered from 0 there:
    /// grouped by query, each group sorted. Nothing is left in `gathered`.
    pub(super) fn add(&mut self, queries: usize, gathered: &mut Gathered) {
        let Self { starts, matches } = self;
        let found = &mut gathered.0;
        let first = starts.len() - 1;
        let before = matches.len();
        // Counts, one place further on than they belong; then starts, which move on to the ends.
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
            // One wide number is compared without a branch.
            matches[ends[0]..ends[1]]
                .sort_unstable_by_key(|m| u128::from(m.distance) << 64 | u128::from(m.id));
        }
    }

    /// The matches of query number `query`, nearest first, ties by id.
    pub fn of(&self, query: usize) -> &[Match] {
        &self.matches[self.starts[query]..self.starts[query + 1]]
    }

    /// The matches of each query in turn.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Match]> {
        self.starts.windows(2).map(|ends| &self.matches[ends[0]..ends[1]])
    }

    /// How many matches there are over all queries.
    pub fn total(&self) -> usize {
        self.matches.len()
    }
}

/// Refuses a bound beyond what the index was built for.
pub(super) fn check_bound(asked: MaxDistance, built: MaxDistance) -> Result<(), SearchError> {
    if asked <= built { Ok(()) } else { Err(SearchError::BoundTooWide { asked, built }) }
}
