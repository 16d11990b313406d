//! Follows another service or a folder of backups, and tracks the standbys of this service.
//!
//! A standby requests the increment after its own position, applies it, and repeats; the source waits with its
//! answer until there is something new. How far behind a standby is: the time since it sent the last request
//! whose answer it has applied, because everything acknowledged before is here.
//!
//! A service with standbys shows an event once every standby in contact has it, so that followers of events can
//! continue at a standby. Does not decide who is the primary.

use crate::state::Service;
use hapax_client::client::{Client, ClientError};
use hapax_store::backups::{self, SUFFIX};
use hapax_store::{Integrity, Position, Repository, Role, StoreError, Texts, receive};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Seconds that the source may wait for something new.
const WAIT: u64 = 1;
/// Delay after a failure, and between two listings of a folder.
const AGAIN: Duration = Duration::from_millis(500);
/// A standby that was silent for this long does not delay events.
const IN_CONTACT: Duration = Duration::from_secs(10);
/// Maximum number of standbys to remember.
const REMEMBERED: usize = 16;

#[derive(Clone)]
pub enum Source {
    /// A service, and the name by which it knows this standby.
    Service(Client, String),
    Backups(PathBuf),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(client, _) => client.fmt(f),
            Self::Backups(folder) => folder.fmt(f),
        }
    }
}

/// Following failed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl FollowError {
    /// Whether the source has another history than the copy.
    fn is_of_history(&self) -> bool {
        match self {
            Self::Store(error) => matches!(error, StoreError::OtherHistory { .. }),
            Self::Client(ClientError::Refused { code, .. }) => code == "other_history",
            Self::Client(_) => false,
        }
    }
}

impl Source {
    /// A service, under a name unique to this standby.
    pub fn service(client: Client) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = blake3::hash(format!("{now} {} {client:?}", std::process::id()).as_bytes());
        Self::Service(client, name.to_hex()[..16].to_owned())
    }

    /// Makes a standby of a folder: an empty folder gets everything, and a repository that the
    /// source continues becomes a standby of it.
    ///
    /// # Errors
    ///
    /// The source is unreadable or has another history. Then the folder is unchanged.
    pub fn prepare(&self, folder: &Path) -> Result<(), FollowError> {
        let there = match Repository::open(folder, None) {
            Err(StoreError::Missing { .. }) => {
                self.first(folder)?;
                return Ok(());
            }
            opened => opened?,
        };
        if there.role() == Role::Standby {
            return Ok(());
        }
        if let Self::Service(client, _) = self {
            let position = there.position(None)?;
            drop(client.increment(Some(&position.to_string()), 0, None)?);
        }
        Ok(there.become_standby()?)
    }

    fn first(&self, folder: &Path) -> Result<Integrity, FollowError> {
        match self {
            Self::Service(client, name) => {
                let whole: io::Result<Box<dyn Read>> =
                    Ok(Box::new(BufReader::new(client.increment(None, 0, Some(name))?)));
                Ok(receive(folder, &mut std::iter::once(whole), Role::Standby)?)
            }
            Self::Backups(place) => {
                let there = backups::list(place)?;
                let whole = there.iter().rev().find(|it| it.header.from.is_none());
                let none =
                    || StoreError::Backup { what: "there is no backup in this place".into() };
                let name = format!("{}{SUFFIX}", whole.ok_or_else(none)?.name);
                let read = backups::Place::read(place, &name);
                Ok(receive(folder, &mut std::iter::once(read), Role::Standby)?)
            }
        }
    }

    /// Applies available increments. Returns the time as of which this copy is current, and the
    /// source's position.
    fn follow(
        &self,
        store: &Repository,
        texts: Option<&Texts>,
    ) -> Result<Option<(Instant, Position)>, FollowError> {
        let ours = store.position(texts)?;
        match self {
            Self::Service(client, name) => {
                let asked = Instant::now();
                let increment = client.increment(Some(&ours.to_string()), WAIT, Some(name))?;
                let header = store.apply_increment(&mut BufReader::new(increment), texts)?;
                Ok(Some((asked, header.to)))
            }
            Self::Backups(place) => {
                let there = backups::list(place)?;
                if let Some(last) = there.last() {
                    // Otherwise a primary that went back would seem to have nothing new.
                    last.header.lineage.continues(&ours).map_err(|what| {
                        let what = format!("of backup `{}`, this one says: {what}", last.name);
                        StoreError::OtherHistory { folder: store.folder().to_owned(), what }
                    })?;
                }
                let next = there.iter().find(|it| {
                    let from = it.header.from.map_or(0, |from| from.commit);
                    from <= ours.commit && ours.commit < it.header.to.commit
                });
                let Some(next) = next else { return Ok(None) };
                let read = backups::Place::read(place, &format!("{}{SUFFIX}", next.name));
                let mut read =
                    read.map_err(|error| StoreError::Copy { what: error.to_string() })?;
                store.apply_increment(&mut read, texts)?;
                let made = UNIX_EPOCH.checked_add(Duration::from_secs(next.header.made));
                let age = made.and_then(|made| made.elapsed().ok()).unwrap_or_default();
                Ok(Some((
                    Instant::now().checked_sub(age).unwrap_or_else(Instant::now),
                    next.header.to,
                )))
            }
        }
    }
}

