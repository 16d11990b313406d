//! `hapax query-dedup` as run by users: its messages, outputs and refusals, undo, and interrupted runs.

use crate::folder::{Folder, stderr};
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax_search::SearchPage;
use hapax_search::clean::record::documents;
use hapax_search::tantivy::{TantivyIndex, Writer, WriterOptions};

/// A page with its own words about a topic; the same number gives the same text.
fn text(topic: &str, number: usize) -> String {
    let words: String = (0..60).map(|i| format!("{topic}{number}x{i} ")).collect();
    format!("{topic} {words}")
}

fn page(name: &str, text: &str, score: f64) -> SearchPage {
    let recipe = Recipe::built_in("web-2").unwrap();
    let signature = Fingerprinter::new(recipe, None).unwrap().text(text).unwrap();
    let url = format!("http://{name}.test/");
    SearchPage { url, score: Some(score), ..SearchPage::new(name, text, &signature) }
}

/// Twelve pages about tea and twelve about coffee; every third one has two copies elsewhere.
fn pages() -> Vec<SearchPage> {
    let mut pages = Vec::new();
    for topic in ["tea", "coffee"] {
        for number in 0..12 {
            let copies = if number % 3 == 0 { 3 } else { 1 };
            for copy in 0..copies {
                let name = format!("{topic}{number}-{copy}");
                pages.push(page(&name, &text(topic, number), 1.0 + copy as f64));
            }
        }
    }
    pages
}

fn build(folder: &Folder, recipe: &str, pages: &[SearchPage]) {
    let recipe = Recipe::built_in(recipe).unwrap();
    let fingerprinter = Fingerprinter::new(recipe, None).unwrap();
    let path = folder.path("index");
    let id = fingerprinter.recipe_id().clone();
    let mut writer = Writer::create(path, id, WriterOptions::smallest()).unwrap();
    pages.iter().for_each(|page| writer.put(page).unwrap());
    writer.finish().unwrap();
}

fn ready() -> Folder {
    let folder = Folder::new();
    build(&folder, "web-2", &pages());
    folder.write("log.tsv", "query\tcount\ntea\t9\ncoffee\t5\nmilk\t1\n");
    folder
}

/// Names of removed and of marked documents.
fn status(folder: &Folder) -> (Vec<String>, Vec<String>) {
    TantivyIndex::open(folder.path("index")).unwrap().status()
}

