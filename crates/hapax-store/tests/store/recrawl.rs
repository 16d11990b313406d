//! Crawling again: every run keeps one copy of each content, the same one.

use crate::line::{assert_clean, open, page, recipe};
use hapax::group::live::{Change, Kind};
use hapax_store::{
    Confirm, Decision, Observation, Position, Repository, Seen, Settings, Unreadable, backups,
    check_folder, repair_folder,
};
use proptest::prelude::*;
use redb::TableDefinition;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

fn create(folder: &Path, rules: Option<&str>) -> Repository {
    let mut settings = Settings { confirm: Confirm::Public, ..Settings::new(recipe()) };
    if let Some(rules) = rules {
        settings.rules = rules.parse().unwrap();
    }
    Repository::create(folder, settings).unwrap().with_clock(|| 1000)
}

fn fetched(url: &str, content: u32, at: u64) -> Observation {
    Observation { fetched: Some(at), ..page(url, content) }
}

/// Whether a crawler would keep the page.
fn passes(decision: &Decision) -> bool {
    !(matches!(decision.verdict.kind, Kind::Exact | Kind::Near) && decision.winner_url.is_some())
}

#[test]
fn fetching_a_page_again_does_not_make_it_a_duplicate_of_its_copy() {
    for rules in [None, Some("earliest"), Some("latest"), Some("first-recorded")] {
        let folder = tempfile::tempdir().unwrap();
        let store = create(folder.path(), rules);
        let first = store.observe(fetched("http://a/", 5, 100)).unwrap();
        assert_eq!((first.verdict.kind, first.seen), (Kind::Unique, Some(Seen::First)));
        store.observe(fetched("http://b/", 5, 101)).unwrap();
        let winner = store.group("http://a/").unwrap().unwrap().winner_url;
        let events = store.stats().unwrap().last_event;
        for (n, url) in (0..).zip(["http://a/", "http://b/", "http://b/", "http://a/"]) {
            let again = store.observe(fetched(url, 5, 200 + n)).unwrap();
            assert_eq!(again.seen, Some(Seen::Unchanged));
            assert_eq!(passes(&again), url == winner, "{rules:?}: {url}");
            assert_eq!(store.page(url).unwrap().unwrap().fetched, Some(200 + n));
        }
        assert_eq!(store.group("http://a/").unwrap().unwrap().winner_url, winner, "{rules:?}");
        assert_eq!(store.stats().unwrap().last_event, events, "nothing happened");
        assert_clean(&store);
    }
}

#[test]
fn a_page_that_was_kept_stays_kept_unless_a_rule_of_the_user_decides_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path(), None);
    store.observe(page("http://long.example/a/b/c?d", 5)).unwrap();
    let better = store.observe(page("https://b/", 5)).unwrap();
    assert_eq!(better.winner_url.as_deref(), Some("http://long.example/a/b/c?d"));
    assert_eq!(better.verdict.reason.unwrap().rule, "first-domain");
    store.set_rules("https, first-recorded".parse().unwrap()).unwrap();
    assert_eq!(store.group("https://b/").unwrap().unwrap().winner_url, "https://b/");
    assert_clean(&store);
}

#[test]
fn a_page_with_quite_another_content_is_the_newest_of_its_copies() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path(), None);
    store.observe(fetched("http://a/", 1, 100)).unwrap();
    store.observe(fetched("http://b/", 9, 101)).unwrap();
    let moved = store.observe(fetched("http://a/", 9, 102)).unwrap();
    assert_eq!(moved.seen, Some(Seen::Changed));
    assert_eq!(moved.winner_url.as_deref(), Some("http://b/"), "b was there first");
    assert_eq!(store.page("http://a/").unwrap().unwrap().first_seen, Some(102));
    // A small change does not count as another content.
    let edited = store.observe(fetched("http://b/", 10, 103)).unwrap();
    assert!(passes(&edited) && edited.seen == Some(Seen::Changed));
    let known = store.page("http://b/").unwrap().unwrap();
    assert_eq!((known.first_seen, known.changed), (Some(101), Some(103)));
    assert_clean(&store);
}

