//! Many damaged files: damage by bad disks, truncated copies and misplaced writes is never served or copied,
//! and repaired as far as rows are readable.

use crate::line::{assert_clean, create, page};
use hapax_store::{Repository, StoreError, Unreadable, check_folder, repair_folder};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

const PAGES: u32 = 900;
const FILES: u64 = 120;
const BLOCK: usize = 4096;

fn url(n: u32) -> String {
    format!("http://site{}.example/page/{n}", n % 7)
}

fn filled(folder: &Path) {
    let store = create(folder);
    for batch in 0..9 {
        let pages = (0..100).map(|n| batch * 100 + n).map(|n| page(&url(n), n % 14));
        store.observe_many(pages.collect()).unwrap();
    }
    store.redirect(&url(900), &url(3), None).unwrap();
    store.forget_many((0..20).map(|n| url(40 * n)).collect()).unwrap();
}

/// The served data by address; `Err` if it was refused.
fn served(folder: &Path) -> Option<BTreeMap<String, Result<String, ()>>> {
    let store = match Repository::open(folder, None) {
        Ok(store) => store,
        Err(error) => {
            let text = error.to_string();
            assert!(
                text.contains("`hapax inspect --repair`") || text.contains("snapshot"),
                "{text}"
            );
            return None;
        }
    };
    let mut all = BTreeMap::new();
    for url in (0..=PAGES).map(url) {
        let page = store.page(&url).map(|page| format!("{page:?}"));
        let group =
            store.group(&url).map(|group| group.map(|group| (group.winner_url, group.pages)));
        let said = page.and_then(|page| Ok(format!("{page} {:?}", group?)));
        all.insert(url, said.map_err(drop));
    }
    let events = store.events(0, 10_000).map(|events| format!("{events:?}"));
    all.insert("events".into(), events.map_err(drop));
    Some(all)
}

/// Reproducible pseudo-random numbers.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    }
}

fn damage(sound: &[u8], seed: u64) -> Vec<u8> {
    let mut random = random(seed + 1);
    let mut bytes = sound.to_vec();
    let used: Vec<usize> =
        (0..bytes.len() / BLOCK).filter(|n| sound[n * BLOCK..][..BLOCK] != [0; BLOCK]).collect();
    let mut block = || used[random(used.len())] * BLOCK;
    let (one, other) = (block(), block());
    match seed % 4 {
        0 => {
            let set: Vec<usize> = (one..one + BLOCK).filter(|&at| sound[at] != 0).collect();
            bytes[set[random(set.len())]] ^= 1 << random(8);
        }
        1 => bytes[one..one + BLOCK].fill(0),
        2 if seed % 8 == 2 => bytes.truncate(one.max(BLOCK)),
        2 => {
            let at = one + random(BLOCK - 64);
            bytes[at..at + 64].fill(0xff);
        }
        _ => {
            bytes[one..one + BLOCK].copy_from_slice(&sound[other..other + BLOCK]);
            bytes[other..other + BLOCK].copy_from_slice(&sound[one..one + BLOCK]);
        }
    }
    bytes
}

