//! Counters for Prometheus and for the charts of the web page.
//!
//! Counters are our own atomics, because charts need quantiles and differences between two times, which the
//! exporter's types do not provide. Labels are routes, verdicts and tiers, never addresses.

use hapax::group::live::Tier;
use hapax_client::wire::{VERDICTS, tier_name, verdict_name};
use hapax_store::{Decision, GroupSizes, Stats};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::array::from_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

type Labels = Vec<(&'static str, String)>;

const TIERS: [Tier; 3] = [Tier::None, Tier::Winner, Tier::Index];
/// Number of distances counted separately, from 0; the last one includes all larger distances.
const DISTANCES: usize = 17;
/// Latencies are counted in steps of a quarter of a doubling, from a microsecond to an hour.
const STEPS_PER_DOUBLING: f64 = 4.0;
const STEPS: usize = 128;

/// Latencies of requests, from which quantiles of any period can be computed.
#[derive(Debug)]
pub struct Latencies([AtomicU64; STEPS]);

impl Default for Latencies {
    fn default() -> Self {
        Self(from_fn(|_| AtomicU64::new(0)))
    }
}

impl Latencies {
    fn record(&self, took: Duration) {
        let micros = took.as_secs_f64() * 1e6;
        let step = (micros.max(1.0).log2() * STEPS_PER_DOUBLING) as usize;
        self.0[step.min(STEPS - 1)].fetch_add(1, Ordering::Relaxed);
    }

    pub fn counts(&self) -> [u64; STEPS] {
        from_fn(|step| self.0[step].load(Ordering::Relaxed))
    }

    /// A quantile of the latencies between two counts in milliseconds; an upper bound of its step.
    pub fn quantile(before: &[u64; STEPS], after: &[u64; STEPS], share: f64) -> Option<f64> {
        let counts: [u64; STEPS] = from_fn(|step| after[step].saturating_sub(before[step]));
        let all: u64 = counts.iter().sum();
        let rank = ((all as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let step = counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(((step + 1) as f64 / STEPS_PER_DOUBLING).exp2() / 1e3)
    }
}

#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    seconds: Family<Labels, Histogram, fn() -> Histogram>,
    /// Number of requests in progress.
    pub in_flight: Gauge,
    totals: [Gauge; TOTALS.len()],
    sizes: Family<Labels, Gauge>,
    pages: Counter,
    kinds: [AtomicU64; VERDICTS.len()],
    verdicts: Family<Labels, Counter>,
    tiers: [AtomicU64; TIERS.len()],
    tiers_shown: Family<Labels, Counter>,
    distances: [AtomicU64; DISTANCES],
    takes_writes: Gauge,
    memory: Family<Labels, Gauge>,
    standbys: Gauge,
    behind: Gauge<f64, AtomicU64>,
    pub answered: AtomicU64,
    pub latencies: Latencies,
}

const TOTALS: [(&str, &str); 9] = [
    ("pages", "Pages with an address"),
    ("pages_with_content", "Pages with content"),
    ("groups", "Groups"),
    ("events", "Number of the last event"),
    ("commits", "Commits since the repository was created"),
    ("index_bytes", "Bytes of the index in memory"),
    ("file_bytes", "Bytes of the store's file"),
    ("fsyncs", "Times the store's file was synced since it was opened"),
    ("index_segments", "Parts of the index, of which every search looks into each"),
];

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("hapax");
        let requests = Family::default();
        registry.register("requests", "Requests by route and status", requests.clone());
        // From 50 microseconds to 26 seconds.
        let buckets: fn() -> Histogram =
            || Histogram::new((0..20).map(|step| 5e-5 * 2f64.powi(step)));
        let seconds = Family::new_with_constructor(buckets);
        let help = "Time to answer by route";
        registry.register_with_unit("request_duration", help, Unit::Seconds, seconds.clone());
        let in_flight = Gauge::default();
        registry.register("requests_in_flight", "Requests being worked on", in_flight.clone());
        let totals: [Gauge; TOTALS.len()] = Default::default();
        for ((name, help), gauge) in TOTALS.iter().zip(&totals) {
            registry.register(*name, *help, gauge.clone());
        }
        let sizes = Family::default();
        let help = "Groups by members: at least this many, fewer than twice as many";
        registry.register("groups_by_members", help, sizes.clone());
        let pages = Counter::default();
        registry.register("pages_compared", "Pages observed or checked", pages.clone());
        let verdicts = Family::default();
        registry.register("verdicts", "Verdicts by kind", verdicts.clone());
        let tiers_shown = Family::default();
        let help = "Verdicts by tier: `winner` is tier 1, which searched no index";
        registry.register("tiers", help, tiers_shown.clone());
        let takes_writes = Gauge::default();
        let help =
            "1 for a primary, 0 for a standby and for a former primary that waits to be promoted";
        registry.register("takes_writes", help, takes_writes.clone());
        let memory = Family::default();
        let help = "Memory by what takes it: counted parts, the most the cache may take, and the resident total";
        registry.register_with_unit("memory", help, Unit::Bytes, memory.clone());
        let standbys = Gauge::default();
        registry.register("standbys", "Standbys that follow this service", standbys.clone());
        let behind = Gauge::default();
        let help = "Age of the oldest write that a standby may not have; 0 for a primary";
        registry.register_with_unit("behind", help, Unit::Seconds, behind.clone());
        Self {
            registry,
            requests,
            seconds,
            in_flight,
            totals,
            sizes,
            pages,
            kinds: from_fn(|_| AtomicU64::new(0)),
            verdicts,
            tiers: from_fn(|_| AtomicU64::new(0)),
            tiers_shown,
            distances: from_fn(|_| AtomicU64::new(0)),
            takes_writes,
            memory,
            standbys,
            behind,
            answered: AtomicU64::new(0),
            latencies: Latencies::default(),
        }
    }
}

