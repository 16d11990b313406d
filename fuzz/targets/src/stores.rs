//! Repositories with changed files.
//!
//! The full check finds a change, or it was in an unused part of the file: a folder that passes the check contains
//! its original pages and groups. A damaged index is rebuilt. Writing to a damaged repository fails or succeeds,
//! without panics: redb panics on some damage, which [`hapax_store`] turns into an error.

use crate::damage::{self, damaged, put};
use crate::{Target, choice, scratch};
use hapax::fingerprint::{ContentHash, Fingerprint, Recipe, Sketch};
use hapax_store::{
    Observation, Repository, Settings, StoredComparable, Unreadable, check_folder, repair_folder,
};
use std::path::Path;
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

/// Files of a repository.
pub const STORE: Target = Target {
    name: "store",
    about: "a repository that passes its check holds what was put into it",
    run: store,
    seeds: || damage::seeds(4),
    pieces: &["redb", "HPXLIVE1", "hapaxSEG"],
    rounds: 750,
};

const PAGES: u32 = 14;

fn url(n: u32) -> String {
    format!("http://a/{n}")
}

/// A page on a line, where neighbours match.
fn page(n: u32) -> Observation {
    let mut sketch = [0; 128];
    (0..60 * n as usize).for_each(|bit| sketch[bit / 8] |= 1 << (bit % 8));
    let fingerprint = Fingerprint::from_bits((1 << (3 * n)) - 1);
    let comparable =
        StoredComparable { fingerprint, sketch: Sketch::from_bytes(&sketch), too_short: false };
    Observation::of_parts(url(n), ContentHash::of(&n.to_string()), Some(comparable))
}

/// The visible state: the pages' groups.
fn seen(folder: &Path) -> Option<Vec<String>> {
    let store = Repository::open(folder, None).ok()?;
    let mut all = Vec::new();
    for n in 0..PAGES {
        let page = store.page(&url(n)).ok()?;
        let group = store.group(&url(n)).ok()?;
        all.push(format!("{page:?} {:?}", group.map(|group| group.pages)));
    }
    Some(all)
}

struct Sound {
    store: Vec<u8>,
    index: Vec<u8>,
    seen: Vec<String>,
}

static SOUND: LazyLock<Sound> = LazyLock::new(|| {
    let folder = scratch();
    let settings = Settings::new(Recipe::built_in("web-2").unwrap().id(None));
    let store = Repository::create(folder.path(), settings).unwrap();
    store.observe_many((0..PAGES).map(page).collect()).unwrap();
    store.redirect(&url(3), &url(5), None).unwrap();
    store.score(&url(7), Some(2.5)).unwrap();
    store.forget(&url(9)).unwrap();
    drop(store);
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    Sound {
        store: read("pages.redb"),
        index: read("index.segment"),
        seen: seen(folder.path()).unwrap(),
    }
});

/// Changes a repository in every way until something fails.
fn change(folder: &Path) {
    let Ok(store) = Repository::open(folder, None) else { return };
    for n in 0..PAGES {
        let mut seen = page(n);
        seen.content = ContentHash::of(&format!("changed {n}"));
        let _ = store.observe(seen);
    }
    let _ = store.forget(&url(1));
    let _ = store.redirect(&url(2), &url(4), None);
    let more = (PAGES..2 * PAGES).map(|n| Observation { url: url(n), ..page(n % PAGES) });
    let _ = store.observe_many(more.collect());
}

/// The first byte chooses the file, and whether the index's checksums are corrected.
pub fn store(data: &[u8]) {
    let (first, rest) = choice(data);
    let folder = scratch();
    let put_file =
        |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    if first & 1 != 0 {
        let mut index = damaged(&SOUND.index, rest);
        if first & 2 != 0 && index.len() >= 24 {
            let sum = xxh3_64(&index[..16]);
            put(&mut index, 16, sum);
        }
        put_file("pages.redb", &SOUND.store);
        put_file("index.segment", &index);
        assert_eq!(seen(folder.path()).as_ref(), Some(&SOUND.seen), "an index is only a cache");
        assert!(check_folder(folder.path()).unwrap().is_clean());
        return;
    }
    // Most of the file is unused; changes go to used parts, or to its first page.
    let mut bytes = damaged(&SOUND.store[..SOUND.store.len() / 4], rest);
    if bytes.len() == SOUND.store.len() / 4 {
        bytes.extend_from_slice(&SOUND.store[bytes.len()..]);
    }
    put_file("pages.redb", &bytes);
    if first & 2 == 0 {
        put_file("index.segment", &SOUND.index);
    }
    if let Some(seen) = seen(folder.path()) {
        assert_eq!(seen, SOUND.seen, "what was damaged is served");
    }
    put_file("pages.redb", &bytes);
    let changed = scratch();
    std::fs::write(changed.path().join("pages.redb"), &bytes).unwrap();
    change(changed.path());
    match check_folder(folder.path()) {
        Ok(found) if found.is_clean() => {
            assert_eq!(
                seen(folder.path()).as_ref(),
                Some(&SOUND.seen),
                "a change passed the check"
            );
        }
        other => {
            if let Err(error) = other {
                assert!(error.to_string().contains("pages.redb"), "{error}");
            }
            // A repaired repository is intact, or the repair explains why not.
            if let Ok(repair) = repair_folder(folder.path(), Unreadable::Forget)
                && let Some(check) = repair.check
            {
                assert!(check.is_clean(), "repaired and not sound: {:?}", check.details);
                assert!(check_folder(folder.path()).unwrap().is_clean());
            }
        }
    }
}
