//! Repositories of former versions, in `tests/fixtures`, open with unchanged contents.
//!
//! `format-1` was written by the first version with this format. A new format gets its own fixture:
//! `HAPAX_STORE_FIXTURE=format-N cargo test --release -p hapax-store fixtures -- --ignored`. Fixtures are never
//! rewritten.

use crate::line::{assert_clean, contents, create, empty, page};
use hapax::group::live::Kind;
use hapax_store::{EventInfo, Observation, Repository, check_folder};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const FORMATS: &[&str] = &["format-1", "format-2", "format-3"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// All kinds of data that a repository can hold.
fn fill(store: &Repository) {
    for n in 0..6 {
        let fetched = Some(1_700_000_000 + u64::from(n));
        let keyed = (n % 2 == 0).then(|| contents(5).sketch);
        let seen = page(&format!("http://a/{n}"), 5);
        let seen = Observation { words: 100 + n, fetched, keyed, ..seen };
        store.observe(seen).unwrap();
    }
    store.observe(page("http://near/5", 6)).unwrap();
    let canonical = Some("http://b/canonical".to_owned());
    store.observe(Observation { canonical, ..page("http://b/", 11) }).unwrap();
    store.observe(empty("http://empty/")).unwrap();
    store.redirect("http://moved/", "http://a/2", Some(1_700_000_100)).unwrap();
    store.redirect("http://lost/", "http://never-seen/", None).unwrap();
    store.redirect("http://round/", "http://about/", None).unwrap();
    store.redirect("http://about/", "http://round/", None).unwrap();
    store.score("http://a/3", Some(2.5)).unwrap();
    store.forget("http://a/4").unwrap();
    store.set_market("other", Some("prefer-host:near, shortest-url".parse().unwrap())).unwrap();
}

/// The name of a kind when the fixtures were made.
fn kind_then(kind: Kind) -> String {
    match kind {
        Kind::Unique => "New".into(),
        other => format!("{other:?}"),
    }
}

fn described(store: &Repository) -> String {
    let mut text = String::new();
    let settings = store.settings();
    writeln!(text, "{} {}", settings.recipe, settings.rules).unwrap();
    let reader = store.reader();
    let market = reader.market("other").unwrap();
    for (page, decision) in reader.pages(None, 1000, None).unwrap() {
        let bits = page.comparable.as_ref().map(|it| it.fingerprint);
        let there = reader.status(&page.url, Some(&market)).unwrap().unwrap();
        writeln!(
            text,
            "{} {} {bits:?} {} {:?} {:?} {:?} {:?} {} {:?} {:?}",
            page.url,
            page.content,
            page.words,
            page.score,
            page.fetched,
            page.canonical,
            page.place,
            kind_then(decision.verdict.kind),
            decision.winner_url,
            there.winner_url,
        )
        .unwrap();
    }
    for group in reader.groups(None, 1000, 0, None).unwrap() {
        writeln!(text, "{group:?}").unwrap();
    }
    for EventInfo { sequence, change, url, other_url, .. } in reader.events(0, 1000).unwrap() {
        writeln!(
            text,
            "EventInfo {{ sequence: {sequence}, change: {change:?}, url: {url:?}, other_url: \
             {other_url:?} }}"
        )
        .unwrap();
    }
    text
}

#[test]
#[ignore = "makes a fixture; the header says how"]
fn maker_of_fixtures() {
    let Ok(name) = std::env::var("HAPAX_STORE_FIXTURE") else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    fill(&store);
    let text = described(&store);
    drop(store);
    let bytes = std::fs::read(folder.path().join("pages.redb")).unwrap();
    std::fs::create_dir_all(fixture("")).unwrap();
    let packed = zstd::encode_all(bytes.as_slice(), 19).unwrap();
    std::fs::write(fixture(&format!("{name}.redb.zst")), packed).unwrap();
    std::fs::write(fixture(&format!("{name}.txt")), text).unwrap();
}

#[test]
fn every_former_format_opens_with_unchanged_contents() {
    for name in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let packed = std::fs::read(fixture(&format!("{name}.redb.zst"))).unwrap();
        let bytes = zstd::decode_all(packed.as_slice()).unwrap();
        std::fs::write(folder.path().join("pages.redb"), bytes).unwrap();
        let expected = std::fs::read_to_string(fixture(&format!("{name}.txt"))).unwrap();
        assert!(check_folder(folder.path()).unwrap().is_clean(), "{name}");
        // With any recipe, because recipes and formats change independently.
        let store = Repository::open(folder.path(), None).unwrap();
        assert_eq!(store.settings().frames, hapax_store::Frames::Off);
        assert_eq!(described(&store), expected, "{name}");
        let again = store.observe(page("http://new/", 5)).unwrap();
        assert_eq!(again.winner_url.as_deref(), Some("http://a/3"));
        assert_clean(&store);
    }
}
