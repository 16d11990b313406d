//! Limits how many large pages are read at once, and how many bytes they have together.
//!
//! Reading a page takes up to twenty times its bytes for a moment, so all large pages that are read at the same time have
//! together at most the bytes of the longest allowed page. Small pages do not wait behind them: one concurrency slot is kept
//! free of large pages. Clients take turns.

use crate::turns::{Turn, Turns};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A page of more bytes is large: it takes more than a few milliseconds and megabytes.
pub(crate) const LARGE: usize = 256 << 10;
/// What is counted.
const UNIT: usize = 1 << 10;

/// Places for large pages.
#[derive(Debug)]
pub(crate) struct Large {
    places: Arc<Turns>,
    room: Arc<Semaphore>,
    units: u32,
}

/// A page in its place. The room comes free before the turn goes on.
#[derive(Debug)]
pub(crate) struct Held {
    _room: Option<OwnedSemaphorePermit>,
    _turn: Turn,
}

impl Large {
    /// For so many pages, and so many bytes of them, at once.
    pub(crate) fn new(places: usize, bytes: usize) -> Self {
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX >> 3).clamp(1, u32::MAX >> 3);
        let room = Arc::new(Semaphore::new(units as usize));
        Self { places: Turns::new(places.max(1)), room, units }
    }

    /// A place for a page of so many bytes; `None` if it needs none.
    pub(crate) async fn take(&self, bytes: usize) -> Option<Held> {
        if bytes <= LARGE {
            return None;
        }
        let turn = self.places.take().await;
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).min(self.units);
        // It is never closed.
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
