//! The state of a live index at one moment, and searching it.
//!
//! A published state never changes. The next one shares with it every segment, list of removals and chunk of
//! the head that did not change.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::StaleMerge;
use super::head::Head;
use super::merge::Merged;
use crate::fingerprint::{Fingerprint, MaxDistance};
use crate::hamming::{Kernel, Lanes, Work};
use crate::index::near::{Effort, HammingIndex, Match, Query, SearchError, check_bound};
use crate::index::segment::{Removed, Segment};

/// A segment and its removals.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) segment: Arc<Segment>,
    pub(super) removed: Arc<Removed>,
}

impl Slot {
    pub(super) fn new(segment: Segment, removed: Removed) -> Self {
        Self { segment: Arc::new(segment), removed: Arc::new(removed) }
    }

    pub(super) fn live(&self) -> usize {
        self.segment.len() - self.removed.count()
    }

    /// The position of an id; `None` if it is missing or removed.
    pub(super) fn find(&self, id: u64) -> Option<usize> {
        self.segment.rank_of(id).filter(|&rank| !self.removed.contains(rank))
    }
}

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) head: Head,
    pub(super) segments: Arc<Vec<Slot>>,
    pub(super) live: usize,
}

impl State {
    pub(super) fn new(segments: Vec<Slot>) -> Self {
        let live = segments.iter().map(Slot::live).sum();
        Self { head: Head::default(), segments: Arc::new(segments), live }
    }

    /// Adds a segment unless it is empty.
    pub(super) fn add_segment(&mut self, slot: Slot) {
        if slot.live() > 0 {
            let segments = Arc::make_mut(&mut self.segments);
            let at = segments.partition_point(|other| other.segment.len() >= slot.segment.len());
            segments.insert(at, slot);
        }
    }

    /// Replaces the segments of a merge by its result, and applies removals made since the merge
    /// began. Changes nothing if one of the segments is gone.
    pub(super) fn exchange(&mut self, merged: Merged) -> Result<(), StaleMerge> {
        let Merged { inputs, segment, .. } = &merged;
        let mut removed = Removed::none(segment.len());
        let mut kept = Vec::clone(&self.segments);
        for input in inputs {
            let same = |slot: &Slot| Arc::ptr_eq(&slot.segment, &input.segment);
            let at = kept.iter().position(same).ok_or(StaleMerge)?;
            let (now, ids) = (kept.remove(at), input.segment.ids());
            for rank in now.removed.since(Some(&input.removed)) {
                // Live at the start of the merge, so it is in the new segment.
                if let Some(rank) = segment.rank_of(ids.get(rank)) {
                    removed.insert(rank);
                }
            }
        }
        self.segments = Arc::new(kept);
        self.add_segment(Slot::new(merged.segment, removed));
        Ok(())
    }

    /// Removes an id from the segments; returns whether it was there.
    pub(super) fn remove_from_segments(&mut self, id: u64) -> bool {
        let mut slots = self.segments.iter().enumerate();
        let Some((number, rank)) =
            slots.find_map(|(number, slot)| slot.find(id).map(|rank| (number, rank)))
        else {
            return false;
        };
        let segments = Arc::make_mut(&mut self.segments);
        let slot = &mut segments[number];
        Arc::make_mut(&mut slot.removed).insert(rank);
        if slot.live() == 0 {
            segments.remove(number);
        }
        self.live -= 1;
        true
    }
}

/// The contents of a live index at one moment.
///
/// Taking a snapshot copies a pointer. It costs no memory until the index changes; then it keeps
/// the replaced parts alive.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) state: Arc<State>,
    pub(super) bound: MaxDistance,
    pub(super) kernel: Kernel,
}

impl Snapshot {
    /// Whether there is an entry with this id.
    pub fn contains(&self, id: u64) -> bool {
        self.state.segments.iter().any(|slot| slot.find(id).is_some())
            || self.state.head.entries().any(|entry| entry.id == id)
    }

