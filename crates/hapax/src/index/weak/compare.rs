//! Compares queries with the fingerprints of buckets.
//!
//! Filters of a bucket are compared without branches; rows are identified only if one passed and compared
//! completely when some dozens have gathered, with memory prefetched. Probes are processed as they come
//! ([`Compare`]) or in the order of their buckets ([`compare_in_order`]), which reads each bucket from memory
//! once and makes its length predictable.

use std::ops::ControlFlow;

use super::table::{STRIDE, Table, WINDOW};
use crate::hamming::{Lanes, Work};
use crate::index::near::{Match, Query};

/// Number of probes to prefetch ahead.
const LAG: usize = 8;

/// Rows that passed the filter and are compared together.
const LIKELY: usize = 64;

/// Bits of [`Probe::slot`] below the query's number; they hold the remaining flips.
pub(super) const LEFT_BITS: u32 = 5;

/// A bucket to compare.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// Number of the query, and the remaining flips.
    pub(super) slot: u32,
    pub(super) prefix: u32,
    /// The filter bits of the query.
    pub(super) filter: u32,
}

impl Probe {
    #[inline(always)]
    fn left(&self) -> u32 {
        self.slot & ((1 << LEFT_BITS) - 1)
    }

    #[inline(always)]
    fn number(&self) -> usize {
        (self.slot >> LEFT_BITS) as usize
    }
}

/// A row that passed the filter.
#[derive(Clone, Copy, Debug)]
struct Likely {
    number: u32,
    row: u32,
    /// Distance without the tail.
    distance: u32,
}

/// The queries of a batch and their state.
pub(super) struct Answering<'a> {
    table: &'a Table,
    pub(super) queries: &'a [Query<'a>],
    bound: u32,
    visit: &'a mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    /// For each query, the bits outside prefix and filter, once they are known.
    pub(super) tails: Vec<u32>,
    /// Bit `number` is set if that query is finished.
    done: Vec<u64>,
    likely: Vec<Likely>,
    /// Number of fingerprints compared.
    pub(super) compared: u64,
}

impl<'a> Answering<'a> {
    pub(super) fn new(
        table: &'a Table,
        queries: &'a [Query<'a>],
        bound: u32,
        visit: &'a mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Self {
        let done = vec![0; queries.len().div_ceil(64)];
        let likely = Vec::with_capacity(LIKELY + STRIDE);
        let tails = vec![0; queries.len()];
        Self { table, queries, bound, visit, tails, done, likely, compared: 0 }
    }

    #[inline(always)]
    fn is_done(&self, number: usize) -> bool {
        self.done[number / 64] >> (number % 64) & 1 == 1
    }

    /// Records that the rows of `near`, counted from `at`, passed the filter.
    #[inline(never)]
    fn add_passed(&mut self, probe: &Probe, at: usize, mut near: u32) {
        let flipped = self.bound - probe.left();
        while near != 0 {
            let row = at + near.trailing_zeros() as usize;
            near &= near - 1;
            let differing = self.table.filter(row) ^ probe.filter;
            self.table.prefetch_row(row);
            self.likely.push(Likely {
                number: probe.number() as u32,
                row: row as u32,
                distance: flipped + differing.count_ones(),
            });
        }
        if self.likely.len() >= LIKELY {
            self.report();
        }
    }

    /// Compares tails and reports matches. Rare, so kept out of the loops.
    #[inline(never)]
    pub(super) fn report(&mut self) {
        for at in 0..self.likely.len() {
            let Likely { number, row, distance } = self.likely[at];
            let (number, row) = (number as usize, row as usize);
            let distance = distance + self.table.tail_distance(row, self.tails[number]);
            if distance <= self.bound && !self.is_done(number) {
                let visit = &mut *self.visit;
                let flow = self.table.visit_ids(row, |id| visit(number, Match { distance, id }));
                self.done[number / 64] |= u64::from(flow.is_break()) << (number % 64);
            }
        }
        self.likely.clear();
    }
}

/// Compares all these probes, one after the other.
pub(super) struct Compare<'a, 'b> {
    pub(super) probes: &'a [Probe],
    pub(super) answering: &'a mut Answering<'b>,
}

impl Work for Compare<'_, '_> {
    type Output = ();

    /// Memory is prefetched in two steps, each far enough ahead for the next.
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { probes, answering } = self;
        let table = answering.table;
        for probe in probes.iter().take(2 * LAG) {
            table.prefetch_directory(probe.prefix);
        }
        for probe in probes.iter().take(LAG) {
            table.prefetch_bucket(probe.prefix);
        }
        for (at, probe) in probes.iter().enumerate() {
            // At the end, the last probe is prefetched repeatedly instead of branching.
            let last = probes.len() - 1;
            table.prefetch_directory(probes[(at + 2 * LAG).min(last)].prefix);
            table.prefetch_bucket(probes[(at + LAG).min(last)].prefix);
            let (start, end) = table.bucket(probe.prefix);
            compare(lanes, probe, start, end, answering);
        }
        answering.report();
    }
}

/// Compares all these probes, which must be in the order of their buckets. The caller reports at
/// the end.
#[inline(always)]
pub(super) fn compare_in_order<L: Lanes>(
    lanes: L,
    probes: &[Probe],
    answering: &mut Answering<'_>,
) {
    for same in probes.chunk_by(|a, b| a.prefix == b.prefix) {
        let (start, end) = answering.table.bucket(same[0].prefix);
        for probe in same {
            compare(lanes, probe, start, end, answering);
        }
    }
}

/// Compares whole strides; rows of following buckets are masked out.
#[inline(always)]
fn compare<L: Lanes>(
    lanes: L,
    probe: &Probe,
    start: usize,
    end: usize,
    answering: &mut Answering<'_>,
) {
    if answering.is_done(probe.number()) {
        return;
    }
    answering.compared += (end - start) as u64;
    let table = answering.table;
    let left = probe.left();
    // Plain loops, because only inlined code is compiled for the kernel.
    let strides = table.strides(start, end);
    let mut any = 0;
    for stride in strides {
        any |= passed(lanes, stride, probe.filter, left);
    }
    if any != 0 {
        for (number, stride) in strides.iter().enumerate() {
            let at = start + number * STRIDE;
            let inside = u32::MAX >> (STRIDE - (end - at).min(STRIDE));
            let near = passed(lanes, stride, probe.filter, left) & inside;
            if near != 0 {
                answering.add_passed(probe, at, near);
            }
        }
    }
}

/// Bit `i` is set if filter `i` is within `left` bits.
#[inline(always)]
fn passed<L: Lanes>(lanes: L, stride: &[u32; STRIDE], filter: u32, left: u32) -> u32 {
    let mut near = 0;
    for (number, window) in stride.as_chunks().0.iter().enumerate() {
        near |= u32::from(lanes.within_16(window, filter, left)) << (number * WINDOW);
    }
    near
}
