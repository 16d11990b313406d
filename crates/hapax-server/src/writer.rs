//! A thread that passes all waiting writes to the repository, which makes them one commit.
//!
//! Accepted writes are done in order, and each is answered after its commit is on disk. A full queue refuses
//! immediately, so memory is bounded. When stopping, no more are accepted and the thread ends when the queue is
//! empty. The repository groups commits itself; this thread exists because a blocked thread per waiting client
//! would cost more. Does not know HTTP.

use crate::error::{ApiError, Code};
use hapax_store::{Action, Decision, Effect, Repository, StoreError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot, watch};

/// Maximum number of waiting jobs.
const QUEUE: usize = 1024;
/// Number of pages per commit, beyond which no job is added.
const COMMIT: usize = 4096;

type Answers = Result<Vec<Effect>, StoreError>;

struct Job {
    actions: Vec<Action>,
    reply: oneshot::Sender<Answers>,
}

/// The queue and its thread.
#[derive(Debug)]
pub struct Writer {
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// An accepted job, which will be answered.
#[derive(Debug)]
pub struct Accepted(oneshot::Receiver<Answers>);

impl Accepted {
    /// The decisions, in the order of the actions.
    pub async fn answers(self) -> Result<Vec<Decision>, ApiError> {
        let lost = |_| ApiError::internal("the thread that writes has ended");
        let effects = self.0.await.map_err(lost)??;
        let decided = |effect| match effect {
            Effect::Decided(decision) => Some(*decision),
            Effect::Known(_) => None,
        };
        Ok(effects.into_iter().filter_map(decided).collect())
    }
}

impl Writer {
    /// Starts the thread. `changed` counts commits, for waiting event streams.
    pub fn start(
        repository: Arc<Repository>,
        changed: watch::Sender<u64>,
    ) -> std::io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || work(&repository, jobs, &changed))?;
        Ok(Self { queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)) })
    }

    /// Accepts a job without waiting.
    ///
    /// # Errors
    ///
    /// The queue is full, or the service is stopping.
    pub fn accept(&self, actions: Vec<Action>) -> Result<Accepted, ApiError> {
        let (reply, answers) = oneshot::channel();
        match self.sender()?.try_send(Job { actions, reply }) {
            Ok(()) => Ok(Accepted(answers)),
            Err(mpsc::error::TrySendError::Full(_)) => Err(ApiError::overloaded()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(stopping()),
        }
    }

    /// Accepts a job, waiting for space in the queue; for streams.
    pub async fn accept_later(&self, actions: Vec<Action>) -> Result<Accepted, ApiError> {
        let (reply, answers) = oneshot::channel();
        let sent = self.sender()?.send(Job { actions, reply }).await;
        sent.map_err(|_| stopping())?;
        Ok(Accepted(answers))
    }

    /// Accepts no more, and returns when everything accepted is done.
    pub fn stop(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn sender(&self) -> Result<mpsc::Sender<Job>, ApiError> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.clone().ok_or_else(stopping)
    }
}

fn stopping() -> ApiError {
    ApiError::new(Code::Stopping, "the service is shutting down and takes no more writes")
}

fn work(repository: &Repository, mut jobs: mpsc::Receiver<Job>, changed: &watch::Sender<u64>) {
    while let Some(first) = jobs.blocking_recv() {
        let mut pages = first.actions.len();
        let mut together = vec![first];
        while pages < COMMIT
            && let Ok(job) = jobs.try_recv()
        {
            pages += job.actions.len();
            together.push(job);
        }
        commit(repository, together);
        changed.send_modify(|commits| *commits += 1);
    }
}

/// The client may be gone; the write is done all the same.
fn commit(repository: &Repository, jobs: Vec<Job>) {
    let (lists, replies): (Vec<_>, Vec<_>) =
        jobs.into_iter().map(|job| (job.actions, job.reply)).unzip();
    for (reply, answers) in replies.into_iter().zip(repository.apply_each(lists)) {
        let _ = reply.send(answers);
    }
}