const RUN: [&str; 7] = ["query-dedup", "--index", "index", "--log", "log.tsv", "--out", "out"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

/// The copies with lower scores.
fn expected() -> Vec<String> {
    let mut names: Vec<String> = ["coffee", "tea"]
        .iter()
        .flat_map(|topic| [0, 3, 6, 9].map(|number| (topic, number)))
        .flat_map(|(topic, number)| [0, 1].map(|copy| format!("{topic}{number}-{copy}")))
        .collect();
    names.sort();
    names
}

#[test]
fn duplicates_are_marked_then_removed_then_restored() {
    let folder = ready();
    let printed = stderr(&folder.hapax(&RUN).assert().code(0));
    assert!(printed.contains("16 duplicates marked in the index"), "{printed}");
    assert!(printed.contains("1 query without results"), "{printed}");
    assert_eq!(status(&folder), (vec![], expected()));
    assert_eq!(documents(&folder.path("out/removed.parquet")).unwrap(), expected());
    let report = String::from_utf8(folder.read("out/report.html")).unwrap();
    assert!(report.contains("16 duplicates marked in the results of 3 queries"));
    for piece in ["Table I", "Figure 4", "Figure 5", "Figure 6", "Figure 7"] {
        assert!(report.contains(piece), "{piece}");
    }
    let fetches = ["src=", "@import", "url(", "<link", "<img", "<iframe", "<script"];
    assert!(fetches.iter().all(|tag| !report.contains(tag)));

    let printed = stderr(&folder.hapax(&with(&["--apply"])).assert().code(0));
    assert!(printed.contains("removed from the results"), "{printed}");
    assert!(printed.contains("3 queries unchanged since the last run"), "{printed}");
    assert_eq!(status(&folder), (expected(), vec![]));

    // A second run gives the same result, although the index no longer shows them.
    let before = folder.read("out/removed.parquet");
    folder.hapax(&with(&["--apply", "--from-scratch"])).assert().code(0);
    assert_eq!(folder.read("out/removed.parquet"), before);
    assert_eq!(status(&folder), (expected(), vec![]));

    let printed = stderr(&folder.hapax(&["query-dedup", "undo", "out"]).assert().code(0));
    assert!(printed.contains("16 documents restored, 0 unmarked"), "{printed}");
    assert_eq!(status(&folder), (vec![], vec![]));
}

#[test]
fn a_dry_run_changes_and_writes_nothing() {
    let folder = ready();
    let before = folder.names();
    let printed = stderr(&folder.hapax(&with(&["--dry-run"])).assert().code(0));
    assert!(printed.contains("16 duplicates found; nothing was changed"), "{printed}");
    assert_eq!(folder.names(), before);
    assert_eq!(status(&folder), (vec![], vec![]));
}

#[test]
fn both_modes_and_both_orders_find_the_same_here_and_report_it() {
    let folder = ready();
    let json = |more: &[&str]| -> serde_json::Value {
        let arguments = with(&[&["--dry-run", "--json", "-q"], more].concat());
        serde_json::from_str(&folder.output(&arguments)).unwrap()
    };
    let parallel = json(&["--compare", "--choose", "overlap"]);
    assert_eq!(parallel["removed"], 16);
    assert_eq!(parallel["difference"]["both"], 16);
    assert_eq!(parallel["difference"]["only_all_at_once"], 0);
    let sequential = json(&["--mode", "sequential"]);
    assert_eq!(sequential["removed"], 16);
    assert_eq!(
        sequential["duplicates_by_rank"]["groups"],
        parallel["duplicates_by_rank"]["groups"]
    );
    assert_eq!(
        parallel["duplicates_by_rank"]["groups"][0]["removed"],
        serde_json::json!([16, 16, 16, 16])
    );
}

#[test]
fn scores_of_a_file_and_a_policy_decide() {
    let folder = ready();
    folder.write("scores.tsv", "http://tea0-0.test/\t5\nhttp://tea0-1.test/\t1\n").write(
        "policy.toml",
        "always-keep = [\"coffee0-0.test\"]\n[[by-rank]]\nfrom = 3\nremove = false",
    );
    let more = ["--scores", "scores.tsv", "--policy", "policy.toml"];
    folder.hapax(&with(&more)).assert().code(0);
    let (_, marked) = status(&folder);
    assert!(!marked.contains(&"tea0-0".to_owned()) && marked.contains(&"tea0-2".to_owned()));
    assert!(!marked.contains(&"coffee0-0".to_owned()));
}

#[test]
fn a_run_after_changes_equals_a_run_from_scratch() {
    let folder = ready();
    folder.hapax(&with(&["--apply"])).assert().code(0);
    // A better copy is added, one is deleted, the log has another order and a new query.
    let mut writer = Writer::open(folder.path("index"), WriterOptions::smallest()).unwrap();
    writer.put(&page("tea1-9", &text("tea", 1), 9.0)).unwrap();
    writer.put(&page("tea0-9", &text("tea", 0), 9.0)).unwrap();
    writer.delete("coffee0-2");
    writer.commit().unwrap();
    drop(writer);
    folder.write("log.tsv", "query\tcount\ncoffee\t9\ntea\t5\nmilk\t1\ntea1x3\t1\n");
    let printed = stderr(&folder.hapax(&with(&["--apply"])).assert().code(0));
    assert!(printed.contains("1 query unchanged since the last run"), "{printed}");
    let (removed, _) = status(&folder);
    assert!(removed.contains(&"tea1-0".to_owned()) && removed.contains(&"tea0-2".to_owned()));
    assert!(!removed.contains(&"coffee0-1".to_owned()), "{removed:?}");
    assert_eq!(documents(&folder.path("out/removed.parquet")).unwrap(), removed);
    let (again, summary) = (folder.read("out/removed.parquet"), folder.read("out/summary.json"));
    folder.hapax(&with(&["--apply", "--from-scratch"])).assert().code(0);
    assert_eq!(folder.read("out/removed.parquet"), again);
    assert_eq!(folder.read("out/summary.json"), summary);
}

#[test]
fn errors_name_bad_logs_policies_indexes_and_folders() {
    let folder = ready();
    folder
        .write("empty.tsv", "")
        .write("blank.tsv", "query\n \t\n")
        .write("latin1.txt", b"caf\xe9\n")
        .write("overlap.toml", "[[by-rank]]\nto = 9\n[[by-rank]]\nfrom = 9\n")
        .write("impossible.toml", "[[by-results]]\nfrom = 9\nto = 3\n")
        .write("scores.tsv", "a\tb\n")
        .write("full/thesis.tex", "x");
    let refused = |arguments: &[&str]| folder.refusal(1, arguments);
    let log =
        |name: &str| refused(&["query-dedup", "--index", "index", "--log", name, "--out", "o"]);
    assert!(log("empty.tsv").contains("empty.tsv: the query log is empty"));
    assert!(log("blank.tsv").contains("empty"), "{}", log("blank.tsv"));
    assert!(log("latin1.txt").contains("latin1.txt: line 1 is not UTF-8"));
    assert!(log("missing.tsv").contains("cannot open missing.tsv"));
    let policy = |name: &str| refused(&with(&["--policy", name]));
    assert!(policy("overlap.toml").contains("numbers 1 and 2 overlap at 9"));
    assert!(policy("impossible.toml").contains("from 9 to 3 is not a range"));
    assert!(refused(&with(&["--scores", "scores.tsv"])).contains("scores.tsv: line 1"));
    let no_index = refused(&["query-dedup", "--index", "full", "--log", "log.tsv", "--out", "o"]);
    assert!(no_index.contains("is not a search index"), "{no_index}");
    let recipe = refused(&with(&["--recipe", "stream-words"]));
    assert!(recipe.contains("was built with recipe web-2"), "{recipe}");
    let full = refused(&["query-dedup", "--index", "index", "--log", "log.tsv", "--out", "full"]);
    assert!(full.contains("holds thesis.tex"), "{full}");
    assert!(refused(&["query-dedup", "undo", "full"]).contains("has no state.json"));
    folder.refusal(2, &["query-dedup", "--index", "index"]);
    folder.refusal(2, &with(&["--apply", "--dry-run"]));
    // After all refusals, nothing was written and nothing marked.
    assert_eq!(status(&folder), (vec![], vec![]));
    assert!(
        !folder.names().contains(&"out".to_owned()) && !folder.names().contains(&"o".to_owned())
    );
}

#[test]
fn queries_that_no_engine_can_parse_are_words() {
    let folder = ready();
    folder.write("log.tsv", "\"tea\nAND (((\n+-+\ncoffee:::\n*\nsite:\n\\\n");
    folder.hapax(&RUN).assert().code(0);
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_the_index_intact_and_the_next_one_finishes() {
    let folder = ready();
    // Number of files and folders: each run is killed when one more appears than in the run before.
    let inside = |path: std::path::PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let there = || {
        let first = ["out", "index"].into_iter().flat_map(|name| inside(folder.path(name)));
        first.map(|entry| 1 + inside(entry.path()).count()).sum::<usize>()
    };
    let mut killed = 0;
    for step in 0..16 {
        std::fs::remove_dir_all(folder.path("out")).ok();
        let before = there();
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_hapax"))
            .current_dir(folder.path("."))
            .args(with(&["--apply", "-q"]))
            .spawn()
            .unwrap();
        while there() < before + step && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        // SIGKILL; harmless if the child has finished.
        child.kill().ok();
        killed += u32::from(!child.wait().unwrap().success());
        let (removed, marked) = status(&folder);
        assert!(removed.is_empty() || removed == expected(), "half removed: {removed:?}");
        assert!(marked.is_empty());
        folder.hapax(&with(&["--apply", "-q"])).assert().code(0);
        assert_eq!(status(&folder), (expected(), vec![]));
        assert_eq!(documents(&folder.path("out/removed.parquet")).unwrap(), expected());
        assert!(!folder.path("out/pending.json").exists());
        folder.hapax(&["query-dedup", "undo", "out", "-q"]).assert().code(0);
        assert_eq!(status(&folder), (vec![], vec![]));
    }
    assert!(killed > 0, "not even the first run was killed, which was not waited for");
}
