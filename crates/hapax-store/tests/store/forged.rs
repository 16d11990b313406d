//! Forged public signatures do not match, true copies do; and every verdict equals that of a slow reference
//! that compares all pages.

use crate::line::assert_clean;
use hapax::fingerprint::{Fingerprinter, Key, Sketch};
use hapax::group::live::Kind;
use hapax::group::scope::same_domain;
use hapax::page::{Body, Document};
use hapax_store::{Confirm, Observation, Repository, Settings};
use hapax_synth::forge;
use proptest::prelude::*;

/// Victims, each with a forgery.
const VICTIMS: usize = 6;

/// `count` words derived from a seed.
fn words(count: usize, seed: usize) -> String {
    let word = |i: usize| format!("w{:x}", (i * 7919 + seed * 104_729) % 65_521);
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

fn victim(number: usize) -> String {
    words(257, number)
}

fn forged(victim: &str, seed: u64) -> String {
    let public = Fingerprinter::default().text(victim).unwrap().comparable.unwrap();
    forge(public.fingerprint.to_bits(), &public.sketch.to_bytes(), victim, None, seed).text
}

fn settings(confirm: Confirm) -> Settings {
    let recipe = Fingerprinter::default().recipe_id().clone();
    Settings { confirm, ..Settings::new(recipe) }
}

/// A page with its text, as made by a front end that has the repository open.
fn read(store: &Repository, url: &str, text: &str, fetched: u64) -> Observation {
    let mut by = Fingerprinter::default().with_key(store.key());
    let signed = by.document(&Document::new(Body::Text(text))).unwrap();
    Observation { fetched: Some(fetched), ..Observation::of_page(url, signed) }
}

/// The same page, as made by a client that sends signatures.
fn sent(store: &Repository, url: &str, text: &str, fetched: u64) -> Observation {
    Observation { keyed: None, ..read(store, url, text, fetched) }
}

type Make = fn(&Repository, &str, &str, u64) -> Observation;

/// The number of victims lost to their forgeries, and of true copies found.
fn outcome(confirm: Confirm, make: Make) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = Repository::create(folder.path(), settings(confirm)).unwrap();
    for i in 0..VICTIMS {
        let text = victim(i);
        let at = |who: &str| format!("https://{who}{i}.test/");
        let pages = [
            (at("forger"), forged(&text, i as u64), 1_000),
            (at("victim"), text.clone(), 2_000),
            (at("copier"), format!("{text} indeed"), 3_000),
        ];
        for (url, text, fetched) in pages {
            let page = make(&store, &url, &text, fetched);
            let asked = store.check(&page).unwrap().verdict;
            let said = store.observe(page).unwrap().verdict;
            assert_eq!((asked.kind, asked.is_winner), (said.kind, said.is_winner), "{url}");
        }
    }
    let reader = store.reader();
    let stands = |who: &str, i: usize| {
        reader.status(&format!("https://{who}{i}.test/"), None).unwrap().unwrap()
    };
    let lost = (0..VICTIMS).filter(|&i| stands("victim", i).verdict.removable()).count();
    let found = (0..VICTIMS).filter(|&i| {
        let copy = stands("copier", i);
        let winner = format!("https://victim{i}.test/");
        copy.verdict.kind == Kind::Near && copy.winner_url == Some(winner)
    });
    let found = found.count();
    assert_clean(&store);
    (lost, found)
}

#[test]
fn forged_signatures_remove_victims_only_where_public_signatures_are_enough() {
    assert_eq!(outcome(Confirm::Keyed, read), (0, VICTIMS));
    assert_eq!(outcome(Confirm::Public, read), (0, VICTIMS), "texts are known");
    assert_eq!(outcome(Confirm::Keyed, sent), (0, 0), "nothing across domains");
    assert_eq!(outcome(Confirm::Public, sent), (VICTIMS, 0), "as the public signature");
}

#[test]
fn a_page_that_is_seen_again_with_its_text_leaves_its_forgery() {
    let folder = tempfile::tempdir().unwrap();
    let store = Repository::create(folder.path(), settings(Confirm::Public)).unwrap();
    let text = victim(0);
    let forgery = forged(&text, 0);
    let (forger, victim) = ("https://forger.test/", "https://victim.test/");
    store.observe(sent(&store, forger, &forgery, 1_000)).unwrap();
    let lost = store.observe(sent(&store, victim, &text, 2_000)).unwrap();
    assert!(lost.verdict.removable());
    let copy = format!("{text} indeed");
    store.observe(read(&store, "https://copier.test/", &copy, 3_000)).unwrap();
    store.observe(read(&store, victim, &text, 4_000)).unwrap();
    assert_clean(&store);
    // The forgery's text is not known yet.
    store.observe(read(&store, forger, &forgery, 5_000)).unwrap();
    let now = store.observe(sent(&store, victim, &text, 6_000)).unwrap().verdict;
    assert!(!now.removable(), "{now:?}");
    assert_clean(&store);
}

#[test]
fn the_key_is_random_is_kept_by_a_snapshot_and_its_file_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let made = |name: &str| Repository::create(&at(name), settings(Confirm::Keyed)).unwrap();
    let (one, other) = (made("one"), made("other"));
    let key = one.key().clone();
    assert_ne!(key, *other.key());
    one.snapshot(&at("copy")).unwrap();
    assert!(!format!("{one:?}{:?}{key:?}", one.settings()).contains("secret"));
    assert_eq!(format!("{key:?}"), "Key(..)");
    drop(one);
    for name in ["one", "copy"] {
        let store = Repository::open(&at(name), None).unwrap();
        assert_eq!(*store.key(), key, "{name}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let file = std::fs::metadata(at(name).join("pages.redb")).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600, "{name}");
        }
    }
}

