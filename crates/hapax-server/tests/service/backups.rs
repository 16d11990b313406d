//! Copies of the repository while the service runs, and standbys.

use crate::running::{Running, fingerprinter, text};
use hapax::page::{Body, Document};
use hapax_client::client::{Client, ClientError};
use hapax_server::standby::Source;
use hapax_store::{
    Observation, Position, Repository, Role, Settings, StoreError, backups, receive,
};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn client(server: &Running, token: Option<&str>) -> Client {
    Client::new(&format!("http://{}", server.address), token, Duration::from_secs(60))
}

fn add(server: &Running, pages: std::ops::Range<u32>) {
    for n in pages {
        let page = json!({"url": format!("http://a/{n}"), "text": text(n % 40, 60)});
        server.post("/v1/pages", page).good();
    }
}

fn received(folder: &Path, copy: impl Read) -> Result<hapax_store::Integrity, StoreError> {
    let whole: std::io::Result<Box<dyn Read>> = Ok(Box::new(copy));
    receive(folder, &mut std::iter::once(whole), Role::Primary)
}

#[test]
fn a_copy_made_while_pages_come_is_a_sound_repository_of_one_commit() {
    let server = Running::start();
    add(&server, 0..60);
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| add(&server, 60..120));
        let copy = client(&server, None).increment(None, 0, None).unwrap();
        let found = received(folder.path(), copy).unwrap();
        assert!(found.is_clean() && (60..=120).contains(&found.pages), "{found:?}");
    });
    let copy = Repository::open(folder.path(), None).unwrap();
    let (of_copy, all) =
        (copy.events(0, 10_000).unwrap(), server.service.repository.events(0, 10_000).unwrap());
    assert!(of_copy.len() >= 60);
    for (copied, event) in of_copy.iter().zip(&all) {
        assert_eq!((copied.sequence, copied.change), (event.sequence, event.change));
    }
    assert!(copy.key() == server.service.repository.key(), "its sketches stay good");
    let again = received(folder.path(), std::io::empty()).unwrap_err().to_string();
    assert!(again.contains("is a repository already"), "{again}");
}

#[test]
fn an_increment_has_the_changes_and_a_foreign_position_is_refused() {
    let (server, other) = (Running::start(), Running::start());
    add(&server, 0..200);
    let copied = |after: Option<&str>| {
        let mut bytes = Vec::new();
        let mut sent = client(&server, None).increment(after, 0, None).unwrap();
        hapax_store::increment::copy(&mut sent, &mut bytes).unwrap();
        bytes
    };
    let whole = copied(None);
    let position = server.service.repository.position(server.service.texts.as_ref()).unwrap();
    add(&server, 200..202);
    let after = position.to_string();
    let more = copied(Some(&after));
    assert!(more.len() * 10 < whole.len(), "{} of {}", more.len(), whole.len());
    add(&other, 0..1);
    client(&other, None).increment(None, 0, None).unwrap();
    let refused = other.post(&format!("/v1/backup?after={after}"), Value::Null);
    assert_eq!((refused.status, refused.code().as_str()), (409, "other_history"));
    let refused = other.post("/v1/backup?after=yesterday", Value::Null);
    assert_eq!((refused.status, refused.code().as_str()), (400, "invalid"));
}

#[test]
fn copying_and_promoting_need_write_permission() {
    let server =
        Running::with("[tokens]\nread = ['reader-0123456789']\nwrite = ['writer-0123456789']");
    let reader = client(&server, Some("reader-0123456789"));
    let refused = reader.increment(None, 0, None).err();
    assert!(matches!(refused, Some(ClientError::Refused { status: 403, .. })), "{refused:?}");
    let refused = reader.promote().err();
    assert!(matches!(refused, Some(ClientError::Refused { status: 403, .. })), "{refused:?}");
    assert!(client(&server, Some("writer-0123456789")).increment(None, 0, None).is_ok());
}

