//! Answers queries from a collection of fingerprints in a `.hpx` file.
//!
//! Loads the collection into an engine (`load`) or streams it past the [`Queries`] (`stream`), whichever the
//! planner predicts to be faster. Exact searches give the same answers both ways, for any number of threads, in
//! the order of the queries, nearest match first.

mod load;
mod queries;
mod stream;

use std::num::NonZero;

use hapax::fingerprint::MaxDistance;
use hapax::index::Recall;
use hapax::index::plan::{Machine, Request, Ways};
use hapax_corpus::hpx::{Hpx, HpxError, Lookup};

use super::LinesError;
use crate::threads::Threads;

pub use queries::Queries;

#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub within: MaxDistance,
    /// Minimum recall.
    pub recall: Recall,
    /// Stop at the first match of each query.
    pub first: bool,
    /// Approximate bytes for an index or a pass; `None` for the default.
    pub memory: Option<u64>,
    /// Memory of this machine in bytes, if known; an exact index uses at most half.
    pub machine: Option<u64>,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The collection is unreadable.
    #[error(transparent)]
    Stored(#[from] HpxError),
    /// The queries are unreadable.
    #[error(transparent)]
    Queries(#[from] LinesError),
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl SearchError {
    fn of(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// A query and a document close to it. Ordered by query, then distance, then document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub query: u32,
    pub distance: u8,
    /// Position in the collection, from 0.
    pub document: u64,
}

/// The answers to consecutive queries.
#[derive(Clone, Debug)]
pub struct Answers<'a> {
    pub queries: std::ops::Range<usize>,
    /// Sorted.
    pub rows: &'a [Row],
    /// Measured recall; `None` if the search is exact.
    pub recall: Option<f64>,
}

/// Receives answers, in the order of the queries.
pub type Take<'t, E> = &'t mut dyn FnMut(Answers<'_>) -> Result<(), E>;

/// Predicts the cost of loading and of streaming. An exact index uses at most half of this
/// machine's memory unless another limit is given.
pub fn ways(asked: &Asked, stored: u64, queries: &Queries) -> Ways {
    let mut request = Request::new(stored, asked.within).queries(queries.len() as u64);
    if asked.first {
        request = request.first();
    }
    if queries.any_sums() {
        request = request.recall(asked.recall);
    }
    request.memory = asked.memory;
    if request.recall == Recall::ALL {
        request.memory = asked.memory.or(asked.machine.map(|bytes| bytes / 2));
    }
    Ways::new(&request, &Machine::typical(), stream::passes(asked, queries.len()))
}

/// Searches a collection, streamed or loaded as `ways` plans; returns a description of the method.
///
/// # Errors
///
/// The collection is unreadable; also any error of `take`.
pub fn search<E: From<SearchError>>(
    asked: &Asked,
    queries: &Queries,
    stored: &Hpx,
    ways: &Ways,
    streams: bool,
    threads: NonZero<usize>,
    take: Take<'_, E>,
) -> Result<String, E> {
    let threads = Threads::new(threads).map_err(SearchError::of)?;
    if !streams {
        return load::search(asked, queries, stored, ways, &threads, take);
    }
    let mut described = stream::search(asked, queries, stored, &threads, take)?;
    if asked.recall < Recall::ALL {
        described.push_str(", which finds every match");
        described.push_str(if queries.any_sums() { "" } else { load::NEED_SUMS });
    }
    Ok(described)
}

/// Translates positions in the file into positions in the collection, and sorts. Reads each block
/// of ids once.
fn documents(rows: &mut [Row], lookup: &mut Lookup) -> Result<(), HpxError> {
    rows.sort_unstable_by_key(|row| row.document);
    for row in &mut *rows {
        row.document = lookup.id(row.document)?;
    }
    rows.sort_unstable();
    Ok(())
}
