//! Connections: accepts, limits and ends them without losing work.
//!
//! On stopping, no new connection is accepted, and requests in progress finish within the time limit of a
//! request; clients that sent only a part of a request, or do not read their events, are cut off after two
//! seconds; then the writer finishes accepted writes, and the repository is closed.

use crate::clock;
use crate::history;
use crate::idle::Idle;
use crate::middleware;
use crate::routes;
use crate::state::{Service, StartError};
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use hapax_store::StoreError;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt;

/// Delay after a failure to accept, which is mostly a lack of file handles.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// Interval and duration of verifying the repository's file: a fiftieth of one core.
const SCRUB_EVERY: Duration = Duration::from_secs(1);
const SCRUB_FOR: Duration = Duration::from_millis(20);
/// How long after a stop request clients that do not read, or do not send the rest of a request,
/// are cut off.
pub(crate) const GRACE_TIME_AT_STOP: Duration = Duration::from_secs(2);
/// Buffer for a request per connection in bytes.
const BUFFER: usize = 64 * 1024;

/// The routes over a service: everything except connections.
#[derive(Clone, Debug)]
pub struct App {
    service: Arc<Service>,
    router: Router,
}

impl App {
    pub fn new(service: Arc<Service>) -> Self {
        let router = routes::router(&service);
        Self { service, router }
    }

    pub async fn answer(&self, peer: IpAddr, request: Request) -> Response {
        let router = self.router.clone();
        middleware::around(&self.service, peer, request, async |request| {
            let Ok(response) = router.oneshot(request).await;
            response
        })
        .await
    }
}

/// Listens and serves until the process receives SIGINT or SIGTERM. Blocks.
///
/// Calls `ready` with the address.
///
/// # Errors
///
/// Listening fails, or the system provides no threads.
pub fn run(service: Arc<Service>, ready: impl FnOnce(SocketAddr)) -> Result<(), StartError> {
    let address = service.config.listen;
    let cannot =
        |source| StartError::System { what: format!("cannot listen on {address}"), source };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(cannot)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        ready(listener.local_addr().map_err(cannot)?);
        serve(service.clone(), listener, asked_to_stop()).await;
        Ok::<_, StartError>(())
    })?;
    runtime.shutdown_timeout(service.config.limits.request_time());
    service.finish();
    Ok(())
}

/// Serves connections until `stop` is ready, then stops as described in the module header, except
/// for closing the repository.
pub async fn serve(service: Arc<Service>, listener: TcpListener, stop: impl Future<Output = ()>) {
    let app = App::new(service.clone());
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(service.config.limits.connections));
    let sampler = tokio::spawn(sample(service.clone()));
    let scrubber = tokio::spawn(scrub(service.clone()));
    if let Err(error) = crate::standby::start(&service) {
        tracing::error!("cannot follow: {error}");
    }
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let room = tokio::select! {
            () = &mut stop => break,
            room = room_in(&room, &service) => room,
        };
        let open = service.connections.open();
        let _ = stream.set_nodelay(true);
        if !clock::is_writable(SystemTime::now()) {
            let service = service.clone();
            tokio::spawn(async move {
                clock::refuse(stream).await;
                service.connections.ended(&open);
                drop(room);
            });
            continue;
        }
        let idle = service.config.limits.idle_time();
        let app = app.clone();
        let of = open.clone();
        let answer = service_fn(move |request: hyper::Request<Incoming>| {
            let app = app.clone();
            let of = of.clone();
            async move {
                let mut request = request.map(axum::body::Body::new);
                request.extensions_mut().insert(of);
                Ok::<_, Infallible>(app.answer(peer.ip(), request).await)
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(idle)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(Idle::new(stream, idle)), answer);
        let connection = clock::while_writable(SystemTime::now, graceful.watch(connection));
        let service = service.clone();
        tokio::spawn(async move {
            tokio::select! {
                ended = connection => if let Some(Err(error)) = ended {
                    tracing::debug!(target: "hapax::connection", %peer, "{error}");
                },
                () = open.closed() => {}
            }
            service.connections.ended(&open);
            drop(room);
        });
    }
    service.begin_stop();
    drop(listener);
    let finished = tokio::time::timeout(service.config.limits.request_time(), graceful.shutdown());
    let close_others = async {
        tokio::time::sleep(GRACE_TIME_AT_STOP).await;
        service.connections.close_idle();
        std::future::pending().await
    };
    let finished = tokio::select! {
        finished = finished => finished,
        finished = close_others => finished,
    };
    if finished.is_err() {
        tracing::warn!("some clients did not finish in time and were cut off");
    }
    sampler.abort();
    scrubber.abort();
    let last = service.clone();
    let _ = tokio::task::spawn_blocking(move || last.finish()).await;
}

/// A place for a connection; one that waits for its client gives way.
async fn room_in(room: &Arc<Semaphore>, service: &Service) -> Option<OwnedSemaphorePermit> {
    loop {
        if let Ok(free) = room.clone().try_acquire_owned() {
            return Some(free);
        }
        service.connections.close_longest_waiting();
        if let Ok(free) = tokio::time::timeout(ACCEPT_AGAIN, room.clone().acquire_owned()).await {
            return free.ok();
        }
    }
}

async fn sample(service: Arc<Service>) {
    let mut clock = tokio::time::interval(history::EVERY);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        clock.tick().await;
        let sampled = service.work(|service| {
            service.history.sample(service);
            Ok(())
        });
        let _ = sampled.await;
    }
}

/// Verifies the repository's file piece by piece, continuously. Damage is reported by `/readyz`.
async fn scrub(service: Arc<Service>) {
    let (mut next, mut failing) = (0, false);
    loop {
        tokio::time::sleep(SCRUB_EVERY).await;
        let repository = service.repository.clone();
        let scrubbed = tokio::task::spawn_blocking(move || repository.scrub(next, SCRUB_FOR));
        next = match scrubbed.await {
            Ok(Ok(next)) => {
                failing = false;
                next
            }
            Ok(Err(error @ StoreError::Damaged { .. })) => {
                tracing::error!("{error}");
                return;
            }
            // A disk that recovers is checked again.
            Ok(Err(error)) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!("the file cannot be checked, and is tried again: {error}");
                }
                next
            }
            Err(_) => return,
        };
    }
}

/// Calls `then` on its own thread when the process receives SIGINT or SIGTERM. After this returns,
/// these signals no longer end the process by themselves.
///
/// # Errors
///
/// The system provides no threads or signal handlers.
pub fn on_interrupt(then: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (installed, ready) = std::sync::mpsc::channel();
    let wait = async move {
        let mut stop = std::pin::pin!(interrupted());
        // Polling once installs the handler.
        let polled = std::future::poll_fn(|context| {
            std::task::Poll::Ready(stop.as_mut().poll(context).is_ready())
        });
        let over = polled.await;
        let _ = installed.send(());
        if !over {
            stop.await;
        }
    };
    std::thread::Builder::new().spawn(move || {
        runtime.block_on(wait);
        then();
    })?;
    ready.recv().map_err(std::io::Error::other)
}

async fn asked_to_stop() {
    interrupted().await;
    tracing::info!("stopping: finishing what was accepted");
}

async fn interrupted() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => tokio::select! {
                _ = interrupted => {}
                _ = terminate.recv() => {}
            },
            Err(_) => drop(interrupted.await),
        }
    }
    #[cfg(not(unix))]
    drop(interrupted.await);
}
