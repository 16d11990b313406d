//! Corpora: WARC, JSONL and Parquet, compressed or not, valid or damaged.
//!
//! For any bytes, reading ends after bounded work and gives at most as many entries as bytes; bodies stay within
//! their limits; and every document that was read can be written and read back equal.

use crate::damage::{self, damaged};
use crate::{Target, choice, scratch};
use hapax_corpus::{Document, Entry, Format, Limits, ReadOptions, Source, write};
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::LazyLock;

pub const WARC: Target = Target {
    name: "warc",
    about: "reading ends, within limits, and what is read can be written and read again",
    run: warc,
    seeds: warc_seeds,
    pieces: &[
        "WARC/1.0\r\n",
        "WARC/1.1\r\n",
        "WARC-Type: response\r\n",
        "WARC-Type: revisit\r\n",
        "WARC-Type: resource\r\n",
        "WARC-Type: conversion\r\n",
        "Content-Length: ",
        "\r\n\r\n",
        "WARC-Target-URI: http://a.test/\r\n",
        "WARC-Date: 2020-02-03T04:05:06Z\r\n",
        "HTTP/1.1 200 OK\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Content-Encoding: gzip\r\n",
        "Content-Encoding: br\r\n",
        "Content-Encoding: deflate\r\n",
        "0\r\n\r\n",
        "Location: /x\r\n",
        "WARC-Refers-To-Target-URI: ",
        "18446744073709551615",
        "Content-Type: text/html\r\n",
        "filedesc://x 0.0.0.0 20080509190241 text/plain 0\n",
    ],
    rounds: 24_000,
};

pub const JSONL: Target = Target {
    name: "jsonl",
    about: "reading ends, within limits, and what is read can be written and read again",
    run: jsonl,
    seeds: jsonl_seeds,
    pieces: &[
        "{\"id\":",
        "\"text\":",
        "\"html\":",
        "\"url\":",
        "\"score\":",
        "\"fetched\":",
        "}\n",
        "\\u0000",
        "\\ud800",
        "null",
        "1e999",
        "-0",
        "[[[[",
        "\"\\\"",
        "\u{feff}",
        "\r\n",
        "\"date\":\"2020-",
    ],
    rounds: 40_000,
};

pub const PARQUET: Target = Target {
    name: "parquet",
    about: "a damaged Parquet file is refused or read within limits, whatever its footer says",
    run: parquet,
    seeds: parquet_seeds,
    pieces: &["PAR1", "ARROW:schema", "text", "url"],
    rounds: 9000,
};

const NAME: &str = "fuzzed";
const LIMIT: usize = 64 << 10;

fn options(format: Option<Format>, skip_bad: bool) -> ReadOptions {
    let limits = Limits {
        header: 4096,
        record: LIMIT,
        line: LIMIT,
        body: LIMIT,
        unpacked: 4 << 20,
        passed: 1 << 20,
        batch: 300,
    };
    ReadOptions { format, skip_bad, limits, ..ReadOptions::default() }
}

/// The documents, and the number of all entries.
fn documents(source: &Source) -> (Vec<Document<'static>>, usize) {
    let (mut documents, mut entries) = (Vec::new(), 0);
    for mut batch in source.batches() {
        for entry in batch.entries() {
            entries += 1;
            match entry {
                Ok(Entry::Document(document)) => documents.push(document.into_owned()),
                Ok(_) => {}
                Err(_) => return (documents, entries),
            }
        }
    }
    (documents, entries)
}

