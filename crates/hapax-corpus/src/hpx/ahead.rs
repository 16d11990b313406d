//! Reads on its own thread, ahead of the search.
//!
//! Buffers circulate: the reader fills those that the searcher has used, so memory is bounded by a fixed number
//! of pieces, and reading, checking and unpacking overlap with the search. Dropping this value ends the thread.
//!
//! Source: Sood 2011, equations 6.15 and 6.20: the time of a batch is the longer of the two.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::HpxError;
use super::read::Stream;

/// Number of pieces in memory besides the one being searched.
const AHEAD: usize = 2;

#[derive(Debug)]
pub struct ReadAhead {
    filled: Option<Receiver<Result<Vec<u64>, HpxError>>>,
    empty: Option<SyncSender<Vec<u64>>>,
    bytes: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    pub fn new(mut stream: Stream) -> Self {
        let (send, filled) = sync_channel(AHEAD - 1);
        let (empty, take) = sync_channel::<Vec<u64>>(AHEAD + 1);
        for _ in 0..AHEAD {
            // The channel has capacity for all of them.
            let _ = empty.try_send(Vec::new());
        }
        let bytes = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            while let Ok(mut piece) = take.recv() {
                let read = stream.next_piece(&mut piece);
                counted.store(stream.bytes_read(), Ordering::Relaxed);
                let next = match read {
                    Ok(true) => Ok(piece),
                    Ok(false) => return,
                    Err(error) => Err(error),
                };
                let failed = next.is_err();
                if send.send(next).is_err() || failed {
                    return;
                }
            }
        });
        Self { filled: Some(filled), empty: Some(empty), bytes, thread: Some(thread) }
    }

    /// Replaces the contents of `fingerprints` by the next piece; `false` at the end.
    pub fn next_piece(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, HpxError> {
        let next = self.filled.as_ref().and_then(|filled| filled.recv().ok());
        match next.transpose()? {
            Some(piece) => {
                let used = std::mem::replace(fingerprints, piece);
                if let Some(empty) = &self.empty {
                    // Fails if the reader has ended.
                    let _ = empty.try_send(used);
                }
                Ok(true)
            }
            None => {
                fingerprints.clear();
                Ok(false)
            }
        }
    }

    /// Number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        // Close both ends first, so that the thread does not wait.
        drop(self.filled.take());
        drop(self.empty.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
