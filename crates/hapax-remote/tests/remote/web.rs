//! Files of a web server.

use std::io::{self, Read, Seek, SeekFrom};

use hapax_remote::{Finder, Found, Object};

use crate::server::{Fault, Page, Server};

pub(crate) fn one(address: &str) -> io::Result<Object> {
    match Finder::default().find(address)? {
        Found::One(object) => Ok(object),
        other => panic!("{other:?} is not one object"),
    }
}

fn noise(length: u32) -> Vec<u8> {
    (0..length.div_ceil(4)).flat_map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

fn all(object: &Object) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    object.reader().read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn a_file_of_any_length_is_read_whole() {
    let server = Server::start();
    for length in [0, 1, 4096, 1 << 20, (1 << 20) + 4, 40 << 20] {
        let bytes = &noise(length)[..length as usize];
        let object = one(&server.file("/a.warc.gz", bytes, "v1")).unwrap();
        assert_eq!(object.size(), u64::from(length));
        assert!(all(&object).unwrap() == bytes, "{length} bytes");
    }
}

#[test]
fn cut_connections_and_failing_servers_are_retried() {
    let server = Server::start();
    let bytes = noise(30 << 20);
    let object = one(&server.file("/a", &bytes, "v1")).unwrap();
    server.fail(&[
        Fault::Cut(1000),
        Fault::Status(500),
        Fault::Status(503),
        Fault::Cut(0),
        Fault::Cut(100_000),
        Fault::Status(429),
    ]);
    assert!(all(&object).unwrap() == bytes);
    // Only the interrupted range is read again after a cut.
    let ranges = server.requests().len();
    assert!(ranges < 20, "{ranges} requests for 30 MB");
}

#[test]
fn denied_or_missing_files_are_errors_at_once() {
    let server = Server::start();
    let address = server.file("/a", b"text", "v1");
    server.fail(&[Fault::Status(403)]);
    let denied = one(&address).unwrap_err();
    assert_eq!(denied.kind(), io::ErrorKind::PermissionDenied, "{denied}");
    let none = one(&format!("{}/b", server.url)).unwrap_err();
    assert_eq!(none.kind(), io::ErrorKind::NotFound, "{none}");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error_and_not_a_mixture() {
    let server = Server::start();
    let old = noise(20 << 20);
    let object = one(&server.file("/a", &old, "v1")).unwrap();
    let mut reader = object.reader();
    let mut first = vec![0; 1000];
    reader.read_exact(&mut first).unwrap();
    assert!(old.starts_with(&first));
    server.file("/a", &vec![1; 20 << 20], "v2");
    let mut rest = Vec::new();
    let error = reader.read_to_end(&mut rest).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StaleNetworkFileHandle, "{error}");
    assert!(old[1000..].starts_with(&rest));
}

#[test]
fn reading_continues_after_a_seek() {
    let server = Server::start();
    let bytes = noise(20 << 20);
    let object = one(&server.file("/a", &bytes, "v1")).unwrap();
    let mut reader = object.reader();
    for at in [0, 100, 300_000, 299_000, 19 << 20, 5, (20 << 20) - 10, 2 << 20, (2 << 20) + 5000] {
        let mut some = [0; 10];
        assert_eq!(reader.seek(SeekFrom::Start(at)).unwrap(), at);
        reader.read_exact(&mut some).unwrap();
        assert_eq!(some, bytes[at as usize..at as usize + 10], "at {at}");
    }
    reader.seek(SeekFrom::End(5)).unwrap();
    assert_eq!(reader.read(&mut [0; 10]).unwrap(), 0);
}

#[test]
fn a_copy_has_the_ranges_in_their_places() {
    let server = Server::start();
    let bytes = noise(30 << 20);
    let object = one(&server.file("/a", &bytes, "v1")).unwrap();
    let (size, long) = (bytes.len() as u64, 10 << 20);
    let mut copy = object.copy([5..9, 1000..long, size - 8..size + 100]).unwrap();
    let mut read = Vec::new();
    copy.read_to_end(&mut read).unwrap();
    assert_eq!(read.len(), bytes.len());
    assert!(read[1000..long as usize] == bytes[1000..long as usize]);
    assert_eq!((&read[5..9], &read[9..100]), (&bytes[5..9], &[0; 91][..]));
    assert_eq!(read[read.len() - 8..], bytes[bytes.len() - 8..]);
}

#[test]
fn credentials_go_to_their_host_and_to_no_other() {
    let (first, second) = (Server::start(), Server::start());
    first.file("/there", b"text", "v1");
    second.file("/elsewhere", b"text", "v1");
    first.put("/here", Page::Redirect("/there".to_owned()));
    // The same address by another name counts as another host.
    let other = second.url.replace("127.0.0.1", "localhost");
    first.put("/away", Page::Redirect(format!("{other}/elsewhere")));
    let with = |path: &str| first.url.replace("http://", "http://me:s%20cret@") + path;
    for path in ["/here", "/away"] {
        let object = one(&with(path)).unwrap();
        assert_eq!(all(&object).unwrap(), b"text");
        assert!(!format!("{object:?}").contains("cret"), "{object:?}");
    }
    let basic = Some("Basic bWU6cyBjcmV0");
    for request in first.requests() {
        assert_eq!(request.headers.get("authorization").map(String::as_str), basic);
    }
    for request in second.requests() {
        assert_eq!(request.headers.get("authorization"), None, "{}", request.target);
    }
    assert_eq!(second.requests().len(), 2);
}

#[test]
fn a_signed_query_is_sent_but_never_printed() {
    let server = Server::start();
    let address = server.file("/a", b"text", "v1") + "?X-Amz-Signature=secret";
    let object = one(&address).unwrap();
    assert_eq!(all(&object).unwrap(), b"text");
    assert!(!object.name().contains("secret"), "{}", object.name());
    assert!(server.requests().iter().all(|it| it.target.ends_with("?X-Amz-Signature=secret")));
}
