//! An index that supports concurrent inserts, removals and searches.
//!
//! ```text
//!   insert ──► head          a few thousand entries, in order of arrival, scanned
//!                │ full
//!                ▼
//!              segments      immutable, sorted, each with a bitmap of removed entries
//!                │ too many of a size
//!                ▼
//!              merge         several become one: run by the caller, on any thread
//! ```
//!
//! Every change makes a new state that shares unchanged parts with the previous one, and swaps one pointer.
//! Searches use a [`Snapshot`] of the state.
//!
//! ```
//! use hapax::fingerprint::{Fingerprint, MaxDistance};
//! use hapax::index::live::{LiveIndex, LiveOptions};
//! use hapax::index::{Entry, HammingIndex};
//!
//! let six = MaxDistance::new(6).unwrap();
//! let index = LiveIndex::new(LiveOptions::within(six))?;
//! let page = |id, bits| Entry { fingerprint: Fingerprint::from_bits(bits), id };
//! index.insert(page(1, 0xff00))?;
//! let before = index.snapshot();
//! index.insert(page(2, 0xff01))?;
//! index.remove(1);
//! while index.merge_step()? {}
//!
//! let query = Fingerprint::from_bits(0xff00).into();
//! assert_eq!(before.find_all(&query, six)?[0].id, 1);
//! assert_eq!(index.snapshot().find_all(&query, six)?[0].id, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Guarantees: a snapshot answers like a scan over its entries. An id has at most one entry, and a batch is
//! visible entirely or not at all. No search waits for a merge, a freeze or another search. If inserts outpace
//! merges, they merge themselves ([`LiveOptions::backlog`]). Does not start threads or write files: to survive
//! a crash, the caller keeps a log or calls [`LiveIndex::freeze`].

mod head;
mod merge;
mod options;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use self::head::Positions;
use self::merge::{Size, behind, choose};
use self::state::{Slot, State};
use super::collection::{BuildError, Entry};
use super::near::{HammingIndex, Match, Query, SearchError};
use super::segment::{Removed, Segment, SegmentBuildError};
use super::tables::Design;
use crate::fingerprint::{Fingerprint, MaxDistance};
use crate::hamming::Kernel;

pub use self::merge::{MergeTask, Merged};
pub use self::options::LiveOptions;
pub use self::state::Snapshot;

/// A merge is outdated: one of its segments is no longer in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a segment of this merge is no longer in the index; nothing was changed")]
pub struct StaleMerge;

#[derive(Debug)]
pub struct LiveIndex {
    /// Locked only to copy or swap the pointer.
    state: Mutex<Arc<State>>,
    writer: Mutex<Writer>,
    options: LiveOptions,
    kernel: Kernel,
}

#[derive(Debug)]
struct Writer {
    positions: Positions,
    /// Segments being merged, as long as the lease lives.
    leased: Vec<(Weak<Segment>, Weak<()>)>,
}

impl Default for LiveIndex {
    /// An empty index with default options.
    fn default() -> Self {
        Self::new(LiveOptions::default()).expect("the default bound is in range")
    }
}

impl LiveIndex {
    /// An empty index.
    ///
    /// # Errors
    ///
    /// [`BuildError::BoundOutOfRange`] beyond [`Design::WIDEST`].
    pub fn new(options: LiveOptions) -> Result<Self, BuildError> {
        let (asked, most) = (options.bound.bits(), Design::WIDEST);
        if asked > most {
            return Err(BuildError::BoundOutOfRange { asked, most });
        }
        let leased = Vec::new();
        let writer = Writer { positions: Positions::new(options.head), leased };
        let state = Mutex::new(Arc::new(State::new(Vec::new())));
        Ok(Self { state, writer: Mutex::new(writer), options, kernel: Kernel::best() })
    }

    /// All entries within `bound` of a fingerprint, nearest first, ties by id.
    ///
    /// # Errors
    ///
    /// [`SearchError::BoundTooWide`] if the index was built for a smaller bound.
    pub fn find(
        &self,
        fingerprint: Fingerprint,
        bound: MaxDistance,
    ) -> Result<Vec<Match>, SearchError> {
        self.snapshot().find_all(&Query::from(fingerprint), bound)
    }

