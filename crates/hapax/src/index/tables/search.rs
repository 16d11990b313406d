//! Probes many buckets at once.
//!
//! A probe (one bucket of one table for one query) waits for memory three times: for the directory, the bucket,
//! and for likely matches the row. Dozens of probes move through a ring: with each new one an older one takes
//! its next step, whose memory was prefetched. 64 queries go through one table after the other; a large batch
//! on a large set goes through each table as a whole, roughly in table order, so that the table stays in the
//! cache. Only the first table that finds a match reports it, which is decided from the differing bits.
//!
//! ```text
//!   probe i            compute the key, prefetch its directory line
//!   probe i - LAG      read the directory, prefetch the bucket's lines
//!   probe i - 2 LAG    compare filters; for likely matches, prefetch row numbers
//! ```

use std::ops::ControlFlow;

use super::design::Flips;
use super::table::{Filters, Table, WINDOW};
use crate::hamming::{Lanes, Work};
use crate::index::collection::Collection;
use crate::index::near::{Effort, Match, Query};

/// Number of probes between two steps of a probe: enough to cover the memory latency.
const LAG: usize = 12;

/// Capacity for probes in flight; a power of two.
const RING: usize = 64;

/// Queries per table before the next table, in a small batch.
const BATCH_SIZE: usize = 64;

/// Queries per table before the next table, in a large batch. Sorting takes 32 bytes per query.
const CHUNK: usize = 1 << 20;

/// Batches of at least this size are sorted ...
const LARGE_BATCH: usize = 1 << 16;

/// ... if the set is so large that its tables exceed the cache anyway.
const LARGE_SET: usize = 1 << 19;

/// Rows of a table that fit into a core's own cache: the size of a part in the rough order.
const ROWS_OF_A_PART: usize = 1 << 15;

/// Limits the number of parts, because writing to more places at a time is slow.
const MOST_PARTS_BITS: u32 = 10;

/// Buckets up to this length are compared window by window.
const SHORT: usize = 8 * WINDOW;

/// Likely matches that are finished together.
const LIKELY: usize = 32;

pub(super) struct Search<'a> {
    pub(super) pages: &'a Collection,
    pub(super) tables: &'a [Table],
    pub(super) queries: &'a [Query<'a>],
    pub(super) bound: u32,
    pub(super) visit: &'a mut dyn FnMut(usize, Match) -> ControlFlow<()>,
}

/// A query prepared for the tables.
#[derive(Clone, Copy, Default)]
struct QueryBits {
    bits: u64,
    /// Index in the chunk of queries.
    slot: u32,
}

/// A bucket to compare.
#[derive(Clone, Copy, Default)]
struct Probe {
    slot: u32,
    table: u32,
    prefix: u32,
    /// Bits in which `prefix` differs from that of the query.
    flips: u32,
    start: u32,
    end: u32,
    filter: u64,
}

/// A fingerprint that passed the filter.
#[derive(Clone, Copy)]
struct Likely {
    slot: u32,
    table: u32,
    place: u32,
    row: u32,
}

/// Probes in flight.
struct Ring {
    probes: [Probe; RING],
    /// Number of probes added; the last one is at `(entered - 1) % RING`.
    entered: usize,
    likely: Vec<Likely>,
    /// Bit `slot` is set if that query is finished.
    done: Vec<u64>,
    /// Number of the query in slot 0.
    first: usize,
    compared: u64,
}

impl Ring {
    #[inline(always)]
    fn is_done(&self, slot: usize) -> bool {
        (self.done[slot / 64] >> (slot % 64)) & 1 == 1
    }
}