#[test]
fn every_change_of_a_known_page_is_an_event_with_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path(), None);
    store.observe(page("http://a/", 1)).unwrap();
    let known = store.page("http://a/").unwrap().unwrap();
    assert_eq!((known.fetched, known.first_seen), (Some(1000), Some(1000)), "now, unless given");
    store.observe(page("http://a/", 1)).unwrap();
    store.observe(page("http://a/", 2)).unwrap();
    store.observe(page("http://a/", 9)).unwrap();
    let events = store.events(0, 100).unwrap();
    assert!(events.iter().all(|event| event.at == Some(1000)), "{events:#?}");
    let changed = events.iter().filter(|event| matches!(event.change, Change::Changed { .. }));
    assert_eq!(
        changed.map(|event| event.url.as_deref()).collect::<Vec<_>>(),
        [Some("http://a/"), Some("http://a/")]
    );
    assert_clean(&store);
}

#[test]
fn a_check_predicts_an_observation_and_names_the_nearest_page() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path(), None);
    let new = store.check(&page("http://a/", 5)).unwrap();
    assert_eq!((new.verdict.kind, new.seen), (Kind::Unique, Some(Seen::First)));
    assert_eq!(store.nearest(&page("http://a/", 5)).unwrap(), None, "nothing is known");
    store.observe(page("http://a/", 5)).unwrap();
    let known = store.check(&page("http://a/", 5)).unwrap();
    assert_eq!((known.verdict.kind, known.seen), (Kind::Unique, Some(Seen::Unchanged)));
    let changed = store.check(&page("http://a/", 9)).unwrap();
    assert_eq!((changed.verdict.kind, changed.seen), (Kind::Unique, Some(Seen::Changed)));
    // Three steps exceed the bounds of distance and similarity.
    let far = page("http://far/", 8);
    assert_eq!(store.check(&far).unwrap().verdict.kind, Kind::Unique);
    let nearest = store.nearest(&far).unwrap().unwrap();
    assert_eq!((&*nearest.url, nearest.likeness.distance), ("http://a/", 9));
    assert!(!nearest.likeness.matches() && nearest.likeness.similarity > 0.5);
    assert_eq!(store.nearest(&page("http://a/", 5)).unwrap(), None, "itself aside");
    store.observe(page("http://b/", 5)).unwrap();
    for (url, is_winner) in [("http://a/", true), ("http://b/", false)] {
        let asked = store.check(&page(url, 5)).unwrap();
        let said = store.observe(page(url, 5)).unwrap();
        assert_eq!(
            (asked.verdict.kind, asked.verdict.is_winner),
            (Kind::Exact, is_winner),
            "{url}"
        );
        assert_eq!((said.verdict.kind, said.verdict.is_winner), (Kind::Exact, is_winner), "{url}");
        assert_eq!((asked.seen, &asked.winner_url), (Some(Seen::Unchanged), &said.winner_url));
    }
}

/// Three unrelated contents, each with copies and near copies.
const SITE: [(&str, usize, u32); 8] = [
    ("http://long.example/first/copy?session=1", 0, 0),
    ("https://a/", 0, 0),
    ("http://a/near", 0, 1),
    ("http://long.example/second/copy", 1, 5),
    ("https://b/", 1, 6),
    ("http://b/again", 1, 5),
    ("http://c/", 2, 11),
    ("https://c/", 2, 12),
];

/// Runs of a crawl: each a permutation of the site and a clock time, and whether the pages have a
/// date that changes slightly with every fetch.
fn runs() -> impl Strategy<Value = (Vec<(Vec<usize>, u64)>, bool)> {
    let order = Just((0..SITE.len()).collect::<Vec<usize>>()).prop_shuffle();
    (prop::collection::vec((order, 0..50u64), 1..6), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_run_keeps_one_copy_of_each_content_the_same_one(
        (runs, dated) in runs(),
        together in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = create(folder.path(), None);
        let mut passed: BTreeMap<usize, &str> = BTreeMap::new();
        for (number, (order, clock)) in runs.iter().enumerate() {
            let seen: Vec<Observation> = order
                .iter()
                .map(|&at| {
                    let (url, _, content) = SITE[at];
                    let stamp = if dated && (number + at) % 2 == 1 { 1 } else { 0 };
                    // Within one step of its kind, so that all copies still match each other.
                    let content = content - content % 5 + (content % 5 + stamp) % 2;
                    fetched(url, content, 1000 * number as u64 + clock)
                })
                .collect();
            let decisions = match together {
                true => store.observe_many(seen).unwrap(),
                false => seen.into_iter().map(|page| store.observe(page).unwrap()).collect(),
            };
            let mut through = BTreeMap::new();
            for (&at, decision) in order.iter().zip(&decisions) {
                let (url, content, _) = SITE[at];
                if passes(decision) {
                    prop_assert_eq!(through.insert(content, url), None, "a second copy passed");
                }
            }
            if number == 0 {
                passed = through.clone();
            }
            prop_assert_eq!(through.len(), 3);
            prop_assert_eq!(&through, &passed, "run {}", number);
        }
        assert_clean(&store);
        let changed = store.events(0, 1000).unwrap();
        let changed = changed.iter().any(|event| matches!(event.change, Change::WinnerChanged { .. }));
        prop_assert!(!changed);
    }
}

/// Two groups whose members get the same text while both still match their winners.
fn twins(folder: &Path) -> Repository {
    let store = crate::line::create(folder);
    for (url, content) in [("a/1", 5), ("a/2", 5), ("b/1", 7), ("b/2", 7), ("a/2", 6), ("b/2", 6)] {
        store.observe(page(&format!("http://{url}"), content)).unwrap();
    }
    store
}

#[test]
fn members_that_got_the_same_text_are_grouped_when_their_winners_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = twins(folder.path());
    assert_eq!(store.stats().unwrap().groups, 2);
    store.forget_many(vec!["http://a/1".into(), "http://b/1".into()]).unwrap();
    let group = store.group("http://a/2").unwrap().unwrap();
    assert_eq!(group.pages.len(), 2, "{group:?}");
    assert_clean(&store);
}

