//! `POST /v1/pages/batch`: any number of pages as lines, verdicts as lines, in order.
//!
//! Four stages run in parallel: read lines, prepare on all cores, commit, answer. A commit takes the lines that
//! arrived during the previous one, up to a limit, so a slow stream is answered line by line and a fast one in
//! large commits. Memory is a few chunks, however long the stream. A bad line is answered with its error and
//! the others continue; blank lines are skipped. Every answer has its line's number, from 1.

use super::{must_be, read_json};
use crate::bodies::Held;
use crate::error::{ApiError, Code, Wire};
use crate::middleware::body_of;
use crate::server::GRACE_TIME_AT_STOP;
use crate::state::Service;
use crate::turns::{self, working_for};
use crate::writer::Accepted;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::BytesMut;
use futures_util::StreamExt;
use futures_util::future::try_join_all;
use hapax_client::prepare::{self, Prepared};
use hapax_client::wire::{PageInput, Verdict};
use serde::Serialize;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Lines and bytes of a chunk, beyond which nothing is added.
const CHUNK_LINES: usize = 4096;
const CHUNK_BYTES: usize = 4 << 20;
/// Minimum number of lines per thread.
const PIECE: usize = 64;

/// A line with its number: its bytes, or an error.
type Line = (u64, Result<Bytes, ApiError>);

#[derive(Serialize)]
struct Answer<'a> {
    line: u64,
    #[serde(flatten)]
    outcome: Outcome<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcome<'a> {
    Done(Box<Verdict>),
    Failed { error: Wire<'a> },
}

pub async fn batch(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response, ApiError> {
    must_be(
        request.headers(),
        &["application/x-ndjson", "application/jsonl", "application/jsonlines"],
    )?;
    let (chunks, to_prepare) = mpsc::channel(1);
    let (prepared, to_answer) = mpsc::channel(1);
    let (answers, body) = mpsc::channel(2);
    let caller = turns::caller();
    tokio::spawn(read(service.clone(), request.into_body(), chunks));
    tokio::spawn(working_for(caller, prepare(service.clone(), to_prepare, prepared)));
    tokio::spawn(working_for(caller, answer(service, to_answer, answers)));
    let mut response = Response::new(body_of(body));
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// Splits a body into lines of limited length.
struct Lines {
    body: BodyDataStream,
    buffer: BytesMut,
    /// Bytes of the buffer that contain no line end.
    searched: usize,
    longest: usize,
    number: u64,
    /// Whether the rest of a too long line is being skipped.
    skipping: bool,
    ended: bool,
    /// Accounts for the bytes of the buffer.
    held: Held,
}

impl Lines {
    /// The next line that is not blank; `None` at the end.
    async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let end = self.searched + end;
                self.searched = 0;
                let line = self.buffer.split_to(end + 1).freeze().slice(..end);
                if let Some(line) = self.finish(line) {
                    return Some(line);
                }
                continue;
            }
            self.skipping |= self.buffer.len() > self.longest;
            if self.skipping {
                self.buffer.clear();
            }
            self.searched = self.buffer.len();
            if self.ended {
                let rest = self.buffer.split().freeze();
                self.searched = 0;
                return if rest.is_empty() && !self.skipping { None } else { self.finish(rest) };
            }
            match self.body.next().await {
                Some(Ok(bytes)) => {
                    self.buffer.extend_from_slice(&bytes);
                    if let Err(error) = self.held.set(self.buffer.len()) {
                        (self.ended, self.buffer) = (true, BytesMut::new());
                        return Some((self.number + 1, Err(error)));
                    }
                }
                // A disconnected client has sent all it will send.
                Some(Err(_)) | None => self.ended = true,
            }
        }
    }

    fn finish(&mut self, line: Bytes) -> Option<Line> {
        self.number += 1;
        if std::mem::take(&mut self.skipping) || line.len() > self.longest {
            let message = format!("a line has at most {} bytes", self.longest);
            return Some((self.number, Err(ApiError::new(Code::TooLarge, message))));
        }
        (!line.trim_ascii().is_empty()).then_some((self.number, Ok(line)))
    }
}

/// Lines in progress, and the bytes they hold.
struct Chunk {
    lines: Vec<Line>,
    held: Held,
}

async fn read(service: Arc<Service>, body: Body, chunks: mpsc::Sender<Chunk>) {
    let limits = &service.config.limits;
    let mut lines = Lines {
        body: body.into_data_stream(),
        buffer: BytesMut::new(),
        searched: 0,
        longest: limits.body_bytes,
        number: 0,
        skipping: false,
        ended: false,
        held: service.bodies.hold(),
    };
    let mut chunk: Vec<Line> = Vec::new();
    let mut held = service.bodies.hold();
    loop {
        let full = chunk.len() >= CHUNK_LINES || held.bytes() >= CHUNK_BYTES;
        // Take lines that are available before passing the chunk on, but do not wait for more.
        let line = tokio::select! {
            biased;
            line = lines.next(), if !full => Ok(line),
            () = too_long(&service), if !full && chunk.is_empty() => Err(()),
            room = chunks.reserve(), if !chunk.is_empty() => {
                let Ok(room) = room else { return };
                let held = std::mem::replace(&mut held, service.bodies.hold());
                room.send(Chunk { lines: std::mem::take(&mut chunk), held });
                continue;
            }
        };
        match line {
            Ok(Some(line)) => {
                let more = held.set(held.bytes() + line_bytes(&line));
                let number = line.0;
                chunk.push(line);
                if let Err(error) = more {
                    chunk.push((number + 1, Err(error)));
                    break;
                }
            }
            Ok(None) => break,
            Err(()) => {
                let error = ApiError::new(Code::SlowBody, "no line arrived in time");
                chunk.push((lines.number + 1, Err(error)));
                break;
            }
        }
    }
    if !chunk.is_empty() {
        let _ = chunks.send(Chunk { lines: chunk, held }).await;
    }
}

