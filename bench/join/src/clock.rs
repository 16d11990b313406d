//! Time and memory of this process, as counted by the kernel.
//!
//! On a shared machine, wall time depends on its load. CPU time of a thread excludes waiting for a CPU, so its ratios
//! are those of an idle machine, except for effects of shared caches and memory bandwidth.

use std::fs;
use std::time::{Duration, Instant};

/// Wall time and CPU time of the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

/// Runs `work`; returns its times.
pub(crate) fn timed<R>(work: impl FnOnce() -> R) -> (R, Spent) {
    let (wall, cpu) = (Instant::now(), thread_cpu());
    let result = work();
    (result, Spent { wall: wall.elapsed(), cpu: thread_cpu() - cpu })
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    let nanoseconds = fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|line| line.split(' ').next()?.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Peak memory of this process in bytes since [`forget_peak`].
pub(crate) fn peak_bytes() -> u64 {
    status("VmHWM:")
}

/// Current memory of this process in bytes.
pub(crate) fn resident_bytes() -> u64 {
    status("VmRSS:")
}

/// Resets the peak to the current memory.
pub(crate) fn forget_peak() {
    // Without permission the peak stays too high, which errs on the safe side.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The load averages of the machine.
pub(crate) fn load() -> String {
    let line = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    line.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn status(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
