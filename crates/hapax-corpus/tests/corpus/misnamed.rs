//! Files with misleading names, fields that no record has, and empty files.

use std::num::NonZero;

use hapax_corpus::{Format, Kind, ReadOptions, Source};

use crate::make::{Folder, failure, gzip, read, read_well, response, skipping};
use crate::tables::table;

fn utf_16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

fn named(format: Format) -> ReadOptions {
    ReadOptions { format: Some(format), ..ReadOptions::default() }
}

#[test]
fn bytes_that_contradict_the_name_are_an_error_and_not_one_long_text() {
    let folder = Folder::new();
    let line = "{\"text\":\"a\"}\n";
    for (name, bytes, message) in [
        ("x.parquet", b"some words".to_vec(), "is not a Parquet file: it looks like a text"),
        ("x.warc", b"some words".to_vec(), "is not a WARC file: it looks like a text"),
        ("x.warc.gz", b"some words".to_vec(), "is not a WARC file: it looks like a text"),
        ("y.warc.gz", gzip(b"words"), "is not a WARC file: it looks like a text inside gzip"),
        ("x.wet", b"<html>404".to_vec(), "is not a WARC file: it looks like an HTML page"),
        ("x.arc", b"\0\x01\x02".to_vec(), "is not an ARC file: it looks like something that"),
        ("x.jsonl", b"<!doctype html>".to_vec(), "is not JSONL: it looks like an HTML page"),
        ("y.jsonl", utf_16(line), "it is UTF-16"),
        ("y.jsonl.gz", gzip(&utf_16(line)), "it is UTF-16"),
        ("x", utf_16(line), "it is UTF-16"),
        ("x.json", format!("[\n  {line}]").into_bytes(), "`jq -c '.[]'`"),
        ("z.jsonl", format!("[{line}]").into_bytes(), "`jq -c '.[]'`"),
        ("array", format!("[{line}]").into_bytes(), "`jq -c '.[]'`"),
        ("x.csv", b"id,text\n1,a\n".to_vec(), "CSV and TSV are not read"),
        ("x.tsv.gz", gzip(b"id\ttext\n1\ta\n"), "CSV and TSV are not read"),
    ] {
        let path = folder.file(name, bytes);
        let error = failure(&path, ReadOptions::default());
        assert!(error.starts_with(&path) && error.contains(message), "{error}");
        let skipped = read(&path, skipping()).unwrap();
        assert_eq!((skipped.documents.len(), skipped.bad.len()), (0, 1), "{name}");
    }
}

#[test]
fn a_stated_format_is_used() {
    let folder = Folder::new();
    let table = folder.file("x.csv", "id,text\n1,a\n");
    assert_eq!(read(&table, named(Format::Lines)).unwrap().bodies(), ["id,text", "1,a"]);
    assert_eq!(read(&table, named(Format::Text)).unwrap().documents.len(), 1);
    let page = folder.file("x.warc", "<html>a");
    assert_eq!(read(&page, named(Format::Html)).unwrap().bodies(), ["<html>a"]);
}

#[test]
fn bytes_that_cannot_be_mistaken_win_over_any_name() {
    let folder = Folder::new();
    let archive = response("http://a.test/", "w");
    assert_eq!(read_well(&folder.file("x.jsonl", &archive)).ids(), ["http://a.test/"]);
    assert_eq!(read_well(&folder.file("x.parquet", "{\"text\":\"a\"}")).bodies(), ["a"]);
    let text = folder.file("x.txt", "[{\"not\": \"a corpus\"}]");
    assert_eq!(read_well(&text).documents.len(), 1);
    assert_eq!(read_well(&folder.file("y.txt", utf_16("words"))).documents.len(), 1);
}

#[test]
fn a_broken_first_line_is_a_broken_line() {
    let folder = Folder::new();
    for name in ["x.jsonl", "x.ndjson", "x.json"] {
        let path = folder.file(name, "junk\n{\"text\":\"a\"}\n");
        let error = failure(&path, ReadOptions::default());
        assert!(error.contains("line 1, column 1: "), "{error}");
        let all = read(&path, skipping()).unwrap();
        assert_eq!((all.bodies(), all.bad.len()), (vec!["a".to_owned()], 1));
    }
}