/// An attacker who sees verdicts starts with a copy and changes word after word, as long as the
/// answer is that it is a copy. Returns the number of the victim's words that remain.
fn drifted(text: &str, mut is_copy: impl FnMut(&str) -> bool) -> usize {
    let mut page: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let mut changed = vec![false; page.len()];
    for question in 0..1_000 {
        let place = (question * 101) % page.len();
        let before = std::mem::replace(&mut page[place], format!("other{question}"));
        match is_copy(&page.join(" ")) {
            true => changed[place] = true,
            false => page[place] = before,
        }
    }
    changed.iter().filter(|it| !**it).count()
}

#[test]
fn an_attacker_with_a_thousand_queries_stays_close_to_the_victim() {
    let folder = tempfile::tempdir().unwrap();
    let store = Repository::create(folder.path(), settings(Confirm::Keyed)).unwrap();
    let text = victim(0);
    store.observe(read(&store, "https://victim.test/", &text, 1_000)).unwrap();
    let asked = |page: &str| {
        let page = read(&store, "https://forger.test/", page, 2_000);
        store.check(&page).unwrap().verdict.kind == Kind::Near
    };
    let left = drifted(&text, asked);
    // Against forged public signatures, the keyed sketch alone must suffice.
    let kept = keyed_sketch(store.key(), &text).unwrap();
    let confirmed = |page: &str| {
        let estimate = keyed_sketch(store.key(), page).unwrap().estimate(&kept);
        store.settings().policy.min_similarity.confirmed_by(&estimate)
    };
    let left_by_key = drifted(&text, confirmed);
    println!("of 257 words {left} are the victim's, {left_by_key} where the key alone decides");
    // So many words remain that a reader sees the victim's text.
    assert!(left > 200 && left_by_key > 200, "{left}, {left_by_key}");
}

/// A text of few words, so that pages match by chance, and how the page is recorded.
#[derive(Clone, Debug)]
struct Given {
    domain: u8,
    path: u8,
    text: (u8, u8),
    with_text: bool,
    fetched: u64,
}

fn given() -> impl Strategy<Value = Given> {
    let text = (0u8..3, 0u8..24);
    let parts = (0u8..3, 0u8..4, text, any::<bool>(), 0u64..50);
    parts.prop_map(|(domain, path, text, with_text, fetched)| Given {
        domain,
        path,
        text,
        with_text,
        fetched,
    })
}

/// Near the bound: texts of one kind share 120 words and differ in up to 24.
fn text_of((kind, own): (u8, u8)) -> String {
    let (kind, own) = (usize::from(kind), usize::from(own));
    format!("{} {}", words(120, kind), words(own, 100 + own))
}

/// All pages with content, and what is known about them.
#[derive(Clone)]
struct Known {
    url: String,
    seen: Observation,
    keyed: Option<Sketch>,
}

/// Reference implementation: the relation of two pages, by the definition.
fn alike(a: &Known, b: &Known, confirm: Confirm, by: &Settings) -> bool {
    if a.seen.content == b.seen.content {
        return true;
    }
    let (Some(one), Some(other)) = (&a.seen.comparable, &b.seen.comparable) else { return false };
    let near = !one.too_short
        && !other.too_short
        && one.fingerprint.distance(other.fingerprint) <= by.policy.within.bits()
        && one.sketch.estimate(&other.sketch).jaccard >= by.policy.min_similarity.jaccard();
    let confirmed = match (&a.keyed, &b.keyed) {
        (Some(one), Some(other)) => {
            let estimate = one.estimate(other);
            estimate.jaccard + 5.7 * estimate.standard_error >= by.policy.min_similarity.jaccard()
        }
        _ => confirm == Confirm::Public || same_domain(&a.url, &b.url),
    };
    near && confirmed
}

fn keyed_sketch(key: &Key, text: &str) -> Option<Sketch> {
    Fingerprinter::default().keyed(key).sketch(&Document::new(Body::Text(text))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn every_match_is_one_that_all_pages_compared_slowly_give(
        pages in prop::collection::vec(given(), 1..30),
        strict in any::<bool>(),
    ) {
        let confirm = if strict { Confirm::Keyed } else { Confirm::Public };
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(confirm);
        let store = Repository::create(folder.path(), settings.clone()).unwrap();
        let mut known: Vec<Known> = Vec::new();
        for page in pages {
            let url = format!("https://domain{}.test/{}", page.domain, page.path);
            let text = text_of(page.text);
            let make: Make = if page.with_text { read } else { sent };
            let seen = make(&store, &url, &text, page.fetched);
            let before = known.iter().position(|it| it.url == url).map(|at| known.remove(at));
            // If the text is unchanged, earlier knowledge about it is kept.
            let before = before.filter(|it| it.seen.content == seen.content);
            let keyed = page.with_text.then(|| keyed_sketch(store.key(), &text)).flatten();
            let keyed = keyed.or(before.and_then(|it| it.keyed));
            let new = Known { url: url.clone(), seen: seen.clone(), keyed };
            let mut expected: Vec<&str> = known
                .iter()
                .filter(|it| alike(&new, it, confirm, &settings))
                .map(|it| it.url.as_str())
                .collect();
            expected.sort_unstable();
            let (_, mut found) = store.check_named(&seen, 100).unwrap();
            found.sort();
            prop_assert_eq!(&found, &expected, "{}", url);
            let said = store.observe(seen).unwrap();
            known.push(new);
            // A removable page matches the kept page.
            if said.verdict.removable() {
                let of = |url: &str| known.iter().find(|it| it.url == url).unwrap();
                let winner = of(said.winner_url.as_deref().unwrap());
                prop_assert!(alike(of(&url), winner, confirm, &settings), "{}", url);
            }
        }
        assert_clean(&store);
    }
}
