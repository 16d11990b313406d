//! Pages: observe, check, look up, change, delete.
//!
//! A write is answered after its commit is on disk. A check reads the last commit and records nothing. Slow
//! work is done on worker threads, see [`Service::work`].

use super::{Answer, JsonBody, PathParameter, QueryParameters, rows};
use crate::error::{ApiError, Code};
use crate::state::Service;
use axum::Json;
use axum::extract::State;
use hapax_client::prepare::{self, Prepared, good_address, good_redirect};
use hapax_client::wire::{Changed, Forgotten, Page, PageInput, Rows, Verdict};
use hapax_client::{local, moment};
use hapax_store::{Action, Effect, Observation};
use serde::Deserialize;
use std::sync::Arc;

type Shared = State<Arc<Service>>;

/// Pages with less text than this are prepared in place.
const SHORT: usize = 1024;

/// Prepares a page: in place if that takes microseconds, otherwise on a worker thread.
async fn prepared(service: &Arc<Service>, input: PageInput) -> Result<Prepared, ApiError> {
    let bytes = size(&input);
    let work = move |service: &Service| {
        Ok(service.fingerprinting(bytes, |by| prepare::prepare(by, input))?)
    };
    if bytes <= SHORT {
        return work(service);
    }
    service.work_on(bytes, work).await
}

fn size(input: &PageInput) -> usize {
    [&input.html, &input.text].into_iter().flatten().map(String::len).sum()
}

/// Options for the content of a verdict.
#[derive(Debug, Deserialize)]
pub struct VerdictParameters {
    /// Whether to search the nearest known page for one without a match: compares it with all
    /// pages, which takes longer the more there are.
    #[serde(default = "yes")]
    nearest: bool,
}

const fn yes() -> bool {
    true
}

/// `POST /v1/pages`
pub async fn observe(
    State(service): Shared,
    QueryParameters(wanted): QueryParameters<VerdictParameters>,
    JsonBody(input): JsonBody<PageInput>,
) -> Result<Json<Verdict>, ApiError> {
    let Prepared { url, action, text } = prepared(&service, input).await?;
    record(&service, url, action, text, wanted.nearest).await.map(Json)
}

/// Records one page and returns its verdict.
pub(super) async fn record(
    service: &Arc<Service>,
    url: String,
    action: Action,
    text: Option<String>,
    nearest: bool,
) -> Result<Verdict, ApiError> {
    let seen = match &action {
        Action::Observe(page) if nearest => Some(page.clone()),
        Action::Observe(_)
        | Action::Redirect { .. }
        | Action::Forget { .. }
        | Action::Score { .. } => None,
    };
    let decisions = service.writer.accept(vec![action])?.answers().await?;
    let decision = decisions.first().ok_or_else(|| ApiError::internal("no decision came"))?;
    if let (Some(texts), Some(text)) = (&service.texts, text) {
        texts.put(&url, text);
    }
    let verdict = service.verdict(url, decision, true)?;
    match seen {
        Some(page) => with_nearest(service, *page, verdict).await,
        None => Ok(verdict),
    }
}

/// Adds the nearest known page, which is searched on a worker thread.
pub(super) async fn with_nearest(
    service: &Arc<Service>,
    page: Observation,
    mut verdict: Verdict,
) -> Result<Verdict, ApiError> {
    if verdict.nearest.is_some() || page.comparable.is_none() {
        return Ok(verdict);
    }
    let work = move |service: &Service| {
        service.find_nearest(&page, &mut verdict)?;
        Ok(verdict)
    };
    service.work(work).await
}

/// `POST /v1/check`
pub async fn check(
    State(service): Shared,
    QueryParameters(wanted): QueryParameters<VerdictParameters>,
    JsonBody(input): JsonBody<PageInput>,
) -> Result<Answer<Verdict>, ApiError> {
    let page = |prepared: Prepared| match prepared.action {
        Action::Observe(page) => Ok(*page),
        Action::Redirect { .. } | Action::Forget { .. } | Action::Score { .. } => {
            Err(ApiError::invalid("a redirect can be recorded, but there is nothing to check"))
        }
    };
    if input.signature.is_some() {
        // Takes microseconds in memory, without waiting.
        let page = page(prepared(&service, input).await?)?;
        let verdict = service.check(&page)?;
        return match wanted.nearest {
            true => with_nearest(&service, page, verdict).await.map(Answer),
            false => Ok(Answer(verdict)),
        };
    }
    let bytes = size(&input);
    let work = move |service: &Service| {
        let page = page(service.fingerprinting(bytes, |by| prepare::prepare(by, input))?)?;
        let mut verdict = service.check(&page)?;
        if wanted.nearest {
            service.find_nearest(&page, &mut verdict)?;
        }
        Ok(verdict)
    };
    service.work_on(bytes, work).await.map(Answer)
}

