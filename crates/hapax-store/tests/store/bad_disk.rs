//! A disk that refuses or cuts short any single access: the error names the file, no acknowledged data is lost,
//! and operation resumes once the disk works again.

use crate::line::{FARTHEST, assert_clean, open, page, recipe, settings};
use hapax_store::disk::{Access, Disk, Permit};
use hapax_store::{IndexOrigin, Repository, StoreError};
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Write,
    /// Half of a write is done.
    ShortWrite,
    /// The file can neither grow nor be written.
    Full,
    Sync,
    Read,
}

const FAILURES: [Failure; 5] =
    [Failure::Write, Failure::ShortWrite, Failure::Full, Failure::Sync, Failure::Read];

/// Fails from the n-th access of this kind on, until it is repaired.
#[derive(Debug)]
struct FailingDisk {
    failure: Failure,
    at: u64,
    seen: AtomicU64,
    repaired: AtomicBool,
}

impl FailingDisk {
    fn new(failure: Failure, at: u64) -> Arc<Self> {
        let (seen, repaired) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Self { failure, at, seen, repaired })
    }

    fn has_failed(&self) -> bool {
        self.seen.load(Ordering::SeqCst) > self.at
    }
}

impl Disk for FailingDisk {
    fn permit(&self, _: &Path, access: Access) -> Permit {
        let concerns = match self.failure {
            Failure::Write | Failure::ShortWrite => matches!(access, Access::Write(_)),
            Failure::Full => matches!(access, Access::Write(_) | Access::Resize(_)),
            Failure::Sync => access == Access::Sync,
            Failure::Read => access == Access::Read,
        };
        if !concerns || self.repaired.load(Ordering::SeqCst) {
            return Permit::Go;
        }
        if self.seen.fetch_add(1, Ordering::SeqCst) < self.at {
            return Permit::Go;
        }
        match (self.failure, access) {
            (Failure::ShortWrite, Access::Write(bytes)) => {
                Permit::Short(bytes / 2, Error::from(ErrorKind::WriteZero))
            }
            (Failure::Full, _) => Permit::Refuse(Error::from(ErrorKind::StorageFull)),
            _ => Permit::Refuse(Error::other("the disk has failed")),
        }
    }
}

fn url(n: u32) -> String {
    format!("http://a/{n}")
}

#[test]
fn writes_resume_when_the_disk_works_again() {
    let (mut recovered, mut failures) = (0, 0);
    for failure in FAILURES {
        for at in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let folder = tempfile::tempdir().unwrap();
            let disk = FailingDisk::new(failure, at);
            disk.repaired.store(true, Ordering::SeqCst);
            Repository::create(folder.path(), settings()).unwrap();
            let store = Repository::open_on(folder.path(), Some(&recipe()), disk.clone()).unwrap();
            store.ready().unwrap();
            disk.repaired.store(false, Ordering::SeqCst);
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
            let room = !matches!(failure, Failure::Read | Failure::Sync);
            assert!(store.ready().is_err() || !room, "{failure:?} at {at}");
            disk.repaired.store(true, Ordering::SeqCst);
            // The commit reached the disk without being acknowledged: the repository must be opened
            // again.
            if let Err(error) = store.observe(page("http://after", 3)) {
                let text = error.to_string();
                assert!(text.contains("open the repository again"), "{failure:?} at {at}: {text}");
                assert!(store.ready().is_err(), "{failure:?} at {at}");
                continue;
            }
            recovered += 1;
            store.ready().unwrap();
            // The store, its index and its checksums; no other files are left.
            assert_eq!(folder.path().read_dir().unwrap().count(), 3, "{failure:?} at {at}");
            for &n in &acknowledged {
                assert!(store.page(&url(n)).unwrap().is_some(), "{failure:?} at {at}: {n}");
            }
            assert_clean(&store);
            drop(store);
            let store = open(folder.path());
            assert_eq!(*store.index_origin(), IndexOrigin::File, "{failure:?} at {at}");
            assert_clean(&store);
        }
    }
    assert!(recovered * 10 >= failures * 7 && failures > 20, "{recovered} of {failures}");
}

