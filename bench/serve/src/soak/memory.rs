//! Memory over time, and its growth once the service is warm.
//!
//! Considers the second half of the last process only, because caches fill before. Growth is the slope of a linear
//! regression.

use anyhow::{Result, ensure};

/// Minimum seconds of that half; a shorter one says nothing about growth.
const SHORTEST: f64 = 240.0;
/// Maximum growth during that half, as a share of the mean.
const MOST: f64 = 0.02;

/// Memory in bytes at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    pub(super) last_life: bool,
}

#[derive(Debug, Default)]
pub(super) struct Memory {
    samples: Vec<Sample>,
    printed: usize,
}

/// The mean, and the growth per second.
fn line(samples: &[Sample]) -> (f64, f64) {
    let count = samples.len().max(1) as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (time, bytes) = (mean(&|s| s.seconds), mean(&|s| s.bytes as f64));
    let both = mean(&|s| (s.seconds - time) * (s.bytes as f64 - bytes));
    let spread = mean(&|s| (s.seconds - time).powi(2));
    (bytes, if spread > 0.0 { both / spread } else { 0.0 })
}

impl Memory {
    pub(super) fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// Prints a line about the time since the last one, with the parts of memory reported by the
    /// service.
    pub(super) fn print_minute(&mut self, written: u64, parts: &str) {
        let (mean, _) = line(&self.samples[self.printed..]);
        self.printed = self.samples.len();
        let Some(last) = self.samples.last() else { return };
        let minute = (last.seconds / 60.0).round();
        let life = if last.last_life { "" } else { ", between kills" };
        println!("minute {minute}: {:.1} MB, {written} writes so far{life}; {parts}", mean / 1e6);
    }

    fn warm(&self) -> &[Sample] {
        let first = self.samples.iter().position(|sample| sample.last_life);
        let life = &self.samples[first.unwrap_or(self.samples.len())..];
        &life[life.len() / 2..]
    }

    fn warm_seconds(&self) -> f64 {
        match self.warm() {
            [first, .., last] => last.seconds - first.seconds,
            _ => 0.0,
        }
    }

    pub(super) fn report(&self) {
        let (mean, slope) = line(self.warm());
        let all = || self.warm().iter().map(|sample| sample.bytes as f64 / 1e6);
        println!(
            "memory in the last {:.1} minutes: {:.1} MB on average, {:.1} to {:.1} MB, {:+.2} MB an hour ({:+.2} % in \
             these minutes)",
            self.warm_seconds() / 60.0,
            mean / 1e6,
            all().fold(f64::INFINITY, f64::min),
            all().fold(0.0, f64::max),
            slope * 3600.0 / 1e6,
            slope * self.warm_seconds() / mean * 100.0
        );
    }

    pub(super) fn must_be_flat(&self) -> Result<()> {
        let (mean, slope) = line(self.warm());
        let seconds = self.warm_seconds();
        ensure!(
            seconds < SHORTEST || slope * seconds <= mean * MOST,
            "memory grew by {:.1} MB in {:.1} minutes",
            slope * seconds / 1e6,
            seconds / 60.0
        );
        Ok(())
    }
}
