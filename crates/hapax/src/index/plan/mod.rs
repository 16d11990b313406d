//! Plans which engine to use, with which parameters, and what it will take.
//!
//! A [`Request`] states pages, distance, memory and recall. A [`Plan`] lists the engines that could answer, with
//! predicted bytes, probes, comparisons and time, and names the fastest one that fits:
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
//! means for distinct, evenly spread fingerprints; dense clusters take more. Times are for one thread and batches;
//! for [`Mode::First`], for queries that match.
//!
//! Source: Sood, "Probabilistic simhash matching", 2011, chapter VI, equations 6.10 (with a directory for the
//! binary search), 6.16, 6.17 and 6.21.

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

/// What is asked of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// How many pages are stored.
    pub pages: u64,
    /// How near a match must be.
    pub bound: MaxDistance,
    /// How many bytes the index may take; no limit without it.
    pub memory: Option<u64>,
    /// How many of the matches must be found.
    pub recall: Recall,
    /// All matches, or some match.
    pub mode: Mode,
    /// How many queries there will be. With few of them, building an index costs more than it
    /// saves; without a number, building is not counted.
    pub queries: Option<u64>,
}

impl Request {
    /// All matches, exactly, in any memory, for many queries.
    pub fn new(pages: u64, bound: MaxDistance) -> Self {
        let (recall, mode) = (Recall::ALL, Mode::All);
        Self { pages, bound, memory: None, recall, mode, queries: None }
    }

    /// In at most so many bytes.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// It is enough to find this share of the matches.
    #[must_use]
    pub fn recall(mut self, recall: Recall) -> Self {
        self.recall = recall;
        self
    }

    /// Some match is enough.
    #[must_use]
    pub fn first(mut self) -> Self {
        self.mode = Mode::First;
        self
    }

    /// There will be so many queries and no more.
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
    /// A segment searched where it lies ([`SegmentView`](super::segment::SegmentView)).
    Sorted(Encoding),
    /// [`Tables`](super::Tables) of this design, built with [`Machine::costs`].
    Tables(Design),
    /// [`WeakBits`](super::WeakBits), built with the request's bound and recall.
    WeakBits {
        /// With so many leading bits
        /// ([`WeakOptions::prefix_bits`](super::WeakOptions::prefix_bits)).
        prefix_bits: u32,
    },
}

impl Engine {
    /// One word or two.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Sorted(Encoding::Plain) => "sorted",
            Self::Sorted(Encoding::Compressed) => "sorted, compressed",
            Self::Tables(_) => "tables",
            Self::WeakBits { .. } => "weak bits",
        }
    }

    /// How many tables of all fingerprints there are, beside the fingerprints themselves.
    pub fn tables(&self) -> u64 {
        match self {
            Self::Scan | Self::Sorted(_) => 0,
            Self::Tables(design) => design.keys().len() as u64,
            Self::WeakBits { .. } => 1,
        }
    }
}

/// An engine and what it is predicted to take.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub engine: Engine,
    /// How many indexes the pages are spread over, each of at most
    /// [`Collection::MOST`](super::Collection::MOST) pages. The other numbers are for all of
    /// them together.
    pub parts: u64,
    /// The share of the matches it finds.
    pub recall: f64,
    /// Bytes for each page, ids included.
    pub bytes_per_page: f64,
    /// Bytes altogether.
    pub total_bytes: u64,
    /// Buckets looked up for a query, on average.
    pub probes: f64,
    /// Fingerprints compared with a query, on average.
    pub compared: f64,
    /// Time for a query in a batch, on one thread.
    pub nanoseconds_per_query: f64,
    /// Time to build it on one thread, once the fingerprints are in order: that much every
    /// engine needs.
    pub build_nanoseconds: f64,
    /// Does it fit into the memory asked for?
    pub fits: bool,
}

/// What could be done, and what is best.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Engines that could answer, by bytes.
    pub candidates: Vec<Candidate>,
    /// The position of the best one.
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
    /// An index of nothing needs no plan.
    #[error("0 pages need no index; plan for 1 page or more")]
    NoPages,
    /// Nothing is so small.
    #[error(
        "no index of {pages} pages fits into {}: the smallest ({engine}) needs {} ({needed} bytes){}",
        choice::bytes(*.given),
        choice::bytes(*.needed),
        choice::machines(*.given, *.needed)
    )]
    Memory {
        pages: u64,
        /// Bytes there are.
        given: u64,
        /// Bytes the smallest candidate needs.
        needed: u64,
        engine: &'static str,
    },
}

/// Lists the candidates and takes the best one.
///
/// # Errors
///
/// [`PlanError::NoPages`]; [`PlanError::Memory`] when nothing fits, with the bytes needed.
pub fn plan(request: &Request, machine: &Machine) -> Result<Plan, PlanError> {
    choice::choose(request, candidates(request, machine)?)
}
