//! Probes many buckets at once.
//!
//! A probe (one bucket of one table for one query) waits for memory three times: directory, bucket, and for likely
//! matches the row. Dozens of probes move through a ring, and with each new one an older one takes its next step,
//! whose memory was prefetched. 64 queries go through one table after the other; a large batch on a large set goes
//! through each table as a whole, roughly in the order of the table, so that it stays in the cache. Only the first
//! table that finds a match reports it, which follows from the differing bits.
//!
//! ```text
//!   probe i            compute the key, ask for its directory line
//!   probe i - LAG      read the directory, ask for the bucket's lines
//!   probe i - 2 LAG    compare filters; for likely matches, ask for row numbers
//! ```

use std::ops::ControlFlow;

use super::design::Flips;
use super::table::{Filters, Table, WINDOW};
use crate::hamming::{Lanes, Work};
use crate::index::collection::Collection;
use crate::index::near::{Effort, Match, Query};

/// How many probes later a probe takes its next step: enough to fill the wait for memory.
const LAG: usize = 12;

/// Room for the probes on their way; a power of two.
const RING: usize = 64;

/// Queries that go through one table before the next, in a small batch.
const TOGETHER: usize = 64;

/// Queries that go through one table before the next, in a large batch. Ordering them takes 32
/// bytes each.
const CHUNK: usize = 1 << 20;

/// Batches from this size on are ordered ...
const LARGE_BATCH: usize = 1 << 16;

/// ... if the set is so large that its tables do not stay in the cache anyway.
const LARGE_SET: usize = 1 << 19;

/// Rows of a table that stay in a core's own cache: the size of a part in the rough order.
const ROWS_OF_A_PART: usize = 1 << 15;

/// The most parts: writing to more places at a time than this is slow.
const MOST_PARTS_BITS: u32 = 10;

/// Buckets up to this length are compared window by window.
const SHORT: usize = 8 * WINDOW;

/// Likely matches finished together.
const LIKELY: usize = 32;

pub(super) struct Search<'a> {
    pub(super) pages: &'a Collection,
    pub(super) tables: &'a [Table],
    pub(super) queries: &'a [Query<'a>],
    pub(super) bound: u32,
    pub(super) visit: &'a mut dyn FnMut(usize, Match) -> ControlFlow<()>,
}

/// A query, as the tables see it.
#[derive(Clone, Copy, Default)]
struct Asked {
    bits: u64,
    /// Position in the chunk of queries.
    slot: u32,
}

/// One bucket to look into.
#[derive(Clone, Copy, Default)]
struct Probe {
    slot: u32,
    table: u32,
    prefix: u32,
    /// Bits in which `prefix` differs from the query's own.
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

/// Probes on their way.
struct Ring {
    probes: [Probe; RING],
    /// Probes that entered; the last one is at `(entered - 1) % RING`.
    entered: usize,
    likely: Vec<Likely>,
    /// Bit `slot` is set when that query wants no more.
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
        let together = if ordered { CHUNK } else { TOGETHER };
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
                asked
                    .extend(queries.map(|(q, slot)| Asked { bits: q.fingerprint.to_bits(), slot }));
                for (t, table) in self.tables.iter().enumerate() {
                    if ordered {
                        order(lanes, table, parts_bits, &asked, &mut in_order);
                    }
                    let asked = if ordered { &in_order } else { &asked };
                    self.ask(lanes, &mut ring, t as u32, asked);
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
    asked: &[Asked],
    in_order: &mut Vec<Asked>,
) {
    let shift = table.prefix.bits().saturating_sub(parts_bits);
    let part = |asked: &Asked| (lanes.gather(&table.prefix, asked.bits) >> shift) as usize;
    let mut ends = [0usize; (1 << MOST_PARTS_BITS) + 1];
    for query in asked {
        ends[part(query) + 1] += 1;
    }
    for i in 1..ends.len() {
        ends[i] += ends[i - 1];
    }
    in_order.resize(asked.len(), Asked::default());
    for query in asked {
        let end = &mut ends[part(query)];
        in_order[*end] = *query;
        *end += 1;
    }
}

impl Search<'_> {
    /// All probes of these queries into one table.
    #[inline(always)]
    fn ask<L: Lanes>(&mut self, lanes: L, ring: &mut Ring, t: u32, asked: &[Asked]) {
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

    /// A new probe enters, and two older ones take a step.
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

    /// The probes still on their way take their last steps.
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
                    // The column is longer than its rows, so there is always a whole window.
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

    /// Compares whole and reports. Matches are rare, so this stays out of the loop above.
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
