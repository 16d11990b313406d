//! Processes a corpus on many threads and returns results in corpus order.
//!
//! Each thread takes the next batch of the first available part, decodes it and works on it; the calling thread
//! receives the results. Several parts are read at once, so that unpacking is parallel. If too many results
//! wait, only the first part is read: memory is one batch and [`AHEAD`] results per thread. Work that would
//! conflict on one part, such as writing a file per part, is spread over parts.
//!
//! ```text
//!   part 0   [0][1][2][3][4]......      read by any free thread, one at a time
//!   part 1   [0][1][2]............      read ahead while few results wait
//!   results   0.0 0.1 0.2 ...           received in this order
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::batch::Batch;
use crate::part::Part;
use crate::source::Source;

/// Maximum number of results per thread that may wait for earlier ones.
pub const AHEAD: usize = 64;

impl Source {
    /// Calls `work` for every batch on `threads` threads and passes the results to `receive`, on
    /// this thread and in corpus order. The first error of `receive` stops everything and is
    /// returned.
    ///
    /// The result does not depend on the number of threads.
    pub fn in_order<R: Send, E>(
        &self,
        threads: NonZero<usize>,
        work: impl Fn(Batch) -> R + Sync,
        receive: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        self.in_order_ahead(threads, AHEAD, work, receive)
    }

    /// As [`in_order`](Self::in_order) for large results: at most `ahead` per thread wait.
    pub fn in_order_ahead<R: Send, E>(
        &self,
        threads: NonZero<usize>,
        ahead: usize,
        work: impl Fn(Batch) -> R + Sync,
        receive: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        self.run((threads, ahead, false), work, receive)
    }

    /// As [`in_order`](Self::in_order) for work that may run in parallel on different parts only.
    pub fn in_order_spread<R: Send, E>(
        &self,
        threads: NonZero<usize>,
        work: impl Fn(Batch) -> R + Sync,
        receive: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        self.run((threads, AHEAD, true), work, receive)
    }

    fn run<R: Send, E>(
        &self,
        (threads, ahead, spread): (NonZero<usize>, usize, bool),
        work: impl Fn(Batch) -> R + Sync,
        mut receive: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        let scheduler = Scheduler {
            source: self,
            state: Mutex::new(Schedule {
                lanes: VecDeque::new(),
                next_part: 0,
                current: (0, 0),
                results: BTreeMap::new(),
                stopped: false,
            }),
            changed: Condvar::new(),
            threads: threads.get(),
            waiting: ahead * threads.get(),
            spread,
        };
        thread::scope(|scope| {
            for _ in 0..threads.get() {
                scope.spawn(|| scheduler.serve(&work));
            }
            // However this thread ends, the others must not wait for it.
            let _stop = StopOnDrop(&scheduler);
            while let Some(result) = scheduler.next_result() {
                receive(result)?;
            }
            Ok(())
        })
    }
}

struct Scheduler<'s, R> {
    source: &'s Source,
    state: Mutex<Schedule<R>>,
    changed: Condvar,
    threads: usize,
    /// Maximum number of waiting results.
    waiting: usize,
    /// Whether threads work on different parts.
    spread: bool,
}

struct Schedule<R> {
    /// The open parts, in order; results of the first are wanted next.
    lanes: VecDeque<Lane>,
    next_part: usize,
    /// The part and batch of the next result.
    current: (usize, usize),
    results: BTreeMap<(usize, usize), R>,
    stopped: bool,
}

struct Lane {
    part: usize,
    /// `None` while a thread reads.
    reader: Option<Part>,
    batches: usize,
    /// Number of batches being worked on.
    running: usize,
    finished: bool,
}

struct StopOnDrop<'d, 's, R>(&'d Scheduler<'s, R>);

impl<R> Drop for StopOnDrop<'_, '_, R> {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

impl<R> Scheduler<'_, R> {
    fn lock(&self) -> MutexGuard<'_, Schedule<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, Schedule<R>>) -> MutexGuard<'g, Schedule<R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, work: &impl Fn(Batch) -> R) {
        let stop_on_panic = StopOnDrop(self);
        while let Some((part, mut reader)) = self.take_reader() {
            let batch = reader.next();
            let index = self.give_back(part, reader, batch.is_some());
            if let Some(batch) = batch {
                let result = work(batch);
                let mut state = self.lock();
                state.results.insert((part, index), result);
                if let Some(lane) = state.lanes.iter_mut().find(|lane| lane.part == part) {
                    lane.running -= 1;
                }
                drop(state);
                self.changed.notify_all();
            }
        }
        // Only a panic stops the others; normal completion must not.
        std::mem::forget(stop_on_panic);
    }

    /// A part to read the next batch from; `None` if there is nothing left to read.
    fn take_reader(&self) -> Option<(usize, Part)> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            let room = state.results.len() < self.waiting;
            let wanted = !state.results.contains_key(&state.current);
            let current = state.current.0;
            let part = state.next_part;
            let unfinished = state.lanes.iter().filter(|lane| !lane.finished).count();
            let open_another = part < self.source.parts()
                && unfinished < self.threads
                && (room || part == current);
            let free = state.lanes.iter_mut().filter(|lane| {
                let allowed = room || (wanted && lane.part == current);
                let alone = !(self.spread && open_another) || lane.running == 0;
                allowed && alone && !lane.finished && lane.reader.is_some()
            });
            // The first part blocks the results; spread work takes the part with the fewest
            // workers.
            let chosen = match self.spread && room {
                true => free.min_by_key(|lane| lane.running),
                false => free.into_iter().next(),
            };
            if let Some(lane) = chosen
                && let Some(reader) = lane.reader.take()
            {
                return Some((lane.part, reader));
            }
            if open_another {
                state.next_part += 1;
                let lane = Lane { part, reader: None, batches: 0, running: 0, finished: false };
                state.lanes.push_back(lane);
                return Some((part, self.source.part(part)));
            }
            if part >= self.source.parts() && unfinished == 0 {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// Returns the index of the batch that was read.
    fn give_back(&self, part: usize, reader: Part, more: bool) -> usize {
        let mut state = self.lock();
        let mut index = 0;
        if let Some(lane) = state.lanes.iter_mut().find(|lane| lane.part == part) {
            index = lane.batches;
            lane.batches += usize::from(more);
            lane.running += usize::from(more);
            lane.finished = !more;
            lane.reader = Some(reader);
        }
        drop(state);
        self.changed.notify_all();
        index
    }

    /// Waits for the next result in order; `None` at the end of the corpus or after a panic of a
    /// thread.
    fn next_result(&self) -> Option<R> {
        let mut state = self.lock();
        loop {
            let current = state.current;
            if let Some(result) = state.results.remove(&current) {
                state.current.1 += 1;
                drop(state);
                self.changed.notify_all();
                return Some(result);
            }
            if state.stopped || current.0 >= self.source.parts() {
                return None;
            }
            let over =
                state.lanes.front().is_some_and(|lane| lane.finished && lane.batches == current.1);
            if over {
                state.lanes.pop_front();
                state.current = (current.0 + 1, 0);
                self.changed.notify_all();
            } else {
                state = self.wait(state);
            }
        }
    }
}
