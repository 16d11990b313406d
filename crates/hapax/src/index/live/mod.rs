//! An index that inserts, removes and searches at the same time.
//!
//! ```text
//!   insert ──► head          a few thousand entries, in order of arrival, scanned
//!                │ full
//!                ▼
//!              segments      immutable, sorted, each with a bitmap of what is gone
//!                │ too many of a size
//!                ▼
//!              merge         several become one: a step the caller drives, on any thread
//! ```
//!
//! Every change makes a new state that shares what it can with the last one and exchanges one pointer. A search
//! uses a [`Snapshot`] of it.
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
//! Guarantees: a snapshot answers as a scan over its entries would. An id has at most one entry, and a batch is
//! seen whole. No search waits for a merge, a freeze or another search. Inserts faster than merges do some merging
//! themselves ([`LiveOptions::backlog`]). Does not start threads or write files: who wants the head to survive a
//! crash keeps a log, or calls [`LiveIndex::freeze`].

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

/// A merge came too late: one of its segments is no longer in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a segment of this merge is no longer in the index; nothing was changed")]
pub struct StaleMerge;

#[derive(Debug)]
pub struct LiveIndex {
    /// Held to copy or exchange the pointer, for nothing else.
    state: Mutex<Arc<State>>,
    writer: Mutex<Writer>,
    options: LiveOptions,
    kernel: Kernel,
}

#[derive(Debug)]
struct Writer {
    positions: Positions,
    /// Segments in a merge, as long as its lease lives.
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

    /// Everything within `bound` of a fingerprint at this moment, nearest first, ties by id.
    ///
    /// # Errors
    ///
    /// [`SearchError::BoundTooWide`] when the index was made for a narrower bound.
    pub fn find(
        &self,
        fingerprint: Fingerprint,
        bound: MaxDistance,
    ) -> Result<Vec<Match>, SearchError> {
        self.snapshot().find_all(&Query::from(fingerprint), bound)
    }

    /// An index of segments that were kept, each with what was gone from it.
    ///
    /// # Errors
    ///
    /// [`SegmentBuildError::SameId`] when an id is live in two of them,
    /// [`SegmentBuildError::OtherRemovals`] when removals are not of their segment, and
    /// [`BuildError::BoundOutOfRange`] when a segment answers less than the bound asked for.
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
        // Runs in ascending order, which a stable sort makes use of.
        ids.sort();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SegmentBuildError::SameId { id: twice[0] });
        }
        index.publish(state);
        Ok(index)
    }

    /// Puts an entry in. An entry with the same id is replaced.
    pub fn insert(&self, entry: Entry) -> Result<(), SegmentBuildError> {
        self.insert_batch(&[entry])
    }

    /// Puts entries in, in this order, as one change: a snapshot has all of them or none. Takes
    /// as long as a merge when merging has fallen behind.
    ///
    /// # Errors
    ///
    /// [`SegmentBuildError`] when a full head cannot be made into a segment, or segments that wait
    /// cannot be merged; then no entry is put in. The options that [`new`](Self::new) accepts do
    /// not lead there.
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
            // A batch of many heads is merged on its way in.
            while behind(&writer.sizes(state), &self.options)
                && let Some(chosen) = choose(&writer.sizes(state), &self.options)
            {
                let merged = self.task(writer, state, &chosen).run()?;
                // Nobody else has changed this state, so nothing is stale.
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

    /// Takes an entry out. Whether there was one.
    pub fn remove(&self, id: u64) -> bool {
        self.remove_batch(&[id]) == 1
    }

    /// Takes entries out as one change, and says how many there were.
    pub fn remove_batch(&self, ids: &[u64]) -> usize {
        let mut writer = self.write();
        let mut state = State::clone(&self.current());
        let removed = ids.iter().filter(|&&id| writer.remove(&mut state, id)).count();
        if removed > 0 {
            self.publish(state);
        }
        removed
    }

    /// The index as it is now. Cheap: copies a pointer.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { state: self.current(), bound: self.options.bound, kernel: self.kernel }
    }

    /// Makes the mutable part a segment, full or not, so that all entries are in segments.
    pub fn freeze(&self) -> Result<(), SegmentBuildError> {
        let mut writer = self.write();
        let mut state = State::clone(&self.current());
        self.freeze_head(&mut writer, &mut state)?;
        self.publish(state);
        Ok(())
    }

    /// The next merge to be done, if any. Its segments are set aside for it.
    pub fn pending_merge(&self) -> Option<MergeTask> {
        let mut writer = self.write();
        let state = self.current();
        let sizes = writer.sizes(&state);
        let chosen = choose(&sizes, &self.options)?;
        Some(self.task(&mut writer, &state, &chosen))
    }

    /// All segments that are in no merge as one task, whatever their sizes; none when there is
    /// nothing to gain. The mutable part is left alone: [`freeze`](Self::freeze) it before.
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

    /// Exchanges the segments of a merge for its result, in one change.
    ///
    /// # Errors
    ///
    /// [`StaleMerge`] when one of them is gone, because all its entries were removed meanwhile;
    /// then nothing is changed, and the next [`pending_merge`](Self::pending_merge) knows.
    pub fn commit(&self, merged: Merged) -> Result<(), StaleMerge> {
        let _writer = self.write();
        let mut state = State::clone(&self.current());
        state.exchange(merged)?;
        self.publish(state);
        Ok(())
    }

    /// Does one pending merge from beginning to end on this thread. False when there is none.
    ///
    /// # Errors
    ///
    /// [`SegmentBuildError`] when the engine refuses; then nothing is changed.
    pub fn merge_step(&self) -> Result<bool, SegmentBuildError> {
        let Some(task) = self.pending_merge() else {
            return Ok(false);
        };
        // A stale merge changed nothing, and the next step sees why.
        let _ = self.commit(task.run()?);
        Ok(true)
    }

    /// Heap bytes held by the index as it is now. What only older snapshots hold is not counted.
    pub fn memory_bytes(&self) -> usize {
        let writer = self.write();
        self.snapshot().memory_bytes()
            + writer.positions.memory_bytes()
            + writer.leased.capacity() * size_of::<(Weak<Segment>, Weak<()>)>()
    }

    /// What the index was made with.
    pub fn options(&self) -> &LiveOptions {
        &self.options
    }

    fn current(&self) -> Arc<State> {
        // Nothing under this lock can panic, so a poisoned one holds a whole state all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, state: State) {
        let next = Arc::new(state);
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *guard, next);
        drop(guard);
        // Freeing what nobody needs any more may take a while; no search waits for it.
        drop(last);
    }

    fn write(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(|poisoned| {
            // A writer panicked before it published. Its notes may be ahead of the state.
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
    /// Takes an id out of wherever it is. Whether it was anywhere.
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