#[test]
fn a_file_without_a_byte_holds_no_document_unless_it_is_a_page() {
    let folder = Folder::new();
    for name in ["x.warc.gz", "x.parquet", "x.jsonl", "x.json", "x.csv", "x.arc", "x"] {
        let all = read_well(&folder.file(name, ""));
        assert_eq!((all.documents.len(), all.bad.len()), (0, 0), "{name}");
    }
    assert_eq!(read_well(&folder.file("y.jsonl.gz", gzip(b""))).documents.len(), 0);
    assert_eq!(read_well("/dev/null").documents.len(), 0);
    assert_eq!(read_well(&folder.file("p/x.txt", "")).bodies(), [""]);
    assert_eq!(read_well(&folder.file("p/x.html", "")).bodies(), [""]);
    assert_eq!(read_well(&folder.path("p").display().to_string()).bodies(), ["", ""]);
}

#[test]
fn pages_saved_by_a_crawler_are_found_in_a_folder() {
    let folder = Folder::new();
    let xhtml = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\">\n\
        <html><body><p>words</p></body></html>";
    let late = xhtml.replacen('\n', &format!("\n<!-- {} -->\n", "saved ".repeat(300)), 1);
    folder.file("a.html?sid=1", "plain words");
    folder.file("b.php?id=1&x=2.5", xhtml);
    folder.file("c", format!("\u{feff} \n{xhtml}"));
    folder.file("d", late);
    folder.file("e.jsonl?signature=abc", "{\"text\":\"words\"}");
    folder.file("feed", "<?xml version=\"1.0\"?><rss><title>no page</title></rss>");
    folder.file("photo.jpg?size=2", "\u{1}");
    let source = Source::open(&[folder.root()], ReadOptions::default()).unwrap();
    assert_eq!(source.ignored().files, 2);
    assert!(source.ignored().example.as_ref().is_some_and(|it| it.ends_with("feed")));
    let all = read_well(&folder.root());
    let kinds: Vec<Kind> = all.documents.iter().map(|it| it.body.kind).collect();
    assert_eq!(kinds, [Kind::Html, Kind::Html, Kind::Html, Kind::Html, Kind::Text]);
}

#[cfg(unix)]
#[test]
fn a_name_of_any_bytes_counts_in_a_folder_and_what_is_left_out_is_counted() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.html");
    if std::fs::write(folder.path("").join(name), "<p>a").is_err() {
        // Some systems do not allow such names.
        return;
    }
    for name in ["b.shtml", "c.xht", "d.markdown", "style.css", "e.json", "f.csv", ".hidden"] {
        folder.file(name, "<p>more");
    }
    let source = Source::open(&[folder.root()], ReadOptions::default()).unwrap();
    assert_eq!(source.ignored().files, 3);
    assert_eq!(source.paths().count(), 4);
    assert_eq!(read_well(&folder.root()).bodies()[2], "<p>a");
}

#[test]
fn a_field_that_no_record_has_is_known() {
    let folder = Folder::new();
    let absent = |path: &str, names: &[&str], options: ReadOptions| {
        let source = Source::open(&[path], options).unwrap();
        source.absent_field(names, NonZero::new(2).unwrap()).map(|it| (it.name, it.there))
    };
    let default = ReadOptions::default;
    let own = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let mut lines = "{\"text\":\"the sites\",\"site\":null}\n".repeat(60_000);
    let path = folder.file("x.jsonl", &lines);
    assert_eq!(absent(&path, &["site", "text"], default()), None);
    let expected = Some(("sites".to_owned(), own(&["site", "text"])));
    assert_eq!(absent(&path, &["site", "sites"], default()), expected);
    lines.push_str("{\"text\":\"b\",\"sites\":1,\"caf\\u00e9\":2}");
    let path = folder.file("y.jsonl", &lines);
    assert_eq!(absent(&path, &["sites", "café"], default()), None);

    let path = table(&folder.path("x.parquet"), 25);
    assert_eq!(absent(&path, &["host", "id"], default()), None);
    let (name, there) = absent(&path, &["hosts"], default()).unwrap();
    assert_eq!((&*name, &*there[4]), ("hosts", "host"));

    let path = folder.file("x.warc", response("http://a.test/", "w"));
    assert_eq!(absent(&path, &["WARC-Type"], default()), None);
    assert_eq!(absent(&path, &["site"], default()), Some(("site".to_owned(), Vec::new())));
    let path = folder.file("x.html", "<p>words");
    assert_eq!(absent(&path, &["site"], default()), Some(("site".to_owned(), Vec::new())));
    // Nothing is known without records, or after damage.
    assert_eq!(absent(&folder.file("e.jsonl", ""), &["site"], default()), None);
    let cut = gzip(b"{\"text\":\"a\"}\n");
    let path = folder.file("cut.jsonl.gz", &cut[..cut.len() - 6]);
    assert_eq!(absent(&path, &["site"], default()), None);
}
