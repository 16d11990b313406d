//! Open connections, so that those without work give way to new ones.
//!
//! A connection waits (for a request, or for the rest of one), works, or streams. When all places are taken, the one
//! that has waited longest is closed for a new one; when the service stops, all that wait or stream are. Whoever works is
//! never closed from here.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Doing {
    Waiting,
    Working,
    Streaming,
}

/// One of them. Requests carry it.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u64,
    opened: Instant,
    doing: AtomicU8,
    /// Milliseconds from its opening to its last change.
    changed: AtomicU64,
    close: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
    next: AtomicU64,
}

impl Connection {
    pub(crate) fn is_now(&self, doing: Doing) {
        self.doing.store(doing as u8, Ordering::Relaxed);
        self.changed.store(self.opened.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn does(&self, doing: Doing) -> bool {
        self.doing.load(Ordering::Relaxed) == doing as u8
    }

    fn waits_for(&self) -> u64 {
        let now = self.opened.elapsed().as_millis() as u64;
        now.saturating_sub(self.changed.load(Ordering::Relaxed))
    }

    /// Until it is to be closed.
    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }
}

impl Connections {
    pub(crate) fn open(&self) -> Arc<Connection> {
        let connection = Arc::new(Connection {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            opened: Instant::now(),
            doing: AtomicU8::new(Doing::Waiting as u8),
            changed: AtomicU64::new(0),
            close: Notify::new(),
        });
        self.all().insert(connection.number, connection.clone());
        connection
    }

    pub(crate) fn ended(&self, connection: &Connection) {
        self.all().remove(&connection.number);
    }

    /// Closes the connection that has waited longest, if any waits.
    pub(crate) fn close_one_that_waits(&self) {
        let mut all = self.all();
        let waiting = all.values().filter(|connection| connection.does(Doing::Waiting));
        let longest = waiting.max_by_key(|one| (one.waits_for(), Reverse(one.number)));
        if let Some(number) = longest.map(|connection| connection.number)
            && let Some(connection) = all.remove(&number)
        {
            connection.close.notify_one();
        }
    }

    /// Closes all connections but those that work.
    pub(crate) fn close_all_that_do_not_work(&self) {
        let all = self.all();
        let others = all.values().filter(|connection| !connection.does(Doing::Working));
        others.for_each(|connection| connection.close.notify_one());
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_has_waited_longest_gives_way_and_no_other() {
        let all = Connections::default();
        let [works, first, second] = [all.open(), all.open(), all.open()];
        works.is_now(Doing::Working);
        first.changed.store(0, Ordering::Relaxed);
        second.changed.store(u64::MAX, Ordering::Relaxed);
        all.close_one_that_waits();
        let left: Vec<u64> = all.all().keys().copied().collect();
        assert_eq!(left, [works.number, second.number]);
        all.close_one_that_waits();
        all.close_one_that_waits();
        assert_eq!(all.all().len(), 1, "whoever works stays");
    }
}
