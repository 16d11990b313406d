//! Many rows on some threads, without the interpreter's lock.
//!
//! Threads live as long as the call: nothing is left behind that a forked child could wait for.
//! Rows are handed out in small runs; results come back in order. The calling thread works too,
//! and checks between rows for Ctrl-C. Work that is not cut into rows runs on a
//! second thread while the first checks ([`interruptible`]).

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hapax_dedup::Stop;

use pyo3::prelude::*;

use crate::errors::raised;

/// How long a user waits for Ctrl-C, about.
const LOOK: Duration = Duration::from_millis(100);

/// How long interrupted work has to end before the caller goes on without it.
const GRACE: Duration = Duration::from_millis(500);
/// More threads than any machine has cores, and fewer than a system lends.
const MOST: i64 = 4096;

/// As the caller says it: 0 for all cores.
pub(crate) fn threads(asked: i64) -> PyResult<NonZero<usize>> {
    if !(0..=MOST).contains(&asked) {
        let reason = format!("threads={asked}: expected 0 for all cores, or 1 to {MOST}");
        return Err(raised("ArgumentError", reason, None));
    }
    let count = NonZero::new(asked as usize).or_else(|| std::thread::available_parallelism().ok());
    Ok(count.unwrap_or(NonZero::<usize>::MIN))
}

/// Does work on a thread of its own, and checks for Ctrl-C meanwhile. Then `stop` is set, for work that asks it;
/// other work ends when it is through, and nobody waits for it.
pub(crate) fn interruptible<R: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce() -> PyResult<R> + Send + 'static,
) -> PyResult<R> {
    let (sender, answer) = channel();
    let work = move || drop(sender.send(work()));
    let begun = std::thread::Builder::new().name("hapax".to_owned()).spawn(work);
    begun.map_err(|error| raised("HapaxError", format!("cannot start a thread: {error}"), None))?;
    py.detach(move || {
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(raised("HapaxError", "a thread did not finish", None));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(signal) = Python::attach(|py| py.check_signals()) {
                stop.set();
                drop(answer.recv_timeout(GRACE));
                return Err(signal);
            }
        }
    })
}

/// What became of the rows.
pub(crate) struct Done<R, T, E> {
    /// In the order of the rows, up to one that failed.
    pub(crate) results: Vec<R>,
    /// To be used again.
    pub(crate) tools: Vec<T>,
    /// The first row that failed, and why.
    pub(crate) failed: Option<(usize, E)>,
}

/// What `work` makes of each row, with a tool of its own for each thread, or the first error;
/// `together` rows are handed out at a time.
pub(crate) fn each<T: Send, R: Send, E: Send>(
    py: Python<'_>,
    rows: usize,
    together: usize,
    tools: Vec<T>,
    work: impl Fn(&mut T, usize) -> Result<R, E> + Sync,
) -> PyResult<Done<R, T, E>> {
    let next = AtomicUsize::new(0);
    let (stop, quit) = (AtomicBool::new(false), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Vec<R>)>> = Mutex::new(Vec::new());
    let failed: Mutex<Option<(usize, E)>> = Mutex::new(None);
    let job = Job {
        next: &next,
        stop: &stop,
        quit: &quit,
        done: &done,
        failed: &failed,
        rows,
        together,
        work: &work,
    };
    let (tools, interrupted) = py.detach(|| {
        std::thread::scope(|scope| {
            let mut tools = tools.into_iter();
            let mut own = tools.next();
            let spawned: Vec<_> = tools
                .map(|mut tool| {
                    let job = &job;
                    scope.spawn(move || {
                        job.run(&mut tool, || true);
                        tool
                    })
                })
                .collect();
            let mut looked = Instant::now();
            let mut interrupted = None;
            if let Some(tool) = &mut own {
                job.run(tool, || {
                    if looked.elapsed() < LOOK {
                        return true;
                    }
                    looked = Instant::now();
                    let signal = Python::attach(|py| py.check_signals());
                    interrupted = signal.err();
                    interrupted.is_none()
                });
            }
            let mut back: Vec<T> = own.into_iter().collect();
            let mut broken = false;
            for thread in spawned {
                match thread.join() {
                    Ok(tool) => back.push(tool),
                    Err(_) => broken = true,
                }
            }
            if broken && interrupted.is_none() {
                interrupted = Some(raised("HapaxError", "a thread did not finish", None));
            }
            (back, interrupted)
        })
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let mut runs = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    runs.sort_unstable_by_key(|(first, _)| *first);
    let results = runs.into_iter().flat_map(|(_, results)| results).collect();
    let failed = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok(Done { results, tools, failed })
}

struct Job<'a, R, E, W> {
    next: &'a AtomicUsize,
    /// No further run is begun.
    stop: &'a AtomicBool,
    /// No further row is begun.
    quit: &'a AtomicBool,
    done: &'a Mutex<Vec<(usize, Vec<R>)>>,
    failed: &'a Mutex<Option<(usize, E)>>,
    rows: usize,
    together: usize,
    work: &'a W,
}

impl<R, E, W> Job<'_, R, E, W> {
    /// Takes runs until none is left, or `go_on` says no. Of several errors the first row's is
    /// kept, whichever thread came first: runs before it are always finished.
    fn run<T>(&self, tool: &mut T, mut go_on: impl FnMut() -> bool)
    where
        W: Fn(&mut T, usize) -> Result<R, E>,
    {
        let mut mine = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let first = self.next.fetch_add(self.together, Ordering::Relaxed);
            if first >= self.rows {
                break;
            }
            let mut results = Vec::with_capacity(self.together);
            for row in first..self.rows.min(first + self.together) {
                match (self.work)(tool, row) {
                    Ok(result) => results.push(result),
                    Err(error) => {
                        self.stop.store(true, Ordering::Relaxed);
                        let mut failed = self.failed.lock().unwrap_or_else(|it| it.into_inner());
                        if failed.as_ref().is_none_or(|(earlier, _)| row < *earlier) {
                            *failed = Some((row, error));
                        }
                        break;
                    }
                }
                if self.quit.load(Ordering::Relaxed) || !go_on() {
                    self.quit.store(true, Ordering::Relaxed);
                    return;
                }
            }
            mine.push((first, results));
        }
        self.done.lock().unwrap_or_else(|it| it.into_inner()).append(&mut mine);
    }
}
