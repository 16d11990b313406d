//! `POST /v1/fetch`: an address in; the service fetches, extracts and records it.
//!
//! Redirects on the way become facts of their own when the page is recorded.

use super::Sent;
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

/// Of the pages fetched at once, so many are of one host; more are answered 503.
const PER_HOST: usize = 4;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchInput {
    url: String,
    /// Record the page, or only say what would be said?
    #[serde(default = "yes")]
    record: bool,
    /// Send the page's text along?
    #[serde(default)]
    text: bool,
}

const fn yes() -> bool {
    true
}

/// The verdict, and the way to the page.
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
    Sent(FetchInput { url, record, text: wanted }): Sent<FetchInput>,
) -> Result<Json<FetchedVerdict>, ApiError> {
    good_address("url", &url)?;
    service.fetcher()?;
    let turn = service.fetches.take().await;
    // Mostly waiting: it takes no place among those who work. The turn ends with the fetching, not
    // with the client's patience.
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
