//! Checks of the file while it is in use: what is written during a read is no damage, what rots is found.

use crate::line::{FARTHEST, assert_clean, create, page, recipe};
use hapax_store::disk::{Access, Disk, Permit};
use hapax_store::{Repository, StoreError};
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, ThreadId};
use std::time::Duration;

const BLOCK: usize = 4096;
const LONG: Duration = Duration::from_secs(600);
const FLIPPED: u64 = 100;

fn url(n: u32) -> String {
    format!("http://site{}.example/page/{n}", n % 7)
}

fn fill(store: &Repository, pages: u32) {
    let pages = (0..pages).map(|n| page(&url(n), n % FARTHEST)).collect();
    store.observe_many(pages).unwrap();
}

/// Where addresses are in the file, without its first block, which is verified on opening.
fn addresses(bytes: &[u8]) -> Vec<usize> {
    (BLOCK..bytes.len()).filter(|&at| bytes[at..].starts_with(b"/page/")).collect()
}

/// Writes pages while each long read of one thread is under way.
#[derive(Debug, Default)]
struct Overtaken {
    store: Mutex<Weak<Repository>>,
    reader: Mutex<Option<ThreadId>>,
    writes: AtomicU32,
}

impl Disk for Overtaken {
    fn permit(&self, _: &Path, _: Access) -> Permit {
        Permit::Go
    }

    fn transfer(&self, _: &Path, _: u64, bytes: &mut [u8]) {
        if bytes.len() <= BLOCK || *self.reader.lock().unwrap() != Some(thread::current().id()) {
            return;
        }
        let store = self.store.lock().unwrap().upgrade().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..4 {
                    let n = self.writes.fetch_add(1, Ordering::Relaxed);
                    store.observe(page(&url(n % 300), (n * 5) % FARTHEST)).unwrap();
                }
            });
        });
    }
}

#[test]
fn blocks_that_are_written_while_they_are_read_are_not_damage() {
    let folder = tempfile::tempdir().unwrap();
    fill(&create(folder.path()), 300);
    let disk = Arc::new(Overtaken::default());
    let store = Repository::open_on(folder.path(), Some(&recipe()), disk.clone()).unwrap();
    let store = Arc::new(store);
    *disk.store.lock().unwrap() = Arc::downgrade(&store);
    *disk.reader.lock().unwrap() = Some(thread::current().id());
    for round in 0..20 {
        let scrubbed = store.scrub(0, LONG);
        assert!(scrubbed.is_ok(), "round {round}: {scrubbed:?}");
    }
    assert!(disk.writes.load(Ordering::Relaxed) >= 80);
    *disk.reader.lock().unwrap() = None;
    store.ready().unwrap();
    assert_clean(&store);
}

/// Changes a bit of the first reads of a thread: the same, or another each time.
#[derive(Debug)]
struct Noisy {
    at: u64,
    reader: ThreadId,
    reads: u32,
    moving: bool,
    seen: AtomicU32,
}

impl Disk for Noisy {
    fn permit(&self, _: &Path, _: Access) -> Permit {
        Permit::Go
    }

    fn transfer(&self, _: &Path, offset: u64, bytes: &mut [u8]) {
        let Some(at) = self.at.checked_sub(offset) else { return };
        let Some(byte) = bytes.get_mut(at as usize) else { return };
        if self.reader == thread::current().id() && self.seen.load(Ordering::Relaxed) > 0 {
            let seen = self.seen.fetch_add(1, Ordering::Relaxed);
            *byte ^= match (seen <= self.reads, self.moving) {
                (false, _) => 0,
                (true, false) => 1,
                (true, true) => 1 << (seen % 8),
            };
        }
    }
}

#[test]
fn a_transfer_that_fails_is_damage_only_if_every_read_gives_the_same_wrong_bytes() {
    for (reads, moving, damaged, refused) in
        [(1, false, false, false), (100, true, false, true), (100, false, true, true)]
    {
        let folder = tempfile::tempdir().unwrap();
        fill(&create(folder.path()), 300);
        let (reader, seen) = (thread::current().id(), AtomicU32::new(0));
        let bytes = fs::read(folder.path().join("pages.redb")).unwrap();
        let at = addresses(&bytes)[0] as u64;
        let disk = Arc::new(Noisy { at, reader, reads, moving, seen });
        let store = Repository::open_on(folder.path(), Some(&recipe()), disk.clone()).unwrap();
        store.scrub(0, LONG).unwrap();
        disk.seen.store(1, Ordering::Relaxed);
        let scrubbed = store.scrub(0, LONG);
        disk.seen.store(0, Ordering::Relaxed);
        let case = format!("{reads} reads, moving: {moving}: {scrubbed:?}");
        assert_eq!(scrubbed.is_err(), refused, "{case}");
        assert_eq!(matches!(scrubbed, Err(StoreError::Damaged { .. })), damaged, "{case}");
        assert_eq!(store.observe(page("http://b.example/", 3)).is_err(), damaged, "{case}");
    }
}

#[test]
fn every_flipped_bit_below_an_open_repository_is_found_between_writes() {
    let whole = tempfile::tempdir().unwrap();
    fill(&create(whole.path()), 300);
    let names = ["pages.redb", "index.segment", "pages.sums"];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for flip in 0..FLIPPED {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::copy(whole.path().join(name), folder.path().join(name)).unwrap();
        }
        let store = Repository::open(folder.path(), None).unwrap();
        store.scrub(0, LONG).unwrap();
        let n = flip as u32;
        store.observe(page(&url(n), (n + 9) % FARTHEST)).unwrap();
        let path = folder.path().join("pages.redb");
        let mut file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        let written = addresses(&bytes);
        let at = written[random(written.len())];
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[bytes[at] ^ 1 << random(8)]).unwrap();
        let error = store.scrub(0, LONG).expect_err(&format!("flip {flip} at byte {at}"));
        assert!(matches!(error, StoreError::Damaged { .. }), "flip {flip}: {error}");
        let start = at / BLOCK * BLOCK;
        let named = format!("bytes {start} to {}", start + BLOCK - 1);
        assert!(error.to_string().contains(&named), "flip {flip} at byte {at}: {error}");
    }
}