/// Counters of one route.
#[derive(Clone, Debug)]
pub struct RouteMetrics {
    path: &'static str,
    method: &'static str,
    ok: Counter,
    seconds: Histogram,
}

impl Metrics {
    pub fn route(&self, method: &'static str, path: &'static str) -> RouteMetrics {
        let ok = self.requests.get_or_create_owned(&labels(method, path, 200));
        let by_path = vec![("method", method.to_owned()), ("path", path.to_owned())];
        let seconds = self.seconds.get_or_create_owned(&by_path);
        RouteMetrics { path, method, ok, seconds }
    }

    pub fn answered(&self, route: &RouteMetrics, status: u16, took: Duration) {
        match status {
            200 => route.ok.inc(),
            _ => self.requests.get_or_create(&labels(route.method, route.path, status)).inc(),
        };
        route.seconds.observe(took.as_secs_f64());
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.latencies.record(took);
    }

    /// Counts a page that was checked or recorded.
    pub fn checked(&self, decision: &Decision) {
        let verdict = &decision.verdict;
        self.pages.inc();
        let add = |counters: &[AtomicU64], place: Option<usize>| {
            if let Some(counter) = place.and_then(|place| counters.get(place)) {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        };
        let name = verdict_name(verdict.kind, decision.seen);
        add(&self.kinds, VERDICTS.iter().position(|known| *known == name));
        add(&self.tiers, TIERS.iter().position(|tier| *tier == verdict.tier));
        let distance = verdict.likeness.map(|likeness| usize::from(likeness.distance));
        add(&self.distances, distance.map(|distance| distance.min(DISTANCES - 1)));
    }

    /// Counts of checked or recorded pages by verdict, tier and distance.
    pub fn checked_so_far(&self) -> Checked {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let kinds = VERDICTS.iter().zip(&self.kinds).map(|(name, c)| (*name, read(c)));
        let tiers = TIERS.iter().zip(&self.tiers).map(|(t, c)| (tier_name(*t), read(c)));
        Checked {
            verdicts: kinds.collect(),
            tiers: tiers.collect(),
            distances: self.distances.iter().map(read).collect(),
        }
    }

    /// The metrics in the text format of Prometheus.
    pub fn text(
        &self,
        stats: &Stats,
        sizes: &GroupSizes,
        copies: &Copies,
        memory: &[(&'static str, u64)],
    ) -> String {
        for (part, bytes) in memory {
            let label = vec![("part", (*part).to_owned())];
            self.memory.get_or_create(&label).set(i64::try_from(*bytes).unwrap_or(i64::MAX));
        }
        self.takes_writes.set(i64::from(copies.takes_writes));
        self.standbys.set(i64::try_from(copies.standbys).unwrap_or(i64::MAX));
        self.behind.set(copies.behind.map_or(0.0, |behind| behind.as_secs_f64()));
        let values = [
            stats.pages,
            stats.with_content,
            stats.groups,
            stats.last_event,
            stats.commits,
            stats.index_bytes,
            stats.file_bytes,
            stats.syncs,
            stats.segments,
        ];
        for (gauge, value) in self.totals.iter().zip(values) {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        for (power, groups) in sizes.by_doubling.iter().enumerate() {
            let label = vec![("members", (1u64 << power).to_string())];
            self.sizes.get_or_create(&label).set(i64::try_from(*groups).unwrap_or(i64::MAX));
        }
        let checked = self.checked_so_far();
        let shown = [
            ("verdict", &self.verdicts, &checked.verdicts),
            ("tier", &self.tiers_shown, &checked.tiers),
        ];
        for (label, family, counts) in shown {
            for (name, count) in counts {
                let counter = family.get_or_create_owned(&vec![(label, (*name).to_owned())]);
                counter.inc_by(count.saturating_sub(counter.get()));
            }
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Copies {
    pub takes_writes: bool,
    /// Number of standbys of this service.
    pub standbys: usize,
    /// How far behind its source this standby is; `None` for a primary.
    pub behind: Option<Duration>,
}

fn labels(method: &str, path: &str, status: u16) -> Labels {
    vec![("method", method.to_owned()), ("path", path.to_owned()), ("status", status.to_string())]
}

/// Verdicts since the service started.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Checked {
    pub verdicts: std::collections::BTreeMap<&'static str, u64>,
    pub tiers: std::collections::BTreeMap<&'static str, u64>,
    /// By distance to the winner, from 0; the last element includes all larger distances.
    pub distances: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_that_of_the_period_between_two_counts() {
        let latencies = Latencies::default();
        latencies.record(Duration::from_secs(9));
        let before = latencies.counts();
        assert_eq!(Latencies::quantile(&before, &before, 0.5), None);
        (0..99).for_each(|_| latencies.record(Duration::from_millis(1)));
        latencies.record(Duration::from_millis(100));
        let after = latencies.counts();
        let half = Latencies::quantile(&before, &after, 0.5).unwrap();
        assert!((1.0..1.25).contains(&half), "{half}");
        let most = Latencies::quantile(&before, &after, 0.999).unwrap();
        assert!((100.0..125.0).contains(&most), "{most}");
    }

    #[test]
    fn a_route_is_shown_with_its_count_and_its_time() {
        let metrics = Metrics::default();
        let route = metrics.route("GET", "/v1/stats");
        metrics.answered(&route, 200, Duration::from_millis(3));
        metrics.answered(&route, 404, Duration::from_millis(3));
        let stats = Stats {
            pages: 5,
            with_content: 4,
            groups: 3,
            last_event: 9,
            commits: 1,
            index_bytes: 0,
            file_bytes: 0,
            syncs: 2,
            segments: 7,
        };
        let sizes = GroupSizes { largest: Vec::new(), by_doubling: vec![2, 1] };
        let behind = Some(Duration::from_millis(1500));
        let copies = Copies { takes_writes: false, standbys: 2, behind };
        let text = metrics.text(&stats, &sizes, &copies, &[("index", 5)]);
        for line in [
            r#"hapax_requests_total{method="GET",path="/v1/stats",status="404"} 1"#,
            r#"hapax_request_duration_seconds_count{method="GET",path="/v1/stats"} 2"#,
            "hapax_pages 5",
            "hapax_fsyncs 2",
            "hapax_index_segments 7",
            "hapax_takes_writes 0",
            r#"hapax_memory_bytes{part="index"} 5"#,
            "hapax_standbys 2",
            "hapax_behind_seconds 1.5",
            r#"hapax_groups_by_members{members="2"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
