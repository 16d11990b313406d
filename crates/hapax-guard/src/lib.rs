//! Turns a library's panic on damaged data into an error value, without a line on standard error.
//!
//! ```
//! let bytes = [1, 2, 3];
//! let read = hapax_guard::guarded(|| bytes[bytes.len()]);
//! assert!(read.unwrap_err().starts_with("index out of bounds"));
//! ```

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Once, PoisonError, RwLock};

/// Name prefixes of threads whose panics are caught by the library that starts them.
static SILENT: RwLock<Vec<&'static str>> = RwLock::new(Vec::new());

thread_local! {
    /// Nesting depth of [`guarded`] in this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs `work` and returns its panic as an error. Data that `work` changes must be discarded after
/// a panic, or must stay valid when left half-way, as a transaction does.
///
/// While `work` runs, panics of this thread do not reach the panic hook of the process; all other
/// panics do. Panics of threads started by `work` are not caught.
///
/// # Errors
///
/// `work` panicked; contains the message of the panic in one line.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    silence_caught_panics();
    let _inside = Inside::enter();
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("no message").replace('\n', " ")
    })
}

/// Silences panics in threads whose names start with `prefix`, for libraries that catch the panics
/// of their threads and return them as errors.
pub fn silence_threads(prefix: &'static str) {
    silence_caught_panics();
    let mut silent = SILENT.write().unwrap_or_else(PoisonError::into_inner);
    if !silent.contains(&prefix) {
        silent.push(prefix);
    }
}

fn is_silent_thread() -> bool {
    let current = std::thread::current();
    let silent = SILENT.read().unwrap_or_else(PoisonError::into_inner);
    current.name().is_some_and(|name| silent.iter().any(|prefix| name.starts_with(prefix)))
}

/// Counts a call while it lives.
struct Inside;

impl Inside {
    fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

fn silence_caught_panics() {
    static SILENCED: Once = Once::new();
    // A panicking thread, such as one that closes a file while it unwinds, cannot set a hook.
    if std::thread::panicking() {
        return;
    }
    SILENCED.call_once(|| {
        let outer = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // The flag is gone while a thread ends, and nothing is caught there.
            if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 && !is_silent_thread() {
                outer(info);
            }
        }));
    });
}