impl Work for Search<'_> {
    type Output = Effort;

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> Effort {
        let mut ring = Ring {
            probes: [Probe::default(); RING],
            entered: 0,
            likely: Vec::new(),
            done: Vec::new(),
            first: 0,
            compared: 0,
        };
        let rows = self.pages.fingerprints().len();
        let ordered = self.queries.len() >= LARGE_BATCH && rows >= LARGE_SET;
        let together = if ordered { CHUNK } else { BATCH_SIZE };
        let parts_bits = (rows / ROWS_OF_A_PART).max(1).ilog2().min(MOST_PARTS_BITS);
        let (mut asked, mut in_order) = (Vec::new(), Vec::new());
        let mut probes = 0;
        for (number, chunk) in self.queries.chunks(CHUNK).enumerate() {
            ring.first = number * CHUNK;
            ring.done.clear();
            ring.done.resize(chunk.len().div_ceil(64), 0);
            ring.entered = 0;
            for (part, queries) in chunk.chunks(together).enumerate() {
                let slots = (part * together) as u32..;
                let queries = queries.iter().zip(slots);
                asked.clear();
                asked.extend(
                    queries.map(|(q, slot)| QueryBits { bits: q.fingerprint.to_bits(), slot }),
                );
                for (t, table) in self.tables.iter().enumerate() {
                    if ordered {
                        order(lanes, table, parts_bits, &asked, &mut in_order);
                    }
                    let asked = if ordered { &in_order } else { &asked };
                    self.probe_all(lanes, &mut ring, t as u32, asked);
                }
            }
            probes += ring.entered as u64;
            self.drain(lanes, &mut ring);
        }
        Effort { probes, compared: ring.compared, covered: self.queries.len() as f64 }
    }
}

/// Counting sort of queries by the first bits of their prefix in `table`.
#[inline(always)]
fn order<L: Lanes>(
    lanes: L,
    table: &Table,
    parts_bits: u32,
    asked: &[QueryBits],
    in_order: &mut Vec<QueryBits>,
) {
    let shift = table.prefix.bits().saturating_sub(parts_bits);
    let part = |asked: &QueryBits| (lanes.gather(&table.prefix, asked.bits) >> shift) as usize;
    let mut ends = [0usize; (1 << MOST_PARTS_BITS) + 1];
    for query in asked {
        ends[part(query) + 1] += 1;
    }
    for i in 1..ends.len() {
        ends[i] += ends[i - 1];
    }
    in_order.resize(asked.len(), QueryBits::default());
    for query in asked {
        let end = &mut ends[part(query)];
        in_order[*end] = *query;
        *end += 1;
    }
}

