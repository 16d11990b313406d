//! Many threads, one order: results come out as their items went in.
//!
//! Workers take items from a shared iterator and hand results to the caller's thread, which
//! consumes them in the items' order. A worker may run ahead of the consumer by a bounded
//! window only, so memory does not grow with the number of items, however slow one of them
//! or the consumer is.
//!
//! # What this module does not know
//!
//! What is worked on.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Results that may wait for an earlier one, per worker.
const AHEAD: u64 = 16;

/// One thread's part of the work, with its own buffers.
pub(crate) trait Work: Send {
    /// What it takes.
    type Item: Send;
    /// What becomes of it.
    type Out: Send;

    /// Does one item.
    fn work(&mut self, item: Self::Item) -> Self::Out;
}

/// Runs every item through some worker, each worker on its own thread, and consumes the
/// results in the items' order. Gives the workers back.
///
/// # Errors
///
/// The first error of `consume`; no further items are taken then.
pub(crate) fn in_order<W: Work, E>(
    items: &mut (impl Iterator<Item = W::Item> + Send),
    workers: Vec<W>,
    mut consume: impl FnMut(W::Out) -> Result<(), E>,
) -> Result<Vec<W>, E> {
    let window = AHEAD * workers.len() as u64;
    let gate = Gate {
        state: Mutex::new(State { items, taken: 0, consumed: 0, stopped: false }),
        room: Condvar::new(),
    };
    std::thread::scope(|scope| {
        let (results, arriving) = mpsc::channel();
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let (gate, results) = (&gate, results.clone());
                scope.spawn(move || {
                    let _stop = StopOnPanic(gate);
                    while let Some((number, item)) = gate.take(window) {
                        if results.send((number, worker.work(item))).is_err() {
                            break;
                        }
                    }
                    worker
                })
            })
            .collect();
        // The last worker to end closes the channel.
        drop(results);

        let mut waiting = BTreeMap::new();
        let mut next = 0;
        let mut outcome = Ok(());
        'all: for (number, result) in arriving {
            waiting.insert(number, result);
            while let Some(result) = waiting.remove(&next) {
                next += 1;
                if let Err(error) = consume(result) {
                    outcome = Err(error);
                    break 'all;
                }
                gate.consumed(next);
            }
        }
        gate.stop();
        let workers = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        outcome.map(|()| workers)
    })
}

struct State<'a, I> {
    items: &'a mut I,
    taken: u64,
    consumed: u64,
    stopped: bool,
}

struct Gate<'a, I> {
    state: Mutex<State<'a, I>>,
    room: Condvar,
}

impl<I: Iterator> Gate<'_, I> {
    /// The next item and its number, once it is within the window.
    fn take(&self, window: u64) -> Option<(u64, I::Item)> {
        let mut state = self.lock();
        while !state.stopped && state.taken >= state.consumed + window {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopped {
            return None;
        }
        let item = state.items.next()?;
        let number = state.taken;
        state.taken += 1;
        Some((number, item))
    }
}

impl<'a, I> Gate<'a, I> {
    fn consumed(&self, consumed: u64) {
        self.lock().consumed = consumed;
        self.room.notify_all();
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.room.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<'a, I>> {
        // A panic elsewhere is reported when its thread is joined.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the others end when a worker panics: its result, which they may wait for, never comes.
struct StopOnPanic<'g, 'a, I>(&'g Gate<'a, I>);

impl<I> Drop for StopOnPanic<'_, '_, I> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    struct Square<'a> {
        begun: &'a AtomicU64,
        done: u64,
    }

    impl Work for Square<'_> {
        type Item = u64;
        type Out = u64;

        fn work(&mut self, item: u64) -> u64 {
            self.begun.fetch_max(item, Ordering::SeqCst);
            // The first is slow, so that all others finish before it.
            if item == 0 {
                std::thread::sleep(Duration::from_millis(50));
            }
            assert_ne!(item, 13_000, "unlucky");
            self.done += 1;
            item * item
        }
    }

    fn squares(begun: &AtomicU64, threads: usize) -> Vec<Square<'_>> {
        (0..threads).map(|_| Square { begun, done: 0 }).collect()
    }

    #[test]
    fn results_come_in_order_and_workers_come_back() {
        let begun = AtomicU64::new(0);
        for threads in [1, 2, 7] {
            let mut seen = Vec::new();
            let workers = in_order(&mut (0..1000), squares(&begun, threads), |n| {
                seen.push(n);
                Ok::<(), ()>(())
            })
            .unwrap();
            assert_eq!(seen, (0..1000).map(|n| n * n).collect::<Vec<_>>());
            assert_eq!(workers.iter().map(|w| w.done).sum::<u64>(), 1000);
        }
    }

    #[test]
    fn nobody_runs_further_ahead_than_the_window() {
        let begun = AtomicU64::new(0);
        let mut first = true;
        in_order(&mut (0..10_000), squares(&begun, 3), |_| {
            if std::mem::take(&mut first) {
                assert!(begun.load(Ordering::SeqCst) < 3 * AHEAD);
            }
            Ok::<(), ()>(())
        })
        .unwrap();
    }

    #[test]
    fn an_error_stops_the_rest() {
        let begun = AtomicU64::new(0);
        let stopped =
            in_order(&mut (0..), squares(&begun, 2), |n| if n < 100 { Ok(()) } else { Err(n) });
        assert_eq!(stopped.err(), Some(100));
        assert!(begun.load(Ordering::SeqCst) < 100 + 2 * AHEAD);
    }

    #[test]
    #[should_panic(expected = "unlucky")]
    fn a_panic_ends_the_run_instead_of_hanging_it() {
        let begun = AtomicU64::new(0);
        let _ = in_order(&mut (0..20_000), squares(&begun, 2), |_| Ok::<(), ()>(()));
    }
}
