//! The threads that joins run on.

use std::num::NonZero;

use hapax::join::Executor;
use rayon::prelude::*;

use crate::error::Error;

/// So many threads, kept as long as the value lives.
#[derive(Debug)]
pub struct Threads(rayon::ThreadPool);

impl Threads {
    /// Starts them.
    ///
    /// # Errors
    ///
    /// The system has no more.
    pub fn new(count: NonZero<usize>) -> Result<Self, Error> {
        let threads = count.get();
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map(Self)
            .map_err(|error| Error::Threads { threads, reason: error.to_string() })
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