#[derive(Debug, Deserialize)]
pub struct ListParameters {
    #[serde(default)]
    prefix: String,
    after: Option<String>,
    limit: Option<usize>,
}

/// `GET /v1/pages`
pub async fn list(
    State(service): Shared,
    QueryParameters(parameters): QueryParameters<ListParameters>,
) -> Result<Json<Rows<Page>>, ApiError> {
    let limit = rows(&service, parameters.limit)?;
    let work = move |service: &Service| {
        let store = &service.repository;
        let found = store.pages_from(&parameters.prefix, parameters.after.as_deref(), limit)?;
        let next = (found.len() == limit).then(|| found.last().map(|(_, url)| url.clone()));
        let mut rows = Vec::with_capacity(found.len());
        for (id, url) in found {
            // A page may be deleted between the two queries.
            if let Some(info) = store.page(&url)? {
                rows.push(Page::new(info, store.group_of(id)?.map(|group| group.0)));
            }
        }
        Ok(Rows { rows, next: next.flatten() })
    };
    service.list(limit, work).await.map(Json)
}

pub(super) fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "no page with this address is known")
}

/// `DELETE /v1/pages/{url}`
pub async fn forget(
    State(service): Shared,
    PathParameter(url): PathParameter<String>,
) -> Result<Json<Changed>, ApiError> {
    let work = move |service: &Service| {
        if let Some(texts) = &service.texts {
            texts.remove(&url);
        }
        match service.repository.forget(&url)? {
            true => Ok(Changed { pages: 1 }),
            false => Err(unknown()),
        }
    };
    changing(&service, work).await.map(Json)
}

/// Pages that were deleted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgetInput {
    urls: Vec<String>,
}

/// `POST /v1/forget`: all in one commit, or none.
pub async fn forget_many(
    State(service): Shared,
    JsonBody(ForgetInput { urls }): JsonBody<ForgetInput>,
) -> Result<Json<Forgotten>, ApiError> {
    let work = move |service: &Service| {
        let forget = |url: &String| Action::Forget { url: url.clone() };
        let effects = service.repository.apply(urls.iter().map(forget).collect())?;
        let mut done = Forgotten { pages: 0, unknown: Vec::new() };
        for (url, effect) in urls.into_iter().zip(effects) {
            match effect {
                Effect::Known(false) => done.unknown.push(url),
                Effect::Known(true) | Effect::Decided(_) => {
                    done.pages += 1;
                    if let Some(texts) = &service.texts {
                        texts.remove(&url);
                    }
                }
            }
        }
        Ok(done)
    };
    changing(&service, work).await.map(Json)
}

/// Runs a write, and wakes open event streams.
pub(super) async fn changing<T: Send + 'static>(
    service: &Arc<Service>,
    work: impl FnOnce(&Service) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    if service.is_stopping() {
        return Err(ApiError::new(Code::Stopping, "the service is shutting down"));
    }
    let done = service.work(work).await;
    service.changed.send_modify(|commits| *commits += 1);
    done
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreInput {
    score: Option<f64>,
}

/// `PUT /v1/pages/{url}/score`
pub async fn score(
    State(service): Shared,
    PathParameter(url): PathParameter<String>,
    JsonBody(ScoreInput { score }): JsonBody<ScoreInput>,
) -> Result<Json<Verdict>, ApiError> {
    let work = move |service: &Service| {
        local::score(&service.repository, &url, score)?.ok_or_else(unknown)
    };
    changing(&service, work).await.map(Json)
}

/// The target of a page's redirect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedirectInput {
    to: String,
    #[serde(default, deserialize_with = "moment::optional")]
    fetched: Option<u64>,
}

/// `PUT /v1/pages/{url}/redirect`
pub async fn redirect(
    State(service): Shared,
    PathParameter(from): PathParameter<String>,
    JsonBody(RedirectInput { to, fetched }): JsonBody<RedirectInput>,
) -> Result<Json<Verdict>, ApiError> {
    good_address("url", &from)?;
    good_redirect(&from, "to", &to)?;
    let action = Action::Redirect { from: from.clone(), to, fetched };
    record(&service, from, action, None, false).await.map(Json)
}

/// `POST /v1/recheck`
pub async fn recheck(State(service): Shared) -> Result<Json<Changed>, ApiError> {
    let work = |service: &Service| Ok(Changed { pages: service.repository.recheck()? });
    changing(&service, work).await.map(Json)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpireInput {
    #[serde(deserialize_with = "moment::required")]
    before: u64,
}

/// `POST /v1/expire`
pub async fn expire(
    State(service): Shared,
    JsonBody(ExpireInput { before }): JsonBody<ExpireInput>,
) -> Result<Json<Changed>, ApiError> {
    let work = move |service: &Service| Ok(Changed { pages: service.repository.expire(before)? });
    changing(&service, work).await.map(Json)
}
