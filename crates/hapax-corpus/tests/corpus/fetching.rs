//! Every document can be read again by its place.

use hapax_corpus::{Content, Document, Format, Original, ReadOptions, Source};

use crate::make::{Folder, bzip2, gzip, read_all, response, words, xz, zstd};

/// Reads a corpus, and then every document again, last one first.
fn check(input: &str, options: ReadOptions) {
    let source = Source::open(&[input], options).unwrap();
    let all = read_all(&source).unwrap();
    assert!(!all.documents.is_empty());
    for document in all.documents.iter().rev() {
        let again = source.read_at(document.place).unwrap();
        assert_eq!(essence(document), essence(&again), "{input}");
    }
}

fn essence(it: &Document<'_>) -> String {
    let content = match &it.body.content {
        Content::Str(text) => format!("str {text}"),
        Content::Bytes(bytes) => format!("bytes {}", bytes.escape_ascii()),
    };
    let packed = match &it.original {
        Original::Warc(record) | Original::Arc(record) => record.packed,
        _ => None,
    };
    format!("{} {:?} {content} {:?} {:?} {packed:?}", it.id, it.url, it.place, it.body.kind)
}

#[test]
fn from_archives() {
    let folder = Folder::new();
    let records: Vec<Vec<u8>> =
        (0..30).map(|n| response(&format!("http://a.test/{n}"), &words(n, 200))).collect();
    let per_record: Vec<u8> = records.iter().flat_map(|it| gzip(it)).collect();
    let frames: Vec<u8> = records.iter().flat_map(|it| zstd(it)).collect();
    for bytes in [records.concat(), per_record, gzip(&records.concat()), frames] {
        check(&folder.file("x.warc", bytes), ReadOptions::default());
    }
}

#[test]
fn from_lines() {
    let folder = Folder::new();
    let text: String =
        (0..500).map(|n| format!("{{\"id\":{n},\"text\":\"{}\"}}\r\n", words(n, 9))).collect();
    let text = format!("\u{feff}{text}");
    let half = text.len() / 2;
    let two = [gzip(&text.as_bytes()[..half]), gzip(&text.as_bytes()[half..])].concat();
    let bytes = text.as_bytes();
    for packed in [bytes.to_vec(), gzip(bytes), zstd(bytes), bzip2(bytes), xz(bytes), two] {
        check(&folder.file("x.jsonl", packed), ReadOptions::default());
    }
    let options = ReadOptions { format: Some(Format::Lines), ..ReadOptions::default() };
    check(&folder.file("x.txt", words(1, 50).replace(' ', "\n")), options);
}

#[test]
fn from_files() {
    let folder = Folder::new();
    folder.file("a.html", "<p>a");
    let text = folder.file("b.txt", "b");
    check(&folder.root(), ReadOptions::default());
    check(&text, ReadOptions::default());
}

#[test]
fn a_place_that_is_gone_is_an_error() {
    let folder = Folder::new();
    let path = folder.file("x.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
    let source = Source::open(&[&path], ReadOptions::default()).unwrap();
    let place = read_all(&source).unwrap().documents[1].place;
    folder.file("x.jsonl", "{\"text\":\"a\"}\n");
    let error = source.read_at(place).unwrap_err().to_string();
    assert!(error.contains("shorter than when it was read"), "{error}");
}
