//! Several threads write while others read: effects are visible immediately, events are in order.
//!
//! `fuzz/interleave` tries all schedules of the queue; this tests the real store, index and merger under
//! whatever schedule the system gives.

use crate::line::{FARTHEST, assert_clean, create, open, page};
use hapax_store::Repository;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const WRITERS: u32 = 4;
const ROUNDS: u32 = 60;

fn url(writer: u32, n: u32) -> String {
    format!("http://{writer}.example/{n}")
}

fn write(store: &Repository, writer: u32) {
    for n in 0..ROUNDS {
        let content = (writer * 5 + n * 3) % FARTHEST;
        if n % 6 == 5 {
            let batch = (0..4).map(|more| page(&url(writer, 1000 + 4 * n + more), content));
            store.observe_many(batch.collect()).unwrap();
        }
        let decided = store.observe(page(&url(writer, n), content)).unwrap();
        // After an acknowledgement, its effect is visible.
        let known = store.page(&url(writer, n)).unwrap().expect("an acknowledged page");
        assert_eq!(Some(known.id), decided.page);
        match n % 9 {
            4 => drop(store.redirect(&url(writer, n - 1), &url((writer + 1) % WRITERS, n), None)),
            7 => assert!(store.forget(&url(writer, n)).unwrap()),
            _ => {}
        }
        if n % 9 == 7 {
            assert_eq!(store.page(&url(writer, n)).unwrap(), None, "forgotten and still there");
        }
    }
}

/// Reads events by number, without gaps or repeats, until all writing has ended; returns the last
/// one.
fn follow(store: &Repository, writing: &AtomicU32) -> u64 {
    let mut last = 0;
    loop {
        let over = writing.load(Ordering::SeqCst) == 0;
        let events = store.events(last, 50).unwrap();
        if over && events.is_empty() {
            return last;
        }
        for event in events {
            assert_eq!(event.sequence, last + 1);
            last = event.sequence;
        }
        std::thread::yield_now();
    }
}

/// A reader keeps its commit; the next reader's is not earlier.
fn look(store: &Repository, over: &AtomicBool) {
    let mut commit = 0;
    while !over.load(Ordering::SeqCst) {
        let reader = store.reader();
        assert!(reader.commit() >= commit, "time goes back");
        commit = reader.commit();
        let before: Vec<_> = (0..WRITERS).map(|w| reader.page(&url(w, 3)).unwrap()).collect();
        std::thread::yield_now();
        let after: Vec<_> = (0..WRITERS).map(|w| reader.page(&url(w, 3)).unwrap()).collect();
        assert_eq!(before, after, "a reader's moment moved");
    }
}

#[test]
fn writers_readers_and_followers_agree_whoever_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    let (writing, over) = (AtomicU32::new(WRITERS), AtomicBool::new(false));
    let last = std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, writing) = (&store, &writing);
            scope.spawn(move || {
                write(store, writer);
                writing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        scope.spawn(|| look(&store, &over));
        let last = follow(&store, &writing);
        over.store(true, Ordering::SeqCst);
        last
    });
    assert!(last > u64::from(WRITERS * ROUNDS / 2), "{last} events");
    assert_clean(&store);
    drop(store);
    let store = open(folder.path());
    assert_clean(&store);
    assert_eq!(store.events(last, 10).unwrap(), []);
}
