//! Input that unpacks or goes on for ever.

use hapax_corpus::{Format, Limits, ReadOptions};

use crate::make::{Folder, failure, gzip, read, response, warc, zstd};

fn limited(limits: Limits) -> ReadOptions {
    ReadOptions { limits, ..ReadOptions::default() }
}

fn limited_skipping(limits: Limits) -> ReadOptions {
    ReadOptions { limits, skip_bad: true, ..ReadOptions::default() }
}

#[test]
fn a_long_line_is_refused_or_passed_and_the_lines_keep_their_numbers() {
    let folder = Folder::new();
    let long = format!("{{\"id\":\"long\",\"text\":\"{}\"}}", "x".repeat(3 << 20));
    let text =
        format!("{{\"id\":\"a\",\"text\":\"a\"}}\n{long}\n{{\"id\":\"b\",\"text\":\"b\"}}\n{{\n");
    for bytes in [text.clone().into_bytes(), gzip(text.as_bytes()), zstd(text.as_bytes())] {
        let path = folder.file("x.jsonl", bytes);
        let limits = || Limits { line: 1 << 20, batch: 64 << 10, ..Limits::default() };
        let error = failure(&path, limited(limits()));
        assert!(error.contains("line 2") && error.contains("limits.line"), "{error}");
        let all = read(&path, limited_skipping(limits())).unwrap();
        assert_eq!(all.ids(), ["a", "b"]);
        assert_eq!(all.documents[1].place.number, 3);
        assert!(all.bad[1].contains("line 4, column 1"), "{:?}", all.bad);
    }
}

#[test]
fn a_long_record_is_passed_without_being_held() {
    let folder = Folder::new();
    let zeros = vec![b'0'; 5 << 20];
    let records = [
        response("http://a.test/0", "zero"),
        warc("resource", "http://a.test/1", "", &zeros),
        response("http://a.test/2", "two"),
    ];
    let per_record: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    for bytes in [records.concat(), per_record, zstd(&records.concat())] {
        let path = folder.file("x.warc", bytes);
        let limits = || Limits { record: 1 << 20, ..Limits::default() };
        let error = failure(&path, limited(limits()));
        assert!(error.contains("limits.record") && error.contains("1048576"), "{error}");
        let all = read(&path, limited_skipping(limits())).unwrap();
        assert_eq!(all.ids(), ["http://a.test/0", "http://a.test/2"]);
        assert_eq!(all.bad.len(), 1);
    }
}

#[test]
fn a_record_that_claims_more_than_there_is_is_given_up_early() {
    let folder = Folder::new();
    let claim = "WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 18446744073709551615\r\n\r\n";
    let all = read(&folder.file("x.warc", claim), limited_skipping(Limits::default())).unwrap();
    assert_eq!(all.bad.len(), 2, "{:?}", all.bad);
    assert!(all.bad[1].contains("limits.passed"), "{:?}", all.bad);
}

#[test]
fn a_header_without_end_is_refused() {
    let folder = Folder::new();
    let endless = format!("WARC/1.0\r\n{}", "X-More: and more\r\n".repeat(200_000));
    let error = failure(&folder.file("x.warc", endless), ReadOptions::default());
    assert!(error.contains("limits.header"), "{error}");
}

#[test]
fn a_body_that_unpacks_too_far_is_refused_and_the_next_is_read() {
    let folder = Folder::new();
    let mut block = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
    block.extend_from_slice(&gzip(&vec![b' '; 8 << 20]));
    let records =
        [warc("response", "http://a.test/bomb", "", &block), response("http://a.test/1", "one")];
    let path = folder.file("x.warc", records.concat());
    let limits = || Limits { body: 1 << 20, ..Limits::default() };
    assert!(failure(&path, limited(limits())).contains("limits.body"));
    let all = read(&path, limited_skipping(limits())).unwrap();
    assert_eq!(all.ids(), ["http://a.test/1"]);
}

#[test]
fn a_file_that_unpacks_without_end_is_given_up() {
    let folder = Folder::new();
    let bytes = zstd(&vec![b'\n'; 40 << 20]);
    assert!(bytes.len() < 10_000, "it is a bomb");
    let path = folder.file("x.txt.zst", bytes);
    let options = |skip_bad| ReadOptions {
        format: Some(Format::Lines),
        limits: Limits { unpacked: 4 << 20, ..Limits::default() },
        skip_bad,
        ..ReadOptions::default()
    };
    assert!(failure(&path, options(false)).contains("limits.unpacked"));
    let all = read(&path, options(true)).unwrap();
    assert_eq!(all.bad.len(), 1);
    assert!(all.passed.len() < 6 << 20);
}

#[test]
fn a_document_file_has_a_limit_too() {
    let folder = Folder::new();
    let path = folder.file("x.html.gz", gzip(&vec![b'x'; 2 << 20]));
    let error = failure(&path, limited(Limits { record: 1 << 20, ..Limits::default() }));
    assert!(error.contains("limits.record"), "{error}");
}
