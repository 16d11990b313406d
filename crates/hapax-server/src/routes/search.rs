//! Searches an index and collapses near-duplicates.
//!
//! The index is a folder made by `hapax search build`, which may change while the service runs: it is reopened
//! after a commit, and a request in progress finishes with the state it began with. Does not rank results or
//! choose the shown copy.

use super::{QueryParameters, rows};
use crate::config::Search as Settings;
use crate::error::{ApiError, Code};
use crate::state::{Service, StartError};
use axum::Json;
use axum::extract::State;
use hapax_search::collapse::{Request, collapse};
use hapax_search::policy::Policy;
use hapax_search::tantivy::TantivyIndex;
use hapax_search::wire::ListingRecord;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Maximum length of a query in bytes.
const LONGEST: usize = 1000;
/// Maximum offset of results.
const FURTHEST: usize = 10_000;
/// Default number of hits.
const HITS: usize = 10;

/// A search index.
pub struct Searched {
    folder: PathBuf,
    policy: Policy,
    open: Mutex<Opened>,
}

struct Opened {
    index: Arc<TantivyIndex>,
    committed: Option<SystemTime>,
}

impl std::fmt::Debug for Searched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Searched").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Searched {
    /// Opens the configured index; `None` if none is configured.
    ///
    /// # Errors
    ///
    /// The index or the policy is unusable.
    pub fn open(settings: &Settings) -> Result<Option<Self>, StartError> {
        if settings.index.is_empty() {
            return Ok(None);
        }
        let folder = PathBuf::from(&settings.index);
        let policy = match settings.policy.as_str() {
            "" => Policy::default(),
            path => {
                let what = || format!("the search policy {path}");
                let system = |source| StartError::System { what: what(), source };
                let text = std::fs::read_to_string(path).map_err(system)?;
                Policy::from_toml(&text)
                    .map_err(|error| StartError::Search(format!("{}: {error}", what())))?
            }
        };
        let open = Opened::of(&folder).map_err(|error| StartError::Search(described(&error)))?;
        Ok(Some(Self { folder, policy, open: Mutex::new(open) }))
    }

    /// The index in its current state.
    fn index(&self) -> Result<Arc<TantivyIndex>, ApiError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.committed != committed(&self.folder) {
            *open = Opened::of(&self.folder)
                .map_err(|error| ApiError::internal(format!("search: {}", described(&error))))?;
        }
        Ok(open.index.clone())
    }
}

impl Opened {
    fn of(folder: &std::path::Path) -> Result<Self, hapax_search::tantivy::Error> {
        // Read first, so that a commit in between is noticed next time.
        let committed = committed(folder);
        Ok(Self { index: Arc::new(TantivyIndex::open(folder)?), committed })
    }
}

/// Time of the last commit.
fn committed(folder: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(folder.join("meta.json")).and_then(|file| file.modified()).ok()
}

/// An error with its causes, on one line.
fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

#[derive(Debug, Deserialize)]
pub struct Parameters {
    /// The query, as typed by users.
    q: String,
    /// Collapse near-duplicates; on by default.
    collapse: Option<bool>,
    /// Leave out marked documents.
    hide_marked: Option<bool>,
    /// The query's rank in the search log.
    rank: Option<u64>,
    after: Option<String>,
    limit: Option<usize>,
}

/// `GET /v1/search`
pub async fn search(
    State(service): State<Arc<Service>>,
    QueryParameters(parameters): QueryParameters<Parameters>,
) -> Result<Json<serde_json::Value>, ApiError> {
    if parameters.q.len() > LONGEST {
        return Err(ApiError::invalid(format!("q has at most {LONGEST} bytes")));
    }
    if parameters.rank == Some(0) {
        return Err(ApiError::invalid("rank must be at least 1"));
    }
    let limit = rows(&service, Some(parameters.limit.unwrap_or(HITS)))?;
    let offset = match parameters.after.as_deref().map(str::parse::<usize>) {
        None => 0,
        Some(Ok(offset)) if offset <= FURTHEST => offset,
        Some(_) => {
            return Err(ApiError::invalid("after must be what an answer gave as next"));
        }
    };
    service.work(move |service| answer(service, &parameters, offset, limit)).await.map(Json)
}

fn answer(
    service: &Service,
    parameters: &Parameters,
    offset: usize,
    limit: usize,
) -> Result<serde_json::Value, ApiError> {
    let missing = || {
        ApiError::new(
            Code::NotFound,
            "this service has no search index; start it with --search-index DIR",
        )
    };
    let searched = service.search.as_ref().ok_or_else(missing)?;
    let index = searched.index()?;
    let request = Request {
        query: &parameters.q,
        offset,
        limit,
        policy: parameters.collapse.unwrap_or(true).then_some(&searched.policy),
        rank: parameters.rank,
        hide_marked: parameters.hide_marked.unwrap_or(false),
        scores: None,
    };
    let failed =
        |error: &dyn std::error::Error| ApiError::internal(format!("search: {}", described(error)));
    let listing = collapse(&*index, &request).map_err(|error| failed(&error))?;
    let end = offset + listing.hits.len();
    let more = listing.hits.len() == limit && end <= FURTHEST;
    let mut answer = serde_json::to_value(ListingRecord::of(&parameters.q, &listing))
        .map_err(|error| failed(&error))?;
    answer["next"] = more.then(|| end.to_string()).into();
    Ok(answer)
}