fn until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_standby_follows_and_takes_writes_after_its_promotion() {
    let folder = tempfile::tempdir().unwrap();
    let primary = Running::over(&folder.path().join("primary"), "");
    add(&primary, 0..30);
    let source = Source::service(client(&primary, None));
    let copy = folder.path().join("copy");
    source.prepare(&copy).unwrap();
    let standby = Running::following(&copy, "", source);
    add(&primary, 30..50);
    let known = || standby.get("/v1/pages/http%3A%2F%2Fa%2F49").status == 200;
    until("it catches up", known);
    let answer = standby.post("/v1/check", json!({"url": "http://b/", "text": text(5, 60)}));
    assert!(answer.headers.contains("hapax-behind-seconds: "), "{}", answer.headers);
    let verdict = answer.good();
    assert_eq!(verdict["winner"], json!("http://a/5"));
    for (method, path) in [("POST", "/v1/pages"), ("POST", "/v1/forget"), ("PUT", "/v1/rules")] {
        let body = match path {
            "/v1/pages" => json!({"url": "http://b/", "text": text(5, 60)}),
            "/v1/forget" => json!({"urls": ["http://a/1"]}),
            _ => json!({"rules": "shortest-url"}),
        };
        let refused = standby.ask(method, path, body);
        assert_eq!((refused.status, refused.code().as_str()), (409, "not_primary"), "{path}");
        assert!(refused.body.contains("standby"), "{}", refused.body);
    }
    let metrics = standby.get("/metrics").body;
    for line in ["hapax_takes_writes 0", "hapax_behind_seconds "] {
        assert!(metrics.contains(line), "{metrics}");
    }
    assert!(primary.get("/metrics").body.contains("hapax_standbys 1"));
    assert_eq!(standby.get("/readyz").good()["role"], json!("standby"));
    // Texts are copied, too.
    until("texts are copied", || {
        let pair = json!({"left": {"url": "http://a/1"}, "right": {"url": "http://a/2"}});
        standby.post("/v1/compare", pair).status == 200
    });

    let promoted = standby.post("/v1/promote", Value::Null).good();
    assert_eq!(promoted["role"], json!("primary"));
    let page = json!({"url": "http://b/", "text": text(5, 60)});
    standby.post("/v1/pages", page).good();
    let epochs = standby.service.repository.lineage().unwrap();
    assert_ne!(epochs, primary.service.repository.lineage().unwrap());
    let events = standby.get("/v1/events?after=1");
    assert!(events.headers.contains("hapax-epoch: "), "{}", events.headers);
}

#[test]
fn events_are_shown_when_the_standby_has_them() {
    let primary = Running::start();
    add(&primary, 0..5);
    client(&primary, None).increment(None, 0, None).unwrap();
    let position = primary.service.repository.position(None).unwrap();
    let poll = |position: hapax_store::Position| {
        client(&primary, None).increment(Some(&position.to_string()), 0, Some("one")).unwrap();
    };
    poll(position);
    add(&primary, 5..8);
    let shown = || primary.get("/v1/events").good()["rows"].as_array().unwrap().len() as u64;
    assert_eq!(shown(), position.event);
    let now = primary.service.repository.position(None).unwrap();
    assert!(now.event > position.event);
    poll(now);
    assert_eq!(shown(), now.event);
}

#[test]
fn a_follower_that_saw_lost_events_gets_the_number_to_continue_from() {
    let folder = tempfile::tempdir().unwrap();
    let primary = Running::over(&folder.path().join("primary"), "");
    add(&primary, 0..3);
    let copy = folder.path().join("copy");
    Source::service(client(&primary, None)).prepare(&copy).unwrap();
    let shared = Repository::open(&copy, None).unwrap().stats().unwrap().last_event;
    add(&primary, 3..6);
    let epoch = format!("{:016x}", primary.service.repository.position(None).unwrap().epoch);
    let seen = primary.service.repository.stats().unwrap().last_event;
    Repository::open(&copy, None).unwrap().promote().unwrap();
    let new = Running::over(&copy, "");
    add(&new, 10..30);
    let refused = new.get(&format!("/v1/events?after={seen}&epoch={epoch}"));
    assert_eq!((refused.status, refused.code().as_str()), (409, "other_history"));
    assert!(refused.body.contains(&format!("go on after {shared}")), "{}", refused.body);
    new.get(&format!("/v1/events?after={shared}&epoch={epoch}")).good();
    assert_eq!(new.get("/v1/events?after=0&epoch=123").status, 409);
    // Whoever continues must say which history the events are from, once there are two.
    for path in ["/v1/events?", "/v1/events?wait=1&", "/v1/events/stream?"] {
        let refused = new.get(&format!("{path}after={}", shared + 1));
        assert_eq!((refused.status, refused.code().as_str()), (409, "other_history"), "{path}");
        assert!(refused.body.contains(&format!("go on after {shared}")), "{}", refused.body);
    }
    let answer = new.get(&format!("/v1/events?wait=1&after={shared}&limit=1"));
    assert_eq!(answer.good()["rows"].as_array().unwrap().len(), 1);
    let present = format!("{:016x}", new.service.repository.position(None).unwrap().epoch);
    new.get(&format!("/v1/events?after={}&epoch={present}", shared + 1)).good();
    let last = new.service.repository.stats().unwrap().last_event;
    let refused = new.get(&format!("/v1/events?after={}", last + 1));
    assert_eq!((refused.status, refused.code().as_str()), (409, "other_history"));
}

