//! Time and memory of this process, as the kernel counts them.
//!
//! On a machine that others use too, wall time says how busy they are. The time a thread spent
//! on a CPU does not count waiting for one, so ratios of it are what an idle machine would give,
//! but for caches and memory bandwidth, which are shared all the same.

use std::fs;
use std::time::{Duration, Instant};

/// Wall time and CPU time of the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

/// Runs `work` and says what it took.
pub(crate) fn timed<R>(work: impl FnOnce() -> R) -> (R, Spent) {
    let (wall, cpu) = (Instant::now(), thread_cpu());
    let result = work();
    (result, Spent { wall: wall.elapsed(), cpu: thread_cpu() - cpu })
}

/// How long the calling thread has run on a CPU.
pub(crate) fn thread_cpu() -> Duration {
    let nanoseconds = fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|line| line.split(' ').next()?.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// The most memory this process has held since [`forget_peak`], in bytes.
pub(crate) fn peak_bytes() -> u64 {
    status("VmHWM:")
}

/// The memory this process holds, in bytes.
pub(crate) fn resident_bytes() -> u64 {
    status("VmRSS:")
}

/// Starts the peak anew from what is held now.
pub(crate) fn forget_peak() {
    // Without the right to do so the peak stays too high, which is the safe side.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// How busy the machine is: the load averages.
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