fn check(documents: &[Document<'_>]) {
    for document in documents {
        assert!(document.body.content.as_bytes().len() <= LIMIT, "a body beyond its limit");
    }
}

/// Writes documents and reads them back.
fn round_trip(documents: &[Document<'_>], name: &str) {
    let folder = scratch();
    let path = folder.path().join(name);
    let mut writer = write::create(&path, None).unwrap();
    for document in documents {
        writer.write(document).unwrap();
    }
    let written = writer.finish().unwrap();
    assert_eq!(written.documents, documents.len() as u64);
    let source = Source::open(&[path.to_str().unwrap()], ReadOptions::default()).unwrap();
    let (again, _) = self::documents(&source);
    assert_eq!(again.len(), documents.len(), "documents written and not read again");
    for (old, new) in documents.iter().zip(&again) {
        let archive = name.ends_with("warc");
        // Records of an archive are copied verbatim; generated ones have a one-line address.
        let same = |old: &str, new: &str| old == new || archive && one_line(old) == new;
        // A document without a name is named after its file.
        let kept = old.id.starts_with(NAME) || same(&old.id, &new.id);
        assert!(kept, "{:?} became {:?}", old.id, new.id);
        // Every record of an archive has an address.
        let kept = match &old.url {
            Some(url) => new.url.as_deref().is_some_and(|new| same(url, new)),
            None => archive || new.url.is_none(),
        };
        assert!(kept, "{:?} became {:?}", old.url, new.url);
        let (old, new) = (&old.body.content, &new.body.content);
        assert_eq!(old.as_bytes(), new.as_bytes(), "a body came back otherwise");
    }
}

/// A text for one line of a header, which must not start another line.
fn one_line(text: &str) -> String {
    let sign = |sign: char| match sign.is_control() {
        true => format!("%{:02X}", sign as u32),
        false => sign.to_string(),
    };
    text.chars().map(sign).collect::<String>().trim().to_owned()
}

fn compressed(how: usize, bytes: &[u8]) -> Vec<u8> {
    match how {
        1 => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        2 => zstd::bulk::compress(bytes, 1).unwrap(),
        _ => bytes.to_vec(),
    }
}

fn read(bytes: Vec<u8>, format: Option<Format>, skip_bad: bool) -> Vec<Document<'static>> {
    let most = bytes.len();
    let source = Source::from_reader(NAME, Cursor::new(bytes), options(format, skip_bad));
    let (documents, entries) = documents(&source);
    check(&documents);
    // Compressed bytes may expand, up to the limit of decompression.
    assert!(entries <= most.max(4096) * 1100 + 2);
    documents
}

/// The first byte chooses compression, format and handling of damage.
pub fn warc(data: &[u8]) {
    let (first, bytes) = choice(data);
    let format = [None, Some(Format::Warc), Some(Format::Arc), Some(Format::Warc)][first / 4 % 4];
    let whole = read(compressed(first % 4, bytes), format, first & 16 == 0);
    if first & 32 != 0 && !whole.is_empty() {
        round_trip(&whole, "again.warc");
    }
}

fn record(kind: &str, more: &str, block: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://a.test/{kind}\r\n\
         WARC-Date: 2020-02-03T04:05:06Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n{more}\
         Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

fn warc_seeds() -> Vec<Vec<u8>> {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>one two";
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let moved = "HTTP/1.1 301 Moved\r\nLocation: /there\r\n\r\n";
    let revisit = "WARC-Refers-To-Target-URI: http://a.test/response\r\n";
    let texts = [
        record("response", "Content-Type: application/http\r\n", page),
        record("response", "Content-Type: application/http\r\n", chunks)
            + &record("response", "", moved),
        record("warcinfo", "", "software: x\r\n") + &record("conversion", "", "plain text"),
        record("revisit", revisit, "HTTP/1.1 200 OK\r\n\r\n") + &record("resource", "", "<p>x"),
        "filedesc://x.arc 0.0.0.0 20080619093439 text/plain 9\n1 0 Test\n\n\
         http://a.test/ 10.0.0.1 20080509190241 text/html 21\nHTTP/1.0 200 OK\n\npage\n"
            .to_owned(),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut seeds = crate::chosen(10, &texts);
    seeds.extend(texts.iter().map(|text| [&[32 + 4], text.as_bytes()].concat()));
    let body = compressed(1, b"<p>packed inside");
    let mut block = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
    block.extend(&body);
    let head = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/z\r\nContent-Length: {}\r\n\r\n",
        block.len()
    );
    seeds.push([&[4], head.as_bytes(), &block, b"\r\n\r\n"].concat());
    seeds
}

/// The first byte chooses compression and handling of damage.
pub fn jsonl(data: &[u8]) {
    let (first, bytes) = choice(data);
    let format = if first & 4 == 0 { Some(Format::Jsonl) } else { None };
    let documents = read(compressed(first % 4, bytes), format, first & 8 == 0);
    if first & 16 != 0 && !documents.is_empty() && format.is_some() {
        round_trip(&documents, "again.jsonl");
    }
    if first & 32 != 0 && !documents.is_empty() && format.is_some() {
        round_trip(&documents, "again.parquet");
    }
}

fn jsonl_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "{\"id\":\"a\",\"text\":\"one two\",\"url\":\"http://a.test/\",\"score\":0.5}\n{\"text\":\"x\"}\n",
        "{\"html\":\"<p>x\",\"date\":\"2020-02-03T04:05:06Z\",\"language\":\"de\"}\r\n\r\n{\"text\":null}",
        "{\"text\":\"\\u00e9\\ud83d\\ude00\\n\",\"meta\":{\"a\":[1,2,{\"b\":null}]},\"id\":7}\n",
        "{\"text\":\"x\"\n[]\n\"text\"\n{\"text\":{\"deep\":[[[[]]]]}}\n",
    ];
    let mut seeds = crate::chosen(6, &texts);
    seeds.extend(texts.iter().map(|text| [&[16], text.as_bytes()].concat()));
    seeds.extend(texts.iter().map(|text| [&[32], text.as_bytes()].concat()));
    seeds
}

