//! `hapax eval` as run by users: all kinds of truth, tables, JSON and a page.

use crate::folder::{ARTICLE, Folder, stderr};
use serde_json::Value;

/// Two copies of an article, one of them slightly changed, and another page.
fn pages(folder: &Folder) {
    let facts: String = (0..60).map(|i| format!("fact{i} ")).collect();
    let other: String = (0..60).map(|i| format!("word{i} ")).collect();
    folder
        .write("in/a.html", format!("{ARTICLE} {facts}"))
        .write("in/b.html", format!("{ARTICLE} {facts}").replace("Tuesday", "Wednesday"))
        .write("in/c.txt", &other)
        .write("pairs.tsv", "id1\tid2\tlabel\na.html\tb.html\tdup\na.html\tc.txt\tnondup\n")
        .write("missed.tsv", "id1\tid2\tlabel\na.html\tc.txt\tdup\n")
        .write("groups.tsv", "id\tgroup\na.html\t1\nb.html\t1\nc.txt\t2\n");
}

fn run(json: &str) -> Value {
    let all: Value = serde_json::from_str(json).unwrap();
    all["report"]["runs"][0].clone()
}

#[test]
fn pairs_and_groups_are_measured() {
    let folder = Folder::new();
    pages(&folder);
    let table = folder.output(&["eval", "in", "--truth", "pairs.tsv"]);
    assert!(table.contains("3 documents · 1 pair of duplicates · 1 of others"), "{table}");
    let pairs = run(&folder.output(&["eval", "in", "--truth", "pairs.tsv", "--json"]));
    assert_eq!(pairs["pairs"]["f1"]["value"], 1.0, "{pairs}");
    assert_eq!(pairs["removed_pairs"]["below_half"], 0);
    let groups = run(&folder.output(&["eval", "in", "--truth", "groups.tsv", "--json"]));
    assert_eq!(groups["group_scores"]["adjusted_rand"]["value"], 1.0, "{groups}");
    assert_eq!(groups["group_scores"]["exact_sets"]["value"], 1.0, "{groups}");
}

#[test]
fn several_recipes_bounds_and_other_programs_are_compared() {
    let folder = Folder::new();
    pages(&folder);
    folder.write("other.tsv", "in/a.html\t1\nin/c.txt\t1\n");
    let json = folder.output(&[
        "eval",
        "in",
        "--truth",
        "pairs.tsv",
        "--recipe",
        "web-2",
        "--recipe",
        "zhu-shingles",
        "--within",
        "3,6",
        "--other",
        "theirs=other.tsv",
        "--json",
    ]);
    let all: Value = serde_json::from_str(&json).unwrap();
    let names: Vec<&str> = all["report"]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["web-2", "web-2", "theirs", "zhu-shingles", "zhu-shingles"]);
    assert_eq!(all["report"]["runs"][2]["pairs"]["counts"]["false_alarms"], 1);
}

#[test]
fn the_page_fetches_nothing_and_texts_are_optional() {
    let folder = Folder::new();
    pages(&folder);
    let arguments = ["eval", "in", "--truth", "missed.tsv", "--html", "x.html", "--force"];
    folder.output(&arguments);
    let page = String::from_utf8(folder.read("x.html")).unwrap();
    assert!(page.contains("word59") && page.contains("Not found"), "{page}");
    let fetches = ["src=", "@import", "url(", "<link", "<img", "<iframe"];
    assert!(fetches.iter().all(|tag| !page.contains(tag)));
    folder.output(&[&arguments[..], &["--no-text"]].concat());
    let page = String::from_utf8(folder.read("x.html")).unwrap();
    assert!(!page.contains("word59") && page.contains("in/c.txt"), "{page}");
}

