//! CPU time and memory of this process, reported in the same way by every contender.

use cpu_time::ProcessTime;
use serde::Serialize;

/// A job's measurements; the parent process measures peak memory.
#[derive(Default, Serialize)]
pub(crate) struct Report {
    /// The tool's settings.
    pub(crate) setting: String,
    /// CPU seconds of all threads.
    pub(crate) seconds: f64,
    /// Number of pages, texts or queries.
    pub(crate) items: usize,
    /// CPU seconds for building an index first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) build: Option<f64>,
    /// Total size of the index or of the fingerprints in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<usize>,
}

/// Minimum CPU seconds to measure, because the CPU clock is inaccurate by some milliseconds.
const LEAST: f64 = 0.3;

/// Repeats `work` until it can be measured; returns the CPU seconds of one run.
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

/// Runs `work`; returns its CPU seconds.
pub(crate) fn cpu<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = ProcessTime::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// Resident memory of this process in bytes; 0 if the system does not report it.
pub(crate) fn resident_bytes() -> usize {
    const PAGE: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.map_or(0, |pages| pages * PAGE)
}
