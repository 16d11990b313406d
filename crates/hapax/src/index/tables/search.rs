//! Asking many buckets at once.
//!
//! A probe (one bucket of one table for one query) is a chain of waits for memory: directory,
//! bucket, and for a likely match the row number, the fingerprint and its ids. One chain cannot
//! be hurried, but dozens can be walked side by side. So probes are gathered into groups, and
//! each step is taken for the whole group, asking for the lines of the next step:
//!
//! ```text
//!   1  compute keys            ask for directory lines
//!   2  read directory          ask for bucket lines
//!   3  compare filters         keep likely matches, ask for row numbers
//!   4  read row numbers        ask for fingerprints and ids
//!   5  compare whole, report
//! ```
//!
//! A batch goes through the tables one after the other for 64 queries at a time, so that a query
//! answered by an early table costs nothing in the later ones; a single query's probes into all
//! tables form a group by themselves.
//!
//! A match is reported by the first table that finds it and by no other. Which tables find it
//! follows from the differing bits alone, so nothing need be remembered.

use std::ops::ControlFlow;

use super::design::Flips;
use super::table::Table;
use crate::hamming::{Lanes, Work};
use crate::index::collection::Collection;
use crate::index::near::{Effort, Match, Query};

/// Probes walked side by side: enough to fill the wait for memory, few enough that what was
/// asked for is still in the first-level cache when its turn comes.
const PROBES: usize = 64;

/// Queries that go through the tables together: one bit each in a word.
const TOGETHER: usize = 64;

pub(super) struct Search<'a> {
    pub(super) pages: &'a Collection,
    pub(super) tables: &'a [Table],
    pub(super) queries: &'a [Query<'a>],
    pub(super) bound: u32,
    pub(super) visit: &'a mut dyn FnMut(usize, Match) -> ControlFlow<()>,
}

/// One bucket to look into.
#[derive(Clone, Copy, Default)]
struct Probe {
    /// Position among the queries that go together.
    slot: u32,
    table: u32,
    prefix: u32,
    /// Bits in which `prefix` differs from the query's own.
    flips: u32,
    filter: u32,
    start: u32,
    end: u32,
}

/// A fingerprint that passed the filter.
#[derive(Clone, Copy)]
struct Likely {
    slot: u32,
    table: u32,
    place: u32,
    row: u32,
}

/// What the steps of a group share.
struct Group {
    probes: [Probe; PROBES],
    filled: usize,
    likely: Vec<Likely>,
    /// Bit `slot` is set when that query wants no more.
    done: u64,
    /// Number of the query in slot 0.
    first: usize,
    effort: Effort,
}

impl Work for Search<'_> {
    type Output = Effort;

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> Effort {
        let mut group = Group {
            probes: [Probe::default(); PROBES],
            filled: 0,
            likely: Vec::new(),
            done: 0,
            first: 0,
            effort: Effort { covered: self.queries.len() as f64, ..Effort::default() },
        };
        for (number, together) in self.queries.chunks(TOGETHER).enumerate() {
            group.first = number * TOGETHER;
            group.done = 0;
            for (t, table) in self.tables.iter().enumerate() {
                for (slot, query) in together.iter().enumerate() {
                    if (group.done >> slot) & 1 == 1 {
                        continue;
                    }
                    let bits = query.fingerprint.to_bits();
                    let own = lanes.gather(&table.prefix, bits) as u32;
                    let filter = lanes.gather(&table.filter, bits) as u32;
                    let radius = table.radius.min(self.bound);
                    for flips in Flips::within(table.prefix.bits(), radius) {
                        let prefix = own ^ flips as u32;
                        table.prefetch_directory(prefix);
                        group.probes[group.filled] = Probe {
                            slot: slot as u32,
                            table: t as u32,
                            prefix,
                            flips: flips as u32,
                            filter,
                            start: 0,
                            end: 0,
                        };
                        group.filled += 1;
                        if group.filled == PROBES {
                            self.walk(lanes, &mut group);
                        }
                    }
                }
            }
            self.walk(lanes, &mut group);
        }
        group.effort
    }
}

impl Search<'_> {
    /// Steps 2 to 5 for the probes gathered.
    #[inline(always)]
    fn walk<L: Lanes>(&mut self, lanes: L, group: &mut Group) {
        let probes = &mut group.probes[..group.filled];
        for probe in probes.iter_mut() {
            (probe.start, probe.end) = self.tables[probe.table as usize].bucket(probe.prefix);
        }
        let likely = &mut group.likely;
        for probe in probes.iter() {
            group.effort.compared += u64::from(probe.end - probe.start);
            let table = &self.tables[probe.table as usize];
            let filters = table.filters(probe.start, probe.end);
            let left = self.bound - probe.flips.count_ones();
            let _ = lanes.within(filters, probe.filter, left, |position, _| {
                let differing = filters[position] ^ probe.filter;
                if !table.told.iter().any(|told| told.finds(probe.flips, differing)) {
                    let place = probe.start + position as u32;
                    table.prefetch_row(place);
                    likely.push(Likely { slot: probe.slot, table: probe.table, place, row: 0 });
                }
                ControlFlow::Continue(())
            });
        }
        group.effort.probes += group.filled as u64;
        group.filled = 0;
        if !group.likely.is_empty() {
            self.report(group);
        }
    }

    /// Steps 4 and 5. Matches are rare, so this stays out of the loop above.
    #[inline(never)]
    fn report(&mut self, group: &mut Group) {
        for likely in &mut group.likely {
            likely.row = self.tables[likely.table as usize].row(likely.place) as u32;
            self.pages.prefetch(likely.row as usize);
        }
        for likely in group.likely.drain(..) {
            if (group.done >> likely.slot) & 1 == 1 {
                continue;
            }
            let number = group.first + likely.slot as usize;
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
            let flow = self.pages.ids(row).try_for_each(|id| visit(number, Match { distance, id }));
            group.done |= u64::from(flow.is_break()) << likely.slot;
        }
    }
}