#[test]
fn damaged_data_is_never_served_or_copied_and_readable_data_is_saved() {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path());
    let expected = served(whole.path()).unwrap();
    let names = ["pages.redb", "index.segment", "pages.sums"];
    let files = names.map(|name| (name, fs::read(whole.path().join(name)).ok()));
    let sound = files[0].1.clone().unwrap();
    let mut all = Figures::default();
    for seed in 0..FILES {
        let bytes = damage(&sound, seed);
        let folder = tempfile::tempdir().unwrap();
        let put = || {
            for (name, bytes) in &files[1..] {
                // Every third file has no saved checksums and index.
                if let Some(bytes) = bytes.as_ref().filter(|_| seed % 3 != 0) {
                    fs::write(folder.path().join(name), bytes).unwrap();
                }
            }
            fs::write(folder.path().join("pages.redb"), &bytes).unwrap();
        };
        put();
        all.damaged += u32::from(bytes != sound);
        if let Some(served) = served(folder.path()) {
            all.opened += 1;
            for (url, said) in served {
                let right = said.is_err() || said == expected[&url];
                assert!(right, "seed {seed}: {url} is {said:?}, not {:?}", expected[&url]);
            }
        }
        put();
        let copy = folder.path().join("copy");
        if let Ok(store) = Repository::open(folder.path(), None)
            && store.snapshot(&copy).is_ok()
        {
            assert_eq!(served(&copy).as_ref(), Some(&expected), "seed {seed}: a copy");
        }
        put();
        if check_folder(folder.path()).is_ok_and(|check| check.is_clean()) {
            assert_eq!(served(folder.path()).as_ref(), Some(&expected), "seed {seed}: passed");
            continue;
        }
        all.found += 1;
        let cut = u32::from(bytes.len() < sound.len());
        all.cut_found += cut;
        put();
        if repair_folder(folder.path(), Unreadable::Refuse).is_ok_and(|repair| !repair.is_refused())
        {
            all.without_loss += 1;
        } else {
            assert_eq!(fs::read(folder.path().join("pages.redb")).unwrap(), bytes, "seed {seed}");
        }
        match repair_folder(folder.path(), Unreadable::Forget) {
            Ok(repair) => {
                let check = repair.check.unwrap();
                assert!(check.is_clean(), "seed {seed}: {check:#?}");
                all.mended += 1;
                all.cut_mended += cut;
                let store = Repository::open(folder.path(), None).unwrap();
                store.observe(page("http://new.example/", 5)).unwrap();
                assert_clean(&store);
                let lost =
                    |url: &String| is_known(&expected[url]) && store.page(url).unwrap().is_none();
                all.lost_pages += (0..=PAGES).map(url).filter(lost).count();
            }
            Err(error) => {
                assert!(error.to_string().contains("pages.redb"), "seed {seed}: {error}");
            }
        }
    }
    eprintln!("{all:?}");
    // A cut takes the list of tables with it unless an older one is before it.
    let (found, mended) = (all.found - all.cut_found, all.mended - all.cut_mended);
    assert!(mended * 10 >= found * 8 && all.mended * 4 >= all.found * 3, "{all:?}");
}

#[derive(Debug, Default)]
struct Figures {
    damaged: u32,
    found: u32,
    opened: u32,
    mended: u32,
    without_loss: u32,
    lost_pages: usize,
    cut_found: u32,
    cut_mended: u32,
}

fn is_known(said: &Result<String, ()>) -> bool {
    said.as_ref().is_ok_and(|said| !said.starts_with("None"))
}

/// Flips a bit in a record, in the file of an open repository.
fn rot(folder: &Path) {
    let file = folder.join("pages.redb");
    let mut bytes = fs::read(&file).unwrap();
    let text = url(17).into_bytes();
    let at = bytes.windows(text.len()).position(|part| part == text).unwrap();
    bytes[at] ^= 4;
    // In place, because the repository would not see a replaced file.
    let mut open = fs::OpenOptions::new().write(true).open(&file).unwrap();
    std::io::Write::write_all(&mut open, &bytes).unwrap();
}

#[test]
fn damage_below_an_open_repository_is_found_and_stops_writes() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let store = Repository::open(folder.path(), None).unwrap();
    let long = Duration::from_secs(600);
    assert_eq!(store.scrub(0, long).unwrap(), 0);
    let mut next = store.scrub(0, Duration::ZERO).unwrap();
    while next > 0 {
        let further = store.scrub(next, Duration::ZERO).unwrap();
        assert!(further > next || further == 0, "it goes on where it stopped");
        next = further;
    }
    rot(folder.path());
    let error = store.scrub(0, long).unwrap_err();
    assert!(error.to_string().contains("are not as written"), "{error}");
    assert!(store.ready().is_err());
    let refused = store.observe(page("http://b.example/", 3)).unwrap_err().to_string();
    assert!(refused.contains("`hapax inspect --repair`"), "{refused}");
    drop(store);
    let opened = Repository::open(folder.path(), None);
    let error = opened.and_then(|store| store.scrub(0, long)).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    repair_folder(folder.path(), Unreadable::Forget).unwrap();
    let store = Repository::open(folder.path(), None).unwrap();
    store.scrub(0, long).unwrap();
    assert_clean(&store);
}