#[test]
fn public_benchmarks_are_read_as_they_are_published() {
    let folder = Folder::new();
    let text: String = (0..40).map(|i| format!("word{i} ")).collect();
    let record = |id: u32, text: &str, duplicates: &str| {
        format!(
            "{{\"core_id\":\"{id}\",\"processed_title\":\"t\",\"processed_abstract\":\"{text}\",\
             \"labelled_duplicates\":[{duplicates}]}}\n"
        )
    };
    let other = text.replace("word", "other");
    let core = [record(1, &text, "\"2\""), record(2, &text, "\"1\""), record(3, &other, "")];
    folder.write("core.jsonl", core.concat());
    let arguments = ["eval", "core.jsonl", "--truth", "core.jsonl", "--truth-kind", "core2020"];
    let core = run(&folder.output(&[&arguments[..], &["--json"]].concat()));
    assert_eq!(core["group_scores"]["exact_sets"]["value"], 1.0, "{core}");
    folder.write("data.json", format!(
        "{{\"a\":{{\"article\":\"{text}\"}},\"b\":{{\"article\":\"{text}\"}},\"c\":{{\"article\":\"{other}\"}}}}"
    ));
    folder.write("gt.json", r#"[["a","b"]]"#);
    let arguments = ["eval", "data.json", "--truth", "gt.json", "--truth-kind", "news-copy"];
    let news = run(&folder.output(&[&arguments[..], &["--json"]].concat()));
    assert_eq!(news["group_scores"]["adjusted_rand"]["value"], 1.0, "{news}");
}

#[test]
fn truth_about_other_documents_is_refused() {
    let folder = Folder::new();
    pages(&folder);
    folder.write("wrong.tsv", "id1\tid2\tlabel\nx\ty\tdup\n");
    let printed = folder.refusal(1, &["eval", "in", "--truth", "wrong.tsv"]);
    assert!(printed.contains("none of its ids is a document"), "{printed}");
    folder.refusal(2, &["eval", "in", "--truth", "wrong.tsv", "--truth-kind", "poems"]);
}

#[test]
fn scores_that_need_negatives_are_omitted_with_an_explanation() {
    let folder = Folder::new();
    pages(&folder);
    folder.write("only-positive.tsv", "id1\tid2\tlabel\na.html\tb.html\tdup\n");
    let arguments = ["eval", "in", "--truth", "only-positive.tsv"];
    let table = folder.output(&arguments);
    let header = table.lines().find(|line| line.contains("recall")).unwrap();
    assert!(!header.contains("precision") && !header.contains("F1"), "{table}");
    assert!(table.contains("precision and F1 are not known: the truth names no pairs"), "{table}");
    assert!(table.contains("(id1, id2, nondup)"), "{table}");
    let judged = run(&folder.output(&[&arguments[..], &["--json"]].concat()));
    assert!(judged["pairs"]["precision"].is_null() && judged["pairs"]["f1"].is_null(), "{judged}");
    assert!(judged["pairs"]["not_known"].as_str().unwrap().contains("nondup"), "{judged}");
    assert_eq!(judged["pairs"]["recall"]["value"], 1.0);
    let points = judged["curves"][0]["points"].as_array().unwrap();
    assert!(points.iter().all(|it| it["precision"].is_null() && it["f1"].is_null()));
    folder.output(&[&arguments[..], &["--html", "page.html"]].concat());
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(page.contains("Precision and F1 are not known"), "{page}");
    assert!(!page.contains("<th>precision</th>") && !page.contains("Precision and recall"));
    // A single negative pair makes them known.
    let table = folder.output(&["eval", "in", "--truth", "pairs.tsv"]);
    let header = table.lines().find(|line| line.contains("recall")).unwrap();
    assert!(header.contains("precision") && header.contains("F1"), "{table}");
    assert!(!table.contains("not known"), "{table}");
}

#[test]
fn a_label_that_no_pair_has_is_reported() {
    let folder = Folder::new();
    pages(&folder);
    let warning = |labels: &[&str]| {
        let arguments = [&["eval", "in", "--truth", "pairs.tsv", "-q"], labels].concat();
        stderr(&folder.hapax(&arguments).assert().code(0))
    };
    let printed = warning(&["--positive", "foo,dup", "--negative", "bar"]);
    assert!(
        printed.contains("warning: no pair has the label foo, bar; labels there: dup, nondup"),
        "{printed}"
    );
    assert!(!warning(&[]).contains("warning"));
}

#[test]
fn the_table_has_a_row_for_each_setting_and_fits_100_columns() {
    let folder = Folder::new();
    pages(&folder);
    let recipes = ["--recipe", "web-2", "--recipe", "zhu-shingles"];
    let bounds = ["--within", "3,6,16", "--min-similarity", "0,0.84,0.95"];
    for truth in ["pairs.tsv", "groups.tsv"] {
        let table = folder
            .output(&[&["eval", "in", "--truth", truth][..], &recipes[..], &bounds[..]].concat());
        for line in table.lines() {
            assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
        }
        let first: Vec<&str> = table.split("\n\n").nth(1).unwrap().lines().collect();
        assert_eq!(first.len(), 1 + 2 * 9, "{table}");
        assert!(first[1].trim_start().starts_with("web-2"), "{table}");
    }
}
