//! Changes in their order: read, waited for, or followed as a stream.
//!
//! Whoever has seen everything up to a number asks for what comes after it, and misses nothing:
//! events are numbered without a gap. While a standby follows, an event is shown when the standby has it. A group's history
//! is read the other way, newest first.

use super::backup::must_follow;
use super::{Asked, Named, rows};
use crate::error::{ApiError, Code};
use crate::middleware::body_of;
use crate::state::Service;
use crate::turns::{self, working_for};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use hapax::group::live::GroupId;
use hapax_client::wire::{Event, Rows};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

/// The longest a client may wait for the next event.
const LONGEST_WAIT: u64 = 60;
/// A stream without events says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events read at once for a stream, and bytes of them beyond which no further one is added: a follower that does not
/// read holds a few such pieces.
const AT_ONCE: usize = 100;
const PIECE: usize = 32 << 10;

/// Which primary numbered the events.
const EPOCH: HeaderName = HeaderName::from_static("hapax-epoch");

/// Changes of whatever group that are looked at for one piece of a group's history.
const LOOKED_AT: usize = 200_000;

#[derive(Debug, Deserialize)]
pub struct EventParameters {
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
    #[serde(default)]
    wait: u64,
    epoch: Option<String>,
}

/// Which part of a group's history.
#[derive(Debug, Deserialize)]
pub struct HistoryParameters {
    after: Option<u64>,
    limit: Option<usize>,
}

/// `GET /v1/groups/{id}/events`: newest first, so the next piece is older.
pub async fn of_group(
    State(service): State<Arc<Service>>,
    Named(id): Named<u32>,
    Asked(asked): Asked<HistoryParameters>,
) -> Result<Json<Rows<Event>>, ApiError> {
    let limit = rows(&service, asked.limit)?;
    let work = move |service: &Service| {
        let (store, group) = (&service.repository, GroupId(id));
        let found = store.group_history(group, asked.after, limit, LOOKED_AT)?;
        let nothing = found.events.is_empty() && found.before.is_none() && asked.after.is_none();
        if nothing && store.group_numbered(group)?.is_none() {
            return Err(ApiError::new(Code::NotFound, "there is no group of this number"));
        }
        let rows = found.events.into_iter().map(Event::from).collect();
        Ok(Rows { rows, next: found.before.map(|before| before.to_string()) })
    };
    service.work(work).await.map(Json)
}

async fn read(service: &Arc<Service>, after: u64, limit: usize) -> Result<Vec<Event>, ApiError> {
    let work = move |service: &Service| {
        let shown = service.standbys.confirmed().unwrap_or(u64::MAX);
        let events = service.repository.events(after, limit)?.into_iter();
        Ok(events.take_while(|event| event.sequence <= shown).map(Event::from).collect())
    };
    service.work(work).await
}

/// `GET /v1/events`
pub async fn events(
    State(service): State<Arc<Service>>,
    Asked(asked): Asked<EventParameters>,
) -> Result<impl IntoResponse, ApiError> {
    let limit = rows(&service, asked.limit)?;
    let epoch = epoch(&service, &asked, asked.after).await?;
    let until = Instant::now() + Duration::from_secs(asked.wait.min(LONGEST_WAIT));
    // Before reading, so that no commit comes unnoticed in between.
    let mut changed = service.changed.subscribe();
    loop {
        let rows = read(&service, asked.after, limit).await?;
        let waited = !rows.is_empty() || service.is_stopping() || asked.wait == 0;
        if waited || timeout_at(until, changed.changed()).await.is_err() {
            let last = rows.last().map_or(asked.after, |event: &Event| event.sequence);
            return Ok((epoch, Json(Rows { rows, next: Some(last.to_string()) })));
        }
    }
}

/// The present epoch, for whoever may go on at another copy; refuses whoever comes from one with other events.
async fn epoch(
    service: &Arc<Service>,
    asked: &EventParameters,
    after: u64,
) -> Result<AppendHeaders<Option<(HeaderName, String)>>, ApiError> {
    let known = asked.epoch.clone();
    let work = move |service: &Service| {
        if let Some(epoch) = &known {
            must_follow(service, epoch, after)?;
        }
        Ok(service.repository.position(None)?.epoch)
    };
    let present = service.work(work).await?;
    Ok(AppendHeaders((present != 0).then(|| (EPOCH, format!("{present:016x}")))))
}

/// `GET /v1/events/stream`
pub async fn stream(
    State(service): State<Arc<Service>>,
    Asked(asked): Asked<EventParameters>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    // A browser that lost its connection says what it saw last.
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let after = last.unwrap_or(asked.after);
    let epoch = epoch(&service, &asked, after).await?;
    let (send, body) = mpsc::channel(1);
    tokio::spawn(working_for(turns::asker(), follow(service, after, send)));
    let mut response = Response::new(body_of(body));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok((epoch, response).into_response())
}

async fn follow(service: Arc<Service>, mut after: u64, body: mpsc::Sender<Bytes>) {
    let mut changed = service.changed.subscribe();
    let idle = service.config.limits.idle_time();
    loop {
        let Ok(events) = read(&service, after, AT_ONCE).await.inspect_err(ApiError::log) else {
            return;
        };
        let mut text = String::new();
        for event in events {
            let Ok(data) = serde_json::to_string(&event) else { return };
            text += &format!("id: {}\nevent: {}\ndata: {data}\n\n", event.sequence, event.change);
            after = event.sequence;
            if text.len() >= PIECE {
                break;
            }
        }
        if text.is_empty() {
            let woken = timeout(HEARTBEAT, changed.changed()).await;
            if service.is_stopping() {
                return;
            }
            if woken.is_ok() {
                continue;
            }
            text.push_str(": nothing new\n\n");
        }
        if !matches!(timeout(idle, body.send(text.into())).await, Ok(Ok(()))) {
            return;
        }
    }
}
