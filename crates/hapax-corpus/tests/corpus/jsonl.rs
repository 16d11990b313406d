//! JSONL and plain text.

use hapax_corpus::{Content, Fields, Format, Kind, ReadOptions, Reason, Source, Timestamp};

use crate::make::{Folder, bzip2, failure, gzip, read, read_all, read_well, skipping, xz, zstd};

#[test]
fn the_usual_names_are_found_and_html_wins_over_text() {
    let folder = Folder::new();
    let line = r#"{"url":"http://a.test/","content":"plain","html":"<p>\u00e9\n</p>","score":2,
        "date":"2021-01-02","lang":"fr","nested":{"id":"no"},"id":17}"#
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
