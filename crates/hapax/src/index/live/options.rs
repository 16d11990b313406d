//! How a live index is kept.

use crate::fingerprint::MaxDistance;
use crate::index::segment::SegmentEngine;

/// Settings of a [`LiveIndex`](super::LiveIndex).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveOptions {
    pub(super) bound: MaxDistance,
    pub(super) head: usize,
    pub(super) fan: usize,
    pub(super) scan_up_to: usize,
    pub(super) engine: SegmentEngine,
}

impl Default for LiveOptions {
    /// Within 6 bits, which is what good answers need.
    fn default() -> Self {
        const { Self::within(MaxDistance::new(6).unwrap()) }
    }
}

impl LiveOptions {
    /// An index that answers everything within `bound`.
    pub const fn within(bound: MaxDistance) -> Self {
        Self { bound, head: 8192, fan: 4, scan_up_to: 1 << 16, engine: SegmentEngine::Tables(10) }
    }

    /// How many entries the mutable part takes before it becomes a segment. Every search scans
    /// it. At least 1; 8192 unless said.
    #[must_use]
    pub const fn head(mut self, entries: usize) -> Self {
        self.head = if entries == 0 { 1 } else { entries };
        self
    }

    /// How many segments of like size are merged into one. A small number means fewer segments
    /// to search and more merging. At least 2; 4 unless said.
    #[must_use]
    pub const fn fan(mut self, segments: usize) -> Self {
        self.fan = if segments < 2 { 2 } else { segments };
        self
    }

    /// Segments of at most so many entries are scanned; 65536 unless said.
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

    /// The engine of a segment of so many entries.
    pub(super) fn engine_for(&self, entries: usize) -> SegmentEngine {
        if entries <= self.scan_up_to { SegmentEngine::Scan } else { self.engine }
    }
}
