//! `hapax rank` as run by users: pages or links in, scores out.

use crate::folder::{Folder, stderr};

fn scores(text: &str) -> Vec<(String, f64)> {
    text.lines()
        .map(|line| {
            let (name, score) = line.split_once('\t').unwrap();
            (name.to_owned(), score.parse().unwrap())
        })
        .collect()
}

fn page(url: &str, html: &str) -> String {
    format!("{}\n", serde_json::json!({ "url": url, "html": html }))
}

#[test]
fn pages_that_are_linked_to_come_first_and_the_run_is_reported() {
    let folder = Folder::new();
    let pages = [
        page("http://a.test/", "<a href=/hub>hub</a>"),
        page("http://b.test/", "<a href='http://a.test/hub#x'>hub</a> <a href='/'>me</a>"),
        page("http://a.test/hub", "<a href='http://elsewhere.test/'>out</a>"),
    ];
    folder.write("pages.jsonl", pages.concat());
    let run = folder.hapax(&["rank", "pages.jsonl", "--out", "scores.tsv"]).assert().code(0);
    let printed = stderr(&run);
    assert!(printed.contains("3 pages, 2 links between them; 1 without links"), "{printed}");
    assert!(
        printed.contains("1 of pages to themselves, 1 to or from pages that are not there"),
        "{printed}"
    );
    assert!(printed.contains("converged after"), "{printed}");
    let rows = scores(&String::from_utf8(folder.read("scores.tsv")).unwrap());
    assert_eq!(rows[0].0, "http://a.test/hub");
    assert!((rows.iter().map(|row| row.1).sum::<f64>() - 1.0).abs() < 1e-12);
    // The same from standard input, for any number of threads.
    let again = folder.output(&["rank", "pages.jsonl", "--threads", "3", "--quiet"]);
    assert_eq!(again.as_bytes(), folder.read("scores.tsv"));
}

#[test]
fn a_list_of_links_and_its_table_give_the_same_scores() {
    let folder = Folder::new();
    folder.write("links.tsv", "src\tdst\na\tb\nb\tc\nc\ta\nd\ta\nd\ta\nd\td\n");
    let arguments = ["rank", "--links", "links.tsv", "--out", "scores.parquet", "--json", "-q"];
    let summary: serde_json::Value = serde_json::from_str(&folder.output(&arguments)).unwrap();
    assert_eq!(summary["pages"], 4);
    assert_eq!((&summary["repeated"], &summary["to_itself"]), (&1.into(), &1.into()));
    assert_eq!(summary["converged"], true);
    assert!(folder.read("scores.parquet").starts_with(b"PAR1"));
    let rows = scores(&folder.output(&["rank", "--links", "links.tsv", "-q"]));
    assert_eq!(rows[0].0, "a");
    assert_eq!(rows[3].0, "d");
}

#[test]
fn too_few_rounds_are_reported_and_invalid_settings_refused() {
    let folder = Folder::new();
    folder.write("links.tsv", "a\tb\nb\tc\nc\ta\nd\ta\n");
    let run = folder.hapax(&["rank", "--links", "links.tsv", "--max-rounds", "2", "-q"]);
    let printed = stderr(&{ run }.assert().code(0));
    assert!(printed.contains("warning: not converged in 2 rounds"), "{printed}");
    let refused = |more: [&str; 2]| {
        folder.refusal(2, &[&["rank", "--links", "links.tsv"][..], &more[..]].concat())
    };
    assert!(refused(["--damping", "1"]).contains("a damping of 1 is out of range"));
    assert!(refused(["--tolerance", "0"]).contains("a tolerance of 0 is out of range"));
    assert!(folder.refusal(2, &["rank"]).contains("INPUT"));
}

#[test]
fn errors_name_the_line_of_bad_lists() {
    let folder = Folder::new();
    folder.write("links.tsv", "a\tb\nonly one\n").write("none.jsonl", "{\"text\":\"words\"}\n");
    let printed = folder.refusal(1, &["rank", "--links", "links.tsv", "--out", "scores.tsv"]);
    assert!(printed.contains("links.tsv: line 2: 1 columns"), "{printed}");
    assert!(!folder.names().contains(&"scores.tsv".to_owned()));
    let printed = folder.refusal(1, &["rank", "none.jsonl"]);
    assert!(printed.contains("none of 1 documents has an address"), "{printed}");
}