/// The thread that follows, and its state.
#[derive(Debug)]
pub struct Following {
    source: Source,
    /// Everything acknowledged before this time is here.
    as_of: Mutex<Option<Instant>>,
    /// Why the source cannot be followed any more: it has another history.
    parted: Mutex<Option<String>>,
    over: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Following {
    pub fn new(source: Source) -> Self {
        let (as_of, parted, thread) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { source, as_of, parted, over: AtomicBool::new(false), thread }
    }

    /// Maximum age of what is missing here; `None` before the first increment.
    pub fn behind(&self) -> Option<Duration> {
        let as_of = *self.as_of.lock().unwrap_or_else(PoisonError::into_inner);
        as_of.map(|as_of| as_of.elapsed())
    }

    /// Why the source cannot be followed any more, if it has another history than this copy.
    pub fn parted(&self) -> Option<String> {
        self.parted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_parted(&self, why: Option<String>) {
        *self.parted.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Stops, and waits until no more increments are applied.
    pub(crate) fn stop(&self) {
        self.end();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// Starts following, if the service is a standby.
pub(crate) fn start(service: &Arc<Service>) -> io::Result<()> {
    let Some(following) = &service.following else { return Ok(()) };
    let of = service.clone();
    let thread = std::thread::Builder::new().name("standby".into()).spawn(move || follow(&of))?;
    *following.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    Ok(())
}

fn follow(service: &Service) {
    let Some(following) = &service.following else { return };
    let mut failing = false;
    while !following.over.load(Ordering::Relaxed) && !service.is_stopping() {
        let repository = &service.repository;
        match following.source.follow(repository, service.texts.as_ref()) {
            Ok(Some((as_of, position))) => {
                *following.as_of.lock().unwrap_or_else(PoisonError::into_inner) = Some(as_of);
                service.changed.send_modify(|commits| *commits += 1);
                following.set_parted(None);
                if std::mem::take(&mut failing) {
                    tracing::info!("following again, at commit {}", position.commit);
                }
            }
            Ok(None) => {
                following.set_parted(None);
                std::thread::sleep(AGAIN);
            }
            Err(_) if repository.role() != Role::Standby => return,
            Err(error) if error.is_of_history() => {
                let why = error.to_string();
                if following.parted().as_ref() != Some(&why) {
                    tracing::error!(
                        "cannot follow, because the source went back or is another: {why}; if it \
                         was restored, copy it again to an empty folder, or promote this standby"
                    );
                    following.set_parted(Some(why));
                }
                failing = true;
                std::thread::sleep(AGAIN);
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!("cannot follow, and tries again: {error}");
                }
                std::thread::sleep(AGAIN);
            }
        }
    }
}

/// The standbys of this service.
#[derive(Debug, Default)]
pub struct Standbys(Mutex<BTreeMap<String, (Instant, u64)>>);

impl Standbys {
    /// Records that a standby has everything up to this event.
    pub fn heard(&self, name: &str, event: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, (at, _)| at.elapsed() < IN_CONTACT);
        if all.contains_key(name) || all.len() < REMEMBERED {
            all.insert(name.to_owned(), (Instant::now(), event));
        }
    }

    /// Number of standbys in contact.
    pub fn count(&self) -> usize {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().filter(|(at, _)| at.elapsed() < IN_CONTACT).count()
    }

    /// The last event that all of them have; `None` if none is in contact.
    pub fn confirmed(&self) -> Option<u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let in_contact = all.values().filter(|(at, _)| at.elapsed() < IN_CONTACT);
        in_contact.map(|(_, event)| *event).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_wait_for_the_slowest_standby_and_their_number_is_bounded() {
        let standbys = Standbys::default();
        assert_eq!(standbys.confirmed(), None);
        standbys.heard("a", 7);
        standbys.heard("b", 5);
        assert_eq!((standbys.confirmed(), standbys.count()), (Some(5), 2));
        standbys.heard("b", 9);
        assert_eq!(standbys.confirmed(), Some(7));
        (0..100).for_each(|n| standbys.heard(&n.to_string(), 100));
        assert_eq!((standbys.confirmed(), standbys.count()), (Some(7), REMEMBERED));
    }
}
