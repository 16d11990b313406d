//! What runs in a process of its own and may be killed: the library behind a pipe, or the service.
//!
//! The library's child reads an operation a line, does it, and says how it went before it reads the
//! next. Its disk may be ill: [`hapax_store::disk::Disk`] is asked before every access. At the first
//! failure it says so and ends.

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

/// What is wrong with the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Illness {
    None,
    /// Writes are refused.
    Write,
    /// Half of a write is done.
    ShortWrite,
    /// The file cannot grow, nor be written.
    Full,
    /// What was written may not have reached the disk.
    Sync,
    /// Everything takes a while, syncing most.
    Slow,
}

/// Falls ill at the n-th access that the illness is about, and stays so.
#[derive(Debug)]
struct Patient {
    illness: Illness,
    at: u64,
    seen: AtomicU64,
}

impl Disk for Patient {
    fn permit(&self, _: &Path, access: Access) -> Permit {
        let concerns = match self.illness {
            Illness::None => false,
            Illness::Write | Illness::ShortWrite => matches!(access, Access::Write(_)),
            Illness::Full => matches!(access, Access::Write(_) | Access::Resize(_)),
            Illness::Sync => access == Access::Sync,
            Illness::Slow => {
                let micros = if access == Access::Sync { 3000 } else { 50 };
                std::thread::sleep(Duration::from_micros(micros));
                false
            }
        };
        if !concerns || self.seen.fetch_add(1, Ordering::SeqCst) < self.at {
            return Permit::Go;
        }
        match (self.illness, access) {
            (Illness::ShortWrite, Access::Write(bytes)) => {
                Permit::Short(bytes / 2, Error::from(ErrorKind::WriteZero))
            }
            (Illness::Full, _) => Permit::Refuse(Error::from(ErrorKind::StorageFull)),
            _ => Permit::Refuse(Error::other("the disk is ill")),
        }
    }
}

/// The line that says a failure, before what failed.
pub(crate) const FAILED: &str = "failed: ";

fn said(decision: &Decision) -> String {
    verdict_name(decision.verdict.kind, decision.seen).to_owned()
}

fn answer(store: &Repository, operation: &Operation) -> Result<String, StoreError> {
    Ok(match *operation {
        Operation::Seen { page, place, fetched } => {
            said(&store.observe(observation(page, place, fetched))?)
        }
        Operation::Batch { ref pages, fetched } => {
            let seen = pages.iter().map(|&(page, place)| observation(page, Some(place), fetched));
            let decided = store.observe_many(seen.collect())?;
            decided.iter().map(said).collect::<Vec<_>>().join(" ")
        }
        Operation::Redirect { from, to, fetched } => {
            said(&store.redirect(&url(from), &url(to), Some(fetched))?)
        }
        Operation::Forget { page } => store.forget(&url(page))?.to_string(),
        Operation::Score { page, score } => {
            store.score(&url(page), score.map(f64::from))?.to_string()
        }
        Operation::Expire { before } => store.expire(before)?.to_string(),
    })
}

/// The library behind a pipe.
pub(crate) fn library(folder: &Path, illness: Illness, at: u64) -> Result<()> {
    let disk = Arc::new(Patient { illness, at, seen: AtomicU64::new(0) });
    let mut out = std::io::stdout().lock();
    let mut say = |text: String| -> Result<()> {
        // In one piece: a line that is there is whole.
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