static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = scratch();
    let path = folder.path().join("sound.parquet");
    let lines = "{\"id\":\"a\",\"text\":\"one two three\",\"url\":\"http://a.test/\",\"score\":0.5}\n\
                 {\"id\":\"b\",\"text\":\"four\",\"url\":null,\"language\":\"en\"}\n";
    let bytes = lines.as_bytes().to_vec();
    let source =
        Source::from_reader("lines", Cursor::new(bytes), options(Some(Format::Jsonl), false));
    let mut writer = write::create(&path, None).unwrap();
    for document in documents(&source).0 {
        writer.write(&document).unwrap();
    }
    writer.finish().unwrap();
    std::fs::read(&path).unwrap()
});

fn read_parquet(path: &Path, skip_bad: bool) -> Vec<Document<'static>> {
    let Ok(source) =
        Source::open(&[path.to_str().unwrap()], options(Some(Format::Parquet), skip_bad))
    else {
        return Vec::new();
    };
    documents(&source).0
}

/// The first byte chooses whether the rest is a file, a footer, or changes to a valid file.
pub fn parquet(data: &[u8]) {
    let (first, rest) = choice(data);
    let bytes = match first % 3 {
        0 => rest.to_vec(),
        1 => damaged(&SOUND, rest),
        _ => {
            let length = (rest.len() as u32).to_le_bytes();
            [&SOUND[..SOUND.len() / 2], rest, &length, b"PAR1"].concat()
        }
    };
    let folder = scratch();
    let path = folder.path().join("x.parquet");
    std::fs::write(&path, bytes).unwrap();
    check(&read_parquet(&path, first & 4 == 0));
}

fn parquet_seeds() -> Vec<Vec<u8>> {
    let mut seeds = damage::seeds(2);
    seeds.push([&[0], &SOUND[..]].concat());
    let footer = damage::word(&SOUND, SOUND.len() - 8) as u32 as usize;
    let start = SOUND.len() - 8 - footer;
    seeds.push([&[2], &SOUND[start..SOUND.len() - 8]].concat());
    seeds
}
