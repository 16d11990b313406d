//! Middleware of all requests and answers.
//!
//! Around everything ([`around`]): a request number, the rate limit, and security headers for browsers. Around
//! each route ([`guarded`]): permission, concurrency limit, timeout, metrics, and catching of panics.

use crate::access::Scope;
use crate::answers;
use crate::bodies;
use crate::connections::{Activity, Connection};
use crate::error::{ApiError, Code};
use crate::metrics::RouteMetrics;
use crate::state::Service;
use crate::turns::{Caller, caller, working_for};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Only content served with the page may run in it, and no other page may frame it.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";
/// Maximum bytes of a refused request to read, and the maximum time.
const DISCARDED: usize = 4 << 20;
const DISCARDING: Duration = Duration::from_secs(2);
/// How far behind a standby is: the age of the oldest write that may be missing.
const BEHIND: HeaderName = HeaderName::from_static("hapax-behind-seconds");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// The timeout of a route, and whether it counts towards the concurrency limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    /// Answered immediately, even under overload: health and metrics.
    Probe,
    /// Answered within the time limit of a request.
    Plain,
    /// As [`Plain`](Self::Plain), with an answer that may take milliseconds and megabytes.
    List,
    /// Lasts as long as the client likes; times out only without progress.
    Stream,
}

/// The checks of a route.
#[derive(Clone, Debug)]
pub struct Guard {
    pub service: Arc<Service>,
    pub scope: Scope,
    pub class: RequestClass,
    pub metrics: RouteMetrics,
}

pub async fn guarded(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let service = &guard.service;
    let start = Instant::now();
    let response = match enter(&guard, request, next).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    };
    service.metrics.answered(&guard.metrics, response.status().as_u16(), start.elapsed());
    response
}

async fn enter(guard: &Guard, request: Request, next: Next) -> Result<Response, ApiError> {
    let service = &guard.service;
    let peer = request.extensions().get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
    if let Err(refused) = service.access.allow(guard.scope, request.headers(), peer) {
        discard(request.into_body()).await;
        return Err(refused);
    }
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let follows = guard.class == RequestClass::Stream && request.method() == Method::GET;
    let mut held = service.bodies.hold();
    // A body that is still arriving must not hold a place for work.
    let request = match guard.class {
        RequestClass::Plain | RequestClass::List => {
            let (parts, body) = request.into_parts();
            let bytes = bodies::whole(body, &service.config.limits, &mut held).await?;
            Request::from_parts(parts, Body::from(bytes))
        }
        RequestClass::Probe | RequestClass::Stream => request,
    };
    let client = service.access.client(request.headers(), peer);
    let place = match guard.class {
        RequestClass::Probe => None,
        RequestClass::Plain | RequestClass::List | RequestClass::Stream => {
            service.shares.take(client, 1).map_err(|most| {
                let message = format!("you have {most} requests in progress; wait for answers");
                ApiError::new(Code::TooManyRequests, message)
            })?
        }
    };
    let permit = match guard.class {
        RequestClass::Probe => None,
        class if service.in_flight.available_permits() <= kept_from(class, service) => {
            return Err(ApiError::overloaded());
        }
        RequestClass::Plain | RequestClass::List | RequestClass::Stream => {
            let free = service.in_flight.clone().try_acquire_owned();
            Some(free.map_err(|_| ApiError::overloaded())?)
        }
    };
    let is_now = |doing| connection.iter().for_each(|connection| connection.is_now(doing));
    is_now(if follows { Activity::Streaming } else { Activity::Working });
    service.metrics.in_flight.inc();
    let answer = async {
        match guard.class {
            RequestClass::Probe => next.run(request).await,
            RequestClass::Plain | RequestClass::List | RequestClass::Stream => {
                let places = match guard.scope {
                    Scope::Open | Scope::Read => &service.reads,
                    Scope::Write => &service.writes,
                };
                places.begin(next.run(request)).await
            }
        }
    };
    let caller = Caller { client, ..caller() };
    let caught = AssertUnwindSafe(working_for(caller, answer)).catch_unwind();
    let done = match guard.class {
        RequestClass::Stream => Ok(caught.await),
        RequestClass::Probe | RequestClass::Plain | RequestClass::List => {
            tokio::time::timeout(service.config.limits.request_time(), caught).await
        }
    };
    service.metrics.in_flight.dec();
    if guard.class != RequestClass::Stream {
        is_now(Activity::Waiting);
    }
    let done = match done {
        Ok(Ok(response)) => Ok(Ok(answers::counted(service, client, response).await)),
        failed => failed,
    };
    match done {
        Ok(Ok(response)) if guard.class == RequestClass::Stream => Ok(response.map(|body| {
            // The place is held until the last byte was sent.
            let ends = Ends(connection);
            Body::new(body.map_frame(move |frame| {
                let _held = (&permit, &place, &ends);
                frame
            }))
        })),
        Ok(Ok(response)) => Ok(response),
        Ok(Err(_)) => Err(ApiError::internal("a request panicked")),
        Err(_) => {
            let seconds = service.config.limits.request_seconds;
            let message = format!("not done within {seconds} seconds; a write may still be done");
            Err(ApiError::new(Code::Timeout, message))
        }
    }
}

