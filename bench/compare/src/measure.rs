//! CPU time and memory of this process, as every contender reports them.

use cpu_time::ProcessTime;
use serde::Serialize;

/// What a job says about itself; the peak of its memory is seen from outside.
#[derive(Default, Serialize)]
pub(crate) struct Report {
    /// What was run and how it was set.
    pub(crate) setting: String,
    /// CPU seconds of the work, all threads.
    pub(crate) seconds: f64,
    /// How many pages, texts or queries that was.
    pub(crate) items: usize,
    /// CPU seconds of building an index beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) build: Option<f64>,
    /// Bytes that an index holds, or that a page's fingerprint takes, in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<usize>,
}

/// CPU seconds of work at least: the clock of a process errs by some milliseconds.
const LEAST: f64 = 0.3;

/// Runs `work` as often as it takes to be measured, and says how many CPU seconds one run took.
pub(crate) fn repeated<T>(mut work: impl FnMut() -> T) -> (T, f64) {
    let (mut result, mut spent) = cpu(&mut work);
    let mut runs = 1;
    while spent < LEAST {
        let took;
        (result, took) = cpu(&mut work);
        spent += took;
        runs += 1;
    }
    (result, spent / f64::from(runs))
}

/// Runs `work` and says how many CPU seconds it took.
pub(crate) fn cpu<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = ProcessTime::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// Bytes of this process that are in memory now; 0 where the system does not report it.
pub(crate) fn resident_bytes() -> usize {
    const PAGE: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.map_or(0, |pages| pages * PAGE)
}
