//! Every input record is kept, removed or passed over, and has a row that says which.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use hapax_corpus::{Format, ReadOptions, Source};
use hapax_dedup::{Options, PassedOver, Summary};
use parquet::arrow::ArrowWriter;

use crate::folder::{Folder, quoted, words};

/// `outcome`, `reason`, `file` and `record`.
type Row = (String, Option<String>, String, Option<u64>);
/// Rows by document.
type Rows = BTreeMap<String, Row>;

/// The rows of the table of groups, in order.
fn table(folder: &Folder, out: &str) -> Vec<(String, Row)> {
    let path = folder.path(&format!("{out}/groups.parquet")).display().to_string();
    let mut read = ReadOptions::default();
    read.fields.id = Some("document".to_owned());
    read.fields.text = Some("outcome".to_owned());
    let source = Source::open(&[path], read).unwrap();
    let mut rows = Vec::new();
    for mut batch in source.batches() {
        for document in batch.documents() {
            let document = document.unwrap();
            let field = |name: &str| document.field(name);
            let file = field("file").unwrap();
            let file = file.rsplit('/').next().unwrap().to_owned();
            let record = field("record").map(|it| it.parse().unwrap());
            let row = (field("outcome").unwrap(), field("reason"), file, record);
            let name = document.id.rsplit('/').next().unwrap().to_owned();
            rows.push((name, row));
        }
    }
    rows
}

/// Runs a job and checks the counts that hold for every job.
fn account(
    folder: &Folder,
    inputs: &[&str],
    out: &str,
    records: u64,
    change: impl FnOnce(&mut Options),
) -> (Summary, Rows) {
    let summary = folder.dedup(inputs, out, change).unwrap().summary;
    assert_eq!(summary.records, records, "{out}: {summary:?}");
    assert_eq!(summary.records, summary.kept + summary.removed() + summary.passed(), "{out}");
    let rows: Rows = table(folder, out).into_iter().collect();
    assert_eq!(rows.len() as u64, records, "{out}: {rows:?}");
    for (outcome, count) in
        [("kept", summary.kept), ("exact", summary.exact), ("near", summary.near)]
    {
        let found = rows.values().filter(|row| row.0 == outcome).count() as u64;
        assert_eq!(found, count, "{out}, {outcome}");
    }
    for (outcome, reason, file, record) in rows.values() {
        assert!(!file.is_empty(), "{out}");
        assert!(outcome != "passed_over" || reason.is_some(), "{out}");
        assert!(record.is_some() || outcome == "passed_over", "{out}");
    }
    let report = String::from_utf8(folder.read(&format!("{out}/report.html"))).unwrap();
    assert_eq!(
        report.contains("<h2>Records that are not documents</h2>"),
        summary.passed() > 0,
        "{out}"
    );
    let json = String::from_utf8(folder.read(&format!("{out}/summary.json"))).unwrap();
    assert!(json.contains(&format!("\"records\": {records}")), "{json}");
    (summary, rows)
}

fn passed(reason: &str, file: &str, record: u64) -> Row {
    ("passed_over".to_owned(), Some(reason.to_owned()), file.to_owned(), Some(record))
}

#[test]
fn lines_of_jsonl_with_null_text_blank_and_damaged_ones_are_accounted_for() {
    let folder = Folder::new();
    let text = quoted(&words(60, 1));
    let lines = format!(
        "{{\"id\": \"a\", \"text\": {text}}}\n\n{{\"id\": \"b\", \"text\": null}}\n{{\"text\": null}}\n\
         {{\"id\": \"c\", \"text\": {text}}}\n{{\"id\": \"d\", \"text\": \n{{\"id\": \"e\", \"text\": \"\"}}\n"
    );
    let input = folder.write("pages.jsonl", lines);
    let (summary, rows) = account(&folder, &[&input], "out", 7, |options| {
        options.read.skip_bad = true;
    });
    let counts = [(PassedOver::NullText, 2), (PassedOver::BlankLine, 1), (PassedOver::Damaged, 1)];
    assert_eq!(summary.passed_over, counts.into());
    assert_eq!(rows["b"], passed("its text is null", "pages.jsonl", 3));
    assert_eq!(rows["pages.jsonl:4"], passed("its text is null", "pages.jsonl", 4));
    assert_eq!(rows["pages.jsonl:2"], passed("blank line", "pages.jsonl", 2));
    let (outcome, reason, _, record) = &rows["pages.jsonl:6"];
    assert_eq!((outcome.as_str(), *record), ("passed_over", Some(6)));
    let reason = reason.as_deref().unwrap();
    assert!(
        reason.starts_with("damaged: line 6, column ") && !reason.contains("skip_bad"),
        "{reason}"
    );
    assert_eq!((rows["c"].0.as_str(), rows["e"].0.as_str()), ("exact", "kept"));
}

