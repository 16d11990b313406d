//! Batches of queries against a collection, to which they are appended.

use crate::folder::{ARTICLE, Folder, stderr};
use crate::near::neighbours;
use serde_json::Value;

fn named(prefix: &str, fingerprints: &[u64]) -> String {
    let line = |(i, bits): (usize, &u64)| format!("{bits:016x}  {prefix}{i}\n");
    fingerprints.iter().enumerate().map(line).collect()
}

/// Query, document and distance in printed order: by comparing all.
fn expected(queries: &[u64], stored: &[(String, u64)], within: u32) -> String {
    let mut lines = String::new();
    for (q, query) in queries.iter().enumerate() {
        let near = stored.iter().enumerate().map(|(s, (_, bits))| ((query ^ bits).count_ones(), s));
        let mut near: Vec<_> = near.filter(|it| it.0 <= within).collect();
        near.sort_unstable();
        for (distance, s) in near {
            lines.push_str(&format!("q{q}\t{}\t{distance}\n", stored[s].0));
        }
    }
    lines
}

#[test]
fn matching_and_appending_agrees_with_a_linear_scan() {
    let folder = Folder::new();
    let mut stored = Vec::new();
    for batch in 0..5u64 {
        let fingerprints = neighbours(60 + batch * 30, batch + 1);
        let prefix = format!("b{batch}-");
        folder.write("batch.txt", named(&prefix, &fingerprints));
        let matches =
            folder.output(&["near", "find", "batch.txt", "--index", "x.hpx", "--add", "-q"]);
        assert_eq!(matches.is_empty(), stored.is_empty());
        stored.extend(
            fingerprints.iter().enumerate().map(|(i, &bits)| (format!("{prefix}{i}"), bits)),
        );
    }
    let queries = neighbours(300, 99);
    folder.write("q.txt", named("q", &queries));
    for within in ["0", "3", "7"] {
        for (threads, mode) in [("1", "stream"), ("3", "stream"), ("2", "auto"), ("2", "load")] {
            let printed = folder.output(&[
                "near",
                "find",
                "q.txt",
                "--index",
                "x.hpx",
                "--mode",
                mode,
                "--within",
                within,
                "--threads",
                threads,
                "--memory",
                "64MB",
            ]);
            assert!(
                printed == expected(&queries, &stored, within.parse().unwrap()),
                "within {within}"
            );
        }
    }
    let first = folder.output(&["near", "find", "q.txt", "--index", "x.hpx", "--first"]);
    let all = expected(&queries, &stored, 6);
    assert!(first.lines().all(|line| all.lines().any(|it| it == line)));
    let answered = |lines: &str| {
        let mut queries: Vec<_> =
            lines.lines().filter_map(|it| it.split('\t').next()).map(str::to_owned).collect();
        queries.dedup();
        queries
    };
    assert_eq!(answered(&first), answered(&all));
    assert_eq!(first.lines().count(), answered(&all).len());
    let itself =
        folder.output(&["near", "find", "x.hpx", "--index", "x.hpx", "--within", "0", "--first"]);
    assert_eq!(itself.lines().count(), stored.len(), "a file is a batch of queries, too");
}

#[test]
fn output_of_fingerprint_is_found_and_recipes_are_not_mixed() {
    let folder = Folder::new();
    folder.write("a/one.html", ARTICLE).write("a/two.html", ARTICLE.replace("Tuesday", "Monday"));
    folder.output(&["fingerprint", "a", "--json", "--out", "a.jsonl"]);
    folder.output(&["near", "add", "a.jsonl", "--index", "x.hpx"]);
    folder.output(&["fingerprint", "a", "--out", "made.hpx"]);
    assert_eq!(folder.read("made.hpx"), folder.read("x.hpx"));
    let find = ["near", "find", "a.jsonl", "--index", "x.hpx", "--within", "16", "--json"];
    let printed = folder
        .hapax(&[&find[..], &["--recall", "0.9", "--mode", "stream"]].concat())
        .assert()
        .code(0);
    let summary = stderr(&printed);
    assert!(summary.contains("MB/s, which finds every match"), "{summary}");
    let output = String::from_utf8(printed.get_output().stdout.clone()).unwrap();
    let first: Value = serde_json::from_str(output.lines().next().unwrap()).unwrap();
    assert_eq!(first["query"], "a/one.html");
    assert_eq!((&first["recall"], &first["matches"][0]["distance"]), (&1.0.into(), &0.into()));
    folder.output(&["fingerprint", "a", "--json", "--recipe", "khan-words", "--out", "b.jsonl"]);
    let wrong = folder.refusal(1, &["near", "find", "b.jsonl", "--index", "x.hpx"]);
    assert!(wrong.contains("web-2") && wrong.contains("khan-words"), "{wrong}");
}

#[test]
fn bad_files_are_named_and_nothing_is_written() {
    let folder = Folder::new();
    folder.write("q.txt", "00000000000000ff\n").write("no.hpx", "WARC/1.0 and more");
    let wrong =
        folder.refusal(1, &["near", "find", "q.txt", "--index", "no.hpx", "--out", "o.tsv"]);
    assert!(wrong.contains("no.hpx is not a .hpx file"), "{wrong}");
    let wrong = folder.refusal(1, &["near", "find", "q.txt", "--index", "absent.hpx"]);
    assert!(wrong.contains("absent.hpx"), "{wrong}");
    folder.output(&["near", "find", "q.txt", "--index", "x.hpx", "--add", "-q"]);
    let bytes = folder.read("x.hpx");
    folder.write("x.hpx", &bytes[..bytes.len() - 1]);
    let wrong = folder.refusal(1, &["near", "find", "q.txt", "--index", "x.hpx", "--add"]);
    assert!(wrong.contains("x.hpx is cut at byte"), "{wrong}");
    folder.write("bad.txt", "1\nnonsense\n");
    folder.write("x.hpx", &bytes);
    let wrong = folder.refusal(1, &["near", "find", "bad.txt", "--index", "x.hpx", "--add"]);
    assert!(wrong.contains("bad.txt: line 2: `nonsense`"), "{wrong}");
    assert_eq!(folder.read("x.hpx"), bytes);
    assert_eq!(folder.names(), ["bad.txt", "no.hpx", "q.txt", "x.hpx"]);
}
