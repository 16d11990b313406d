//! WARC, WET and ARC.

use hapax_corpus::{Content, Fact, Kind, ReadOptions, Reason, Timestamp, WarcId};

use crate::make::{Folder, gzip, read, read_well, response, warc, zstd};

fn three() -> Vec<Vec<u8>> {
    (0..3).map(|n| response(&format!("http://a.test/{n}"), &format!("<p>page {n}</p>"))).collect()
}

#[test]
fn a_warc_reads_the_same_with_any_compression() {
    let folder = Folder::new();
    let records = three();
    let per_record = |pack: fn(&[u8]) -> Vec<u8>| -> Vec<u8> {
        records.iter().flat_map(|record| pack(record)).collect()
    };
    let plain = records.concat();
    // A member boundary inside a record, as parallel compressors make them.
    let mut across = gzip(&plain[..200]);
    across.extend_from_slice(&gzip(&plain[200..]));
    let forms = [
        ("plain", plain.clone()),
        ("gzip a record", per_record(gzip)),
        ("gzip a file", gzip(&plain)),
        ("gzip across records", across),
        ("zstd a record", per_record(zstd)),
        ("zstd a file", zstd(&plain)),
    ];
    for (name, bytes) in forms {
        let all = read_well(&folder.file("x.warc", bytes));
        assert_eq!(all.ids(), ["http://a.test/0", "http://a.test/1", "http://a.test/2"], "{name}");
        assert_eq!(all.bodies()[2], "<p>page 2</p>", "{name}");
        let numbers: Vec<u64> = all.documents.iter().map(|it| it.place.number).collect();
        assert_eq!(numbers, [1, 2, 3], "{name}");
    }
}

#[test]
fn a_place_is_the_offset_of_the_gzip_member() {
    let folder = Folder::new();
    let members: Vec<Vec<u8>> = three().iter().map(|record| gzip(record)).collect();
    let all = read_well(&folder.file("x.warc.gz", members.concat()));
    let places: Vec<(u64, u64)> =
        all.documents.iter().map(|it| (it.place.member, it.place.within)).collect();
    let second = members[0].len() as u64;
    assert_eq!(places, [(0, 0), (second, 0), (second + members[1].len() as u64, 0)]);
}

#[test]
fn metadata_of_a_response_is_read() {
    let folder = Folder::new();
    let all = read_well(&folder.file("x.warc", response("http://a.test/", "<p>x</p>")));
    let document = &all.documents[0];
    assert_eq!(document.url.as_deref(), Some("http://a.test/"));
    assert_eq!(document.body.kind, Kind::Html);
    assert_eq!(document.content_type.as_deref(), Some("text/html; charset=utf-8"));
    assert_eq!(document.fetched, Timestamp::parse("2020-02-03T04:05:06Z"));
    assert_eq!(document.field("WARC-Type").as_deref(), Some("response"));
    let options = ReadOptions { warc_id: WarcId::Record, ..ReadOptions::default() };
    let all = read(&folder.file("x.warc", response("http://a.test/", "x")), options).unwrap();
    assert_eq!(all.ids(), ["urn:uuid:http://a.test/"]);
}

#[test]
fn redirects_and_revisits_are_facts_and_errors_are_passed() {
    let folder = Folder::new();
    let http = |status: &str, more: &str| format!("HTTP/1.1 {status}\r\n{more}\r\n");
    let moved = http("301 Moved", "location: ../new?q=1\r\n");
    let revisit = "WARC-Refers-To-Target-URI: <http://a.test/first>\r\n";
    let own = "WARC-Refers-To-Target-URI: http://a.test/own\r\n";
    let records = [
        warc("warcinfo", "", "", b"software: x\r\n"),
        warc("request", "http://a.test/", "", b"GET / HTTP/1.1\r\n\r\n"),
        warc("response", "http://a.test/old/page", "", moved.as_bytes()),
        warc("response", "http://a.test/gone", "", http("404 Not Found", "").as_bytes()),
        warc("response", "http://a.test/odd", "", http("302 Found", "").as_bytes()),
        warc("revisit", "http://a.test/copy", revisit, http("200 OK", "").as_bytes()),
        warc("revisit", "http://a.test/own", own, b""),
        warc(
            "revisit",
            "http://a.test/late",
            revisit,
            http("302 F", "Location: /to\r\n").as_bytes(),
        ),
        warc("continuation", "http://a.test/x", "", b"rest"),
    ];
    let path = folder.file("x.warc", records.concat());
    let all = read_well(&path);
    assert!(all.documents.is_empty());
    let pairs: Vec<(&str, &str)> = all.facts.iter().map(Fact::addresses).collect();
    assert_eq!(
        pairs,
        [
            ("http://a.test/old/page", "http://a.test/new?q=1"),
            ("http://a.test/copy", "http://a.test/first"),
            ("http://a.test/late", "http://a.test/to"),
        ]
    );
    assert!(matches!(all.facts[1], Fact::Revisit { .. }));
    assert!(matches!(all.facts[2], Fact::Redirect { .. }));
    assert_eq!(
        all.passed,
        [
            Reason::NotAPage,
            Reason::NotAPage,
            Reason::Status(404),
            Reason::Status(302),
            Reason::Revisit,
            Reason::Continuation,
        ]
    );
    let options = ReadOptions { keep_error_pages: true, ..ReadOptions::default() };
    assert_eq!(read(&path, options).unwrap().ids(), ["http://a.test/gone"]);
}

