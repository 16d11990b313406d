//! `POST /v1/fetch`: fetches an address, extracts and records the page.
//!
//! Redirects on the way are recorded separately when the page is recorded.

use super::JsonBody;
use super::pages::with_nearest;
use crate::error::ApiError;
use crate::state::Service;
use axum::Json;
use axum::extract::State;
use hapax::fingerprint::Fingerprinter;
use hapax_client::prepare::{self, good_address};
use hapax_client::wire::Verdict;
use hapax_store::Action;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Maximum number of concurrent fetches per host; further ones are answered with 503.
const PER_HOST: usize = 4;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchInput {
    url: String,
    /// Whether to record the page, or only check it.
    #[serde(default = "yes")]
    record: bool,
    /// Whether to include the page's text in the answer.
    #[serde(default)]
    text: bool,
}

const fn yes() -> bool {
    true
}

/// The verdict, and the redirects on the way to the page.
#[derive(Debug, Serialize)]
pub struct FetchedVerdict {
    #[serde(flatten)]
    verdict: Verdict,
    redirects: Vec<Hop>,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Debug, Serialize)]
struct Hop {
    from: String,
    to: String,
}

pub async fn fetch(
    State(service): State<Arc<Service>>,
    JsonBody(FetchInput { url, record, text: wanted }): JsonBody<FetchInput>,
) -> Result<Json<FetchedVerdict>, ApiError> {
    good_address("url", &url)?;
    service.fetcher()?;
    let turn = service.fetches.take().await;
    // Mostly waiting, so it takes no place for work. The turn lasts until the fetch has ended, even
    // if the client disconnects.
    let fetching = service.clone();
    let fetched = tokio::task::spawn_blocking(move || {
        let _held = turn;
        Ok::<_, ApiError>(fetching.fetcher()?.fetch_among(&url, PER_HOST)?)
    });
    let fetched = fetched
        .await
        .map_err(|panic| ApiError::internal(format!("fetching failed: {panic}")))??;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (page, hops) = (fetched.url.clone(), fetched.redirects.clone());
    let bytes = fetched.body.len();
    let work = move |service: &Service| {
        let kind = fetched.content_type.as_deref();
        let read = |by: &mut Fingerprinter| prepare::fetched(by, &fetched.url, kind, &fetched.body);
        Ok(service.fingerprinting(bytes, read)?)
    };
    let (mut seen, text) = service.work_on(bytes, work).await?;
    seen.fetched = Some(now);
    let shown = wanted.then(|| text.clone());
    let redirects: Vec<Hop> =
        hops.iter().map(|(from, to)| Hop { from: from.clone(), to: to.clone() }).collect();
    let verdict = if record {
        let facts = hops.into_iter().filter(|(from, to)| from != to);
        let mut actions: Vec<Action> =
            facts.map(|(from, to)| Action::Redirect { from, to, fetched: Some(now) }).collect();
        actions.push(Action::Observe(Box::new(seen.clone())));
        let decisions = service.writer.accept(actions)?.answers().await?;
        let decision = decisions.last().ok_or_else(|| ApiError::internal("no decision came"))?;
        if let Some(texts) = &service.texts {
            texts.put(&page, text);
        }
        let verdict = service.verdict(page, decision, true)?;
        with_nearest(&service, seen, verdict).await?
    } else {
        let work = move |service: &Service| {
            let mut verdict = service.check(&seen)?;
            service.find_nearest(&seen, &mut verdict)?;
            Ok(verdict)
        };
        service.work(work).await?
    };
    Ok(Json(FetchedVerdict { verdict, redirects, bytes, text: shown }))
}
