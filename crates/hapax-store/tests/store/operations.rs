//! One behaviour at a time.

use crate::line::{assert_clean, create, empty, open, page};
use hapax::group::live::{Change, Kind, Tier};
use hapax_store::{IndexOrigin, Repository};
use std::thread;

fn url(n: u32) -> String {
    format!("http://a/{n}")
}

#[test]
fn a_copy_is_a_duplicate_of_the_better_page_before_and_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    let first = store.observe(page("http://a/long", 3)).unwrap();
    assert_eq!((first.verdict.kind, first.verdict.is_winner), (Kind::Unique, true));
    let copy = store.observe(page("http://b", 3)).unwrap();
    assert_eq!(
        (copy.verdict.kind, copy.winner_url.as_deref()),
        (Kind::Exact, Some("http://a/long"))
    );
    store.score("http://b", Some(2.0)).unwrap();
    let asked = store.check(&page("http://c", 4)).unwrap();
    assert_eq!((asked.verdict.kind, asked.winner_url.as_deref()), (Kind::Near, Some("http://b")));
    assert_eq!(store.page("http://c").unwrap(), None);
    let group = store.group("http://a/long").unwrap();
    drop(store);

    let store = open(folder.path());
    assert_eq!(*store.index_origin(), IndexOrigin::File);
    assert_eq!(store.check(&page("http://c", 4)).unwrap(), asked);
    assert_eq!(store.group("http://b").unwrap(), group);
    let again = store.observe(page("http://a/long", 3)).unwrap();
    assert_eq!((again.verdict.tier, again.verdict.kind), (Tier::Winner, Kind::Exact));
    assert_clean(&store);
}

#[test]
fn pages_in_one_batch_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    let seen = store.observe_many((0..3).map(|n| page(&url(n), 1)).collect()).unwrap();
    let kinds: Vec<_> = seen.iter().map(|seen| seen.verdict.kind).collect();
    assert_eq!(kinds, [Kind::Unique, Kind::Exact, Kind::Exact]);
    assert_eq!(store.stats().unwrap().commits, 1);
    assert_clean(&store);
}

#[test]
fn redirects_await_their_target_and_follow_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    store.observe(page("http://a", 5)).unwrap();
    let moved = store.redirect("http://a", "http://z", Some(7)).unwrap();
    assert_eq!(moved.verdict.kind, Kind::Redirect);
    assert_eq!(store.page("http://a").unwrap().unwrap().comparable, None);
    store.observe(page("http://z", 5)).unwrap();
    let group = store.group("http://a").unwrap().unwrap();
    assert_eq!(group.winner_url, "http://z");
    assert_eq!(group.pages.len(), 2);
    assert_clean(&store);
    assert!(store.forget("http://z").unwrap());
    assert!(!store.forget("http://z").unwrap());
    assert!(store.page("http://z").unwrap().is_some(), "it is awaited");
    assert!(store.forget("http://a").unwrap());
    assert_eq!(store.stats().unwrap().pages, 0);
    assert_clean(&store);
}

#[test]
fn every_event_names_its_pages_even_when_they_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    store.observe(page("http://a", 5)).unwrap();
    store.observe(page("http://b", 5)).unwrap();
    store.forget("http://a").unwrap();
    let events = store.events(0, 100).unwrap();
    assert!(events.iter().map(|event| event.sequence).eq(1..=events.len() as u64));
    assert!(events.iter().all(|event| event.url.is_some()));
    assert!(matches!(events.last().unwrap().change, Change::WinnerChanged { .. }));
    assert_eq!(store.events(2, 1).unwrap()[0].sequence, 3);
    assert_eq!(store.drop_events(3).unwrap(), 3);
    assert_eq!(store.events(0, 1).unwrap()[0].sequence, 4);
    assert_clean(&store);
}

#[test]
fn pages_not_seen_for_long_expire() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    for n in 0..6 {
        let fetched = (n > 0).then_some(u64::from(n) * 10);
        store.observe(hapax_store::Observation { fetched, ..page(&url(n), n) }).unwrap();
    }
    assert_eq!(store.expire(30).unwrap(), 2);
    let left: Vec<u32> = (0..6).filter(|&n| store.page(&url(n)).unwrap().is_some()).collect();
    assert_eq!(left, [0, 3, 4, 5]);
    assert_clean(&store);
}

#[test]
fn a_page_that_loses_its_words_leaves_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    store.observe(page("http://a", 5)).unwrap();
    store.observe(page("http://b", 5)).unwrap();
    assert_eq!(store.observe(empty("http://a")).unwrap().verdict.kind, Kind::Empty);
    assert_eq!(store.group("http://b").unwrap().unwrap().pages.len(), 1);
    assert_clean(&store);
}

#[test]
fn a_snapshot_is_a_repository_of_the_same_pages() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = create(folder.path());
    store.observe_many((0..40).map(|n| page(&url(n), n % 14)).collect()).unwrap();
    store.redirect("http://x", &url(3), None).unwrap();
    let copy = other.path().join("copy");
    store.snapshot(&copy).unwrap();
    store.forget(&url(3)).unwrap();
    let copy = open(&copy);
    assert!(matches!(copy.index_origin(), IndexOrigin::Rebuilt { .. }));
    assert_eq!(copy.stats().unwrap().pages, 41);
    assert_eq!(copy.group("http://x").unwrap(), copy.group(&url(3)).unwrap());
    assert_clean(&copy);
}

#[test]
fn other_rules_choose_other_winners_and_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    store.observe(page("http://a/long", 5)).unwrap();
    store.observe(page("http://b", 5)).unwrap();
    store.set_rules("shortest-url".parse().unwrap()).unwrap();
    assert_eq!(store.group("http://b").unwrap().unwrap().winner_url, "http://b");
    drop(store);
    let store = open(folder.path());
    assert_eq!(store.settings().rules.to_string(), "shortest-url");
    assert_clean(&store);
}

#[test]
fn observers_at_the_same_time_agree_on_one_winner_and_share_commits() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    let observe = |store: &Repository, thread: u32| {
        for n in 0..25 {
            store.observe(page(&url(thread * 25 + n), n % 2)).unwrap();
        }
    };
    thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || observe(store, thread));
        }
    });
    let group = store.group(&url(0)).unwrap().unwrap();
    assert_eq!(group.pages.len(), 200);
    assert_eq!(group.winner_url, url(0));
    assert!(store.stats().unwrap().commits <= 200);
    assert_clean(&store);
}

/// Views keep their tables open; a query after an acknowledgement must see its effect.
#[test]
fn every_query_after_an_acknowledgement_sees_its_effect() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    thread::scope(|scope| {
        for writer in 0..4u32 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..25 {
                    let url = format!("http://w{writer}/{n}");
                    // Contents so far apart match no other.
                    let decision = store.observe(page(&url, 4 * writer)).unwrap();
                    let known = store.page(&url).unwrap().unwrap();
                    assert_eq!(Some(known.id), decision.page);
                    let copy = page("http://copy", 4 * writer);
                    let (checked, names) = store.check_named(&copy, 5).unwrap();
                    assert_eq!((names, checked.winner_url.as_ref()), (vec![url.clone()], None));
                    assert_eq!(checked.verdict.group, decision.verdict.group);
                    assert!(store.forget(&url).unwrap());
                    assert_eq!(store.page(&url).unwrap(), None);
                    assert!(store.check(&copy).unwrap().verdict.matches.is_empty());
                }
            });
        }
    });
}
