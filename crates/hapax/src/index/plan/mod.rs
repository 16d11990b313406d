//! Plans which engine to use, with which parameters, and predicts its costs.
//!
//! A [`Request`] states pages, distance, memory and recall. A [`Plan`] lists the possible engines with
//! predicted bytes, probes, comparisons and time, and chooses the fastest one that fits:
//!
//! ```
//! use hapax::fingerprint::MaxDistance;
//! use hapax::index::plan::{Machine, Request, plan};
//!
//! let three = MaxDistance::new(3).unwrap();
//! let request = Request::new(10_000_000, three).memory(1_000_000_000);
//! let plan = plan(&request, &Machine::typical())?;
//! let choice = plan.choice();
//! assert!(choice.fits && choice.total_bytes <= 1_000_000_000);
//! println!("{}", plan.reason);
//! # Ok::<(), hapax::index::plan::PlanError>(())
//! ```
//!
//! Guarantees bytes within two percent of `memory_bytes` from ten thousand pages on. Probes and comparisons are
//! averages for distinct, evenly spread fingerprints; dense clusters take more. Times are for batches on one
//! thread, and in [`Mode::First`] for queries with a match. Source: Sood, "Probabilistic simhash matching",
//! 2011, chapter VI, equations 6.10 (with a directory instead of binary search), 6.16, 6.17 and 6.21.

mod batch;
mod choice;
mod engines;
mod machine;
mod sorted;
mod weak_bits;

pub use batch::{Load, Ways};
pub use engines::candidates;
pub use machine::Machine;
pub use weak_bits::WEAK_BITS_WIDEST;

use super::segment::Encoding;
use super::tables::Design;
use super::weak::Recall;
use crate::fingerprint::MaxDistance;

#[cfg(test)]
mod tests;

/// The requirements of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Number of stored pages.
    pub pages: u64,
    /// Maximum distance of a match.
    pub bound: MaxDistance,
    /// Memory limit of the index in bytes; `None` for no limit.
    pub memory: Option<u64>,
    /// Minimum recall.
    pub recall: Recall,
    /// All matches, or one match.
    pub mode: Mode,
    /// Expected number of queries. For few queries, building an index costs more than it saves;
    /// with `None`, the cost of building is ignored.
    pub queries: Option<u64>,
}

impl Request {
    /// All matches, exactly, without a memory limit, for many queries.
    pub fn new(pages: u64, bound: MaxDistance) -> Self {
        let (recall, mode) = (Recall::ALL, Mode::All);
        Self { pages, bound, memory: None, recall, mode, queries: None }
    }

    /// Limits the memory.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Allows a lower recall.
    #[must_use]
    pub fn recall(mut self, recall: Recall) -> Self {
        self.recall = recall;
        self
    }

    /// Accepts any one match per query.
    #[must_use]
    pub fn first(mut self) -> Self {
        self.mode = Mode::First;
        self
    }

    /// Expects this many queries.
    #[must_use]
    pub fn queries(mut self, queries: u64) -> Self {
        self.queries = Some(queries);
        self
    }
}

/// When a search may stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    #[default]
    All,
    First,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// [`Scan`](super::Scan).
    Scan,
    /// A segment that is searched in place ([`SegmentView`](super::segment::SegmentView)).
    Sorted(Encoding),
    /// [`Tables`](super::Tables) of this design, built with [`Machine::costs`].
    Tables(Design),
    /// [`WeakBits`](super::WeakBits), built with the request's bound and recall.
    WeakBits {
        /// Number of leading bits ([`WeakOptions::prefix_bits`](super::WeakOptions::prefix_bits)).
        prefix_bits: u32,
    },
}

impl Engine {
    /// A name of one or two words.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Sorted(Encoding::Plain) => "sorted",
            Self::Sorted(Encoding::Compressed) => "sorted, compressed",
            Self::Tables(_) => "tables",
            Self::WeakBits { .. } => "weak bits",
        }
    }

    /// Number of tables that hold all fingerprints, besides the fingerprints themselves.
    pub fn tables(&self) -> u64 {
        match self {
            Self::Scan | Self::Sorted(_) => 0,
            Self::Tables(design) => design.keys().len() as u64,
            Self::WeakBits { .. } => 1,
        }
    }
}

/// An engine and its predicted costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub engine: Engine,
    /// Number of indexes that the pages are spread over, each with at most
    /// [`Collection::MOST`](super::Collection::MOST) pages. The other numbers are for all of them
    /// together.
    pub parts: u64,
    /// Share of the matches that it finds.
    pub recall: f64,
    /// Bytes per page, including ids.
    pub bytes_per_page: f64,
    pub total_bytes: u64,
    /// Average number of buckets looked up per query.
    pub probes: f64,
    /// Average number of fingerprints compared per query.
    pub compared: f64,
    /// Time per query of a batch, on one thread.
    pub nanoseconds_per_query: f64,
    /// Time to build it on one thread from sorted fingerprints; every engine needs the sorting.
    pub build_nanoseconds: f64,
    /// Whether it fits into the requested memory.
    pub fits: bool,
}

/// The candidates and the best of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The possible engines, by bytes.
    pub candidates: Vec<Candidate>,
    /// Index of the best one.
    pub chosen: usize,
    /// Why it is the best, in a sentence.
    pub reason: String,
}

impl Plan {
    pub fn choice(&self) -> &Candidate {
        &self.candidates[self.chosen]
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There are no pages.
    #[error("0 pages need no index; plan for 1 page or more")]
    NoPages,
    /// No engine fits into the memory.
    #[error(
        "no index of {pages} pages fits into {}: the smallest ({engine}) needs {} ({needed} bytes){}",
        choice::bytes(*.given),
        choice::bytes(*.needed),
        choice::machines(*.given, *.needed)
    )]
    Memory {
        pages: u64,
        /// Memory limit in bytes.
        given: u64,
        /// Bytes of the smallest candidate.
        needed: u64,
        engine: &'static str,
    },
}

/// Lists the candidates and chooses the best one.
///
/// # Errors
///
/// [`PlanError::NoPages`]; [`PlanError::Memory`] if nothing fits, with the bytes needed.
pub fn plan(request: &Request, machine: &Machine) -> Result<Plan, PlanError> {
    choice::choose(request, candidates(request, machine)?)
}
