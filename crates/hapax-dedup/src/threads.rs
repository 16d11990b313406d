//! The threads that joins run on, and how their caller stops them.
//!
//! A join asks nobody whether to go on; after a request to stop, its next task unwinds, and
//! [`Threads::run`] makes an error of that.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hapax::join::Executor;
use rayon::prelude::*;

use crate::error::Error;

/// So many threads, kept as long as the value lives.
#[derive(Debug)]
pub struct Threads {
    pool: rayon::ThreadPool,
    stop: Stop,
}

/// Says to whoever holds a clone that no more is wanted.
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

/// What a task unwinds with.
struct Unwanted;

impl Threads {
    /// Starts them.
    pub fn new(count: NonZero<usize>) -> Result<Self, Error> {
        let threads = count.get();
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map(|pool| Self { pool, stop: Stop::default() })
            .map_err(|error| Error::Threads { threads, reason: error.to_string() })
    }

    /// Whose tasks end when `stop` is set.
    #[must_use]
    pub fn until(self, stop: &Stop) -> Self {
        Self { stop: stop.clone(), ..self }
    }

    /// Does work that uses these threads, on one of them: what sorts in parallel does so on these.
    ///
    /// # Errors
    ///
    /// That of the work, or [`Error::Stopped`].
    pub fn run<T: Send>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        // What was half done is dropped.
        let done = catch_unwind(AssertUnwindSafe(|| self.pool.install(|| work(self))));
        done.unwrap_or_else(|cause| {
            if cause.is::<Unwanted>() { Err(Error::Stopped) } else { resume_unwind(cause) }
        })
    }
}

impl Executor for Threads {
    fn for_each(&self, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        let work = |task| {
            if self.stop.is_set() {
                resume_unwind(Box::new(Unwanted));
            }
            work(task);
        };
        if tasks < 2 {
            return (0..tasks).for_each(work);
        }
        self.pool.install(|| (0..tasks).into_par_iter().for_each(work));
    }

    fn width(&self) -> usize {
        self.pool.current_num_threads()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_end_when_no_more_is_wanted_and_other_panics_go_on() {
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
