//! Checks the file while six threads write it and reads are slow: nothing is damaged, so nothing may be reported.
//!
//! After each delay, the repository must be ready, agree with itself and be sound once it is closed. That damage is
//! found is under test in `crates/hapax-store/tests/store/scrubbing.rs`.

use crate::pages::{page, scramble, settings};
use anyhow::{Context, ensure};
use hapax_store::disk::{Access, Disk, Permit};
use hapax_store::{Observation, Repository, check_folder};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const WRITERS: u64 = 6;
/// Addresses that are written again and again, so that blocks are used again.
const ADDRESSES: u64 = 20_000;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Minutes for each delay
    #[arg(long, default_value_t = 15.0)]
    minutes: f64,
    /// Delays of every read, in microseconds
    #[arg(long, value_delimiter = ',', default_value = "200,1000,2000,5000")]
    delays: Vec<u64>,
}

/// Delays what was read before it is used.
#[derive(Debug)]
struct Slow(Duration);

impl Disk for Slow {
    fn permit(&self, _: &Path, _: Access) -> Permit {
        Permit::Go
    }

    fn transfer(&self, _: &Path, _: u64, _: &mut [u8]) {
        thread::sleep(self.0);
    }
}

fn write(store: &Repository, writer: u64, stop: &AtomicBool, writes: &AtomicU64) {
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let random = scramble(writer << 40 | n);
        let url = |n: u64| format!("http://{}.example/{}", n % 97, n % ADDRESSES);
        let done = match random % 16 {
            0 => store.forget(&url(random >> 8)).map(drop),
            1 if url(random >> 8) != url(random >> 30) => {
                store.redirect(&url(random >> 8), &url(random >> 30), None).map(drop)
            }
            2 => store.score(&url(random >> 8), Some(n as f64)).map(drop),
            _ => {
                let seen = page(2 + (random >> 24) % 100_000);
                store.observe(Observation { url: url(random >> 8), ..seen }).map(drop)
            }
        };
        done.unwrap();
        writes.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    for &delay in &options.delays {
        let folder = tempfile::tempdir()?;
        drop(Repository::create(folder.path(), settings()?)?);
        let disk = Arc::new(Slow(Duration::from_micros(delay)));
        let store = Repository::open_on(folder.path(), None, disk)?;
        let (stop, writes) = (AtomicBool::new(false), AtomicU64::new(0));
        let (mut next, mut rounds, mut pieces) = (0, 0, 0);
        let begun = Instant::now();
        let scrubbed = thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (store, stop, writes) = (&store, &stop, &writes);
                scope.spawn(move || write(store, writer, stop, writes));
            }
            let scrubbed = loop {
                if begun.elapsed().as_secs_f64() > 60.0 * options.minutes {
                    break Ok(());
                }
                match store.scrub(next, Duration::from_millis(20)) {
                    Ok(at) => next = at,
                    Err(error) => break Err(error),
                }
                pieces += 1;
                rounds += u64::from(next == 0);
                thread::sleep(Duration::from_millis(20));
            };
            stop.store(true, Ordering::Relaxed);
            scrubbed
        });
        let (seconds, writes) = (begun.elapsed().as_secs(), writes.into_inner());
        scrubbed.with_context(|| format!("reads {delay} us slower, after {seconds} s"))?;
        ensure!(writes > 0, "nothing was written");
        store.ready()?;
        let found = store.verify()?;
        ensure!(found.is_clean(), "{found:#?}");
        drop(store);
        ensure!(check_folder(folder.path())?.is_clean(), "the closed file is not sound");
        println!(
            "reads {delay} us slower: {seconds} s, {writes} writes, {pieces} checks, {rounds} of \
             the whole file, nothing reported"
        );
    }
    Ok(())
}
