//! The threads that joins run on, and how a caller stops them.
//!
//! A join does not poll for stop requests. After [`Stop::set`], its next task unwinds, and [`Threads::run`]
//! turns that into [`Error::Stopped`].

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hapax::join::Executor;
use rayon::prelude::*;

use crate::error::Error;

/// A pool of threads that lives as long as this value.
#[derive(Debug)]
pub struct Threads {
    pool: rayon::ThreadPool,
    stop: Stop,
}

/// A stop request, shared by its clones.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The payload of the unwinding task.
struct StopRequested;

impl Threads {
    /// Starts the threads.
    pub fn new(count: NonZero<usize>) -> Result<Self, Error> {
        let threads = count.get();
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map(|pool| Self { pool, stop: Stop::default() })
            .map_err(|error| Error::Threads { threads, reason: error.to_string() })
    }

    /// Sets the stop request that ends tasks on these threads.
    #[must_use]
    pub fn until(self, stop: &Stop) -> Self {
        Self { stop: stop.clone(), ..self }
    }

    /// Runs `work` on this pool; parallel sorting inside uses the same threads.
    ///
    /// # Errors
    ///
    /// The error of `work`, or [`Error::Stopped`].
    pub fn run<T: Send>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        // Everything that `work` owned is dropped by the unwinding.
        let done = catch_unwind(AssertUnwindSafe(|| self.pool.install(|| work(self))));
        done.unwrap_or_else(|cause| {
            if cause.is::<StopRequested>() { Err(Error::Stopped) } else { resume_unwind(cause) }
        })
    }
}

impl Executor for Threads {
    fn for_each(&self, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        let work = |task| {
            if self.stop.is_set() {
                resume_unwind(Box::new(StopRequested));
            }
            work(task);
        };
        if tasks < 2 {
            return (0..tasks).for_each(work);
        }
        // One by one: tasks are large, and a thread that has several left keeps the others waiting.
        self.pool.install(|| (0..tasks).into_par_iter().with_max_len(1).for_each(work));
    }

    fn width(&self) -> usize {
        self.pool.current_num_threads()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_end_after_a_stop_request_and_other_panics_propagate() {
        let stop = Stop::default();
        let threads = Threads::new(NonZero::new(2).unwrap()).unwrap().until(&stop);
        let double = |threads: &Threads| {
            let threads: &dyn Executor = threads;
            Ok(threads.map((0..9).collect(), |it: u32| 2 * it))
        };
        assert_eq!(threads.run(double).unwrap()[8], 16);
        let stopped = threads.run(|threads| {
            threads.for_each(9, &|_| stop.set());
            double(threads)
        });
        assert!(matches!(stopped, Err(Error::Stopped)));
        let other = catch_unwind(AssertUnwindSafe(|| {
            threads.run(|_| -> Result<(), Error> { resume_unwind(Box::new(7)) })
        }));
        assert_eq!(other.unwrap_err().downcast_ref(), Some(&7));
    }
}
