//! Limits the memory and the duration of request bodies.
//!
//! A body is read before its request takes a place for work, so a slow client holds only its connection. The
//! first bytes of every body are free, so that small requests pass while large ones fill the budget; beyond
//! those, all bodies together hold at most `limits.held_bytes`. A body that arrives too slowly is cut off.

use crate::config::Limits;
use crate::error::{ApiError, Code};
use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Bytes of a body that do not count; their total is bounded by the number of connections.
pub(crate) const FREE: usize = 64 << 10;
/// Allowed time for a body, plus the time its bytes take at this rate.
const GRACE_TIME: Duration = Duration::from_secs(5);
const BYTES_A_SECOND: u64 = 64 << 10;

/// The bytes that all bodies may still hold.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(bytes) })
    }

    /// Number of free bytes.
    pub(crate) fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        Held { budget: self.clone(), bytes: 0, charged: 0 }
    }
}

/// The bytes of one body; released on drop.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
    charged: usize,
}

impl Held {
    /// Sets the number of bytes held.
    ///
    /// # Errors
    ///
    /// The budget is exhausted.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), ApiError> {
        self.bytes = bytes;
        let wanted = bytes.saturating_sub(FREE);
        if wanted > self.charged {
            let more = wanted - self.charged;
            let take = |left: usize| left.checked_sub(more);
            let taken = self.budget.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
            taken.map_err(|_| ApiError::overloaded())?;
        } else {
            self.budget.left.fetch_add(self.charged - wanted, Ordering::Relaxed);
        }
        self.charged = wanted;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.charged, Ordering::Relaxed);
    }
}

/// Reads a whole body.
///
/// # Errors
///
/// It is too long, too slow or incomplete, or the budget is exhausted.
pub(crate) async fn whole(
    mut body: Body,
    limits: &Limits,
    held: &mut Held,
) -> Result<Bytes, ApiError> {
    let (size, most) = (body.size_hint().lower(), limits.body_bytes);
    if size > most as u64 {
        let message = format!("the body has {size} bytes, and at most {most} are read");
        return Err(ApiError::new(Code::TooLarge, message));
    }
    let start = Instant::now();
    let last = start + limits.idle_time();
    let mut bytes = BytesMut::new();
    loop {
        let patience =
            GRACE_TIME + Duration::from_millis(1000 * bytes.len() as u64 / BYTES_A_SECOND);
        let frame = timeout_at((start + patience).min(last), body.frame()).await;
        let slow = |_| ApiError::new(Code::SlowBody, "the body did not arrive in time");
        let Some(frame) = frame.map_err(slow)? else { return Ok(bytes.freeze()) };
        let frame = frame.map_err(|_| ApiError::invalid("the body did not arrive whole"))?;
        let Ok(data) = frame.into_data() else { continue };
        let sum = bytes.len() + data.len();
        if sum > most {
            let message = format!("a body has at most {most} bytes");
            return Err(ApiError::new(Code::TooLarge, message));
        }
        held.set(sum)?;
        bytes.extend_from_slice(&data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_bodies_pass_while_large_ones_fill_the_budget_which_is_released() {
        let budget = Budget::new(1000);
        let (mut large, mut small, mut other) = (budget.hold(), budget.hold(), budget.hold());
        large.set(FREE + 900).unwrap();
        small.set(FREE).unwrap();
        assert_eq!(other.set(FREE + 101).unwrap_err().code, Code::Overloaded);
        large.set(FREE + 500).unwrap();
        other.set(FREE + 500).unwrap();
        drop((large, small, other));
        assert_eq!(budget.left.load(Ordering::Relaxed), 1000);
    }
}
