//! Threads for a join that record their CPU time.
//!
//! Threads on a busy machine wait for CPUs, so wall time says little. Reports instead an upper bound of the time with
//! one CPU per thread and any assignment of tasks (Graham's bound): the CPU time divided by the number of threads,
//! plus the longest task times `1 - 1 / threads`. Computed per call, because a call waits for all its tasks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hapax::join::Executor;

use crate::clock::thread_cpu;

/// Runs tasks on this many threads.
pub(crate) struct Threads {
    width: usize,
    path: Mutex<Duration>,
}

impl Threads {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, path: Mutex::new(Duration::ZERO) }
    }

    /// The bound, summed over all calls since the last call of this method.
    pub(crate) fn take_path(&self) -> Duration {
        std::mem::take(&mut self.path.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

impl Executor for Threads {
    fn for_each(&self, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let run = || {
            let (mut total, mut longest) = (Duration::ZERO, Duration::ZERO);
            loop {
                let task = next.fetch_add(1, Ordering::Relaxed);
                if task >= tasks {
                    break;
                }
                let start = thread_cpu();
                work(task);
                let spent = thread_cpu() - start;
                total += spent;
                longest = longest.max(spent);
            }
            (total, longest)
        };
        let times: Vec<(Duration, Duration)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.width).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
        });
        let total: Duration = times.iter().map(|time| time.0).sum();
        let longest = times.iter().map(|time| time.1).max().unwrap_or_default();
        let share = 1.0 / self.width as f64;
        let bound = total.mul_f64(share) + longest.mul_f64(1.0 - share);
        *self.path.lock().unwrap_or_else(|e| e.into_inner()) += bound;
    }

    fn width(&self) -> usize {
        self.width
    }
}
