//! Many pages with one fingerprint: copies are found all the same, and the repository can be restored.

use crate::line::{assert_clean, create, open, recipe, settings};
use hapax::fingerprint::{ContentHash, Fingerprint, Sketch};
use hapax_store::backups::{self, restore};
use hapax_store::{Observation, Repository, Settings, StoredComparable, check_folder};
use std::path::PathBuf;

/// More than are compared with a page: 256 matches, four candidates for each.
const JUNK: u32 = 1100;
const BYTES: usize = 128;

/// The sketch of a text that resembles no other.
fn sketch(text: u32) -> [u8; BYTES] {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(text) + 1);
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    })
}

/// A page whose fingerprint all texts share, and whose sketch differs from that of its text in
/// `edits` of 1,024 bits.
fn page(url: &str, text: u32, edits: u32) -> Observation {
    let mut bytes = sketch(text);
    for edit in 0..edits {
        // All over the sketch.
        let bit = (edit * 331 + 7) as usize % (8 * BYTES);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    let comparable = StoredComparable {
        fingerprint: Fingerprint::from_bits(0x5555_0f0f_3333_00ff),
        sketch: Sketch::from_bytes(&bytes),
        too_short: false,
    };
    let hash = ContentHash::of(&format!("{text} {edits}"));
    Observation::of_parts(url, hash, Some(comparable))
}

fn junk(store: &Repository, first: u32) {
    for from in (first..first + JUNK).step_by(100) {
        let pages = from..(from + 100).min(first + JUNK);
        let pages = pages.map(|n| page(&format!("http://junk.example/{n}"), n, 0)).collect();
        store.observe_many(pages).unwrap();
    }
}

fn members(store: &Repository, url: &str) -> usize {
    store.group(url).unwrap().unwrap().pages.len()
}

#[test]
fn exact_copies_are_found_behind_a_thousand_other_texts_and_the_backup_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    junk(&store, 1000);
    for copy in 0..6 {
        store.observe(page(&format!("http://a.example/{copy}"), 1, 0)).unwrap();
    }
    assert_eq!(members(&store, "http://a.example/5"), 6);
    let checked = store.check(&page("http://b.example/", 1, 0)).unwrap();
    assert!(checked.verdict.removable(), "{checked:?}");
    assert_clean(&store);

    let place: PathBuf = folder.path().join("backups");
    let mut copy = |after: Option<&hapax_store::Position>, out: &mut dyn std::io::Write| {
        let increment = store.increment(after, None).map_err(std::io::Error::other)?;
        increment.write(out).map(drop).map_err(std::io::Error::other)
    };
    backups::take(&place, "full", true, &mut copy).unwrap();
    let restored = folder.path().join("restored");
    restore(&place, None, &restored).unwrap();
    let store = open(&restored);
    store.observe(page("http://a.example/6", 1, 0)).unwrap();
    assert_eq!(members(&store, "http://a.example/6"), 7);
    assert_clean(&store);
}

#[test]
fn copies_of_one_host_are_found_among_those_of_a_thousand_others() {
    for edits in [0, 40] {
        let folder = tempfile::tempdir().unwrap();
        let scoped = Settings { scope: "host".parse().unwrap(), ..settings() };
        let store = Repository::create(folder.path(), scoped).unwrap();
        for from in (0..JUNK).step_by(100) {
            let pages = (from..(from + 100).min(JUNK))
                .map(|host| page(&format!("http://site{host}.example/"), 1, 0));
            store.observe_many(pages.collect()).unwrap();
        }
        store.observe(page("http://zzz.example/1", 1, 0)).unwrap();
        store.observe(page("http://zzz.example/2", 1, edits)).unwrap();
        assert_eq!(members(&store, "http://zzz.example/2"), 2, "{edits} edits");
        assert_eq!(members(&store, "http://site7.example/"), 1, "{edits} edits");
        assert_clean(&store);
        drop(store);
        assert!(check_folder(folder.path()).unwrap().is_clean());
    }
}

#[test]
fn near_copies_are_found_whether_they_come_before_or_after_a_thousand_other_texts() {
    for early in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let store = create(folder.path());
        if early {
            store.observe(page("http://a.example/", 1, 0)).unwrap();
        }
        junk(&store, 1000);
        if !early {
            store.observe(page("http://a.example/", 1, 0)).unwrap();
        }
        junk(&store, 5000);
        for (place, edits) in [20, 40, 50].into_iter().enumerate() {
            let url = format!("http://b.example/{edits}");
            store.observe(page(&url, 1, edits)).unwrap();
            assert_eq!(members(&store, &url), 2 + place, "early: {early}, {edits} edits");
        }
        assert_clean(&store);
        // Its rows are derived wherever the repository is copied.
        let copy = folder.path().join("copy");
        store.snapshot(&copy).unwrap();
        let copy = Repository::open(&copy, Some(&recipe())).unwrap();
        copy.observe(page("http://c.example/", 1, 30)).unwrap();
        assert_eq!(members(&copy, "http://c.example/"), 5, "early: {early}");
        assert_clean(&copy);
    }
}
