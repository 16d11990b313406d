//! How a live index is kept.
//!
//! Each setting trades the time of a search against the work of writing or memory; none changes an
//! answer. Settings outside their range are moved into it, so that every value is usable.

use crate::fingerprint::MaxDistance;
use crate::index::segment::SegmentEngine;
use crate::similarity::DEFAULT_WITHIN;

/// Settings of a [`LiveIndex`](super::LiveIndex).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveOptions {
    pub(super) bound: MaxDistance,
    pub(super) head: usize,
    pub(super) growth: usize,
    pub(super) runs: usize,
    pub(super) scan_up_to: usize,
    pub(super) engine: SegmentEngine,
    pub(super) backlog: usize,
}

impl Default for LiveOptions {
    /// Within the distance of the default [`Policy`](crate::similarity::Policy).
    fn default() -> Self {
        const { Self::within(MaxDistance::new(DEFAULT_WITHIN).unwrap()) }
    }
}

impl LiveOptions {
    /// An index that answers everything within `bound`.
    pub const fn within(bound: MaxDistance) -> Self {
        Self {
            bound,
            head: 16384,
            growth: 12,
            runs: 1,
            scan_up_to: 8192,
            engine: SegmentEngine::Tables(10),
            backlog: 0,
        }
    }

    /// How many entries the mutable part takes before it becomes a segment. Every search scans
    /// it. At least 1; 16384 unless said.
    #[must_use]
    pub const fn head(mut self, entries: usize) -> Self {
        self.head = if entries == 0 { 1 } else { entries };
        self
    }

    /// How many times larger each tier of segments is than the one before. A small number means
    /// less rewriting within a tier and more tiers. At least 2; 12 unless said.
    #[must_use]
    pub const fn growth(mut self, times: usize) -> Self {
        self.growth = if times < 2 { 2 } else { times };
        self
    }

    /// How many segments a tier may have before they are merged. More mean less merging and
    /// slower searches. At least 1; 1 unless said.
    #[must_use]
    pub const fn runs(mut self, segments: usize) -> Self {
        self.runs = if segments == 0 { 1 } else { segments };
        self
    }

    /// Segments of at most so many entries are scanned; 8192 unless said.
    #[must_use]
    pub const fn scan_up_to(mut self, entries: usize) -> Self {
        self.scan_up_to = entries;
        self
    }

    /// How larger segments are searched; at most ten tables unless said.
    #[must_use]
    pub const fn engine(mut self, engine: SegmentEngine) -> Self {
        self.engine = engine;
        self
    }

    /// How many segments may wait to be merged, beyond those that would be left alone, before an
    /// insert merges some itself. Every one of them is asked by every search. 0 unless said: no
    /// insert leaves a merge behind that nobody does.
    #[must_use]
    pub const fn backlog(mut self, segments: usize) -> Self {
        self.backlog = segments;
        self
    }

    pub(super) fn engine_for(&self, entries: usize) -> SegmentEngine {
        if entries <= self.scan_up_to { SegmentEngine::Scan } else { self.engine }
    }
}
