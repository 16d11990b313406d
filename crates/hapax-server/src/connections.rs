//! Open connections, so that idle ones give way to new ones.
//!
//! A connection waits (for a request, or the rest of one), works, or streams. When all places are taken, the
//! one that has waited longest is closed for a new one; when the service stops, all that wait or stream are
//! closed. Never closes a working connection.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// The current activity of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Activity {
    Waiting,
    Working,
    Streaming,
}

/// A connection, carried by its requests.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u64,
    opened: Instant,
    doing: AtomicU8,
    /// Milliseconds from opening to the last change of activity.
    changed: AtomicU64,
    close: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
    next: AtomicU64,
}

impl Connection {
    pub(crate) fn is_now(&self, doing: Activity) {
        self.doing.store(doing as u8, Ordering::Relaxed);
        self.changed.store(self.opened.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn does(&self, doing: Activity) -> bool {
        self.doing.load(Ordering::Relaxed) == doing as u8
    }

    fn waits_for(&self) -> u64 {
        let now = self.opened.elapsed().as_millis() as u64;
        now.saturating_sub(self.changed.load(Ordering::Relaxed))
    }

    /// Returns when the connection must be closed.
    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }
}

impl Connections {
    pub(crate) fn open(&self) -> Arc<Connection> {
        let connection = Arc::new(Connection {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            opened: Instant::now(),
            doing: AtomicU8::new(Activity::Waiting as u8),
            changed: AtomicU64::new(0),
            close: Notify::new(),
        });
        self.all().insert(connection.number, connection.clone());
        connection
    }

    pub(crate) fn ended(&self, connection: &Connection) {
        self.all().remove(&connection.number);
    }

    /// Closes the connection that has waited longest; none if no connection waits.
    pub(crate) fn close_longest_waiting(&self) {
        let mut all = self.all();
        let waiting = all.values().filter(|connection| connection.does(Activity::Waiting));
        let longest = waiting.max_by_key(|one| (one.waits_for(), Reverse(one.number)));
        if let Some(number) = longest.map(|connection| connection.number)
            && let Some(connection) = all.remove(&number)
        {
            connection.close.notify_one();
        }
    }

    /// Closes all connections that do not work.
    pub(crate) fn close_idle(&self) {
        let all = self.all();
        let others = all.values().filter(|connection| !connection.does(Activity::Working));
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
    fn only_the_connection_that_has_waited_longest_gives_way() {
        let all = Connections::default();
        let [works, first, second] = [all.open(), all.open(), all.open()];
        works.is_now(Activity::Working);
        first.changed.store(0, Ordering::Relaxed);
        second.changed.store(u64::MAX, Ordering::Relaxed);
        all.close_longest_waiting();
        let left: Vec<u64> = all.all().keys().copied().collect();
        assert_eq!(left, [works.number, second.number]);
        all.close_longest_waiting();
        all.close_longest_waiting();
        assert_eq!(all.all().len(), 1, "whoever works stays");
    }
}
