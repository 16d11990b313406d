//! Chooses whether to load a stored collection into an index or to stream it past the queries.
//!
//! ```text
//!   load     =  n (loaded + built) + bytes fresh + q query
//!   weak     =  stream of a sample + n (4 read + placed) + bytes fresh + q query
//!   stream   =  passes n (read + searched) + q keys prepared
//! ```
//!
//! Times are for one thread, so the choice does not depend on the number of threads: loading and streaming may
//! report different first matches. Only what fits into memory is loaded; a stream always fits, in as many
//! passes as needed. The choice never changes the result of an exact search. Does not read files.

use super::{Candidate, Engine, Machine, PlanError, Request, candidates};
use crate::hamming::Kernel;
use crate::index::weak::{Recall, SAMPLE};
use crate::join::{JoinError, PairOptions};

/// Nanoseconds per entry to read it from a file, to read it with its id and order it, and to make
/// it part of a sorted array; and nanoseconds per byte of fresh memory. Measured on a Zen 4 server.
const READ: f64 = 25.0;
const LOADED: f64 = 30.0;
const ARRANGED: f64 = 85.0;
const FRESH: f64 = 0.5;

/// Number of readings of the file to build weak bits, besides streaming a sample.
const WEAK_READINGS: f64 = 4.0;

/// Nanoseconds to put a query into a table.
const PREPARED: f64 = 20.0;

/// Bytes per entry while an exact index is built.
const LOADING: u64 = 32;

/// If a recall below 1 suffices, an index takes at most this many bytes per entry ...
const WEAK_BYTES: u64 = 12;

/// ... or in total.
const ALWAYS: u64 = 64 << 20;

/// The possible ways to answer a batch, and their predicted costs.
#[derive(Clone, Debug)]
pub struct Ways {
    /// An error if nothing fits into memory.
    pub load: Result<Load, PlanError>,
    /// Seconds of streaming; an error if the bound is too wide.
    pub stream: Result<f64, String>,
}

/// The best index to load into.
#[derive(Clone, Debug)]
pub struct Load {
    pub candidate: Candidate,
    pub seconds: f64,
    /// Peak memory in bytes, while building or afterwards.
    pub bytes: u64,
}

impl Ways {
    /// The ways to answer the queries of a request, with streaming in this many passes. Exact
    /// requests without a memory limit are not limited.
    pub fn new(request: &Request, machine: &Machine, passes: u64) -> Self {
        let stream = streamed(request, passes).map_err(|error| error.to_string());
        Self { load: loaded(request, machine), stream }
    }

    /// Whether streaming is better.
    pub fn streams(&self) -> bool {
        match (&self.load, &self.stream) {
            (Ok(load), Ok(stream)) => *stream < load.seconds,
            // An empty collection has nothing to stream.
            (Err(PlanError::NoPages), _) | (_, Err(_)) => false,
            (Err(_), Ok(_)) => true,
        }
    }

    /// The chosen way and the reason, in a sentence.
    pub fn reason(&self) -> String {
        let loading = |load: &Load| {
            let (seconds, bytes) = (load.seconds, super::choice::bytes(load.bytes));
            format!(
                "loading into {} takes {seconds:.2} s and {bytes}",
                load.candidate.engine.name()
            )
        };
        match (&self.load, &self.stream) {
            (Ok(load), Ok(stream)) => {
                format!("streaming is predicted to take {stream:.2} s, {}", loading(load))
            }
            (Ok(load), Err(refused)) => format!("{}; {refused}", loading(load)),
            (Err(refused), Ok(stream)) => {
                format!("streaming is predicted to take {stream:.2} s; {refused}")
            }
            (Err(refused), Err(_)) => refused.to_string(),
        }
    }
}

