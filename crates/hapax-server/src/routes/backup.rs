//! `POST /v1/backup`: what a copy lacks of the repository, while it is in use; `POST /v1/promote`: makes a
//! standby the primary.
//!
//! The answer is an increment of one commit with a checksum at its end, so that a truncated one is never taken
//! for complete. It contains the repository's key, so it needs write permission. One full copy is made at a
//! time; increments do not wait for it.

use super::QueryParameters;
use crate::error::{ApiError, Code};
use crate::middleware::{body_of, discard};
use crate::state::Service;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use hapax_client::wire::Promoted;
use hapax_store::{Position, StoreError};
use serde::Deserialize;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Bytes sent at a time.
const PIECE: usize = 256 << 10;
/// Maximum time in seconds that a standby may wait for the next commit.
const LONGEST_WAIT: u64 = 60;
/// The position of the copy after applying the answer.
const POSITION: HeaderName = HeaderName::from_static("hapax-position");

#[derive(Debug, Deserialize)]
pub struct BackupParameters {
    after: Option<String>,
    #[serde(default)]
    wait: u64,
    standby: Option<String>,
}

/// `POST /v1/backup`
pub async fn backup(
    State(service): State<Arc<Service>>,
    QueryParameters(parameters): QueryParameters<BackupParameters>,
    request: Request,
) -> Result<Response, ApiError> {
    // Read completely, because unread bytes would truncate the answer.
    discard(request.into_body()).await;
    let after: Option<Position> = match &parameters.after {
        Some(text) => {
            Some(text.parse().map_err(|error| ApiError::invalid(format!("after: {error}")))?)
        }
        None => None,
    };
    let turns = if after.is_some() { &service.increments } else { &service.backups };
    let turn = turns.clone().try_acquire_owned().map_err(|_| ApiError::overloaded())?;
    if let Some(name) = parameters.standby {
        // The position must belong to this history before it counts. A standby without data gets at
        // least the current commit.
        let work = move |service: &Service| {
            service.repository.is_followed_by(after.as_ref())?;
            let present = service.repository.position(None)?;
            service.standbys.heard(&name, after.unwrap_or(present).event);
            Ok(())
        };
        service.work(work).await?;
        service.changed.send_modify(|commits| *commits += 1);
    }
    if let Some(after) = after {
        let until = Instant::now() + Duration::from_secs(parameters.wait.min(LONGEST_WAIT));
        let mut changed = service.changed.subscribe();
        while service.repository.reader().commit() <= after.commit
            && !service.is_stopping()
            && timeout_at(until, changed.changed()).await.is_ok()
        {}
    }
    let made = service.work(move |service| {
        Ok(service.repository.increment(after.as_ref(), service.texts.as_ref())?)
    });
    let increment = made.await?;
    let position = increment.header().to.to_string();
    let (send, body) = mpsc::channel(2);
    tokio::task::spawn_blocking(move || {
        let _held = turn;
        let mut pieces = Pieces { send, piece: Vec::with_capacity(PIECE) };
        match increment.write(&mut pieces) {
            Ok(_) => {}
            // The client disconnected.
            Err(StoreError::Copy { .. }) => {}
            Err(error) => tracing::error!("a copy was not finished: {error}"),
        }
    });
    let mut response = Response::new(body_of(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if let Ok(position) = HeaderValue::try_from(position) {
        headers.insert(POSITION, position);
    }
    Ok(response)
}

/// Sends full pieces.
struct Pieces {
    send: mpsc::Sender<Bytes>,
    piece: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        if piece.is_empty() {
            return Ok(());
        }
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.send.blocking_send(piece.into()).map_err(gone)
    }
}

/// `POST /v1/promote`
pub async fn promote(State(service): State<Arc<Service>>) -> Result<Json<Promoted>, ApiError> {
    let work = |service: &Service| {
        let behind = service.behind();
        if let Some(following) = &service.following {
            following.end();
        }
        let position = service.repository.promote()?;
        tracing::warn!("this service is the primary from commit {} on", position.commit);
        Ok(Promoted {
            role: service.repository.role().name().to_owned(),
            epoch: format!("{:016x}", position.epoch),
            commit: position.commit,
            event: position.event,
            behind_seconds: behind.map(|behind| behind.as_secs_f64()),
        })
    };
    service.work(work).await.map(Json)
}

/// Refuses a follower that has seen events which are not part of this history.
///
/// # Errors
///
/// [`Code::OtherHistory`], with the last event in common.
pub(super) fn must_follow(service: &Service, epoch: &str, event: u64) -> Result<(), ApiError> {
    let epoch = u64::from_str_radix(epoch, 16)
        .map_err(|_| ApiError::invalid("epoch: it is the value of the header Hapax-Epoch"))?;
    service.repository.lineage()?.follows(epoch, event).map_err(|last| {
        let message = match last {
            Some(last) => format!(
                "events after {last} of that epoch were lost when another copy became the primary; go on after {last}"
            ),
            None => "these are events of another repository; read the groups again".to_owned(),
        };
        ApiError::new(Code::OtherHistory, message)
    })
}

/// Refuses a follower that does not say from which epoch its events are, if the history changed
/// before the last of them.
///
/// # Errors
///
/// [`Code::OtherHistory`], with the last event that is the same in all histories.
pub(super) fn must_be_common(service: &Service, event: u64) -> Result<(), ApiError> {
    match service.repository.lineage()?.common_event() {
        Some(common) if event > common => {
            let message = format!(
                "the history changed after event {common}; send `epoch` (`hapax events --epoch`), the \
                 header Hapax-Epoch of the answer with event {event}, or go on after {common}"
            );
            Err(ApiError::new(Code::OtherHistory, message))
        }
        Some(_) | None => Ok(()),
    }
}
