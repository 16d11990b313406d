//! The costs of the steps of a search on a machine.
//!
//! [`Machine::typical`] is a server of the 2020s; [`Machine::calibrate`] measures the current one in a second
//! or two with a clock from the caller. Guarantees positive constants within a factor of twenty of the typical
//! ones, whatever the clock returns. Constants affect the chosen engine and predicted times, never a result.
//!
//! ```text
//!   tables of 2^15 rows, buckets of 128      t1  =  near_probe + 128 entry
//!   tables of 2^15 rows, buckets of 4        t2  =  near_probe +   4 entry
//!   tables of 2^22 rows, buckets of 4        t3  =  probe(2^22) +  4 entry
//!   weak bits of 2^22 rows, buckets of 16    t4  =  ranked + K4 (combination +   16 filtered)
//!   the same with more recall                t5  =  ranked + K5 (combination +   16 filtered)
//!   weak bits of 2^22 rows, buckets of 1024  t6  =  ranked + K6 (combination + 1024 filtered)
//! ```

use std::hint::black_box;
use std::ops::ControlFlow;

use crate::fingerprint::simhash::{Tie, cut};
use crate::fingerprint::{BitSums, Fingerprint, MaxDistance};
use crate::index::collection::{Collection, Entry};
use crate::index::near::{Effort, HammingIndex, Query};
use crate::index::scan::Scan;
use crate::index::tables::{Costs, Design, TableOptions, Tables};
use crate::index::weak::{Recall, WeakBits, WeakOptions};

/// Nanoseconds of the steps of a search on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// A probe into tables that fit into the cache.
    pub near_probe: f64,
    /// A probe into tables far larger than any cache, overlapped with others.
    pub far_probe: f64,
    /// Comparing a fingerprint of a table's bucket: `c3` of 6.10.
    pub entry: f64,
    /// Comparing a fingerprint in a scan with one query of a batch.
    pub scanned: f64,
    /// Ordering the bits of a query by weakness, and other work per query: the `p c1` of 6.16.
    pub ranked: f64,
    /// Finding a combination of weak bits and looking up its bucket: the `K c1` of 6.16.
    pub near_combination: f64,
    /// Comparing a fingerprint of a weak-bits bucket: `c2` of 6.16.
    pub filtered: f64,
    /// Sorting a fingerprint into a table.
    pub placed: f64,
}

/// Tables of up to this many rows stay in the cache; each doubling beyond adds to the cost of a
/// probe ...
const CACHED_ROWS: f64 = 500_000.0;

/// ... up to this many doublings.
const DOUBLINGS: f64 = 7.5;

/// For up to this many rows a batch processes weak bits part by part, each of which fits into the
/// cache.
const DEALT_ROWS: f64 = (1u32 << 25) as f64;

/// Number of queries to measure weak bits: enough for processing part by part.
const WEAK_QUERIES: u64 = 1 << 14;

/// Measurements are limited to this factor of the typical constant.
const BELIEVED: f64 = 20.0;

impl Machine {
    /// A server of the 2020s.
    pub fn typical() -> Self {
        Self {
            near_probe: 10.0,
            far_probe: 40.0,
            entry: 0.45,
            scanned: 0.1,
            ranked: 200.0,
            near_combination: 30.0,
            filtered: 0.1,
            placed: 25.0,
        }
    }

    /// Costs of tables of this many rows. Build tables with these to get the planned design.
    pub fn costs(&self, rows: usize) -> Costs {
        let doublings = (rows as f64 / CACHED_ROWS).max(1.0).log2().min(DOUBLINGS);
        let probe = self.near_probe + (self.far_probe - self.near_probe) / DOUBLINGS * doublings;
        Costs { probe, entry: self.entry }
    }

    /// Cost of a combination of weak bits in an index of this many rows.
    pub(super) fn combination(&self, rows: u64) -> f64 {
        let doublings = (rows as f64 / DEALT_ROWS).max(1.0).log2().min(DOUBLINGS);
        self.near_combination + (self.far_probe - self.near_probe) / DOUBLINGS * doublings
    }

