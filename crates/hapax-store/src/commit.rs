//! Who is in which commit.
//!
//! There is no writer thread. Whoever comes while nobody writes takes everything that waits and
//! writes it as one commit; the others sleep until theirs is done. So under load a commit, and
//! its sync, is shared by all that came during the one before.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs `J` that wait, and results `R` that wait to be fetched.
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
        // Nothing under this lock can panic half-way.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of a job. `run` gives one result for each job, in order; should it panic, the
    /// others in its commit get `lost`.
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

/// Gives everybody a result when it ends, however it ends.
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
