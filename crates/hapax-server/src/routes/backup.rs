//! `POST /v1/backup`: what the repository has more than a copy, while it is used; `POST /v1/promote`: who may write.
//!
//! The answer is an increment, of one commit and with a checksum at its end, so that one that was cut is never taken for a
//! whole one. It holds the repository's key: only whoever may write gets it. One whole copy is made at a time; copies
//! of what has changed do not wait for it.

use super::Asked;
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

/// Bytes that are sent at once.
const PIECE: usize = 256 << 10;
/// The longest a standby may wait for the next commit.
const LONGEST_WAIT: u64 = 60;
/// Where the copy is then.
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
    Asked(asked): Asked<BackupParameters>,
    request: Request,
) -> Result<Response, ApiError> {
    // What is left unread when the answer ends would cut its last bytes off.
    discard(request.into_body()).await;
    let after: Option<Position> = match &asked.after {
        Some(text) => {
            Some(text.parse().map_err(|error| ApiError::invalid(format!("after: {error}")))?)
        }
        None => None,
    };
    let turns = if after.is_some() { &service.increments } else { &service.backups };
    let turn = turns.clone().try_acquire_owned().map_err(|_| ApiError::overloaded())?;
    if let Some(name) = asked.standby {
        // Its position must be of this history before it counts. One that has nothing yet gets at least what there is now.
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
        let until = Instant::now() + Duration::from_secs(asked.wait.min(LONGEST_WAIT));
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
            // Whoever asked has gone.
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

/// Sends pieces as they are full.
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

/// Refuses a follower of events who has seen some that this history does not have.
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
