//! Sorts the probes of a large batch by parts of the table.
//!
//! Buckets read in random order would each come from memory. Instead, a probe waits in the part of its bucket;
//! when a part has enough probes, they are sorted by bucket and compared, so a bucket is read once for dozens
//! of probes and a part's data stays in a core's cache. Guarantees that every probe is compared once, in no
//! particular order.

use super::combinations::BATCH_SIZE;
use super::compare::{Answering, Probe, compare_in_order};
use super::rank::{Ranked, Sets};
use super::search::Search;
use crate::hamming::memory::filled;
use crate::hamming::{Lanes, Work};
use crate::index::near::Effort;

/// Rows per part: 32 KiB of filters.
const ROWS_OF_A_PART: usize = 1 << 13;

/// Limits the number of parts, because writing to more places at a time is slow.
const MOST_PARTS_BITS: u32 = 10;

/// Capacity for waiting probes of all parts, 12 bytes each; and per query, for batches that need
/// less.
const WAITING: usize = 1 << 21;
const WAITING_OF_ONE: usize = 64;

pub(super) struct DealOut<'a, 'b> {
    pub(super) search: Search<'a>,
    pub(super) answering: Answering<'b>,
    pub(super) scratch: &'b mut Scratch,
}

/// Memory reused between batches, because allocating it takes as long as using it.
#[derive(Default)]
pub(super) struct Scratch {
    waiting: Parts,
    in_order: InOrder,
}

impl Work for DealOut<'_, '_> {
    type Output = Effort;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Effort {
        let Self { search, mut answering, scratch } = self;
        let table = search.table;
        let parts = (table.rows() / ROWS_OF_A_PART).max(1).ilog2();
        let parts = parts.min(MOST_PARTS_BITS).min(table.prefix_bits());
        let shift = table.prefix_bits() - parts;
        let room = WAITING.min(answering.queries.len() * WAITING_OF_ONE) >> parts;
        let Scratch { waiting, in_order } = scratch;
        waiting.prepare(1 << parts, room);
        in_order.prepare(room, shift);
        let mut sets = Sets::default();
        let mut effort = Effort::default();
        let mut ranked: Vec<Ranked> = (0..BATCH_SIZE).map(|_| Ranked::new(search.plan)).collect();
        for (first, rank) in search.in_turn(answering.queries) {
            rank.fill(lanes, &mut ranked);
            for (slot, query) in (first..).zip(&ranked[..rank.together.len()]) {
                answering.tails[slot] = query.tail;
                effort.covered += sets.find(query, false);
                effort.probes += sets.len() as u64;
                for (flips, size) in sets.iter() {
                    let probe = query.probe(slot, flips, search.bound - size);
                    let part = (probe.prefix >> shift) as usize;
                    if waiting.push(part, probe) == room {
                        let probes = in_order.sort(waiting.take(part));
                        compare_in_order(lanes, probes, &mut answering);
                        answering.report();
                    }
                }
            }
        }
        for part in 0..1 << parts {
            let probes = in_order.sort(waiting.take(part));
            compare_in_order(lanes, probes, &mut answering);
        }
        answering.report();
        Effort { compared: answering.compared, ..effort }
    }
}

const NO_PROBE: Probe = Probe { slot: 0, prefix: 0, filter: 0 };

/// Waiting probes, with the same capacity for each part.
#[derive(Default)]
struct Parts {
    probes: Vec<Probe>,
    lengths: Vec<usize>,
    room: usize,
}

impl Parts {
    fn prepare(&mut self, parts: usize, room: usize) {
        if self.probes.len() < parts * room {
            self.probes = filled(parts * room, NO_PROBE);
        }
        self.lengths.clear();
        self.lengths.resize(parts, 0);
        self.room = room;
    }

    /// Adds a probe to a part that is not full; returns the number of its probes.
    #[inline(always)]
    fn push(&mut self, part: usize, probe: Probe) -> usize {
        let length = &mut self.lengths[part];
        self.probes[part * self.room + *length] = probe;
        *length += 1;
        *length
    }

    /// Takes the probes of a part, leaving it empty.
    #[inline(always)]
    fn take(&mut self, part: usize) -> &[Probe] {
        let length = std::mem::take(&mut self.lengths[part]);
        &self.probes[part * self.room..][..length]
    }
}

/// Sorts the probes of a part by bucket.
#[derive(Default)]
struct InOrder {
    /// Number of low prefix bits in which the buckets of a part differ.
    bits: u32,
    /// How many of the lowest of these are ignored, if there are very many buckets.
    left_out: u32,
    ends: Vec<u32>,
    sorted: Vec<Probe>,
}

/// Maximum number of bits to sort by; more would take longer to count than to look up.
const MOST_BUCKETS_BITS: u32 = 10;

impl InOrder {
    fn prepare(&mut self, room: usize, bits: u32) {
        self.bits = bits;
        self.left_out = bits.saturating_sub(MOST_BUCKETS_BITS);
        self.ends.resize(1 << (bits - self.left_out), 0);
        self.sorted.resize(room, NO_PROBE);
    }

    #[inline(always)]
    fn sort(&mut self, probes: &[Probe]) -> &[Probe] {
        let Self { bits, left_out, ref mut ends, ref mut sorted } = *self;
        let bucket = |probe: &Probe| (probe.prefix as usize & ((1 << bits) - 1)) >> left_out;
        ends.fill(0);
        for probe in probes {
            ends[bucket(probe)] += 1;
        }
        let mut before = 0;
        for end in ends.iter_mut() {
            before += std::mem::replace(end, before);
        }
        for probe in probes {
            let end = &mut ends[bucket(probe)];
            sorted[*end as usize] = *probe;
            *end += 1;
        }
        &sorted[..probes.len()]
    }
}
