//! The threads that joins run on.

use hapax::join::Executor;
use rayon::prelude::*;

/// So many threads, kept for the whole job.
pub(crate) struct Threads(rayon::ThreadPool);

impl Threads {
    pub(crate) fn new(count: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        rayon::ThreadPoolBuilder::new().num_threads(count).build().map(Self)
    }
}

impl Executor for Threads {
    fn map<T: Send, R: Send>(&self, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        if tasks.len() < 2 {
            return tasks.into_iter().map(work).collect();
        }
        self.0.install(|| tasks.into_par_iter().map(&work).collect())
    }

    fn width(&self) -> usize {
        self.0.current_num_threads()
    }
}
