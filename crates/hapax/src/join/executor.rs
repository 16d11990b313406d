//! Threads, lent by the caller.
//!
//! A join cuts its work into tasks that know nothing of each other and hands them to an
//! [`Executor`]. The answers come back in the order of the tasks, so which thread did what
//! cannot be seen in the result. With rayon an executor is one line:
//! `tasks.into_par_iter().map(work).collect()`.

/// Runs tasks, on as many threads as it likes.
pub trait Executor {
    /// `work` of each task, in the order of the tasks.
    fn map<T: Send, R: Send>(&self, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R>;

    /// How many tasks may run at the same time: what a memory budget is divided by.
    fn width(&self) -> usize;
}

/// The caller's own thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneThread;

impl Executor for OneThread {
    fn map<T: Send, R: Send>(&self, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        tasks.into_iter().map(work).collect()
    }

    fn width(&self) -> usize {
        1
    }
}