#[test]
fn wet_is_text_with_its_language() {
    let folder = Folder::new();
    let more = "Content-Type: text/plain\r\nWARC-Identified-Content-Language: deu\r\n";
    let record = warc("conversion", "http://a.test/", more, "Grüße".as_bytes());
    let all = read_well(&folder.file("x.warc.wet", record));
    assert!(matches!(&all.documents[0].body.content, Content::Str(text) if text == "Grüße"));
    assert_eq!(all.documents[0].body.kind, Kind::Text);
    assert_eq!(all.documents[0].language.as_deref(), Some("deu"));
}

#[test]
fn quirks_of_real_writers_are_read() {
    let folder = Folder::new();
    // LF alone, lower case, brackets, no HTTP header, extra newlines, a null date.
    let record = "\n\nWARC/0.18\nwarc-type: response\nWARC-Date: null\n\
                  warc-target-uri: <http://a.test/q>\ncontent-length: 11\n\
                  content-type: text/html\n\n<p>page</p>\n\n\n\n";
    let bytes = [record.as_bytes(), &response("http://a.test/z", "z")].concat();
    let all = read_well(&folder.file("x.warc", bytes));
    assert_eq!(all.ids(), ["http://a.test/q", "http://a.test/z"]);
    assert_eq!(all.bodies()[0], "<p>page</p>");
    assert_eq!(all.documents[0].fetched, None);
}

#[test]
fn arc_files_are_read_and_their_head_is_passed() {
    let folder = Folder::new();
    let head = "filedesc://x.arc.gz 0.0.0.0 20080619093439 text/plain 9\n1 0 Test\n\n";
    let page = "HTTP/1.1 200 OK\r\nContent-Type:text/html\r\nTransfer-Encoding:chunked\r\n\
                Content-Encoding:gzip\r\n\r\n<p>already decoded</p>";
    let moved = "HTTP/1.1 302 Found\r\nLocation: http://b.test/\r\n\r\n";
    let line = |url: &str, block: &str| {
        format!("{url} 10.0.0.1 20080509190241 text/html {}\n{block}\n", block.len())
    };
    let records =
        [head.to_owned(), line("http://a.test/a b", page), line("http://a.test/m", moved)];
    let plain = records.concat();
    let packed: Vec<u8> = records.iter().flat_map(|record| gzip(record.as_bytes())).collect();
    for bytes in [plain.as_bytes().to_vec(), packed, zstd(plain.as_bytes())] {
        let all = read_well(&folder.file("x.arc", bytes));
        assert_eq!(all.ids(), ["http://a.test/a b"]);
        assert_eq!(all.bodies(), ["<p>already decoded</p>"]);
        assert_eq!(all.documents[0].fetched, Timestamp::parse("2008-05-09T19:02:41Z"));
        assert_eq!(all.facts[0].addresses(), ("http://a.test/m", "http://b.test/"));
        assert_eq!(all.passed, [Reason::NotAPage]);
    }
}

#[test]
fn chunked_and_packed_bodies_are_decoded() {
    let folder = Folder::new();
    let packed = gzip(b"<p>deep inside</p>");
    let mut block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\
          Content-Encoding: gzip\r\n\r\n"
        .to_vec();
    for piece in packed.chunks(10) {
        block.extend_from_slice(format!("{:X}\r\n", piece.len()).as_bytes());
        block.extend_from_slice(piece);
        block.extend_from_slice(b"\r\n");
    }
    block.extend_from_slice(b"0\r\n\r\n");
    let record = warc("response", "http://a.test/", "", &block);
    assert_eq!(read_well(&folder.file("x.warc", record)).bodies(), ["<p>deep inside</p>"]);
}
