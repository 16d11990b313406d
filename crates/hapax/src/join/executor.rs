//! Threads provided by the caller.
//!
//! A join splits its work into independent tasks and passes them to an [`Executor`]. Results are in the order
//! of the tasks, so they do not depend on the scheduling. With rayon, an executor is one line:
//! `(0..tasks).into_par_iter().for_each(work)`.

use std::sync::{Mutex, PoisonError};

/// Runs tasks on any number of threads.
///
/// Joins take a `&dyn Executor`: generic joins would be compiled again, for every instruction set,
/// in each crate that calls them.
pub trait Executor: Sync {
    /// Calls `work` once with each number below `tasks`, in any order, and returns when all calls
    /// have returned.
    fn for_each(&self, tasks: usize, work: &(dyn Fn(usize) + Sync));

    /// Maximum number of concurrent tasks, which a memory budget is divided by.
    fn width(&self) -> usize;
}

impl dyn Executor + '_ {
    /// Calls `work` for each task; returns the results in the order of the tasks.
    ///
    /// # Panics
    ///
    /// The executor skips a task.
    pub fn map<T: Send, R: Send>(&self, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        let slots: Vec<_> = tasks.into_iter().map(|task| Mutex::new((Some(task), None))).collect();
        self.for_each(slots.len(), &|number| {
            let task = slots[number].lock().unwrap_or_else(PoisonError::into_inner).0.take();
            // The lock is not held during the call.
            let result = task.map(&work);
            slots[number].lock().unwrap_or_else(PoisonError::into_inner).1 = result;
        });
        let result = |slot: Mutex<(Option<T>, Option<R>)>| {
            let (_, result) = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
            result.expect("an executor runs every task once")
        };
        slots.into_iter().map(result).collect()
    }
}

/// Runs tasks on the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneThread;

impl Executor for OneThread {
    fn for_each(&self, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..tasks).for_each(work);
    }

    fn width(&self) -> usize {
        1
    }
}
