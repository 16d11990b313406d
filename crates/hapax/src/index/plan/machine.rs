//! What the steps of a search take on a machine.
//!
//! [`Machine::typical`] is a server of the 2020s; [`Machine::calibrate`] measures this one with a
//! clock that the caller lends, in about a second: small sets that stay in the cache, and one of
//! four million fingerprints that does not.
//!
//! ```text
//!   tables of 2^15 rows, buckets of 128      t1  =  near_probe + 128 entry
//!   tables of 2^15 rows, buckets of 4        t2  =  near_probe +   4 entry
//!   tables of 2^22 rows, buckets of 4        t3  =  probe(2^22) +  4 entry
//! ```
//!
//! Promise: whatever the clock says, the constants are positive and within a factor of twenty
//! of the typical ones; a clock that stands still gives the typical ones. Constants change
//! which engine is chosen and the predicted times, never an answer.
//!
//! What this module does not know: which clock it is.

use std::hint::black_box;
use std::ops::ControlFlow;

use crate::fingerprint::{Fingerprint, MaxDistance};
use crate::index::collection::{Collection, Entry};
use crate::index::near::{HammingIndex, Query};
use crate::index::scan::Scan;
use crate::index::tables::{Costs, Design, TableOptions, Tables};

/// Nanoseconds for the steps of a search, on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// A probe into tables that stay in the cache.
    pub near_probe: f64,
    /// A probe into tables far larger than any cache, overlapped with others.
    pub far_probe: f64,
    /// A fingerprint in a bucket: `c3` of 6.10 and `c2` of 6.16.
    pub entry: f64,
    /// A fingerprint in a scan, for one query of a batch.
    pub scanned: f64,
    /// A step of the heap that orders combinations of bits: `c1` of 6.16.
    pub heap_step: f64,
    /// Permuting a fingerprint: `f c1` of 6.10.
    pub permuted: f64,
    /// Sorting a fingerprint into a table.
    pub placed: f64,
}

/// Up to so many rows tables stay in the cache; each doubling beyond adds to a probe ...
const CACHED_ROWS: f64 = 500_000.0;

/// ... up to so many doublings.
const DOUBLINGS: f64 = 7.5;

/// A measured constant is believed within this factor of the typical one.
const BELIEVED: f64 = 20.0;

impl Machine {
    /// A server of the 2020s.
    pub fn typical() -> Self {
        Self {
            near_probe: 10.0,
            far_probe: 40.0,
            entry: 0.45,
            scanned: 0.1,
            heap_step: 3.0,
            permuted: 15.0,
            placed: 25.0,
        }
    }

    /// Costs of tables of so many rows. Tables that are to be as planned are built with these.
    pub fn costs(&self, rows: usize) -> Costs {
        let doublings = (rows as f64 / CACHED_ROWS).max(1.0).log2().min(DOUBLINGS);
        let probe = self.near_probe + (self.far_probe - self.near_probe) / DOUBLINGS * doublings;
        Costs { probe, entry: self.entry }
    }

    /// One step of a binary search in a sorted table: `c2` of 6.10. Nothing overlaps it. On ten
    /// million fingerprints a search of 23 steps takes 1 to 2 us, 40 to 80 ns a step.
    pub(super) fn bisected(&self, rows: u64) -> f64 {
        self.costs(usize::try_from(rows).unwrap_or(usize::MAX)).probe * 2.0
    }

    /// A fingerprint in a run that is compared one by one, `c3` of 6.10: a nanosecond where many
    /// at a time take half of one.
    pub(super) fn one_by_one(&self) -> f64 {
        self.entry * 2.0
    }

