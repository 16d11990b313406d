//! Threads, lent by the caller.
//!
//! A join cuts its work into tasks that know nothing of each other and hands them to an
//! [`Executor`]. The answers come back in the order of the tasks, so which thread did what
//! cannot be seen in the result. With rayon an executor is one line:
//! `(0..tasks).into_par_iter().for_each(work)`.

use std::sync::{Mutex, PoisonError};

/// Runs tasks, on as many threads as it likes.
///
/// Joins take it as `&dyn Executor`: generic over it, they would be compiled again, for every
/// instruction set, in each crate that calls them.
pub trait Executor: Sync {
    /// Calls `work` once with each number below `tasks`, in any order, and returns when all are done.
    fn for_each(&self, tasks: usize, work: &(dyn Fn(usize) + Sync));

    /// How many tasks may run at the same time: what a memory budget is divided by.
    fn width(&self) -> usize;
}

impl dyn Executor + '_ {
    /// `work` of each task, in the order of the tasks.
    ///
    /// # Panics
    ///
    /// If the executor leaves a task out.
    pub fn map<T: Send, R: Send>(&self, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        let slots: Vec<_> = tasks.into_iter().map(|task| Mutex::new((Some(task), None))).collect();
        self.for_each(slots.len(), &|number| {
            let task = slots[number].lock().unwrap_or_else(PoisonError::into_inner).0.take();
            // The lock is not held meanwhile.
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

/// The caller's own thread.
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
