//! Deletes temporary results when the user interrupts the program.
//!
//! Results grow under temporary names and are renamed when they are complete. An error deletes them on the way out,
//! but a signal would leave them. The first registration starts a thread that waits for SIGINT and SIGTERM, deletes
//! what is registered and ends the process. Does not handle SIGKILL; commands that register nothing keep the system's
//! behaviour.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// The exit code that a shell reports after SIGINT.
const INTERRUPTED: i32 = 130;

static ENABLED: AtomicBool = AtomicBool::new(false);
static STARTED: Once = Once::new();
static MAKING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Makes this module handle signals. Only for the program itself: a library must not change signals
/// of its process.
pub fn remove_when_interrupted() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Files or folders that are deleted if the program is interrupted while this lives.
#[derive(Debug)]
pub(crate) struct Making(Vec<PathBuf>);

impl Making {
    /// Creates something temporary and registers its paths; an interruption cannot come in between.
    pub(crate) fn of<T, E>(
        make: impl FnOnce() -> Result<T, E>,
        paths: impl FnOnce(&T) -> Vec<PathBuf>,
    ) -> Result<(T, Self), E> {
        if ENABLED.load(Ordering::Relaxed) {
            STARTED.call_once(|| drop(hapax_server::on_interrupt(remove_all)));
        }
        let mut making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        let made = make()?;
        // The program may change its working directory.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let paths: Vec<PathBuf> = paths(&made).into_iter().map(absolute).collect();
        making.extend(paths.iter().cloned());
        Ok((made, Self(paths)))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        let mut making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &self.0 {
            making.remove(path);
        }
    }
}

fn remove_all() {
    let making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    for path in making.iter() {
        // It may be renamed by now, or never have been created.
        let _ = match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
    }
    std::process::exit(INTERRUPTED);
}
