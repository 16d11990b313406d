//! The process that may be killed: the library behind a pipe, or the service.
//!
//! The library's process reads one operation per line, executes it, and prints the result before it reads the next.
//! Its disk may have a fault: [`hapax_store::disk::Disk`] is called before every access. At the first failure it
//! prints it and ends.

use crate::line::{observation, recipe, url};
use crate::operation::Operation;
use anyhow::{Context, Result};
use clap::ValueEnum;
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax_client::wire::verdict_name;
use hapax_server::{Layers, Service};
use hapax_store::disk::{Access, Disk, Permit};
use hapax_store::{Decision, Repository, StoreError};
use std::io::{BufRead, Error, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The fault of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiskFault {
    None,
    /// Refuses writes.
    Write,
    /// Executes half of a write.
    ShortWrite,
    /// Refuses to grow or write the file.
    Full,
    /// Fails syncs, so data may not have reached the disk.
    Sync,
    /// Delays every access, syncs most.
    Slow,
}

/// A disk that fails from the n-th affected access on.
#[derive(Debug)]
struct FailingDisk {
    fault: DiskFault,
    at: u64,
    seen: AtomicU64,
}

impl Disk for FailingDisk {
    fn permit(&self, _: &Path, access: Access) -> Permit {
        let is_affected = match self.fault {
            DiskFault::None => false,
            DiskFault::Write | DiskFault::ShortWrite => matches!(access, Access::Write(_)),
            DiskFault::Full => matches!(access, Access::Write(_) | Access::Resize(_)),
            DiskFault::Sync => access == Access::Sync,
            DiskFault::Slow => {
                let micros = if access == Access::Sync { 3000 } else { 50 };
                std::thread::sleep(Duration::from_micros(micros));
                false
            }
        };
        if !is_affected || self.seen.fetch_add(1, Ordering::SeqCst) < self.at {
            return Permit::Go;
        }
        match (self.fault, access) {
            (DiskFault::ShortWrite, Access::Write(bytes)) => {
                Permit::Short(bytes / 2, Error::from(ErrorKind::WriteZero))
            }
            (DiskFault::Full, _) => Permit::Refuse(Error::from(ErrorKind::StorageFull)),
            _ => Permit::Refuse(Error::other("the disk has a fault")),
        }
    }
}

/// The start of a line that reports a failure.
pub(crate) const FAILED: &str = "failed: ";

fn text_of(decision: &Decision) -> String {
    verdict_name(decision.verdict.kind, decision.seen).to_owned()
}

fn answer(store: &Repository, operation: &Operation) -> Result<String, StoreError> {
    Ok(match *operation {
        Operation::Seen { page, place, fetched } => {
            text_of(&store.observe(observation(page, place, fetched))?)
        }
        Operation::Batch { ref pages, fetched } => {
            let seen = pages.iter().map(|&(page, place)| observation(page, Some(place), fetched));
            let decided = store.observe_many(seen.collect())?;
            decided.iter().map(text_of).collect::<Vec<_>>().join(" ")
        }
        Operation::Redirect { from, to, fetched } => {
            text_of(&store.redirect(&url(from), &url(to), Some(fetched))?)
        }
        Operation::Forget { page } => store.forget(&url(page))?.to_string(),
        Operation::Score { page, score } => {
            store.score(&url(page), score.map(f64::from))?.to_string()
        }
        Operation::Expire { before } => store.expire(before)?.to_string(),
    })
}

/// Runs the library behind a pipe.
pub(crate) fn library(folder: &Path, fault: DiskFault, at: u64) -> Result<()> {
    let disk = Arc::new(FailingDisk { fault, at, seen: AtomicU64::new(0) });
    let mut out = std::io::stdout().lock();
    let mut say = |text: String| -> Result<()> {
        // Written at once, so that every received line is complete.
        out.write_all(format!("{text}\n").as_bytes())?;
        Ok(out.flush()?)
    };
    let store = match Repository::open_on(folder, Some(&recipe()?), disk) {
        Ok(store) => store,
        Err(error) => return say(format!("{FAILED}{error}")),
    };
    for line in std::io::stdin().lock().lines() {
        let operation: Operation =
            serde_json::from_str(&line?).context("an unreadable operation")?;
        match answer(&store, &operation) {
            Ok(text) => say(text)?,
            Err(error) => return say(format!("{FAILED}{error}")),
        }
    }
    Ok(())
}

pub(crate) fn service(folder: &Path) -> Result<()> {
    let by = Fingerprinter::new(Recipe::built_in("web-2")?, None)?;
    let mut layers = Layers::new()?;
    layers.set("soak", "listen", "127.0.0.1:0")?;
    let repository = Repository::open(folder, Some(by.recipe_id()))?;
    let service = Service::new(repository, by, layers.finish()?)?;
    hapax_server::run(service, |address| {
        let _ = writeln!(std::io::stdout(), "{address}");
    })?;
    Ok(())
}
