//! Copies of the repository while the service runs.

use crate::running::{Running, text};
use hapax_client::client::{Client, ClientError};
use hapax_store::{Repository, receive};
use serde_json::json;
use std::io::Read;
use std::time::Duration;

fn client(server: &Running, token: Option<&str>) -> Client {
    Client::new(&format!("http://{}", server.address), token, Duration::from_secs(60))
}

fn add(server: &Running, pages: std::ops::Range<u32>) {
    for n in pages {
        let page = json!({"url": format!("http://a/{n}"), "text": text(n % 40, 60)});
        server.post("/v1/pages", page).good();
    }
}

#[test]
fn a_copy_made_while_pages_come_is_a_sound_repository_of_one_commit() {
    let server = Running::start();
    add(&server, 0..60);
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| add(&server, 60..120));
        let (bytes, mut copy) = client(&server, None).backup().unwrap();
        let found = receive(folder.path(), &mut copy, bytes).unwrap();
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
    assert!(!server.service.repository.folder().join("backup.new").exists());
    let again = receive(folder.path(), &mut std::io::empty(), 0).unwrap_err().to_string();
    assert!(again.contains("is a repository already"), "{again}");
}

#[test]
fn a_copy_that_ends_early_or_is_damaged_is_no_repository() {
    let server = Running::start();
    add(&server, 0..30);
    let (bytes, mut copy) = client(&server, None).backup().unwrap();
    let mut whole = Vec::new();
    copy.read_to_end(&mut whole).unwrap();
    assert_eq!(whole.len() as u64, bytes);
    let folder = tempfile::tempdir().unwrap();
    let used = (4096..whole.len()).find(|&at| whole[at..].starts_with(b"http://a/")).unwrap();
    let mut damaged = whole.clone();
    damaged[used] ^= 1;
    for mut copy in [&whole[..whole.len() / 2], &damaged] {
        receive(folder.path(), &mut copy, bytes).unwrap_err();
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left");
    }
    receive(folder.path(), &mut whole.as_slice(), bytes).unwrap();
}

#[test]
fn only_whoever_may_write_gets_a_copy() {
    let server =
        Running::with("[tokens]\nread = ['reader-0123456789']\nwrite = ['writer-0123456789']");
    let refused = client(&server, Some("reader-0123456789")).backup().err();
    assert!(matches!(refused, Some(ClientError::Refused { status: 403, .. })), "{refused:?}");
    assert!(client(&server, Some("writer-0123456789")).backup().is_ok());
}
