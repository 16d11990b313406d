//! Clocks, and numbers for people.
//!
//! A rate per wall time depends on the load of the machine; a rate per CPU time does not, and is used for ratios.

use std::time::{Duration, Instant};

use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::index::{HammingIndex, Query};

/// Queries per call.
pub(crate) const BATCH: usize = 256;

/// Runs `work`; returns its duration and result.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

/// Queries per second of wall time and of CPU time of this thread.
#[derive(Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

/// Both clocks of this thread.
pub(crate) struct Stopwatch {
    start: Instant,
    cpu: Option<Duration>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { cpu: cpu_time(), start: Instant::now() }
    }

    pub(crate) fn wall(&self) -> Duration {
        self.start.elapsed()
    }

    /// If the system does not report CPU time, uses wall time instead.
    pub(crate) fn rate(&self, count: usize) -> Rate {
        let wall = self.wall();
        let cpu = cpu_time().zip(self.cpu).map_or(wall, |(now, then)| now - then);
        Rate { wall: count as f64 / wall.as_secs_f64(), cpu: count as f64 / cpu.as_secs_f64() }
    }
}

/// CPU time of this thread: the first number of Linux's `schedstat`.
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Runs all queries at least once and for at least `least`; returns queries per second, and the
/// matches of one round.
pub(crate) fn rate(
    index: &dyn HammingIndex,
    queries: &[Fingerprint],
    bound: MaxDistance,
    least: Duration,
) -> anyhow::Result<(Rate, usize)> {
    let queries: Vec<Query> = queries.iter().map(|&query| query.into()).collect();
    let (start, mut asked, mut found) = (Stopwatch::start(), 0usize, 0);
    loop {
        let mut round = 0;
        for batch in queries.chunks(BATCH) {
            round += index.find_all_batch(batch, bound)?.total();
        }
        asked += queries.len();
        anyhow::ensure!(found == 0 || found == round, "rounds differ: {found} and {round}");
        found = round;
        if start.wall() >= least {
            return Ok((start.rate(asked), found));
        }
    }
}

/// Formats 1234567 as `1,234,567`.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
