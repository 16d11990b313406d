//! Memory over time: what each minute needed, and whether it grows once the service is warm.
//!
//! Looked at is the last life alone, and its last half: what came before fills caches. Growth is
//! the slope of the straight line that fits best.

use anyhow::{Result, ensure};

/// A run in which the half that is looked at is shorter than this says nothing about growth.
const SHORTEST: f64 = 240.0;
/// The most that memory may grow in the time looked at, as a share of what it was.
const MOST: f64 = 0.02;

/// Bytes at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    pub(super) last_life: bool,
}

#[derive(Debug, Default)]
pub(super) struct Memory {
    samples: Vec<Sample>,
    told: usize,
}

/// The mean, and how much a second it grows.
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

    /// A line about what came since the last one, with what the service says of its memory now.
    pub(super) fn print_minute(&mut self, written: u64, parts: &str) {
        let (mean, _) = line(&self.samples[self.told..]);
        self.told = self.samples.len();
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
