//! An hour of counters in a ring, for the charts.
//!
//! A sample holds the changes since the previous one, so charts need no arithmetic.

use crate::metrics::Latencies;
use crate::state::Service;
use hapax_client::moment;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Interval of samples.
pub const EVERY: Duration = Duration::from_secs(2);
/// Number of samples: an hour.
const SAMPLES: usize = 1800;

#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// RFC 3339 in UTC.
    pub time: String,
    /// The same time in seconds since 1970.
    #[serde(skip)]
    seconds: u64,
    pub pages: u64,
    pub groups: u64,
    /// Share of the pages with content that are removable, 0 to 1.
    pub duplicates: f64,
    /// Requests answered per second.
    pub requests: f64,
    /// Pages checked or recorded per second.
    pub checked: f64,
    /// Share of them that tier 1 decided; `None` if none was recorded.
    pub tier_1: Option<f64>,
    /// Median latency in milliseconds; `None` without requests.
    pub p50: Option<f64>,
    /// 99th percentile of the latency in milliseconds.
    pub p99: Option<f64>,
}

struct Before {
    at: Instant,
    answered: u64,
    checked: u64,
    by_winner: u64,
    latencies: [u64; 128],
}

/// A ring of samples.
#[derive(Default)]
pub struct History {
    samples: Mutex<VecDeque<Sample>>,
    before: Mutex<Option<Before>>,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("History")
    }
}

impl History {
    /// The samples after a time in seconds since 1970, oldest first.
    pub fn since(&self, seconds: u64) -> Vec<Sample> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.iter().filter(|sample| sample.seconds > seconds).cloned().collect()
    }

    pub fn sample(&self, service: &Service) {
        let Ok(stats) = service.repository.stats() else { return };
        let checked = service.metrics.checked_so_far();
        let tier = |name: &str| checked.tiers.get(name).copied().unwrap_or(0);
        let now = Before {
            at: Instant::now(),
            answered: service.metrics.answered.load(Ordering::Relaxed),
            checked: checked.verdicts.values().sum(),
            by_winner: tier("winner"),
            latencies: service.metrics.latencies.counts(),
        };
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = before.replace(now) else { return };
        let Some(now) = &*before else { return };
        let took = (now.at - last.at).as_secs_f64().max(1e-3);
        let checked = now.checked.saturating_sub(last.checked);
        let pages = stats.with_content;
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let sample = Sample {
            time: moment::shown(seconds),
            seconds,
            pages,
            groups: stats.groups,
            duplicates: match pages {
                0 => 0.0,
                _ => pages.saturating_sub(stats.groups) as f64 / pages as f64,
            },
            requests: now.answered.saturating_sub(last.answered) as f64 / took,
            checked: checked as f64 / took,
            tier_1: (checked > 0)
                .then(|| now.by_winner.saturating_sub(last.by_winner) as f64 / checked as f64),
            p50: Latencies::quantile(&last.latencies, &now.latencies, 0.5),
            p99: Latencies::quantile(&last.latencies, &now.latencies, 0.99),
        };
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() == SAMPLES {
            samples.pop_front();
        }
        samples.push_back(sample);
    }
}