#[test]
fn a_client_that_follows_says_which_history_its_events_are_from() {
    let folder = tempfile::tempdir().unwrap();
    let primary = Running::over(&folder.path().join("primary"), "");
    add(&primary, 0..3);
    drop(client(&primary, None).increment(None, 0, None).unwrap());
    primary.service.repository.promote().unwrap();
    add(&primary, 3..9);
    let follower = client(&primary, None);
    let (mut after, mut seen) = (0, 0);
    while let Some(last) = follower.events(after, 2, 0).unwrap().rows.last() {
        (after, seen) = (last.sequence, seen + 1);
    }
    assert!(seen > 2);
    assert!(follower.events(after, 2, 1).unwrap().rows.is_empty());
    let restarted = client(&primary, None);
    for wait in [0, 1] {
        assert!(restarted.events(after, 2, wait).is_err(), "a new client does not know");
    }
    restarted.continue_in(&follower.epoch().unwrap());
    assert!(restarted.events(after, 2, 0).unwrap().rows.is_empty());
}

#[test]
fn a_standby_of_backups_says_that_the_primary_was_restored_from_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("backups");
    let clock = Arc::new(AtomicU64::new(1_800_000_000));
    let recipe = fingerprinter().recipe_id().clone();
    let backup = |store: &Repository, name: &str, whole: bool| {
        clock.fetch_add(60, Ordering::Relaxed);
        let mut copy = |after: Option<&Position>, out: &mut dyn Write| {
            let increment = store.increment(after, None).map_err(std::io::Error::other)?;
            increment.write(out).map(drop).map_err(std::io::Error::other)
        };
        backups::take(&place, name, whole, &mut copy).unwrap();
    };
    let timed = |store: Repository| {
        let clock = clock.clone();
        store.with_clock(move || clock.load(Ordering::Relaxed))
    };
    let seen = |store: &Repository, pages: std::ops::Range<u32>| {
        for n in pages {
            let (mut by, text) = (fingerprinter(), text(n, 60));
            let signed = by.document(&Document::new(Body::Text(&text))).unwrap();
            store.observe(Observation::of_page(format!("http://a/{n}"), signed)).unwrap();
        }
    };
    let made = Repository::create(&folder.path().join("primary"), Settings::new(recipe)).unwrap();
    let primary = timed(made);
    seen(&primary, 0..5);
    backup(&primary, "first", true);
    seen(&primary, 5..10);
    backup(&primary, "second", false);

    let source = Source::Backups(place.clone());
    let copy = folder.path().join("copy");
    source.prepare(&copy).unwrap();
    let standby = Running::following(&copy, "", source);
    until("it catches up", || standby.get("/v1/pages/http%3A%2F%2Fa%2F9").status == 200);
    assert_eq!(standby.get("/readyz").status, 200);

    drop(primary);
    let restored = folder.path().join("restored");
    backups::restore(&place, Some("first"), &restored).unwrap();
    let primary = timed(Repository::open(&restored, None).unwrap());
    backup(&primary, "third", true);
    until("it says so", || standby.get("/readyz").status != 200);
    let refused = standby.get("/readyz");
    assert_eq!((refused.status, refused.code().as_str()), (409, "other_history"));
    assert!(refused.body.contains("`third`"), "{}", refused.body);
    // It can still be read, and become the primary.
    standby.get("/v1/pages/http%3A%2F%2Fa%2F9").good();
    standby.post("/v1/promote", Value::Null).good();
    assert_eq!(standby.get("/readyz").status, 200);
}