/// Waits for the maximum silence of a client, which is shorter while the service stops.
async fn too_long(service: &Service) {
    let stopped = async {
        service.stopped().await;
        tokio::time::sleep(GRACE_TIME_AT_STOP).await;
    };
    tokio::select! {
        () = tokio::time::sleep(service.config.limits.idle_time()) => {}
        () = stopped => {}
    }
}

/// A line's number, and its page's address and text, or an error.
type Slot = (u64, Result<(String, Option<String>), ApiError>);

/// A chunk in progress: its lines, and the pending answers of those that are pages.
struct Waiting {
    slots: Vec<Slot>,
    accepted: Result<Accepted, ApiError>,
}

async fn prepare(
    service: Arc<Service>,
    mut chunks: mpsc::Receiver<Chunk>,
    ready: mpsc::Sender<Waiting>,
) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    while let Some(Chunk { mut lines, held }) = chunks.recv().await {
        let piece = lines.len().div_ceil(cores).max(PIECE);
        let mut pieces = Vec::new();
        while !lines.is_empty() {
            let rest = lines.split_off(lines.len().min(piece));
            let lines = std::mem::replace(&mut lines, rest);
            let bytes = lines.iter().map(line_bytes).max().unwrap_or(0);
            let work = move |service: &Service| Ok(prepare_piece(service, bytes, lines));
            pieces.push(service.work_on(bytes, work));
        }
        let Ok(pieces) = try_join_all(pieces).await.inspect_err(ApiError::log) else { return };
        drop(held);
        let (mut slots, mut actions) = (Vec::new(), Vec::new());
        for (number, line) in pieces.into_iter().flatten() {
            let slot = line.map(|Prepared { url, action, text }| {
                actions.push(action);
                (url, text)
            });
            slots.push((number, slot));
        }
        let accepted = service.writer.accept_later(actions).await;
        if ready.send(Waiting { slots, accepted }).await.is_err() {
            // The client is gone; accepted pages are written all the same.
            return;
        }
    }
}

fn line_bytes((_, line): &Line) -> usize {
    line.as_ref().map_or(0, Bytes::len)
}

/// `longest` is the size of the longest line in bytes.
fn prepare_piece(
    service: &Service,
    bytes: usize,
    lines: Vec<Line>,
) -> Vec<(u64, Result<Prepared, ApiError>)> {
    service.fingerprinting(bytes, |by| {
        let each = lines.into_iter().map(|(number, line)| {
            let prepared = line.and_then(|line| {
                let input: PageInput = read_json(&line)?;
                Ok(prepare::prepare(by, input)?)
            });
            (number, prepared)
        });
        each.collect()
    })
}

async fn answer(
    service: Arc<Service>,
    mut waiting: mpsc::Receiver<Waiting>,
    body: mpsc::Sender<Bytes>,
) {
    while let Some(Waiting { slots, accepted }) = waiting.recv().await {
        let decisions = match accepted {
            Ok(accepted) => accepted.answers().await,
            Err(error) => Err(error),
        };
        let written =
            service.work(move |service| Ok(write_answers(service, slots, decisions))).await;
        let Ok(bytes) = written.inspect_err(ApiError::log) else { return };
        let sent = tokio::time::timeout(service.config.limits.idle_time(), body.send(bytes)).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

fn write_answers(
    service: &Service,
    slots: Vec<Slot>,
    decisions: Result<Vec<hapax_store::Decision>, ApiError>,
) -> Bytes {
    let mut out = Vec::new();
    let failed = decisions.as_ref().err();
    if let Some(error) = failed {
        error.log();
    }
    let mut decisions = decisions.as_ref().map(|list| list.iter()).unwrap_or_default();
    for (line, slot) in slots {
        let judged = slot.and_then(|(url, text)| match (decisions.next(), failed) {
            (Some(decision), _) => {
                if let (Some(texts), Some(text)) = (&service.texts, text) {
                    texts.put(&url, text);
                }
                service.verdict(url, decision, true)
            }
            (None, Some(error)) => Err(ApiError::new(error.code, error.message.clone())),
            (None, None) => Err(ApiError::internal("no decision came")),
        });
        let outcome = match &judged {
            Ok(verdict) => Outcome::Done(Box::new(verdict.clone())),
            Err(error) => Outcome::Failed { error: error.wire() },
        };
        // Serialization cannot fail.
        if serde_json::to_writer(&mut out, &Answer { line, outcome }).is_ok() {
            out.push(b'\n');
        }
    }
    out.into()
}
