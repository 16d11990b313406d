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

/// How the names of threads begin whose panics are caught by the library that starts them.
static SILENT: RwLock<Vec<&'static str>> = RwLock::new(Vec::new());

thread_local! {
    /// How many calls of [`guarded`] this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Does `work`, which may panic. What it touches must not be used after a panic, or must bear being
/// left half-way, as a transaction does.
///
/// The panic hook of the process stays silent for panics of this thread while `work` runs; every
/// other panic reaches the hook that was set before. Panics of threads that `work` starts are not
/// caught here.
///
/// # Errors
///
/// It panicked: the message of the panic, in one line.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    silence_caught_panics();
    let _inside = Inside::enter();
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("no message").replace('\n', " ")
    })
}

/// Keeps panics silent in threads whose names begin with `prefix`: those of a library that catches them
/// itself and reports them as errors.
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

/// Counts a call for as long as it lives.
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
    // A thread that panics, as one that closes a file while it unwinds, cannot set a hook.
    if std::thread::panicking() {
        return;
    }
    SILENCED.call_once(|| {
        let outer = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // The flag is gone while a thread ends; nothing is caught there.
            if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 && !is_silent_thread() {
                outer(info);
            }
        }));
    });
}