    /// Measures this machine. `clock` gives nanoseconds since some moment; about a second's
    /// work and 150 MB of memory, on one thread.
    pub fn calibrate(clock: &mut dyn FnMut() -> u64) -> Self {
        let typical = Self::typical();
        let mut timed = Timed { clock };
        let (small, large) = (collection(1 << 15), collection(1 << 22));

        let buckets_of_128 = timed.per_probe(&small, Design::blocks(8, within(7)), 1 << 12).0;
        let buckets_of_4 = timed.per_probe(&small, Design::blocks(4, within(3)), 1 << 13).0;
        let (far, placed) =
            timed.per_probe(&large, Design::multi_index(2, within(1)), (1 << 16) - 1);

        let entry = believed((buckets_of_128 - buckets_of_4) / 124.0, typical.entry);
        let near_probe = believed(buckets_of_4 - 4.0 * entry, typical.near_probe);
        let doublings = (f64::from(1 << 22) / CACHED_ROWS).log2();
        let slope = (far - 4.0 * entry - near_probe) / doublings;
        let far_probe = believed(near_probe + slope * DOUBLINGS, typical.far_probe);
        // What is not measured is as much slower or faster as a probe in the cache.
        let pace = near_probe / typical.near_probe;
        Self {
            near_probe,
            far_probe: far_probe.max(near_probe),
            entry,
            scanned: believed(timed.per_scanned(small), typical.scanned),
            heap_step: typical.heap_step * pace,
            permuted: typical.permuted * pace,
            placed: believed(placed, typical.placed),
        }
    }
}

/// A measurement without the outliers of an interrupted clock or one that stood still.
fn believed(measured: f64, typical: f64) -> f64 {
    if measured > 0.0 { measured.clamp(typical / BELIEVED, typical * BELIEVED) } else { typical }
}

fn within(bits: u8) -> MaxDistance {
    MaxDistance::new(bits).expect("a constant below 64")
}

struct Timed<'a> {
    clock: &'a mut dyn FnMut() -> u64,
}

impl Timed<'_> {
    fn nanoseconds<T>(&mut self, work: impl FnOnce() -> T) -> (T, f64) {
        let start = (self.clock)();
        let done = work();
        (done, (self.clock)().saturating_sub(start) as f64)
    }

    /// Nanoseconds for a probe, the best of three runs; and for placing a row in a table.
    fn per_probe(
        &mut self,
        pages: &Collection,
        design: Result<Design, crate::index::BuildError>,
        queries: u64,
    ) -> (f64, f64) {
        let options =
            TableOptions::within(within(0)).design(design.expect("a design of constants"));
        let pages = pages.clone();
        let rows = pages.len() as f64;
        let (tables, took) = self.nanoseconds(|| Tables::build(pages, options));
        let tables = tables.expect("four million fit");
        let placed = took / rows / tables.design().keys().len() as f64;
        // Strangers: what is found is told elsewhere.
        let asked: Vec<Query<'_>> = (0..queries).map(|i| scattered(!i).into()).collect();
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let (effort, took) = self.nanoseconds(|| {
                tables.visit_batch(&asked, within(0), &mut |_, m| {
                    black_box(m);
                    ControlFlow::Continue(())
                })
            });
            best = best.min(took / effort.map_or(1, |e| e.probes).max(1) as f64);
        }
        (best, placed)
    }

    /// Nanoseconds for a fingerprint in a scan.
    fn per_scanned(&mut self, pages: Collection) -> f64 {
        let scan = Scan::new(pages);
        let asked: Vec<Query<'_>> = (0..256).map(|i: u64| scattered(!i).into()).collect();
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let (effort, took) = self.nanoseconds(|| {
                scan.visit_batch(&asked, within(3), &mut |_, m| {
                    black_box(m);
                    ControlFlow::Continue(())
                })
            });
            best = best.min(took / effort.map_or(1, |e| e.compared).max(1) as f64);
        }
        best
    }
}

/// So many evenly spread fingerprints.
fn collection(rows: u64) -> Collection {
    let entries = (0..rows).map(|id| Entry { fingerprint: scattered(id), id });
    Collection::new(entries).expect("four million fit")
}

/// Evenly spread, and different for different numbers: odd factors and shifts lose nothing.
fn scattered(number: u64) -> Fingerprint {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    Fingerprint::from_bits(bits ^ (bits >> 32))
}
