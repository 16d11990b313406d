//! Errors name the place of the fault, and nothing half-written is left.

use hapax_dedup::{Error, Options};

use crate::folder::{Folder, jsonl, words};

fn refused(folder: &Folder, input: &str, change: impl FnOnce(&mut Options)) -> Error {
    let error = folder.dedup(&[input], "out", change).unwrap_err();
    assert!(!folder.path("out").exists(), "{error}: {:?}", folder.names("out"));
    error
}

fn message(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

#[test]
fn a_broken_line_is_named_and_can_be_skipped() {
    let folder = Folder::new();
    let good = jsonl([("a".to_owned(), "some words"), ("b".to_owned(), "other words")]);
    let input =
        folder.write("pages.jsonl", format!("{good}{{\"id\": \"c\", \"text\": \"cut\n{good}"));
    let error = message(&refused(&folder, &input, |_| {}));
    assert!(error.contains("pages.jsonl, line 3"), "{error}");

    let skip = |options: &mut Options| options.read.skip_bad = true;
    let summary = folder.dedup(&[&input], "out", skip).unwrap().summary;
    assert_eq!((summary.documents, summary.passed()), (4, 1));
}

#[test]
fn a_truncated_gzip_member_is_named() {
    let folder = Folder::new();
    let lines: String = jsonl((0..500).map(|i| (format!("{i}"), "some words")));
    let source = folder.write("plain.jsonl", lines);
    folder
        .dedup(&[&source], "packed", |options| {
            options.format = Some(hapax_dedup::KeptFormat::JsonlGzip);
            options.keep = "".parse().unwrap();
            options.scope = "field:id".parse().unwrap();
        })
        .unwrap();
    let whole = folder.read("packed/kept.jsonl.gz");
    let input = folder.write("cut.jsonl.gz", &whole[..whole.len() / 2]);
    let error = message(&refused(&folder, &input, |_| {}));
    assert!(error.contains("cut.jsonl.gz"), "{error}");
}

#[test]
fn a_file_that_is_not_an_archive_is_not_read_as_one() {
    let folder = Folder::new();
    let input = folder.write("page.warc", "this is not a WARC file\n");
    let error = message(&refused(&folder, &input, |options| {
        options.read.format = Some(hapax_corpus::Format::Warc);
    }));
    assert!(error.contains("page.warc is not a WARC file"), "{error}");
}

#[test]
fn a_table_without_the_named_column_is_refused_with_those_it_has() {
    let folder = Folder::new();
    let lines = folder.write("pages.jsonl", jsonl([("a".to_owned(), "some words")]));
    let parquet = |options: &mut Options| {
        options.format = Some(hapax_dedup::KeptFormat::Parquet);
    };
    folder.dedup(&[&lines], "table", parquet).unwrap();
    let input = folder.path("table/kept.parquet").display().to_string();
    let error = message(&refused(&folder, &input, |options| {
        options.read.fields.text = Some("article".to_owned());
    }));
    assert!(error.contains("article") && error.contains("language"), "{error}");
}

#[test]
fn two_contents_under_one_id_are_refused_with_both_places() {
    let folder = Folder::new();
    let (one, two) = (words(30, 1), words(30, 2));
    let lines = [("a", &one), ("b", &two), ("a", &one), ("a", &two)];
    let lines = jsonl(lines.map(|(id, text)| (id.to_owned(), text.as_str())));
    let input = folder.write("pages.jsonl", lines);
    let error = message(&refused(&folder, &input, |_| {}));
    assert!(error.contains("\"a\""), "{error}");
    assert!(error.contains("record 3") && error.contains("record 4"), "{error}");
}

#[test]
fn an_address_crawled_twice_is_not_an_error() {
    let folder = Folder::new();
    let line =
        |seed| format!("{{\"url\": \"http://a.test/\", \"text\": \"{}\"}}\n", words(30, seed));
    let input = folder.write("pages.jsonl", format!("{}{}", line(1), line(2)));
    assert_eq!(folder.dedup(&[&input], "out", |_| {}).unwrap().summary.kept, 2);
}

#[test]
fn a_folder_that_is_not_empty_is_left_as_it_is() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", jsonl([("a".to_owned(), "some words")]));
    folder.write("out/summary.json", "mine");
    let error = folder.dedup(&[&input], "out", |_| {}).unwrap_err();
    assert!(message(&error).contains("summary.json"), "{error}");
    assert_eq!(folder.names("out"), ["summary.json"]);
    assert_eq!(folder.read("out/summary.json"), b"mine");

    let error = folder.dedup(&[&input], "pages.jsonl", |_| {}).unwrap_err();
    assert!(matches!(error, Error::NotAFolder { .. }), "{error}");
}

#[test]
fn an_empty_folder_is_used_and_left_when_the_job_fails() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("out")).unwrap();
    let error = folder.dedup(&["/no/such/file"], "out", |_| {}).unwrap_err();
    assert!(message(&error).contains("/no/such/file"), "{error}");
    assert_eq!(folder.names("out"), [""; 0]);
    let input = folder.write("pages.jsonl", jsonl([("a".to_owned(), "some words")]));
    folder.dedup(&[&input], "out", |_| {}).unwrap();
}

#[test]
fn no_documents_at_all_are_an_error() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", "\n\n");
    let error = refused(&folder, &input, |_| {});
    assert!(matches!(error, Error::NoDocuments { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_lock_is_not_followed() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", jsonl([("a".to_owned(), "some words")]));
    let precious = folder.write("precious", "mine");
    std::fs::create_dir_all(folder.path("out/.hapax-work")).unwrap();
    std::os::unix::fs::symlink(&precious, folder.path("out/.hapax-work/lock")).unwrap();
    assert!(folder.dedup(&[&input], "out", |_| {}).is_err());
    assert_eq!(folder.read("precious"), b"mine");
}
