//! Group commit.
//!
//! There is no writer thread. A caller that arrives while nobody writes takes all waiting jobs and writes them
//! as one commit; other callers sleep until their job is done. Under load, a commit and its sync are shared by
//! all callers that arrived during the previous one.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Waiting jobs `J`, and results `R` waiting for their callers.
pub(crate) struct Queue<J, R> {
    line: Mutex<Line<J, R>>,
    moved: Condvar,
}

struct Line<J, R> {
    waiting: Vec<(u64, J)>,
    done: BTreeMap<u64, R>,
    busy: bool,
    next: u64,
}

impl<J, R> Queue<J, R> {
    pub(crate) fn new() -> Self {
        let line = Line { waiting: Vec::new(), done: BTreeMap::new(), busy: false, next: 0 };
        Self { line: Mutex::new(line), moved: Condvar::new() }
    }

    fn line(&self) -> MutexGuard<'_, Line<J, R>> {
        // No code panics under this lock.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the result of a job. `run` returns one result per job, in order; if it panics, the
    /// other callers of the commit get `lost`.
    pub(crate) fn submit(&self, job: J, run: impl FnOnce(Vec<J>) -> Vec<R>, lost: fn() -> R) -> R {
        let mut line = self.line();
        let ticket = line.next;
        line.next += 1;
        line.waiting.push((ticket, job));
        loop {
            if let Some(result) = line.done.remove(&ticket) {
                return result;
            }
            if !line.busy {
                break;
            }
            line = self.moved.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        line.busy = true;
        let (tickets, jobs): (Vec<u64>, Vec<J>) =
            std::mem::take(&mut line.waiting).into_iter().unzip();
        drop(line);
        let mut round = Round { queue: self, tickets, results: Vec::new(), lost };
        round.results = run(jobs);
        drop(round);
        self.line().done.remove(&ticket).unwrap_or_else(lost)
    }
}

/// Gives every caller of the commit a result, even after a panic.
struct Round<'a, J, R> {
    queue: &'a Queue<J, R>,
    tickets: Vec<u64>,
    results: Vec<R>,
    lost: fn() -> R,
}

impl<J, R> Drop for Round<'_, J, R> {
    fn drop(&mut self) {
        let results = std::mem::take(&mut self.results);
        let lost = self.lost;
        let mut line = self.queue.line();
        let results = results.into_iter().chain(std::iter::repeat_with(lost));
        line.done.extend(self.tickets.drain(..).zip(results));
        line.busy = false;
        drop(line);
        self.queue.moved.notify_all();
    }
}