fn loaded(request: &Request, machine: &Machine) -> Result<Load, PlanError> {
    let pages = request.pages as f64;
    let queries = request.queries.unwrap_or(u64::MAX) as f64;
    let limit = match request.memory {
        None if request.recall < Recall::ALL => {
            request.pages.saturating_mul(WEAK_BYTES).max(ALWAYS)
        }
        limit => limit.unwrap_or(u64::MAX),
    };
    let way = |candidate: Candidate| {
        let weak = matches!(candidate.engine, Engine::WeakBits { .. });
        let each = match candidate.engine {
            Engine::WeakBits { .. } => WEAK_READINGS * READ,
            Engine::Sorted(_) => LOADED + ARRANGED,
            Engine::Scan | Engine::Tables(_) => LOADED,
        };
        let sample = Request { queries: Some(SAMPLE as u64), ..*request };
        let sampled = if weak { streamed(&sample, 1).unwrap_or(0.0) } else { 0.0 };
        let asked = queries * candidate.nanoseconds_per_query;
        let held = if weak { 0 } else { request.pages.saturating_mul(LOADING) };
        let bytes = candidate.total_bytes.saturating_add(held);
        let made = pages * each + candidate.build_nanoseconds + bytes as f64 * FRESH;
        Load { seconds: sampled + (made + asked) * 1e-9, bytes, candidate }
    };
    let mut ways: Vec<Load> = candidates(request, machine)?.into_iter().map(way).collect();
    ways.sort_by(|a, b| a.seconds.total_cmp(&b.seconds).then(a.bytes.cmp(&b.bytes)));
    let smallest =
        ways.iter().min_by_key(|way| way.bytes).map(|way| (way.bytes, way.candidate.engine.name()));
    let (needed, engine) = smallest.unwrap_or((u64::MAX, "scan"));
    let refused = PlanError::Memory { pages: request.pages, given: limit, needed, engine };
    ways.into_iter().find(|way| way.bytes <= limit).ok_or(refused)
}

/// Seconds to stream everything past the queries.
fn streamed(request: &Request, passes: u64) -> Result<f64, JoinError> {
    let queries = request.queries.unwrap_or(u64::MAX);
    let passes = passes.max(1) as f64;
    let at_once = usize::try_from(queries).unwrap_or(usize::MAX) / passes as usize;
    let plan = PairOptions::within(request.bound)?.plan(at_once);
    let searched = plan.streamed_nanoseconds(at_once, Kernel::best());
    let prepared = queries as f64 * plan.keys() as f64 * PREPARED;
    let stored = passes * request.pages as f64 * (READ + searched);
    Ok((stored + prepared) * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::MaxDistance;

    fn ways(pages: u64, queries: u64, within: u8) -> Ways {
        let request = Request::new(pages, MaxDistance::new(within).unwrap()).queries(queries);
        Ways::new(&request, &Machine::typical(), 1)
    }

    #[test]
    fn many_pages_are_streamed_past_few_queries_and_few_are_loaded_for_many() {
        assert!(ways(10_000_000, 20_000, 3).streams());
        assert!(ways(10_000_000, 20_000, 6).streams());
        assert!(!ways(100_000, 10_000_000, 3).streams());
    }

    #[test]
    fn a_collection_larger_than_memory_is_streamed() {
        let request = Request::new(100_000, MaxDistance::new(3).unwrap()).queries(10_000_000);
        let little = Ways::new(&request.memory(1 << 20), &Machine::typical(), 1);
        assert!(little.streams());
        let Err(PlanError::Memory { needed, .. }) = little.load else { panic!("{little:?}") };
        assert!(Ways::new(&request.memory(needed), &Machine::typical(), 1).load.is_ok());
        assert!(!Ways::new(&request, &Machine::typical(), 1).streams());
    }

    #[test]
    fn bounds_too_wide_for_a_join_are_loaded() {
        let wide = ways(10_000_000, 20_000, 17);
        assert!(!wide.streams() && wide.reason().contains("out of range"), "{}", wide.reason());
    }

    #[test]
    fn with_less_recall_an_index_takes_at_most_twelve_bytes_a_page() {
        let request = Request::new(10_000_000, MaxDistance::new(3).unwrap()).queries(20_000);
        let exact = Ways::new(&request, &Machine::typical(), 1).load.unwrap();
        assert!(exact.bytes > 320_000_000);
        let recall = Recall::new(0.95).unwrap();
        let weak = Ways::new(&request.recall(recall), &Machine::typical(), 1).load.unwrap();
        assert!(matches!(weak.candidate.engine, Engine::WeakBits { .. }), "{weak:?}");
        assert!(weak.bytes <= 120_000_000, "{weak:?}");
    }

    #[test]
    fn more_passes_take_longer() {
        let request = Request::new(1_000_000, MaxDistance::new(3).unwrap()).queries(1_000_000);
        let seconds = |passes| Ways::new(&request, &Machine::typical(), passes).stream.unwrap();
        assert!(seconds(1) < seconds(2) && seconds(2) < seconds(8));
    }
}
