//! JSONL and plain text.

use hapax_corpus::{
    Batch, Content, Entry, Fields, Format, Kind, ReadOptions, Reason, Source, Timestamp,
};

use crate::make::{Folder, bzip2, failure, gzip, read, read_all, read_well, skipping, xz, zstd};

#[test]
fn the_usual_names_are_found_and_html_wins_over_text() {
    let folder = Folder::new();
    let line = r#"{"url":"http://a.test/","content":"plain","html":"<p>\u00e9\n</p>","score":2,
        "fetched":"2021-01-02","date":"1999-01-01","timestamp":3,"lang":"fr","nested":{"id":"no"},"id":17}"#
        .replace('\n', " ");
    let all = read_well(&folder.file("x.jsonl", line));
    let document = &all.documents[0];
    assert_eq!(document.id, "17");
    assert_eq!(document.url.as_deref(), Some("http://a.test/"));
    assert_eq!(document.body.kind, Kind::Html);
    assert_eq!(all.bodies(), ["<p>é\n</p>"]);
    assert_eq!(document.score, Some(2.0));
    assert_eq!(document.fetched, Timestamp::parse("2021-01-02"));
    assert_eq!(document.language.as_deref(), Some("fr"));
    assert_eq!(document.field("nested").as_deref(), Some(r#"{"id":"no"}"#));
}

#[test]
fn a_date_of_the_page_itself_is_not_the_time_of_the_crawl_unless_its_field_is_named() {
    let folder = Folder::new();
    let line = r#"{"text":"a","date":"1999-01-01","timestamp":"1999-01-02"}"#;
    let path = folder.file("x.jsonl", line);
    assert_eq!(read_well(&path).documents[0].fetched, None);
    let fields = Fields { fetched: Some("date".into()), ..Fields::default() };
    let named = read(&path, ReadOptions { fields, ..ReadOptions::default() }).unwrap();
    assert_eq!(named.documents[0].fetched, Timestamp::parse("1999-01-01"));
}

#[test]
fn a_row_with_a_day_that_does_not_exist_is_an_error() {
    let folder = Folder::new();
    let lines = "{\"text\":\"a\",\"fetched\":\"2026-02-28\"}\n{\"text\":\"b\",\"fetched\":\"2026-02-30\"}\n\
        {\"text\":\"c\",\"fetched\":\"unknown\"}\n";
    let path = folder.file("x.jsonl", lines);
    let error = failure(&path, ReadOptions::default());
    assert!(error.contains("line 2: \"2026-02-30\" is not a time"), "{error}");
    let all = read(&path, skipping()).unwrap();
    assert_eq!((all.bodies(), all.bad.len()), (vec!["a".to_owned(), "c".to_owned()], 1));
}

/// In two bytes each; their errors would take hundreds of megabytes.
#[test]
fn many_bad_lines_are_counted_and_the_first_of_a_kind_shown() {
    let folder = Folder::new();
    let bad = "x\n".repeat(700_000);
    let lines = format!("{{\"text\":\"a\"}}\n{bad}{{\"words\":1}}\n{{\"text\":\"b\"}}\n");
    let source =
        Source::open(&[folder.file("x.jsonl.gz", gzip(lines.as_bytes()))], skipping()).unwrap();
    let (mut shown, mut counted, mut most, mut bodies) = (0, 0, 0, 0);
    for mut batch in source.batches() {
        let before = shown;
        for entry in batch.entries() {
            match entry.unwrap() {
                Entry::Bad(bad) => {
                    shown += 1;
                    counted += bad.records;
                    let said = bad.to_string();
                    assert_eq!(
                        bad.records > 1,
                        said.contains(" later records are bad in this way"),
                        "{said}"
                    );
                }
                Entry::Document(_) => bodies += 1,
                other => panic!("{other:?}"),
            }
        }
        most = most.max(shown - before);
    }
    assert_eq!((counted, bodies), (700_001, 2));
    assert!(most <= 2 * (Batch::BAD_SHOWN + 1), "{most} of a batch are shown");
}

/// As a table would store it: the last bit may decide which copy is kept.
#[test]
fn a_score_is_read_to_the_last_bit() {
    let folder = Folder::new();
    for score in ["41e300", "-9.8765432109876543e-123", "0.1000000000000000055", "5e-324"] {
        let all = read_well(&folder.file("x.jsonl", format!(r#"{{"text":"a","score":{score}}}"#)));
        assert_eq!(all.documents[0].score, score.parse().ok(), "{score}");
    }
}

#[test]
fn named_fields_replace_the_usual_ones() {
    let folder = Folder::new();
    let path = folder.file("x.jsonl", r#"{"id":"a","key":"b","html":"<p>","words":"text"}"#);
    let fields = Fields { id: Some("key".into()), text: Some("words".into()), ..Fields::default() };
    let options = ReadOptions { fields, ..ReadOptions::default() };
    let all = read(&path, options).unwrap();
    assert_eq!((all.ids(), all.bodies()), (vec!["b"], vec!["text".to_owned()]));
    let fields = Fields { text: Some("missing".into()), ..Fields::default() };
    let error = failure(&path, ReadOptions { fields, ..ReadOptions::default() });
    assert!(error.contains("line 1") && error.contains("missing"), "{error}");
    assert!(error.contains("html, id, key, words"), "{error}");
}

#[test]
fn a_document_without_an_id_is_named_by_its_url_or_line() {
    let folder = Folder::new();
    let path = folder.file("x.jsonl", "{\"text\":\"a\",\"url\":\"u:1\"}\n{\"text\":\"b\"}\n");
    assert_eq!(read_well(&path).ids(), ["u:1", &format!("{path}:2")]);
}

#[test]
fn a_malformed_line_is_reported_with_its_number_and_loses_only_itself() {
    let folder = Folder::new();
    let text = [
        r#"{"text":"a"}"#,
        "",
        r#"{"text":"b""#,
        "[1]",
        r#"{"text":5}"#,
        r#"{"text":null}"#,
        r#"{"id":7}"#,
        r#"{"text":"c"} x"#,
        r#"{"text":"d"}"#,
    ]
    .join("\n");
    let path = folder.file("x.jsonl", text);
    let error = failure(&path, ReadOptions::default());
    assert!(error.contains("x.jsonl, line 3, column"), "{error}");
    let all = read(&path, skipping()).unwrap();
    assert_eq!(all.bodies(), ["a", "d"]);
    assert_eq!(all.passed, [Reason::Blank, Reason::NoBody]);
    for (line, bad) in [3, 4, 5, 7, 8].iter().zip(&all.bad) {
        assert!(bad.contains(&format!("line {line}")), "{bad}");
    }
    assert_eq!(all.bad.len(), 5);
}

#[test]
fn byte_order_marks_crlf_and_half_surrogates_do_no_harm() {
    let folder = Folder::new();
    let text = "\u{feff}{\"text\":\"a\"}\r\n{\"text\":\"b\\ud83dc\"}\r\n";
    let all = read_well(&folder.file("x.jsonl", text));
    assert_eq!(all.bodies()[0], "a");
    let half = &all.bodies()[1];
    assert!(half.starts_with('b') && half.ends_with('c') && half.contains('\u{fffd}'), "{half}");
}

#[test]
fn bytes_that_are_not_utf_8_are_an_error_with_a_column() {
    let folder = Folder::new();
    let error = failure(&folder.file("x.jsonl", b"{\"text\":\"\xff\"}\n"), ReadOptions::default());
    assert!(error.contains("line 1, column 10: not valid UTF-8"), "{error}");
}

#[test]
fn every_compression_is_recognized_by_its_bytes() {
    let folder = Folder::new();
    let text: String = (0..1000).map(|n| format!("{{\"text\":\"line {n}\"}}\n")).collect();
    for pack in [gzip, zstd, bzip2, xz] {
        // The name has no information.
        let all = read_well(&folder.file("x.data", pack(text.as_bytes())));
        assert_eq!(all.bodies().last().map(String::as_str), Some("line 999"));
        assert_eq!(all.documents.len(), 1000);
    }
    for pack in [bzip2, xz] {
        let packed = pack(text.as_bytes());
        let path = folder.file("x.data", &packed[..packed.len() / 2]);
        assert!(read(&path, ReadOptions::default()).is_err());
    }
}

#[test]
fn text_is_a_document_a_file_or_a_line() {
    let folder = Folder::new();
    let path = folder.file("x.txt", "first\r\n\nsecond\nb\u{e9}ton");
    let whole = read_well(&path);
    assert_eq!(whole.ids(), [path.as_str()]);
    assert!(matches!(whole.documents[0].body.content, Content::Str(_)));
    let options = ReadOptions { format: Some(Format::Lines), ..ReadOptions::default() };
    let lines = read(&path, options).unwrap();
    assert_eq!(lines.bodies(), ["first", "second", "béton"]);
    assert_eq!(lines.ids()[1], format!("{path}:3"));
}

#[test]
fn a_stream_is_read_once() {
    let text = b"{\"id\":\"1\",\"text\":\"a\"}\n".repeat(3);
    let source = Source::from_reader(
        "standard input",
        std::io::Cursor::new(gzip(&text)),
        ReadOptions::default(),
    );
    let all = read_all(&source).unwrap();
    assert_eq!(all.documents.len(), 3);
    let again = read_all(&source).unwrap_err().to_string();
    assert!(again.contains("standard input") && again.contains("only once"), "{again}");
    assert!(source.read_at(all.documents[0].place).is_err());
}
