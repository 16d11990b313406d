//! What is in the making, removed when the user interrupts the program.
//!
//! Results grow under temporary names and are renamed when they are complete. An error removes them on its
//! way out; a signal would leave them. With the first of them a thread begins to wait for SIGINT and
//! SIGTERM; it removes what is registered and ends the process.
//!
//! Does not handle SIGKILL, nor commands that register nothing: those keep the system's behaviour.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// What a shell reports of a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

static ENABLED: AtomicBool = AtomicBool::new(false);
static STARTED: Once = Once::new();
static MAKING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Lets this module handle signals. Only the program itself may: a library's process is not its own.
pub fn remove_when_interrupted() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Files or folders that are removed if the program is interrupted while this lives.
#[derive(Debug)]
pub(crate) struct Making(Vec<PathBuf>);

impl Making {
    /// Makes something temporary and registers its paths; an interruption sees both or neither.
    pub(crate) fn of<T, E>(
        make: impl FnOnce() -> Result<T, E>,
        paths: impl FnOnce(&T) -> Vec<PathBuf>,
    ) -> Result<(T, Self), E> {
        if ENABLED.load(Ordering::Relaxed) {
            STARTED.call_once(|| drop(hapax_server::on_interrupt(remove_all)));
        }
        let mut making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        let made = make()?;
        // A folder may be left while the program runs.
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
        // It may be complete by now, or never have begun.
        let _ = match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
    }
    std::process::exit(INTERRUPTED);
}
