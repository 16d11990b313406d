//! Events in order: read, waited for, or followed as a stream.
//!
//! Events are numbered without gaps, so a client that asks for those after the last one it has seen misses
//! nothing. While a standby follows, an event is shown once the standby has it. A group's history is read
//! newest first.

use super::backup::{must_be_common, must_follow};
use super::{PathParameter, QueryParameters, rows};
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
use hapax_store::Role;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

/// Maximum time in seconds that a client may wait for the next event.
const LONGEST_WAIT: u64 = 60;
/// Interval of heartbeats on a stream without events.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events read at a time for a stream, and bytes beyond which none is added; a follower that does
/// not read holds a few such pieces.
const AT_ONCE: usize = 100;
const PIECE: usize = 32 << 10;

/// The epoch in which the events were numbered.
const EPOCH: HeaderName = HeaderName::from_static("hapax-epoch");

/// Number of events of any group that are examined for one part of a group's history.
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

/// `GET /v1/groups/{id}/events`: newest first, so the next part is older.
pub async fn of_group(
    State(service): State<Arc<Service>>,
    PathParameter(id): PathParameter<u32>,
    QueryParameters(parameters): QueryParameters<HistoryParameters>,
) -> Result<Json<Rows<Event>>, ApiError> {
    let limit = rows(&service, parameters.limit)?;
    let work = move |service: &Service| {
        let (store, group) = (&service.repository, GroupId(id));
        let found = store.group_history(group, parameters.after, limit, LOOKED_AT)?;
        let nothing =
            found.events.is_empty() && found.before.is_none() && parameters.after.is_none();
        if nothing && store.group_numbered(group)?.is_none() {
            return Err(ApiError::new(Code::NotFound, "there is no group of this number"));
        }
        let rows = found.events.into_iter().map(Event::from).collect();
        Ok(Rows { rows, next: found.before.map(|before| before.to_string()) })
    };
    service.list(limit, work).await.map(Json)
}

async fn read(service: &Arc<Service>, after: u64, limit: usize) -> Result<Vec<Event>, ApiError> {
    let work = move |service: &Service| {
        let shown = service.standbys.confirmed().unwrap_or(u64::MAX);
        let events = service.repository.events(after, limit)?.into_iter();
        Ok(events.take_while(|event| event.sequence <= shown).map(Event::from).collect())
    };
    service.list(limit, work).await
}

/// `GET /v1/events`
pub async fn events(
    State(service): State<Arc<Service>>,
    QueryParameters(parameters): QueryParameters<EventParameters>,
) -> Result<impl IntoResponse, ApiError> {
    let limit = rows(&service, parameters.limit)?;
    let epoch = epoch(&service, &parameters, parameters.after).await?;
    let until = Instant::now() + Duration::from_secs(parameters.wait.min(LONGEST_WAIT));
    // Subscribed before reading, so that no commit in between is missed.
    let mut changed = service.changed.subscribe();
    loop {
        let rows = read(&service, parameters.after, limit).await?;
        let waited = !rows.is_empty() || service.is_stopping() || parameters.wait == 0;
        if waited || timeout_at(until, changed.changed()).await.is_err() {
            let last = rows.last().map_or(parameters.after, |event: &Event| event.sequence);
            return Ok((epoch, Json(Rows { rows, next: Some(last.to_string()) })));
        }
    }
}

/// The current epoch, for followers that may continue at another copy; refuses a follower from a
/// copy with other events, and one that does not say from which copy its events are.
async fn epoch(
    service: &Arc<Service>,
    parameters: &EventParameters,
    after: u64,
) -> Result<AppendHeaders<Option<(HeaderName, String)>>, ApiError> {
    let known = parameters.epoch.clone();
    let work = move |service: &Service| {
        let present = service.repository.position(None)?;
        if after > present.event && service.repository.role() == Role::Primary {
            let message = format!(
                "event {after} is not in this repository, whose last is {}; it went back, or is \
                 another: read the groups again",
                present.event
            );
            return Err(ApiError::new(Code::OtherHistory, message));
        }
        match &known {
            Some(epoch) => must_follow(service, epoch, after)?,
            None => must_be_common(service, after)?,
        }
        Ok(present.epoch)
    };
    let present = service.work(work).await?;
    Ok(AppendHeaders((present != 0).then(|| (EPOCH, format!("{present:016x}")))))
}

/// `GET /v1/events/stream`
pub async fn stream(
    State(service): State<Arc<Service>>,
    QueryParameters(parameters): QueryParameters<EventParameters>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    // A reconnecting browser sends the last event it saw.
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let after = last.unwrap_or(parameters.after);
    let epoch = epoch(&service, &parameters, after).await?;
    let (send, body) = mpsc::channel(1);
    tokio::spawn(working_for(turns::caller(), follow(service, after, send)));
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