/// Marks a connection as waiting for its next request, on drop.
struct Ends(Option<Arc<Connection>>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.iter().for_each(|connection| connection.is_now(Activity::Waiting));
    }
}

/// Places that requests of a class may not take: streams last as long as their clients like, and many lists
/// would have short requests refused.
fn kept_from(class: RequestClass, service: &Service) -> usize {
    match class {
        RequestClass::Probe | RequestClass::Plain => 0,
        RequestClass::List => service.config.limits.requests / 2,
        RequestClass::Stream => service.config.limits.requests / 4,
    }
}

/// Reads the rest of a refused request, within limits: a client that is cut off while sending would
/// not read the error.
pub(crate) async fn discard(mut body: Body) {
    let read = async {
        let mut left = DISCARDED;
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARDING, read).await;
}

static LAST: AtomicU64 = AtomicU64::new(0);

/// Around everything, including unknown paths.
pub async fn around<F>(service: &Service, peer: IpAddr, mut request: Request, run: F) -> Response
where
    F: AsyncFnOnce(Request) -> Response,
{
    let start = Instant::now();
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    request.extensions_mut().insert(Peer(peer));
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let origin = request.headers().get(header::ORIGIN).cloned();
    let allowed = origin.filter(|origin| is_allowed(service, origin));
    let preflight = request.method() == Method::OPTIONS && allowed.is_some();
    let mut response = if preflight {
        StatusCode::NO_CONTENT.into_response()
    } else if service.rate.admits(peer, start) {
        working_for(Caller { client: None, request: number }, run(request)).await
    } else {
        ApiError::new(Code::TooManyRequests, "too many requests from your address").into_response()
    };
    let status = response.status();
    let micros = start.elapsed().as_micros() as u64;
    if status.is_server_error() {
        let status = status.as_u16();
        tracing::error!(target: "hapax::request", request = number, %peer, %method, path, status, micros, "failed");
    } else {
        let status = status.as_u16();
        tracing::debug!(target: "hapax::request", request = number, %peer, %method, path, status, micros, "answered");
    }
    let behind = service.behind();
    let headers = response.headers_mut();
    if let Some(behind) = behind
        && let Ok(seconds) = HeaderValue::try_from(format!("{:.3}", behind.as_secs_f64()))
    {
        headers.insert(BEHIND, seconds);
    }
    headers.insert(REQUEST_ID, HeaderValue::from(number));
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        headers.insert(
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("cross-origin"),
        );
        if preflight {
            let methods = HeaderValue::from_static("GET, POST, PUT, DELETE");
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
            let names = HeaderValue::from_static("authorization, content-type");
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
        }
    }
    response
}

fn is_allowed(service: &Service, origin: &HeaderValue) -> bool {
    service.config.cors.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes())
}

/// A body that streams from a channel.
pub fn body_of(receiver: tokio::sync::mpsc::Receiver<Bytes>) -> Body {
    Body::from_stream(futures_util::stream::unfold(receiver, async |mut receiver| {
        let bytes = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), receiver))
    }))
}