/// Takes new files, but none that is there grows; like a limit on the size of a file.
#[derive(Debug, Default)]
struct NoGrowth(AtomicBool);

impl Disk for NoGrowth {
    fn permit(&self, file: &Path, access: Access) -> Permit {
        match access {
            Access::Resize(len)
                if self.0.load(Ordering::SeqCst) && len > file.metadata().unwrap().len() =>
            {
                Permit::Refuse(Error::from(ErrorKind::FileTooLarge))
            }
            _ => Permit::Go,
        }
    }
}

#[test]
fn a_repository_that_cannot_grow_is_not_ready_though_small_files_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    drop(Repository::create(folder.path(), settings()).unwrap());
    let disk = Arc::new(NoGrowth::default());
    let store = Repository::open_on(folder.path(), Some(&recipe()), disk.clone()).unwrap();
    store.observe(page("http://first", 3)).unwrap();
    store.ready().unwrap();
    disk.0.store(true, Ordering::SeqCst);
    let long = |n: u32| format!("http://a/{n}/{}", "x".repeat(2000));
    let known = (0..20_000).find(|&n| store.observe(page(&long(n), 3)).is_err()).unwrap();
    for _ in 0..3 {
        let error = store.ready().unwrap_err().to_string();
        assert!(error.contains("pages.redb"), "{error}");
        assert!(store.page("http://first").unwrap().is_some());
    }
    disk.0.store(false, Ordering::SeqCst);
    store.ready().unwrap();
    store.observe(page(&long(known), 3)).unwrap();
    assert_eq!(store.stats().unwrap().pages, u64::from(known) + 2);
    assert_clean(&store);
    drop(store);
    assert_clean(&open(folder.path()));
}

#[test]
fn a_failing_disk_loses_no_acknowledged_data() {
    let mut failures = 0;
    for failure in FAILURES {
        for at in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let folder = tempfile::tempdir().unwrap();
            let store = Repository::create(folder.path(), settings()).unwrap();
            store.observe(page("http://first", 3)).unwrap();
            drop(store);
            let disk = FailingDisk::new(failure, at);
            let mut acknowledged = vec!["http://first".to_owned()];
            let named = |error: &StoreError| {
                let text = error.to_string();
                assert!(text.contains("pages.redb"), "{failure:?} at {at}: {text}");
            };
            match Repository::open_on(folder.path(), Some(&recipe()), disk.clone()) {
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
                    // A reader gets an error or correct data.
                    for url in &acknowledged {
                        match store.page(url) {
                            Ok(known) => assert!(known.is_some(), "{failure:?} at {at}: {url}"),
                            Err(error) => named(&error),
                        }
                    }
                }
            }
            disk.repaired.store(true, Ordering::SeqCst);
            let store = open(folder.path());
            for url in &acknowledged {
                assert!(store.page(url).unwrap().is_some(), "{failure:?} at {at}: {url}");
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
    for failure in [Failure::Write, Failure::ShortWrite, Failure::Full, Failure::Sync] {
        for at in 0..6 {
            let folder = tempfile::tempdir().unwrap();
            let disk = FailingDisk::new(failure, at);
            match Repository::create_on(folder.path(), settings(), disk.clone()) {
                Ok(store) => drop(store),
                Err(error) => {
                    assert!(disk.has_failed());
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

/// Refuses accesses to the index file only.
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
            _ if index && same => Permit::Refuse(Error::other("the disk has failed")),
            _ => Permit::Go,
        }
    }
}

#[test]
fn an_index_that_cannot_be_written_or_read_is_rebuilt() {
    for access in [Access::Write(0), Access::Sync, Access::Rename, Access::Read] {
        let folder = tempfile::tempdir().unwrap();
        drop(Repository::create(folder.path(), settings()).unwrap());
        let faulty: Arc<dyn Disk> = Arc::new(NoIndex(access));
        for round in 0..2 {
            let store = Repository::open_on(folder.path(), None, faulty.clone()).unwrap();
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