impl Search<'_> {
    /// Runs all probes of these queries into one table.
    #[inline(always)]
    fn probe_all<L: Lanes>(&mut self, lanes: L, ring: &mut Ring, t: u32, asked: &[QueryBits]) {
        let table = &self.tables[t as usize];
        let radius = table.radius.min(self.bound);
        for query in asked {
            if ring.is_done(query.slot as usize) {
                continue;
            }
            let own = lanes.gather(&table.prefix, query.bits) as u32;
            let filter = lanes.gather(&table.filter, query.bits);
            let probe = Probe { slot: query.slot, table: t, filter, ..Probe::default() };
            for flips in Flips::within(table.prefix.bits(), radius) {
                let flips = flips as u32;
                self.enter(lanes, ring, Probe { prefix: own ^ flips, flips, ..probe });
            }
        }
    }

    /// Adds a probe, and lets two older ones take a step.
    #[inline(always)]
    fn enter<L: Lanes>(&mut self, lanes: L, ring: &mut Ring, probe: Probe) {
        self.tables[probe.table as usize].prefetch_directory(probe.prefix);
        ring.probes[ring.entered % RING] = probe;
        ring.entered += 1;
        if ring.entered > LAG {
            self.find_bucket(ring, ring.entered - 1 - LAG);
        }
        if ring.entered > 2 * LAG {
            self.compare(lanes, ring, ring.entered - 1 - 2 * LAG);
        }
    }

    /// Finishes the probes in flight.
    #[inline(always)]
    fn drain<L: Lanes>(&mut self, lanes: L, ring: &mut Ring) {
        for number in ring.entered.saturating_sub(LAG)..ring.entered {
            self.find_bucket(ring, number);
        }
        for number in ring.entered.saturating_sub(2 * LAG)..ring.entered {
            self.compare(lanes, ring, number);
        }
        self.report(ring);
    }

    #[inline(always)]
    fn find_bucket(&self, ring: &mut Ring, number: usize) {
        let probe = &mut ring.probes[number % RING];
        (probe.start, probe.end) = self.tables[probe.table as usize].bucket(probe.prefix);
    }

    #[inline(always)]
    fn compare<L: Lanes>(&mut self, lanes: L, ring: &mut Ring, number: usize) {
        let probe = ring.probes[number % RING];
        ring.compared += u64::from(probe.end - probe.start);
        let table = &self.tables[probe.table as usize];
        let left = self.bound - probe.flips.count_ones();
        let likely = &mut ring.likely;
        let mut keep = |position: usize, differing: u64| {
            if !table.earlier_keys.iter().any(|earlier| earlier.finds(probe.flips, differing)) {
                let place = probe.start + position as u32;
                table.prefetch_row(place);
                likely.push(Likely { slot: probe.slot, table: probe.table, place, row: 0 });
            }
            ControlFlow::Continue(())
        };
        let (start, end) = (probe.start as usize, probe.end as usize);
        match &table.filters {
            Filters::Narrow(filters) => {
                let filter = probe.filter as u32;
                if end - start <= SHORT {
                    let mut offset = 0;
                    // The column is longer than its rows, so a whole window always exists.
                    while let Some(window) = filters[start + offset..].first_chunk::<WINDOW>() {
                        let inside = (1u32 << (end - start - offset).min(WINDOW)) - 1;
                        let mut near = u32::from(lanes.within_16(window, filter, left)) & inside;
                        while near != 0 {
                            let position = near.trailing_zeros() as usize;
                            let _ = keep(offset + position, u64::from(window[position] ^ filter));
                            near &= near - 1;
                        }
                        offset += WINDOW;
                        if start + offset >= end {
                            break;
                        }
                    }
                } else {
                    let bucket = &filters[start..end];
                    let _ = lanes.within(bucket, filter, left, |position, _| {
                        keep(position, u64::from(bucket[position] ^ filter))
                    });
                }
            }
            Filters::Wide(filters) => {
                let bucket = &filters[start..end];
                let _ = lanes.within(bucket, probe.filter, left, |position, _| {
                    keep(position, bucket[position] ^ probe.filter)
                });
            }
        }
        if ring.likely.len() >= LIKELY {
            self.report(ring);
        }
    }

    /// Compares whole fingerprints and reports matches. Rare, so kept out of the loop above.
    #[inline(never)]
    fn report(&mut self, ring: &mut Ring) {
        for likely in &mut ring.likely {
            likely.row = self.tables[likely.table as usize].row(likely.place) as u32;
            self.pages.prefetch(likely.row as usize);
        }
        for i in 0..ring.likely.len() {
            let likely = ring.likely[i];
            let slot = likely.slot as usize;
            if ring.is_done(slot) {
                continue;
            }
            let number = ring.first + slot;
            let row = likely.row as usize;
            let query = self.queries[number].fingerprint.to_bits();
            let differing = query ^ self.pages.fingerprints()[row];
            let distance = differing.count_ones();
            let earlier = &self.tables[..likely.table as usize];
            let found_before =
                |table: &Table| (differing & table.prefix.mask()).count_ones() <= table.radius;
            if distance > self.bound || earlier.iter().any(found_before) {
                continue;
            }
            let visit = &mut *self.visit;
            let flow = self.pages.visit_ids(row, |id| visit(number, Match { distance, id }));
            ring.done[slot / 64] |= u64::from(flow.is_break()) << (slot % 64);
        }
        ring.likely.clear();
    }
}
