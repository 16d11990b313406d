//! The runtime of the asynchronous cloud clients, one per process.
//!
//! A forked process has none of its parent's threads, so it gets a new runtime.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};

static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

pub(crate) fn runtime() -> io::Result<Arc<Runtime>> {
    let mut shared = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match &*shared {
        Some((of, runtime)) if *of == process => return Ok(Arc::clone(runtime)),
        _ => {}
    }
    let mut builder = Builder::new_multi_thread();
    // These threads only dispatch; requests run on their own threads.
    builder.worker_threads(2).thread_name("hapax-remote").enable_time();
    let runtime = Arc::new(builder.build()?);
    // Dropping the parent's runtime would wait for threads that do not exist here.
    std::mem::forget(shared.replace((process, Arc::clone(&runtime))));
    Ok(runtime)
}