#[test]
fn a_winner_that_gets_the_text_of_another_one_joins_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = twins(folder.path());
    for (url, content) in [("http://a/1", 6), ("http://b/1", 6)] {
        store.observe(page(url, content)).unwrap();
    }
    assert_eq!(store.stats().unwrap().groups, 1);
    assert_clean(&store);
}

/// `fixtures/twins` was written by a version that did not group them.
fn old_twins() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/twins.redb.zst");
    let bytes = zstd::decode_all(std::fs::File::open(fixture).unwrap()).unwrap();
    std::fs::write(folder.path().join("pages.redb"), bytes).unwrap();
    folder
}

fn edit(folder: &Path, edit: impl FnOnce(&redb::WriteTransaction)) {
    let db = redb::Database::open(folder.join("pages.redb")).unwrap();
    let writing = db.begin_write().unwrap();
    edit(&writing);
    writing.commit().unwrap();
}

#[test]
fn kept_pages_with_the_same_text_are_merged_by_an_upgrade_and_their_backup_can_be_restored() {
    let folder = old_twins();
    let store = open(folder.path());
    let group = store.group("http://a/2").unwrap().unwrap();
    assert_eq!(group.pages.len(), 2, "{group:?}");
    assert_clean(&store);
    let events = store.stats().unwrap().last_event;
    let place = folder.path().join("backups");
    let copy = |after: Option<&Position>, out: &mut dyn Write| {
        let increment = store.increment(after, None).map_err(std::io::Error::other)?;
        increment.write(out).map(drop).map_err(std::io::Error::other)
    };
    backups::take(&place, "upgraded", false, &mut { copy }).unwrap();
    let (_, found) = backups::restore(&place, None, &folder.path().join("restored")).unwrap();
    assert!(found.is_clean(), "{found:#?}");
    drop(store);
    assert_eq!(open(folder.path()).stats().unwrap().last_event, events, "once");
}

const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");
const LOCAL: TableDefinition<'_, &str, &str> = TableDefinition::new("local");

#[test]
fn kept_pages_with_the_same_text_are_found_by_the_check_and_repaired() {
    let folder = old_twins();
    // A copy that follows another one merges nothing by itself.
    edit(folder.path(), |tables| {
        tables.open_table(LOCAL).unwrap().insert("role", "standby").unwrap();
    });
    drop(open(folder.path()));
    edit(folder.path(), |tables| {
        tables.open_table(LOCAL).unwrap().remove("role").unwrap();
        assert!(tables.open_table(META).unwrap().remove("merge twins").unwrap().is_some());
    });
    let found = check_folder(folder.path()).unwrap();
    assert!(found.details.iter().any(|it| it.contains("have one text")), "{found:#?}");
    let repair = repair_folder(folder.path(), Unreadable::Refuse).unwrap();
    assert!(repair.check.as_ref().is_some_and(|check| check.is_clean()), "{repair:#?}");
    let group = open(folder.path()).group("http://a/2").unwrap().unwrap();
    assert_eq!(group.pages.len(), 2, "{group:?}");
}
