//! The runtime that the clouds' asynchronous side runs on. One for each process.
//!
//! A process that was forked has none of its parent's threads, and gets a runtime of its own.

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
    // They only hand on; requests are on threads of their own.
    builder.worker_threads(2).thread_name("hapax-remote").enable_time();
    let runtime = Arc::new(builder.build()?);
    // Ending the parent's would wait for threads that are not here.
    std::mem::forget(shared.replace((process, Arc::clone(&runtime))));
    Ok(runtime)
}
