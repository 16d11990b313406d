//! Limits the number and the total size of large pages that are processed at once.
//!
//! Processing a page briefly takes up to twenty times its size, so all large pages in progress together have at
//! most the size of the longest allowed page. Small pages do not wait for them: one concurrency slot is
//! reserved. Clients take turns.

use crate::turns::{Turn, Turns};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Pages above this size are large: they take more than a few milliseconds and megabytes.
pub(crate) const LARGE: usize = 256 << 10;
/// Granularity of the size limit in bytes.
const UNIT: usize = 1 << 10;

/// Limits large pages.
#[derive(Debug)]
pub(crate) struct Large {
    places: Arc<Turns>,
    room: Arc<Semaphore>,
    units: u32,
}

/// Permission to process a page. Fields are dropped in order: the memory is released before the
/// turn.
#[derive(Debug)]
pub(crate) struct Held {
    _room: Option<OwnedSemaphorePermit>,
    _turn: Turn,
}

impl Large {
    /// For this many pages at once, of this total size.
    pub(crate) fn new(places: usize, bytes: usize) -> Self {
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX >> 3).clamp(1, u32::MAX >> 3);
        let room = Arc::new(Semaphore::new(units as usize));
        Self { places: Turns::new(places.max(1)), room, units }
    }

    /// Waits for permission to process a page of this size; `None` if it is small.
    pub(crate) async fn take(&self, bytes: usize) -> Option<Held> {
        if bytes <= LARGE {
            return None;
        }
        let turn = self.places.take().await;
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).min(self.units);
        // The semaphore is never closed.
        let room = self.room.clone().acquire_many_owned(units).await.ok();
        Some(Held { _room: room, _turn: turn })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn large_pages_share_the_bytes_of_the_longest_and_small_ones_do_not_wait() {
        let large = Large::new(15, 16 << 20);
        let now = |bytes: usize| large.take(bytes).now_or_never();
        let longest = now(16 << 20).unwrap();
        assert!(longest.is_some() && now(1 << 20).is_none());
        assert!(now(LARGE).unwrap().is_none());
        drop(longest);
        let four: Vec<_> = (0..4).map(|_| now(4 << 20).unwrap().unwrap()).collect();
        assert!(now(1 << 20).is_none());
        drop(four);
        assert!(now(usize::MAX).unwrap().is_some());
    }
}
