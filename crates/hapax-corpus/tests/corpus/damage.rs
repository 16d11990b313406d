//! Files that are truncated, overwritten or have another format than stated.

use hapax_corpus::{Format, ReadOptions, Source};

use crate::make::{Folder, failure, gzip, read, response, skipping, words, zstd};

fn members(pack: fn(&[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    (0..20).map(|n| pack(&response(&format!("http://a.test/{n}"), &words(n, 300)))).collect()
}

fn url(n: usize) -> String {
    format!("http://a.test/{n}")
}

#[test]
fn a_cut_off_gzip_member_is_named_by_its_offset_and_costs_only_itself() {
    let folder = Folder::new();
    let members = members(gzip);
    let whole = members.concat();
    let path = folder.file("x.warc.gz", &whole[..whole.len() - 30]);
    let last = whole.len() - members[19].len();
    let error = failure(&path, ReadOptions::default());
    assert!(error.contains("x.warc.gz"), "{error}");
    assert!(error.contains(&format!("member at byte {last}")), "{error}");
    assert!(error.contains("ends inside a gzip member"), "{error}");
    let all = read(&path, skipping()).unwrap();
    assert_eq!(all.documents.len(), 19);
    assert_eq!(all.bad.len(), 1);
}

#[test]
fn one_overwritten_member_costs_one_document_wherever_it_is_hit() {
    let folder = Folder::new();
    for (pack, start) in [(gzip as fn(&[u8]) -> Vec<u8>, 10), (zstd, 12)] {
        let members = members(pack);
        let before: usize = members[..7].iter().map(Vec::len).sum();
        for (at, length) in [(start, 4), (members[7].len() / 2, 40), (members[7].len() - 8, 4)] {
            let mut bytes = members.concat();
            for byte in &mut bytes[before + at..before + at + length] {
                *byte = !*byte;
            }
            let all = read(&folder.file("x.warc.gz", &bytes), skipping()).unwrap();
            assert_eq!(all.bad.len(), 1, "{:?}", all.bad);
            assert!(all.bad[0].contains(&format!("byte {before}")), "{}", all.bad[0]);
            let expected: Vec<String> = (0..20).filter(|n| *n != 7).map(url).collect();
            assert_eq!(all.ids(), expected, "hit at {at}");
        }
    }
}

#[test]
fn the_documents_before_the_damage_come_before_the_error() {
    let folder = Folder::new();
    let members = members(gzip);
    let mut bytes = members.concat();
    let before: usize = members[..7].iter().map(Vec::len).sum();
    bytes[before + 60] ^= 0xff;
    let source = Source::open(&[folder.file("x.warc.gz", &bytes)], ReadOptions::default()).unwrap();
    let mut documents = 0;
    let mut errors = 0;
    for mut batch in source.batches() {
        for document in batch.documents() {
            assert_eq!(errors, 0, "nothing follows an error");
            documents += usize::from(document.is_ok());
            errors += usize::from(document.is_err());
        }
    }
    assert_eq!((documents, errors), (7, 1));
}

#[test]
fn a_wrong_length_is_found_again_at_the_next_record() {
    let folder = Folder::new();
    for wrong in ["7", "999999", "-4", "many"] {
        let mut records: Vec<Vec<u8>> =
            (0..5).map(|n| response(&url(n), &words(n as u64, 50))).collect();
        let text = String::from_utf8(records[2].clone()).unwrap();
        let start = text.find("Content-Length: ").unwrap() + 16;
        let end = start + text[start..].find('\r').unwrap();
        records[2] = format!("{}{wrong}{}", &text[..start], &text[end..]).into_bytes();
        let all = read(&folder.file("x.warc", records.concat()), skipping()).unwrap();
        assert_eq!(all.bad.len(), 1, "{wrong}: {:?}", all.bad);
        for n in [0, 1, 3, 4] {
            assert!(all.ids().contains(&url(n).as_str()), "{wrong}: {:?}", all.ids());
        }
    }
}

#[test]
fn damage_in_an_arc_file_is_passed_line_by_line() {
    let folder = Folder::new();
    let line = |n: usize, length: usize, text: &str| {
        format!("http://a.test/{n} 10.0.0.1 20080509190241 text/html {length}\n{text}\n")
    };
    let head = "filedesc://x.arc 0.0.0.0 20080619093439 text/plain 9\n1 0 Test\n\n".to_owned();
    let page = "HTTP/1.0 200 OK\n\npage";
    let records = [head, line(0, page.len(), page), line(1, 3, page), line(2, page.len(), page)];
    let all = read(&folder.file("x.arc", records.concat()), skipping()).unwrap();
    assert_eq!(all.ids().last(), Some(&"http://a.test/2"));
    assert_eq!(all.bad.len(), 1, "{:?}", all.bad);
}

#[test]
fn a_file_that_is_not_a_warc_says_what_it_looks_like() {
    let folder = Folder::new();
    let options = || ReadOptions { format: Some(Format::Warc), ..ReadOptions::default() };
    let looks = |bytes: &[u8]| failure(&folder.file("x.warc.gz", bytes), options());
    assert!(looks(b"{\"text\": \"x\"}\n").contains("it looks like JSONL"));
    assert!(looks(&gzip(b"<!doctype html><p>")).contains("an HTML page inside gzip"));
    assert!(looks(b"").contains("an empty file"));
    assert!(looks(b"\x89PNG\r\n\x1a\n\0\0\0").contains("begins with \"\\x89PNG"));
    assert!(looks(b"PAR1....").contains("a Parquet file"));
    let cut = &gzip(b"WARC/1.0\r\n")[..9];
    assert!(looks(cut).contains("gzip"), "{}", looks(cut));
}

#[test]
fn zeros_behind_the_last_member_are_padding_and_other_bytes_are_not() {
    let folder = Folder::new();
    let mut bytes = gzip(&response("http://a.test/", "x"));
    bytes.extend_from_slice(&[0; 1000]);
    assert_eq!(read(&folder.file("x.gz", &bytes), ReadOptions::default()).unwrap().ids().len(), 1);
    bytes.extend_from_slice(b"garbage");
    let all = read(&folder.file("x.gz", &bytes), skipping()).unwrap();
    assert_eq!((all.documents.len(), all.bad.len()), (1, 1), "{:?}", all.bad);
}

#[test]
fn a_jsonl_file_continues_after_a_damaged_member() {
    let folder = Folder::new();
    let lines = |from: usize| -> String {
        (from..from + 50)
            .map(|n| format!("{{\"id\":\"{n}\",\"text\":\"{}\"}}\n", words(n as u64, 20)))
            .collect()
    };
    let members =
        [gzip(lines(0).as_bytes()), gzip(lines(50).as_bytes()), gzip(lines(100).as_bytes())];
    let mut bytes = members.concat();
    bytes[members[0].len() + 40] ^= 0x55;
    let all = read(&folder.file("x.jsonl.gz", &bytes), skipping()).unwrap();
    assert!(all.ids().starts_with(&["0", "1"]) && all.ids().ends_with(&["148", "149"]));
    assert!(all.documents.len() >= 100);
    assert!(!all.bad.is_empty());
}

#[test]
fn a_long_member_that_is_cut_off_gives_what_precedes_the_cut() {
    let folder = Folder::new();
    let records: Vec<u8> =
        (0..2000).flat_map(|n| response(&url(n), &words(n as u64, 300))).collect();
    let whole = gzip(&records);
    let all = read(&folder.file("x.warc.gz", &whole[..whole.len() / 2]), skipping()).unwrap();
    assert!((900..1100).contains(&all.documents.len()), "{}", all.documents.len());
    assert_eq!(all.bad.len(), 1);
}
