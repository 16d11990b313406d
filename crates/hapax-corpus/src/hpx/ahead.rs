//! Reading on a thread of its own, a little ahead of the search.
//!
//! Buffers go round: the reader fills what the searcher is done with, so that there are never more
//! than a fixed number of pieces in memory, and reading, checking and unpacking take place while
//! the last piece is searched. A searcher that wants no more drops this, and the thread ends.
//!
//! Source: Sood 2011, equations 6.15 and 6.20: the time of a batch is the longer of the two.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::HpxError;
use super::read::Stream;

/// Pieces in memory beside the one that is searched.
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
            // There is room for all of them.
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

    /// Replaces what is in `fingerprints` by the next piece; `false` when there is none.
    pub fn next_piece(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, HpxError> {
        let next = self.filled.as_ref().and_then(|filled| filled.recv().ok());
        match next.transpose()? {
            Some(piece) => {
                let used = std::mem::replace(fingerprints, piece);
                if let Some(empty) = &self.empty {
                    // A reader that has ended wants no buffer.
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

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        // Both ends are closed first, so that the thread is waiting for nothing.
        drop(self.filled.take());
        drop(self.empty.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
