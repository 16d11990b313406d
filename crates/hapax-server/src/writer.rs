//! Who writes: one thread that takes all that wait and makes them one commit.
//!
//! An operation is *accepted* when it is in the queue. Accepted operations are done in their
//! order and each is answered after its commit is on the disk; a queue that is full refuses at
//! once, so memory stays bounded. Stopping means: no more are accepted, and the thread ends
//! when the queue is empty.
//!
//! # What this module does not know
//!
//! HTTP. The repository shares commits between threads too, but a thread for each waiting client
//! would cost more than it saves.

use crate::error::{ApiError, Code};
use hapax_store::{Decision, Observation, Repository, StoreError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot, watch};

/// Operations that may wait.
const QUEUE: usize = 1024;
/// Pages of one commit, beyond which no further job is added.
const COMMIT: usize = 4096;

/// One operation.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A page was seen.
    Observe(Box<Observation>),
    /// A page was found to redirect.
    Redirect {
        /// The page.
        from: String,
        /// Where to.
        to: String,
        /// When that was found.
        fetched: Option<u64>,
    },
}

type Answers = Result<Vec<Decision>, StoreError>;

struct Job {
    operations: Vec<Operation>,
    reply: oneshot::Sender<Answers>,
}

/// The queue and its thread.
#[derive(Debug)]
pub struct Writer {
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// An accepted job: the answers will come.
#[derive(Debug)]
pub struct Accepted(oneshot::Receiver<Answers>);

impl Accepted {
    /// The decisions, in the order of the operations.
    ///
    /// # Errors
    ///
    /// The repository could not do it.
    pub async fn answers(self) -> Result<Vec<Decision>, ApiError> {
        let lost = |_| ApiError::internal("the thread that writes has ended");
        Ok(self.0.await.map_err(lost)??)
    }
}

impl Writer {
    /// Starts the thread. `changed` counts commits, for those who wait for events.
    ///
    /// # Errors
    ///
    /// The system starts no thread.
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

    /// Accepts a job if there is room, without waiting.
    ///
    /// # Errors
    ///
    /// The queue is full, or the service is stopping.
    pub fn accept(&self, operations: Vec<Operation>) -> Result<Accepted, ApiError> {
        let (reply, answers) = oneshot::channel();
        match self.sender()?.try_send(Job { operations, reply }) {
            Ok(()) => Ok(Accepted(answers)),
            Err(mpsc::error::TrySendError::Full(_)) => Err(ApiError::overloaded()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(stopping()),
        }
    }

    /// Accepts a job when there is room: for a stream, which may wait.
    ///
    /// # Errors
    ///
    /// The service is stopping.
    pub async fn accept_later(&self, operations: Vec<Operation>) -> Result<Accepted, ApiError> {
        let (reply, answers) = oneshot::channel();
        let sent = self.sender()?.send(Job { operations, reply }).await;
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
        let mut pages = first.operations.len();
        let mut together = vec![first];
        while pages < COMMIT
            && let Ok(job) = jobs.try_recv()
        {
            pages += job.operations.len();
            together.push(job);
        }
        commit(repository, together);
        changed.send_modify(|commits| *commits += 1);
    }
}

/// All jobs together if they can be; else one by one, so that only the culprit fails.
fn commit(repository: &Repository, jobs: Vec<Job>) {
    let plain = jobs.iter().flat_map(|job| &job.operations);
    let plain = plain.map(|operation| match operation {
        Operation::Observe(page) => Some((**page).clone()),
        Operation::Redirect { .. } => None,
    });
    let pages = if jobs.len() > 1 { plain.collect::<Option<Vec<_>>>() } else { None };
    if let Some(pages) = pages
        && let Ok(decisions) = repository.observe_many(pages)
    {
        let mut decisions = decisions.into_iter();
        for job in jobs {
            let own = decisions.by_ref().take(job.operations.len()).collect();
            // Whoever asked may have gone; the write is done all the same.
            let _ = job.reply.send(Ok(own));
        }
        return;
    }
    for job in jobs {
        let _ = job.reply.send(in_order(repository, job.operations));
    }
}

/// Runs of pages are one commit each.
fn in_order(repository: &Repository, operations: Vec<Operation>) -> Answers {
    let mut decisions = Vec::with_capacity(operations.len());
    let mut run = Vec::new();
    for operation in operations {
        match operation {
            Operation::Observe(page) => run.push(*page),
            Operation::Redirect { from, to, fetched } => {
                if !run.is_empty() {
                    decisions.extend(repository.observe_many(std::mem::take(&mut run))?);
                }
                decisions.push(repository.redirect(&from, &to, fetched)?);
            }
        }
    }
    if !run.is_empty() {
        decisions.extend(repository.observe_many(run)?);
    }
    Ok(decisions)
}