    /// Measures this machine. `clock` returns nanoseconds since any moment. Takes a second or two
    /// and 200 MB of memory, on one thread.
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
        let (few, few_took) = timed.weak_bits(&large, 18, 0.9);
        let (more, more_took) = timed.weak_bits(&large, 18, 0.99);
        let (dense, dense_took) = timed.weak_bits(&large, 12, 0.9);
        let sparse = (more_took - few_took) / (more - few).max(1.0);
        let ranked = believed(few_took - few * sparse, typical.ranked);
        let full = (dense_took - ranked) / dense.max(1.0);
        let filtered = believed((full - sparse) / 1008.0, typical.filtered);
        Self {
            near_probe,
            far_probe: far_probe.max(near_probe),
            entry,
            scanned: believed(timed.per_scanned(small), typical.scanned),
            ranked,
            near_combination: believed(sparse - 16.0 * filtered, typical.near_combination),
            filtered,
            placed: believed(placed, typical.placed),
        }
    }
}

/// Limits a measurement, to exclude outliers of an interrupted or stopped clock.
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

    /// Nanoseconds per probe, best of three runs, and per row placed in a table.
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
        // Unrelated values, because the cost of matches is measured elsewhere.
        let asked: Vec<Query<'_>> = (0..queries).map(|i| scattered(!i).into()).collect();
        let (probes, took) = self.best_of_three(&tables, &asked, within(0), |e| e.probes);
        (took / probes, placed)
    }

    /// Probes and nanoseconds per query of weak bits.
    fn weak_bits(&mut self, pages: &Collection, prefix_bits: u32, recall: f64) -> (f64, f64) {
        let recall = Recall::new(recall).expect("a constant below 1");
        let options = WeakOptions::within(within(3), recall).prefix_bits(prefix_bits);
        let index = WeakBits::build(pages.clone(), options).expect("four million fit");
        let sums: Vec<BitSums> = (0..WEAK_QUERIES).map(scattered_sums).collect();
        let asked: Vec<Query<'_>> = sums
            .iter()
            .map(|sums| Query { fingerprint: cut(sums, Tie::Zero), sums: Some(sums) })
            .collect();
        let (probes, took) = self.best_of_three(&index, &asked, within(3), |e| e.probes);
        let each = |total: f64| total / WEAK_QUERIES as f64;
        (each(probes), each(took))
    }

    /// Nanoseconds per fingerprint of a scan.
    fn per_scanned(&mut self, pages: Collection) -> f64 {
        let scan = Scan::new(pages);
        let asked: Vec<Query<'_>> = (0..256).map(|i: u64| scattered(!i).into()).collect();
        let (compared, took) = self.best_of_three(&scan, &asked, within(3), |e| e.compared);
        took / compared
    }

    /// The count returned by the work, at least 1, and the nanoseconds of the fastest of three
    /// runs.
    fn best_of_three(
        &mut self,
        index: &dyn HammingIndex,
        asked: &[Query<'_>],
        bound: MaxDistance,
        counted: fn(&Effort) -> u64,
    ) -> (f64, f64) {
        let (mut count, mut best) = (1.0, f64::INFINITY);
        for _ in 0..3 {
            let (effort, took) = self.nanoseconds(|| {
                index.visit_batch(asked, bound, &mut |_, m| {
                    black_box(m);
                    ControlFlow::Continue(())
                })
            });
            count = effort.map_or(1, |e| counted(&e)).max(1) as f64;
            best = best.min(took);
        }
        (count, best)
    }
}

/// This many evenly spread fingerprints.
fn collection(rows: u64) -> Collection {
    let entries = (0..rows).map(|id| Entry { fingerprint: scattered(id), id });
    Collection::new(entries).expect("four million fit")
}

/// Sums of all sizes.
fn scattered_sums(number: u64) -> BitSums {
    let sum = |bit: usize| scattered(number << 6 | bit as u64).to_bits() as i64 >> 20;
    BitSums::new(std::array::from_fn(sum))
}

/// Evenly spread, and distinct for distinct numbers, because the steps are bijective.
fn scattered(number: u64) -> Fingerprint {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    Fingerprint::from_bits(bits ^ (bits >> 32))
}
