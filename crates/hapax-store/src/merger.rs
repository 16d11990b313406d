//! A thread that merges the index's segments while the repository is open.

use hapax::index::live::LiveIndex;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

pub(crate) struct Merger {
    wake: Option<mpsc::SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Merger {
    pub(crate) fn start(index: Arc<LiveIndex>) -> Self {
        let (wake, woken) = mpsc::sync_channel::<()>(1);
        let thread = std::thread::spawn(move || {
            while woken.recv().is_ok() {
                // A failed merge leaves the index unchanged, only slower.
                while index.merge_step().unwrap_or(false) {}
            }
        });
        Self { wake: Some(wake), thread: Some(thread) }
    }

    pub(crate) fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Full means that it is awake already.
            let _ = wake.try_send(());
        }
    }

    pub(crate) fn stop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
