//! A disk that refuses or cuts short any single access: an error that names the file, nothing
//! acknowledged lost, and service again once the disk is well.

use crate::line::{FARTHEST, assert_clean, open, page, recipe, settings};
use hapax_store::disk::{Access, Disk, Permit};
use hapax_store::{IndexOrigin, Repository, StoreError};
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Illness {
    Write,
    /// Half of a write is done.
    ShortWrite,
    /// The file cannot grow, nor be written.
    Full,
    Sync,
    Read,
}

const ILLNESSES: [Illness; 5] =
    [Illness::Write, Illness::ShortWrite, Illness::Full, Illness::Sync, Illness::Read];

/// Falls ill at the n-th access that the illness is about, and stays so until it is cured.
#[derive(Debug)]
struct Patient {
    illness: Illness,
    at: u64,
    seen: AtomicU64,
    cured: AtomicBool,
}

impl Patient {
    fn new(illness: Illness, at: u64) -> Arc<Self> {
        let (seen, cured) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Self { illness, at, seen, cured })
    }

    fn fell_ill(&self) -> bool {
        self.seen.load(Ordering::SeqCst) > self.at
    }
}

impl Disk for Patient {
    fn permit(&self, _: &Path, access: Access) -> Permit {
        let concerns = match self.illness {
            Illness::Write | Illness::ShortWrite => matches!(access, Access::Write(_)),
            Illness::Full => matches!(access, Access::Write(_) | Access::Resize(_)),
            Illness::Sync => access == Access::Sync,
            Illness::Read => access == Access::Read,
        };
        if !concerns || self.cured.load(Ordering::SeqCst) {
            return Permit::Go;
        }
        if self.seen.fetch_add(1, Ordering::SeqCst) < self.at {
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

fn url(n: u32) -> String {
    format!("http://a/{n}")
}

#[test]
fn writes_go_on_when_the_disk_is_well_again() {
    let (mut recovered, mut failures) = (0, 0);
    for illness in ILLNESSES {
        for at in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let folder = tempfile::tempdir().unwrap();
            let patient = Patient::new(illness, at);
            patient.cured.store(true, Ordering::SeqCst);
            Repository::create(folder.path(), settings()).unwrap();
            let store =
                Repository::open_on(folder.path(), Some(&recipe()), patient.clone()).unwrap();
            store.ready().unwrap();
            patient.cured.store(false, Ordering::SeqCst);
            let mut acknowledged = Vec::new();
            for n in 0..60 {
                match store.observe(page(&url(n), n % FARTHEST)) {
                    Ok(_) => acknowledged.push(n),
                    Err(_) => break,
                }
            }
            if acknowledged.len() == 60 {
                continue;
            }
            failures += 1;
            let room = !matches!(illness, Illness::Read | Illness::Sync);
            assert!(store.ready().is_err() || !room, "{illness:?} at {at}");
            patient.cured.store(true, Ordering::SeqCst);
            // One that reached the disk and was not acknowledged: the repository must be opened again.
            if let Err(error) = store.observe(page("http://after", 3)) {
                let text = error.to_string();
                assert!(text.contains("open the repository again"), "{illness:?} at {at}: {text}");
                assert!(store.ready().is_err(), "{illness:?} at {at}");
                continue;
            }
            recovered += 1;
            store.ready().unwrap();
            // The store, its index and its checksums: nothing is left behind.
            assert_eq!(folder.path().read_dir().unwrap().count(), 3, "{illness:?} at {at}");
            for &n in &acknowledged {
                assert!(store.page(&url(n)).unwrap().is_some(), "{illness:?} at {at}: {n}");
            }
            assert_clean(&store);
            drop(store);
            let store = open(folder.path());
            assert_eq!(*store.index_origin(), IndexOrigin::File, "{illness:?} at {at}");
            assert_clean(&store);
        }
    }
    assert!(recovered * 10 >= failures * 7 && failures > 20, "{recovered} of {failures}");
}

#[test]
fn an_ill_disk_loses_nothing_that_was_acknowledged() {
    let mut failures = 0;
    for illness in ILLNESSES {
        for at in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let folder = tempfile::tempdir().unwrap();
            let store = Repository::create(folder.path(), settings()).unwrap();
            store.observe(page("http://first", 3)).unwrap();
            drop(store);
            let patient = Patient::new(illness, at);
            let mut acknowledged = vec!["http://first".to_owned()];
            let named = |error: &StoreError| {
                let text = error.to_string();
                assert!(text.contains("pages.redb"), "{illness:?} at {at}: {text}");
            };
            match Repository::open_on(folder.path(), Some(&recipe()), patient.clone()) {
                Err(error) => named(&error),
                Ok(store) => {
                    for n in 0..40 {
                        let seen = page(&url(n), n % FARTHEST);
                        match store.observe(seen) {
                            Ok(_) => acknowledged.push(url(n)),
                            Err(error) => {
                                named(&error);
                                failures += 1;
                                break;
                            }
                        }
                    }
                    // A reader gets an error or the truth.
                    for url in &acknowledged {
                        match store.page(url) {
                            Ok(known) => assert!(known.is_some(), "{illness:?} at {at}: {url}"),
                            Err(error) => named(&error),
                        }
                    }
                }
            }
            patient.cured.store(true, Ordering::SeqCst);
            let store = open(folder.path());
            for url in &acknowledged {
                assert!(store.page(url).unwrap().is_some(), "{illness:?} at {at}: {url}");
            }
            assert_clean(&store);
            let again = store.observe(page("http://again", 3)).unwrap();
            assert!(again.verdict.group == store.group("http://first").unwrap().map(|g| g.id));
        }
    }
    assert!(failures > 20, "the disk hardly ever failed: {failures}");
}

#[test]
fn a_disk_that_fails_while_the_repository_is_made_leaves_none() {
    for illness in [Illness::Write, Illness::ShortWrite, Illness::Full, Illness::Sync] {
        for at in 0..6 {
            let folder = tempfile::tempdir().unwrap();
            let patient = Patient::new(illness, at);
            match Repository::create_on(folder.path(), settings(), patient.clone()) {
                Ok(store) => drop(store),
                Err(error) => {
                    assert!(patient.fell_ill());
                    assert!(error.to_string().contains("pages.redb"), "{error}");
                    let there = folder.path().join("pages.redb").exists();
                    let made = if there {
                        Repository::open(folder.path(), Some(&recipe()))
                    } else {
                        Repository::create(folder.path(), settings())
                    };
                    assert_clean(&made.unwrap());
                }
            }
        }
    }
}

/// Only accesses to the index file are refused.
#[derive(Debug)]
struct NoIndex(Access);

impl Disk for NoIndex {
    fn permit(&self, file: &Path, access: Access) -> Permit {
        let index = file.to_string_lossy().contains("index.segment");
        let same = std::mem::discriminant(&access) == std::mem::discriminant(&self.0);
        match access {
            Access::Write(bytes) if index && same => {
                Permit::Short(bytes / 3, Error::from(ErrorKind::StorageFull))
            }
            _ if index && same => Permit::Refuse(Error::other("the disk is ill")),
            _ => Permit::Go,
        }
    }
}

#[test]
fn an_index_that_cannot_be_written_or_read_is_rebuilt() {
    for access in [Access::Write(0), Access::Sync, Access::Rename, Access::Read] {
        let folder = tempfile::tempdir().unwrap();
        drop(Repository::create(folder.path(), settings()).unwrap());
        let ill: Arc<dyn Disk> = Arc::new(NoIndex(access));
        for round in 0..2 {
            let store = Repository::open_on(folder.path(), None, ill.clone()).unwrap();
            let read = access != Access::Read && round == 0;
            assert_eq!(*store.index_origin() == IndexOrigin::File, read, "{access:?}");
            store.observe(page(&url(round), 3)).unwrap();
            assert_clean(&store);
        }
        let store = open(folder.path());
        if let IndexOrigin::Rebuilt { why } = store.index_origin() {
            assert!(why.contains("index.segment"), "{why}");
        }
        assert_eq!(store.group(&url(0)).unwrap().unwrap().record.members, 2);
        assert_clean(&store);
    }
}
