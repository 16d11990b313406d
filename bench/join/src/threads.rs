//! Threads for a join, with their CPU time on record.
//!
//! The *critical path* of a run is what it would take with a CPU for each thread: for every call,
//! the CPU time of the thread that had most to do, plus the caller's own in between.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hapax::join::Executor;

use crate::clock::thread_cpu;

/// Runs tasks on so many threads.
pub(crate) struct Threads {
    width: usize,
    path: Mutex<Duration>,
}

impl Threads {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, path: Mutex::new(Duration::ZERO) }
    }

    /// The critical path through all calls since the last time this was asked.
    pub(crate) fn take_path(&self) -> Duration {
        std::mem::take(&mut self.path.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

impl Executor for Threads {
    fn map<T: Send, R: Send>(&self, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        let slots: Vec<Mutex<(Option<T>, Option<R>)>> =
            tasks.into_iter().map(|task| Mutex::new((Some(task), None))).collect();
        let next = AtomicUsize::new(0);
        let run = || {
            let start = thread_cpu();
            while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut slot = slot.lock().unwrap_or_else(|e| e.into_inner());
                slot.1 = slot.0.take().map(&work);
            }
            thread_cpu() - start
        };
        let longest = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.width).map(|_| scope.spawn(run)).collect();
            let times = threads.into_iter().map(|thread| thread.join().unwrap_or_default());
            times.max().unwrap_or_default()
        });
        *self.path.lock().unwrap_or_else(|e| e.into_inner()) += longest;
        let results = slots.into_iter();
        results.filter_map(|slot| slot.into_inner().unwrap_or_else(|e| e.into_inner()).1).collect()
    }

    fn width(&self) -> usize {
        self.width
    }
}