    /// The segments, largest first, with their removals, for storing in files. They do not include
    /// the head.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = (&Arc<Segment>, &Removed)> {
        self.state.segments.iter().map(|slot| (&slot.segment, &*slot.removed))
    }

    /// The `limit` entries nearest to a fingerprint, nearest first, ties by id, within a bound that
    /// may exceed [`widest`](HammingIndex::widest). Compares with every entry: some tenths of a
    /// millisecond per million.
    pub fn nearest(&self, query: Fingerprint, bound: MaxDistance, limit: usize) -> Vec<Match> {
        let mut best: BinaryHeap<Match> = BinaryHeap::new();
        let mut take = |found: Match| {
            if best.len() < limit {
                best.push(found);
            } else if let Some(mut worst) = best.peek_mut()
                && found < *worst
            {
                *worst = found;
            }
        };
        for entry in self.state.head.entries() {
            let distance = entry.fingerprint.distance(query);
            if bound.admits(distance) {
                take(Match { distance, id: entry.id });
            }
        }
        for Slot { segment, removed } in self.state.segments.iter() {
            let ids = segment.ids();
            segment.scan_ranks(query, bound, &mut |found| {
                let rank = found.id as usize;
                if !removed.contains(rank) {
                    take(Match { id: ids.get(rank), ..found });
                }
            });
        }
        best.into_sorted_vec()
    }
}

impl HammingIndex for Snapshot {
    fn visit_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<Effort, SearchError> {
        check_bound(bound, self.bound)?;
        let mut open = Open { done: vec![false; queries.len()], closed: 0, visit };
        let scan = HeadScan { head: &self.state.head, queries, bound, open: &mut open };
        let compared = self.kernel.run(scan);
        let mut effort = Effort { probes: 0, compared, covered: queries.len() as f64 };
        let mut left: Vec<Query<'_>>;
        let mut numbers: Vec<usize> = Vec::new();
        for slot in self.state.segments.iter() {
            // Answered queries visit no further segment.
            let asked = if open.closed == 0 {
                queries
            } else {
                numbers = (0..queries.len()).filter(|&number| !open.done[number]).collect();
                left = numbers.iter().map(|&number| queries[number]).collect();
                &left[..]
            };
            let (removed, segment) = (&slot.removed, &slot.segment);
            let none_gone = removed.count() == 0;
            let ids = segment.ids();
            let of = |number: usize| numbers.get(number).copied().unwrap_or(number);
            let spent = segment.visit_ranks(asked, bound, &mut |number, m| {
                let rank = m.id as usize;
                if none_gone || !removed.contains(rank) {
                    open.visit(of(number), Match { id: ids.get(rank), ..m })
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            effort.probes += spent.probes;
            effort.compared += spent.compared;
        }
        Ok(effort)
    }

    fn widest(&self) -> MaxDistance {
        self.bound
    }

    fn len(&self) -> usize {
        self.state.live
    }

    fn memory_bytes(&self) -> usize {
        let counted = 2 * size_of::<usize>();
        let slots = self.state.segments.iter().map(|slot| {
            size_of::<Segment>()
                + size_of::<Removed>()
                + 2 * counted
                + slot.segment.memory_bytes()
                + slot.removed.memory_bytes()
        });
        size_of::<State>()
            + counted
            + self.state.head.memory_bytes()
            + size_of::<Vec<Slot>>()
            + counted
            + self.state.segments.capacity() * size_of::<Slot>()
            + slots.sum::<usize>()
    }
}

/// The queries that still accept matches.
struct Open<'a> {
    done: Vec<bool>,
    closed: usize,
    visit: &'a mut dyn FnMut(usize, Match) -> ControlFlow<()>,
}

impl Open<'_> {
    fn visit(&mut self, number: usize, m: Match) -> ControlFlow<()> {
        let flow = (self.visit)(number, m);
        if flow.is_break() && !self.done[number] {
            self.done[number] = true;
            self.closed += 1;
        }
        flow
    }
}

struct HeadScan<'a, 'b> {
    head: &'a Head,
    queries: &'a [Query<'a>],
    bound: MaxDistance,
    open: &'a mut Open<'b>,
}

impl Work for HeadScan<'_, '_> {
    type Output = u64;

    /// Each chunk stays in the first-level cache while it is compared with all queries.
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u64 {
        let Self { head, queries, bound, open } = self;
        let mut compared = 0;
        for chunk in head.chunks() {
            for (number, query) in queries.iter().enumerate() {
                if open.done[number] {
                    continue;
                }
                compared += chunk.fingerprints().len() as u64;
                let bits = query.fingerprint.to_bits();
                let near = chunk.fingerprints();
                let _ = lanes.within(near, bits, bound.bits(), |position, distance| {
                    match chunk.live_id(position) {
                        Some(id) => open.visit(number, Match { distance, id }),
                        None => ControlFlow::Continue(()),
                    }
                });
            }
        }
        compared
    }
}
