//! Settings of a live index.
//!
//! Each setting trades search time against write time or memory; none changes a result. Settings out of range
//! are moved into it.

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
    /// For the distance of the default [`Policy`](crate::similarity::Policy).
    fn default() -> Self {
        const { Self::within(MaxDistance::new(DEFAULT_WITHIN).unwrap()) }
    }
}

impl LiveOptions {
    /// For an index that finds everything within `bound`.
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

    /// Number of entries in the head before it becomes a segment. Every search scans the head. At
    /// least 1; default 16384.
    #[must_use]
    pub const fn head(mut self, entries: usize) -> Self {
        self.head = if entries == 0 { 1 } else { entries };
        self
    }

    /// Size ratio of consecutive tiers of segments. A small ratio means less rewriting within a
    /// tier and more tiers. At least 2; default 12.
    #[must_use]
    pub const fn growth(mut self, times: usize) -> Self {
        self.growth = if times < 2 { 2 } else { times };
        self
    }

    /// Number of segments per tier before they are merged. More segments mean less merging and
    /// slower searches. At least 1; default 1.
    #[must_use]
    pub const fn runs(mut self, segments: usize) -> Self {
        self.runs = if segments == 0 { 1 } else { segments };
        self
    }

    /// Segments of at most this many entries are scanned; default 8192.
    #[must_use]
    pub const fn scan_up_to(mut self, entries: usize) -> Self {
        self.scan_up_to = entries;
        self
    }

    /// How larger segments are searched; default: at most ten tables.
    #[must_use]
    pub const fn engine(mut self, engine: SegmentEngine) -> Self {
        self.engine = engine;
        self
    }

    /// Number of due but unmerged segments before an insert merges some itself. Every search visits
    /// each of them. Default 0: inserts leave no merge undone.
    #[must_use]
    pub const fn backlog(mut self, segments: usize) -> Self {
        self.backlog = segments;
        self
    }

    pub(super) fn engine_for(&self, entries: usize) -> SegmentEngine {
        if entries <= self.scan_up_to { SegmentEngine::Scan } else { self.engine }
    }
}