    /// An index from stored segments and their removals.
    ///
    /// # Errors
    ///
    /// [`SegmentBuildError::SameId`] if an id is live in two of them,
    /// [`SegmentBuildError::OtherRemovals`] if removals belong to another segment, and
    /// [`BuildError::BoundOutOfRange`] if a segment supports less than the requested bound.
    pub fn from_segments(
        options: LiveOptions,
        segments: impl IntoIterator<Item = (Segment, Removed)>,
    ) -> Result<Self, SegmentBuildError> {
        let index = Self::new(options)?;
        let mut state = State::new(Vec::new());
        let mut ids: Vec<u64> = Vec::new();
        for (segment, removed) in segments {
            if segment.widest() < index.options.bound {
                let (asked, most) = (index.options.bound.bits(), segment.widest().bits());
                return Err(BuildError::BoundOutOfRange { asked, most }.into());
            }
            let (entries, of) = (segment.len(), removed.entries());
            if entries != of {
                return Err(SegmentBuildError::OtherRemovals { entries, of });
            }
            let slot = Slot::new(segment, removed);
            let kept = slot.segment.ids().iter().enumerate();
            ids.extend(kept.filter(|&(rank, _)| !slot.removed.contains(rank)).map(|(_, id)| id));
            state.live += slot.live();
            state.add_segment(slot);
        }
        // Sorted runs, which a stable sort exploits.
        ids.sort();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SegmentBuildError::SameId { id: twice[0] });
        }
        index.publish(state);
        Ok(index)
    }

    /// Inserts an entry; replaces an entry with the same id.
    pub fn insert(&self, entry: Entry) -> Result<(), SegmentBuildError> {
        self.insert_batch(&[entry])
    }

    /// Inserts entries in this order as one change: a snapshot has all of them or none. Takes as
    /// long as a merge if merging has fallen behind.
    ///
    /// # Errors
    ///
    /// [`SegmentBuildError`] if the full head cannot become a segment or waiting segments cannot be
    /// merged; then nothing is inserted. Does not happen with options that [`new`](Self::new)
    /// accepts.
    pub fn insert_batch(&self, entries: &[Entry]) -> Result<(), SegmentBuildError> {
        while self.is_behind() && self.merge_step()? {}
        let mut writer = self.write();
        let mut state = State::clone(&self.current());
        let put = entries.iter().try_for_each(|&entry| self.put(&mut writer, &mut state, entry));
        match put {
            Ok(()) => self.publish(state),
            Err(_) => writer.positions.rebuild(&self.current().head),
        }
        put
    }

    fn put(
        &self,
        writer: &mut Writer,
        state: &mut State,
        entry: Entry,
    ) -> Result<(), SegmentBuildError> {
        writer.remove(state, entry.id);
        state.head.push(entry);
        state.live += 1;
        writer.positions.push(entry.id);
        if state.head.taken() >= self.options.head {
            self.freeze_head(writer, state)?;
            // A batch of several heads is merged while it is inserted.
            while behind(&writer.sizes(state), &self.options)
                && let Some(chosen) = choose(&writer.sizes(state), &self.options)
            {
                let merged = self.task(writer, state, &chosen).run()?;
                // Cannot be stale, because the writer holds the lock.
                let _ = state.exchange(merged);
            }
        }
        Ok(())
    }

    fn is_behind(&self) -> bool {
        if self.current().segments.len() <= self.options.runs.saturating_add(self.options.backlog) {
            return false;
        }
        let sizes = self.write().sizes(&self.current());
        behind(&sizes, &self.options)
    }

    /// Removes an entry; returns whether it existed.
    pub fn remove(&self, id: u64) -> bool {
        self.remove_batch(&[id]) == 1
    }

    /// Removes entries as one change; returns how many existed.
    pub fn remove_batch(&self, ids: &[u64]) -> usize {
        let mut writer = self.write();
        let mut state = State::clone(&self.current());
        let removed = ids.iter().filter(|&&id| writer.remove(&mut state, id)).count();
        if removed > 0 {
            self.publish(state);
        }
        removed
    }

    /// The current state. Cheap: copies a pointer.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { state: self.current(), bound: self.options.bound, kernel: self.kernel }
    }

    /// Turns the head into a segment, full or not, so that all entries are in segments.
    pub fn freeze(&self) -> Result<(), SegmentBuildError> {
        let mut writer = self.write();
        let mut state = State::clone(&self.current());
        self.freeze_head(&mut writer, &mut state)?;
        self.publish(state);
        Ok(())
    }

    /// The next merge that is due, if any. Reserves its segments.
    pub fn pending_merge(&self) -> Option<MergeTask> {
        let mut writer = self.write();
        let state = self.current();
        let sizes = writer.sizes(&state);
        let chosen = choose(&sizes, &self.options)?;
        Some(self.task(&mut writer, &state, &chosen))
    }

    /// A merge of all segments that are not being merged, whatever their sizes; `None` if it would
    /// gain nothing. Does not include the head: call [`freeze`](Self::freeze) first.
    pub fn merge_of_all(&self) -> Option<MergeTask> {
        let mut writer = self.write();
        let state = self.current();
        let sizes = writer.sizes(&state);
        let free: Vec<usize> = (0..sizes.len()).filter(|&number| sizes[number].free).collect();
        let [only] = free[..] else {
            return (!free.is_empty()).then(|| self.task(&mut writer, &state, &free));
        };
        let clean = sizes[only].live == sizes[only].entries;
        (!clean).then(|| self.task(&mut writer, &state, &free))
    }

    /// Replaces the segments of a merge by its result, in one change.
    ///
    /// # Errors
    ///
    /// [`StaleMerge`] if one of the segments is gone because all its entries were removed; then
    /// nothing is changed, and the next [`pending_merge`](Self::pending_merge) takes it into
    /// account.
    pub fn commit(&self, merged: Merged) -> Result<(), StaleMerge> {
        let _writer = self.write();
        let mut state = State::clone(&self.current());
        state.exchange(merged)?;
        self.publish(state);
        Ok(())
    }

    /// Runs one pending merge completely on this thread; `false` if none is due.
    ///
    /// # Errors
    ///
    /// [`SegmentBuildError`] if the engine cannot be built; then nothing is changed.
    pub fn merge_step(&self) -> Result<bool, SegmentBuildError> {
        let Some(task) = self.pending_merge() else {
            return Ok(false);
        };
        // A stale merge changes nothing, and the next step accounts for it.
        let _ = self.commit(task.run()?);
        Ok(true)
    }

    /// Heap memory of the current state in bytes, without what only older snapshots hold.
    pub fn memory_bytes(&self) -> usize {
        let writer = self.write();
        self.snapshot().memory_bytes()
            + writer.positions.memory_bytes()
            + writer.leased.capacity() * size_of::<(Weak<Segment>, Weak<()>)>()
    }

    pub fn options(&self) -> &LiveOptions {
        &self.options
    }

    fn current(&self) -> Arc<State> {
        // No code panics under this lock, so even a poisoned one holds a complete state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, state: State) {
        let next = Arc::new(state);
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *guard, next);
        drop(guard);
        // Freeing the old state may take long; searches do not wait for it.
        drop(last);
    }

    fn write(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(|poisoned| {
            // A writer panicked before publishing, so its notes may be ahead of the state.
            self.writer.clear_poison();
            let mut writer = poisoned.into_inner();
            writer.positions.rebuild(&self.current().head);
            writer
        })
    }

    fn freeze_head(&self, writer: &mut Writer, state: &mut State) -> Result<(), SegmentBuildError> {
        let entries: Vec<Entry> = state.head.entries().collect();
        let engine = self.options.engine_for(entries.len());
        let segment = Segment::build(entries, engine, self.options.bound)?;
        let removed = Removed::none(segment.len());
        state.head = Default::default();
        writer.positions.clear();
        state.add_segment(Slot::new(segment, removed));
        Ok(())
    }

    fn task(&self, writer: &mut Writer, state: &State, chosen: &[usize]) -> MergeTask {
        let lease = Arc::new(());
        let inputs: Vec<Slot> = chosen.iter().map(|&at| state.segments[at].clone()).collect();
        let leased =
            inputs.iter().map(|slot| (Arc::downgrade(&slot.segment), Arc::downgrade(&lease)));
        writer.leased.extend(leased);
        MergeTask { inputs, lease, options: self.options.clone() }
    }
}

impl Writer {
    /// Removes an id; returns whether it existed.
    fn remove(&mut self, state: &mut State, id: u64) -> bool {
        if let Some(position) = self.positions.get(id)
            && state.head.remove(position)
        {
            state.live -= 1;
            return true;
        }
        state.remove_from_segments(id)
    }

    fn sizes(&mut self, state: &State) -> Vec<Size> {
        self.leased.retain(|(_, lease)| lease.strong_count() > 0);
        let size = |slot: &Slot| Size {
            entries: slot.segment.len(),
            live: slot.live(),
            free: !self.leased.iter().any(|(busy, _)| busy.as_ptr() == Arc::as_ptr(&slot.segment)),
        };
        state.segments.iter().map(size).collect()
    }
}

#[cfg(test)]
mod tests;
