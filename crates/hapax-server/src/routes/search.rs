//! Searches an index and folds near-duplicates under the best of them.
//!
//! The index is a folder made by `hapax search build`, which others may change while the service runs: it is
//! reopened after a commit, and a request under way finishes on the state it began with. Does not rank results or
//! choose the shown copy.

use super::{Asked, rows};
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

/// The longest query, in bytes.
const LONGEST: usize = 1000;
/// How far one may page.
const FURTHEST: usize = 10_000;
/// Hits of an answer, unless asked otherwise.
const HITS: usize = 10;

/// An index that can be asked.
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
    /// What the settings name; `None` when they name nothing.
    ///
    /// # Errors
    ///
    /// The index or the policy cannot be used.
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

    /// The index as it is now.
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
        // Before, so that a commit in between is seen next time.
        let committed = committed(folder);
        Ok(Self { index: Arc::new(TantivyIndex::open(folder)?), committed })
    }
}

/// When the last commit was made.
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
    /// As people type it.
    q: String,
    /// Fold near-duplicates; on unless asked otherwise.
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
    Asked(asked): Asked<Parameters>,
) -> Result<Json<serde_json::Value>, ApiError> {
    if asked.q.len() > LONGEST {
        return Err(ApiError::invalid(format!("q has at most {LONGEST} bytes")));
    }
    if asked.rank == Some(0) {
        return Err(ApiError::invalid("rank must be at least 1"));
    }
    let limit = rows(&service, Some(asked.limit.unwrap_or(HITS)))?;
    let offset = match asked.after.as_deref().map(str::parse::<usize>) {
        None => 0,
        Some(Ok(offset)) if offset <= FURTHEST => offset,
        Some(_) => {
            return Err(ApiError::invalid("after must be what an answer gave as next"));
        }
    };
    service.work(move |service| answer(service, &asked, offset, limit)).await.map(Json)
}

fn answer(
    service: &Service,
    asked: &Parameters,
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
        query: &asked.q,
        offset,
        limit,
        policy: asked.collapse.unwrap_or(true).then_some(&searched.policy),
        rank: asked.rank,
        hide_marked: asked.hide_marked.unwrap_or(false),
        scores: None,
    };
    let failed =
        |error: &dyn std::error::Error| ApiError::internal(format!("search: {}", described(error)));
    let listing = collapse(&*index, &request).map_err(|error| failed(&error))?;
    let end = offset + listing.hits.len();
    let more = listing.hits.len() == limit && end <= FURTHEST;
    let mut answer = serde_json::to_value(ListingRecord::of(&asked.q, &listing))
        .map_err(|error| failed(&error))?;
    answer["next"] = more.then(|| end.to_string()).into();
    Ok(answer)
}
