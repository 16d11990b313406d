//! For operators: health, statistics, settings, and the description of the API.
//!
//! Health says that the process responds, readiness that the repository does. Statistics are those of the last
//! commit and of the counters since the start. Changes nothing.

use super::{OPENAPI, QueryParameters};
use crate::error::{ApiError, Code};
use crate::history::Sample;
use crate::metrics::Checked;
use crate::state::Service;
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use hapax::fingerprint::Weighting;
use hapax::page::Extent;
use hapax_client::moment;
use hapax_client::wire::StatsShown;
use hapax_store::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

type Shared = State<Arc<Service>>;

#[derive(Debug, Serialize)]
pub struct Alive {
    status: &'static str,
}

#[derive(Debug, Serialize)]
pub struct Ready {
    status: &'static str,
    /// `primary` takes writes; `standby` and `waiting` are read-only.
    role: &'static str,
}

/// `GET /healthz`
pub async fn healthz() -> Json<Alive> {
    Json(Alive { status: "alive" })
}

/// `GET /readyz`
pub async fn readyz(State(service): Shared) -> Result<Json<Ready>, ApiError> {
    if service.is_stopping() {
        return Err(ApiError::new(Code::Stopping, "the service is shutting down"));
    }
    service.work(|service| Ok(service.repository.ready()?)).await?;
    let following = service.following.as_ref();
    let standby = service.repository.role() == Role::Standby;
    if let Some(why) = following.filter(|_| standby).and_then(|it| it.parted()) {
        let message = format!("this standby cannot follow its source any more: {why}");
        return Err(ApiError::new(Code::OtherHistory, message));
    }
    Ok(Json(Ready { status: "ready", role: service.repository.role().name() }))
}

/// `GET /metrics`
pub async fn metrics(State(service): Shared) -> Result<impl IntoResponse, ApiError> {
    let work = |service: &Service| {
        let (stats, sizes) = (service.repository.stats()?, service.group_sizes()?);
        let memory = service.memory(&stats);
        Ok(service.metrics.text(&stats, &sizes, &service.copies(), &memory))
    };
    let text = service.work(work).await?;
    Ok((
        [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")],
        text,
    ))
}

/// `GET /openapi.json`
pub async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

/// The start of the requested samples.
#[derive(Debug, Deserialize)]
pub struct StatsParameters {
    #[serde(default, deserialize_with = "moment::optional")]
    since: Option<u64>,
}

/// Statistics of the repository and the service.
#[derive(Debug, Serialize)]
pub struct Statistics {
    #[serde(flatten)]
    stored: StatsShown,
    fsyncs: u64,
    index_segments: u64,
    uptime_seconds: u64,
    groups_by_doubling: Vec<u64>,
    checked: Checked,
    history: Vec<Sample>,
}

/// `GET /v1/stats`
pub async fn stats(
    State(service): Shared,
    QueryParameters(parameters): QueryParameters<StatsParameters>,
) -> Result<Json<Statistics>, ApiError> {
    let work = move |service: &Service| {
        let (stats, sizes) = (service.repository.stats()?, service.group_sizes()?);
        Ok(Statistics {
            fsyncs: stats.syncs,
            index_segments: stats.segments,
            stored: stats.into(),
            uptime_seconds: service.started.elapsed().as_secs(),
            groups_by_doubling: sizes.by_doubling.clone(),
            checked: service.metrics.checked_so_far(),
            history: service.history.since(parameters.since.unwrap_or(0)),
        })
    };
    service.work(work).await.map(Json)
}

/// The settings of the service and its repository.
#[derive(Debug, Serialize)]
pub struct Shown {
    version: &'static str,
    recipe: RecipeShown,
    within: u32,
    min_similarity: f64,
    rules: String,
    markets: BTreeMap<String, String>,
    scope: String,
    confirm: &'static str,
    frames: &'static str,
    repair_share: f64,
    texts_kept: bool,
    fetching: bool,
    tokens_needed: bool,
    search_index: bool,
    body_bytes: usize,
    rows: usize,
}

#[derive(Debug, Serialize)]
struct RecipeShown {
    id: String,
    extent: &'static str,
    shingle: usize,
    weighting: &'static str,
    stop_words: Option<String>,
    stemming: Option<String>,
    min_word_chars: u8,
    sketch_shingle: usize,
    min_features: u32,
}

/// `GET /v1/settings`
pub async fn settings(State(service): Shared) -> Json<Shown> {
    let (settings, recipe) = (service.repository.settings(), &service.recipe);
    Json(Shown {
        version: env!("CARGO_PKG_VERSION"),
        recipe: RecipeShown {
            id: service.recipe_id.to_string(),
            extent: match recipe.extent {
                Extent::Body => "whole body",
                Extent::Page => "title and body",
                Extent::MainContent => "main content",
            },
            shingle: recipe.shingle.words(),
            weighting: match recipe.weighting {
                Weighting::Presence => "presence",
                Weighting::Count => "count",
                Weighting::TfIdf => "tf-idf",
            },
            stop_words: recipe.stop_words.clone(),
            stemming: recipe.stemming.clone(),
            min_word_chars: recipe.min_word_chars,
            sketch_shingle: recipe.sketch_shingle.words(),
            min_features: recipe.min_features,
        },
        within: settings.policy.within.bits(),
        min_similarity: settings.policy.min_similarity.jaccard(),
        rules: settings.rules.to_string(),
        markets: settings.markets.iter().map(|(name, r)| (name.clone(), r.to_string())).collect(),
        scope: settings.scope.to_string(),
        confirm: settings.confirm.name(),
        frames: settings.frames.name(),
        repair_share: settings.groups.repair_share,
        texts_kept: service.texts.is_some(),
        fetching: service.fetcher.is_some(),
        tokens_needed: !service.access.is_open(),
        search_index: service.search.is_some(),
        body_bytes: service.config.limits.body_bytes,
        rows: service.config.limits.rows,
    })
}
