//! Queries against a collection of fingerprints in a `.hpx` file.
//!
//! The collection is loaded into an engine (`load`) or streamed past the [`Queries`] (`stream`), whichever the
//! planner predicts to be done first. Exact searches give the same answers either way, whatever the number of
//! threads, in the order of the queries, nearest match first.

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
    /// The share of the matches that must be found.
    pub recall: Recall,
    /// Some match of each query is enough.
    pub first: bool,
    /// About so many bytes for an index or a pass.
    pub memory: Option<u64>,
    /// How many bytes this machine has, where that is known: an exact index keeps to half of them.
    pub machine: Option<u64>,
}

/// Why a collection could not be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The collection cannot be read.
    #[error(transparent)]
    Stored(#[from] HpxError),
    /// The queries cannot be read.
    #[error(transparent)]
    Queries(#[from] LinesError),
    /// The search itself failed.
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl SearchError {
    fn of(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// A query and a document near it. Ordered by query, then distance, then document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub query: u32,
    pub distance: u8,
    /// Its place in the collection, from 0.
    pub document: u64,
}

/// The answers to some queries that follow each other.
#[derive(Clone, Debug)]
pub struct Answers<'a> {
    pub queries: std::ops::Range<usize>,
    /// Sorted.
    pub rows: &'a [Row],
    /// The share of the matches that is found, where not all were asked for.
    pub recall: Option<f64>,
}

/// Takes answers, in the order of the queries.
pub type Take<'t, E> = &'t mut dyn FnMut(Answers<'_>) -> Result<(), E>;

/// What loading and streaming are predicted to take. What is loaded exactly keeps to half of this machine's
/// memory unless another limit is given.
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

/// Searches a collection, streamed or loaded as the `ways` plan it; says how, in words.
///
/// # Errors
///
/// The collection cannot be read, or what `take` fails with.
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

/// Turns places in the file into places in the collection, and sorts. Each block of ids is read once.
fn documents(rows: &mut [Row], lookup: &mut Lookup) -> Result<(), HpxError> {
    rows.sort_unstable_by_key(|row| row.document);
    for row in &mut *rows {
        row.document = lookup.id(row.document)?;
    }
    rows.sort_unstable();
    Ok(())
}