#[test]
fn rows_of_parquet_whose_text_is_null_are_accounted_for() {
    let folder = Folder::new();
    let text = words(60, 1);
    let id: StringArray = ["a", "b", "c", "d"].into_iter().map(Some).collect();
    let texts: StringArray =
        [Some(text.as_str()), None, Some(text.as_str()), None].into_iter().collect();
    let columns = [("id", Arc::new(id) as _), ("text", Arc::new(texts) as _)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let input = folder.write("pages.parquet", bytes);
    let (summary, rows) = account(&folder, &[&input], "out", 4, |_| {});
    assert_eq!(summary.passed_over, [(PassedOver::NullText, 2)].into());
    assert_eq!(rows["b"], passed("its text is null", "pages.parquet", 2));
    assert_eq!(rows["d"], passed("its text is null", "pages.parquet", 4));
}

fn record(kind: &str, url: &str, more: &str, block: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-02-03T04:05:06Z\r\n\
         {more}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

fn response(url: &str, status: &str, body: &str) -> String {
    let block = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\n{body}");
    record("response", url, "Content-Type: application/http\r\n", &block)
}

#[test]
fn records_of_an_archive_that_are_not_pages_are_accounted_for() {
    let folder = Folder::new();
    let text = words(60, 1);
    let redirect = |from: &str, to: &str| {
        let block = format!("HTTP/1.1 301 Moved\r\nLocation: {to}\r\n\r\n");
        record("response", from, "Content-Type: application/http\r\n", &block)
    };
    let records = [
        record("request", "http://h.test/request", "", "GET / HTTP/1.1\r\n\r\n"),
        response("http://h.test/page", "200 OK", &text),
        response("http://h.test/copy", "200 OK", &text),
        response("http://h.test/gone", "404 Not Found", "nothing"),
        redirect("http://h.test/old", "http://h.test/page"),
        // The same redirect twice, and a redirect to a missing page.
        redirect("http://h.test/older", "http://h.test/page"),
        redirect("http://h.test/lost", "http://h.test/nowhere"),
        record(
            "revisit",
            "http://h.test/again",
            "WARC-Refers-To-Target-URI: http://h.test/page\r\n",
            "",
        ),
        record("revisit", "http://h.test/itself", "", ""),
        record("continuation", "http://h.test/more", "", "rest"),
    ];
    let input = folder.write("crawl.warc", records.concat());
    let (summary, rows) = account(&folder, &[&input], "out", 10, |_| {});
    assert_eq!((summary.documents, summary.redirects, summary.revisits), (2, 2, 1));
    let counts = [
        (PassedOver::NotAPage, 1),
        (PassedOver::HttpStatus, 1),
        (PassedOver::Redirect, 3),
        (PassedOver::Revisit, 2),
        (PassedOver::Continuation, 1),
    ];
    assert_eq!(summary.passed_over, counts.into());
    assert_eq!(rows["gone"], passed("HTTP status 404", "crawl.warc", 4));
    let nowhere = "redirects to http://h.test/nowhere: no document is there, or this address \
                   already has one";
    assert_eq!(rows["lost"], passed(nowhere, "crawl.warc", 7));
    assert_eq!((rows["old"].0.as_str(), rows["again"].0.as_str()), ("redirect", "revisit"));
}

#[test]
fn a_repeated_redirect_is_accounted_for_twice() {
    let folder = Folder::new();
    let block = "HTTP/1.1 301 Moved\r\nLocation: http://h.test/page\r\n\r\n";
    let once = record("response", "http://h.test/old", "Content-Type: application/http\r\n", block);
    let page = response("http://h.test/page", "200 OK", &words(60, 1));
    let input = folder.write("crawl.warc", [once.clone(), page, once].concat());
    let summary = folder.dedup(&[&input], "out", |_| {}).unwrap().summary;
    assert_eq!((summary.records, summary.kept, summary.passed()), (3, 1, 2));
    assert_eq!(summary.redirects, 1);
    let again = "redirects to http://h.test/page: no document is there, or this address already \
                 has one";
    let second = ("old".to_owned(), passed(again, "crawl.warc", 3));
    assert!(table(&folder, "out").contains(&second), "{:?}", table(&folder, "out"));
}

#[test]
fn lines_of_text_folders_and_mixed_inputs_are_accounted_for() {
    let folder = Folder::new();
    let lines = folder.write("lines.txt", format!("{}\n\n  \n{}\n", words(60, 1), words(60, 2)));
    let (summary, _) = account(&folder, &[&lines], "lines", 3, |options| {
        options.read.format = Some(Format::Lines);
    });
    assert_eq!(summary.passed_over, [(PassedOver::BlankLine, 1)].into());
    folder.write("pages/a.html", words(60, 3));
    folder.write("pages/b.html", "");
    folder.write("pages/c.jsonl.gz", b"\x1f\x8b\x08 damaged");
    folder.write(
        "pages/d.jsonl",
        format!("{{\"id\": \"x\", \"text\": {}}}\n{{\"text\": null}}\n", quoted(&words(60, 4))),
    );
    let pages = folder.path("pages").display().to_string();
    let (summary, rows) = account(&folder, &[&pages], "folder", 5, |options| {
        options.read.skip_bad = true;
    });
    assert_eq!(summary.passed_over, [(PassedOver::NullText, 1), (PassedOver::Damaged, 1)].into());
    assert_eq!(rows["c.jsonl.gz"].0, "passed_over");
    assert_eq!(rows["c.jsonl.gz"].3, None, "damage hides which record it is");
}
