//! `hapax fingerprint | hapax pairs | hapax groups` on every format, compared with `hapax dedup`.

use crate::folder::{ARTICLE, Folder, stderr, stdout};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn examples() -> String {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/docs");
    docs.canonicalize().unwrap().display().to_string()
}

/// Winner and outcome of every document in a group.
type Groups = BTreeMap<String, (String, String)>;

fn groups_of(lines: &str) -> Groups {
    let group = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        (text("document"), (text("winner"), text("outcome")))
    };
    lines.lines().map(group).collect()
}

/// The same from the table of a job.
fn dedup_groups(folder: &Folder, input: &str, more: &[&str]) -> Groups {
    let out = format!("out{}", more.concat().replace(['-', '.', '/'], ""));
    folder.output(&[&["dedup", input, "--out", &out, "-q"], more].concat());
    let table = folder.path(&format!("{out}/groups.parquet"));
    let winners = column(folder, &table, "winner");
    let outcomes = column(folder, &table, "outcome");
    let in_groups: Vec<&String> = {
        let mut count: BTreeMap<&String, usize> = BTreeMap::new();
        winners.values().for_each(|winner| *count.entry(winner).or_default() += 1);
        winners.keys().filter(|id| count[&winners[*id]] > 1).collect()
    };
    in_groups
        .into_iter()
        .map(|id| (id.clone(), (winners[id].clone(), outcomes[id].clone())))
        .collect()
}

/// A column of a table by document. Read by `hapax dedup` itself as the texts of a corpus, with a
/// separate scope for every document so that all are kept.
fn column(folder: &Folder, table: &std::path::Path, name: &str) -> BTreeMap<String, String> {
    let out = format!("column-{name}-{}", table.parent().unwrap().file_name().unwrap().display());
    let arguments = [
        "dedup",
        table.to_str().unwrap(),
        "--id-field",
        "document",
        "--text-field",
        name,
        "--scope",
        "field:document",
        "--format",
        "jsonl",
        "--out",
        &out,
        "-q",
    ];
    folder.output(&arguments);
    let lines = String::from_utf8(folder.read(&format!("{out}/kept.jsonl"))).unwrap();
    let pair = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["id"].as_str().unwrap().to_owned(), line["text"].as_str().unwrap().to_owned())
    };
    lines.lines().map(pair).collect()
}

#[test]
fn stages_give_the_groups_of_the_whole_job() {
    let folder = Folder::new();
    let docs = examples();
    let expected = dedup_groups(&folder, &docs, &[]);
    assert!(expected.len() > 100, "{}", expected.len());
    for prints in ["prints.jsonl", "prints.csv", "prints.parquet"] {
        folder.output(&["fingerprint", &docs, "--out", prints, "-q"]);
        for json in [&["--json"][..], &[]] {
            folder.output(&[&["pairs", prints, "--out", "pairs", "-q", "--force"], json].concat());
            let groups = folder.output(&["groups", "pairs", "--json", "-q"]);
            assert_eq!(groups_of(&groups), expected, "{prints} {json:?}");
        }
    }
    let narrow = ["--within", "2", "--min-similarity", "0.95", "--keep", "longest"];
    let expected = dedup_groups(&folder, &docs, &["--within", "2", "--min-similarity", "0.95"]);
    let pairs = ["pairs", "prints.parquet", "--out", "pairs", "-q", "--force"];
    folder.output(&[&pairs, &narrow[..4]].concat());
    let groups = folder.output(&["groups", "pairs", "--json", "-q"]);
    assert_eq!(groups_of(&groups), expected);
}

#[test]
fn stages_choose_by_addresses_even_if_documents_have_other_names() {
    let folder = Folder::new();
    let page = |id: &str, path: &str, more: &str| {
        let url = format!("http://a.test/{path}");
        json!({ "id": id, "url": url, "html": format!("{ARTICLE}<p>{more}") }).to_string()
    };
    let pages = [
        page("1", "a/long/way/to/tea?view=print", ""),
        page("tabs\tand more", "tea?session=4", ""),
        page("the-longest-name-of-all", "tea", "Indeed."),
        page("4", "another/way/to/tea", "Indeed."),
    ];
    folder.write("pages.jsonl", pages.join("\n"));
    let by_address = ["--frames", "off", "--keep", "shortest-url"];
    let expected = dedup_groups(&folder, "pages.jsonl", &by_address);
    assert_eq!(expected["1"].0, "the-longest-name-of-all");
    for prints in ["prints.jsonl", "prints.csv", "prints.parquet"] {
        folder.output(&["fingerprint", "pages.jsonl", "--out", prints, "-q"]);
        for json in [&["--json"][..], &[]] {
            folder.output(&[&["pairs", prints, "--out", "pairs", "-q", "--force"], json].concat());
            let rules = &by_address[2..];
            let groups = folder.output(&[&["groups", "pairs", "--json", "-q"], rules].concat());
            assert_eq!(groups_of(&groups), expected, "{prints} {json:?}");
        }
    }
}

#[test]
fn own_texts_alone_are_refused_if_only_whole_pages_are_known() {
    let folder = Folder::new();
    folder.write("pages.jsonl", r#"{"id": "1", "text": "tea"}"#);
    let dedup = ["dedup", "pages.jsonl", "--frames", "own"];
    for (more, why) in [
        (&["--into", "seen"][..], "--into"),
        (&["--out", "out", "--verify"], "exact confirmation"),
        (&["--signatures", "seen"], "shards"),
    ] {
        let error = folder.refusal(1, &[&dedup, more].concat());
        assert!(error.contains(why) && error.contains("frames `on`"), "{error}");
    }
    assert!(!folder.path("seen").exists() && !folder.path("out").exists());
}

#[test]
fn every_format_has_the_same_fingerprints() {
    let folder = Folder::new();
    let docs = examples();
    let prints = |input: &str| {
        let lines = folder.output(&["fingerprint", input, "-q"]);
        let mut prints: Vec<String> = lines.lines().map(|line| line[..16].to_owned()).collect();
        prints.sort_unstable();
        prints
    };
    let expected = prints(&docs);
    assert_eq!(expected.len(), 165);
    // Only exact copies are removed.
    for format in ["jsonl", "jsonl.gz", "jsonl.zst", "parquet", "warc", "warc.gz", "warc.zst"] {
        folder.output(&[
            "dedup",
            &docs,
            "--min-similarity",
            "1",
            "--within",
            "0",
            "--format",
            format,
            "--out",
            format,
            "-q",
        ]);
        let kept = format!("{format}/kept.{format}");
        let all = prints(&kept);
        let mut piped = folder.hapax(&["fingerprint", "-", "-q"]);
        let piped = piped.write_stdin(folder.read(&kept)).output().unwrap();
        if format == "parquet" {
            // The index of a Parquet file is at its end.
            assert!(!piped.status.success());
            assert!(String::from_utf8(piped.stderr).unwrap().contains("save it to a file"));
        } else {
            let lines = String::from_utf8(piped.stdout).unwrap();
            assert_eq!(lines.lines().count(), all.len(), "{format} through a pipe");
        }
        let kept_of_docs: Vec<&String> = all.iter().filter(|it| expected.contains(it)).collect();
        assert_eq!(kept_of_docs.len(), all.len(), "{format}");
        assert!(all.len() > 100, "{format}: {}", all.len());
    }
}

#[test]
fn fields_globs_and_lists_are_read_as_by_the_whole_job() {
    let folder = Folder::new();
    let line = |name: &str| format!("{{\"name\": \"{name}\", \"article\": {ARTICLE:?}}}\n");
    folder
        .write("a.jsonl", line("one"))
        .write("b.jsonl", line("two"))
        .write("list", "b.jsonl\na.jsonl\n");
    let fields = ["--id-field", "name", "--html-field", "article", "-q"];
    let names = |input: &str| {
        let lines = folder.output(&[&["fingerprint", input], &fields[..]].concat());
        lines.lines().map(|line| line[18..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("*.jsonl"), ["one", "two"]);
    assert_eq!(names("@list"), ["two", "one"]);
    let lines = "first line of several words\n\nsecond line of several words\n";
    let arguments = ["fingerprint", "-", "--input-format", "lines", "-q"];
    let prints = stdout(&folder.hapax(&arguments).write_stdin(lines).assert().code(0));
    assert!(prints.ends_with("  standard input:3\n") && prints.lines().count() == 2, "{prints}");
}

#[test]
fn bad_records_of_a_corpus_are_reported_with_their_place_and_can_be_skipped() {
    let folder = Folder::new();
    folder
        .write("a.jsonl", "{\"text\": \"fine words\"}\n{\"text\": \n{\"text\": \"more words\"}\n");
    folder.write("old.txt", "old");
    let printed = folder.refusal(1, &["fingerprint", "a.jsonl", "--out", "old.txt", "--force"]);
    assert!(printed.contains("a.jsonl, line 2") && printed.contains("--skip-bad"), "{printed}");
    assert_eq!(folder.read("old.txt"), b"old");
    let assert = folder.hapax(&["fingerprint", "a.jsonl", "--skip-bad"]).assert().code(0);
    assert_eq!(stdout(&assert).lines().count(), 2);
    assert!(stderr(&assert).contains("skipped: ") && stderr(&assert).contains("1 skipped"));
    assert!(folder.refusal(1, &["fingerprint", "*.warc"]).contains("matches no file"));
}

#[test]
fn a_damaged_or_foreign_table_is_refused() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    folder.output(&["fingerprint", "a.html", "--out", "good.parquet", "-q"]);
    let bytes = folder.read("good.parquet");
    folder.write("cut.parquet", &bytes[..bytes.len() / 2]);
    assert!(folder.refusal(1, &["pairs", "cut.parquet"]).contains("cut.parquet: "));
    for at in (4..bytes.len()).step_by(97) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x20;
        // With a flipped bit, the result is an answer or an error with the file's name.
        let run =
            folder.write("flipped.parquet", &flipped).hapax(&["pairs", "flipped.parquet", "-q"]);
        let output = { run }.output().unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() || printed.contains("flipped.parquet"),
            "byte {at}: {printed}"
        );
    }
    folder.output(&["dedup", "a.html", "--format", "parquet", "--out", "out", "-q"]);
    let printed = folder.refusal(1, &["pairs", "out/kept.parquet"]);
    assert!(
        printed.contains("is missing: it is a table of documents, and hapax fingerprint"),
        "{printed}"
    );
    let piped = folder.hapax(&["pairs", "-", "-q"]).write_stdin(bytes).assert().code(0);
    assert_eq!(stdout(&piped), "");
}

#[test]
fn a_line_without_a_fingerprint_differs_from_a_page_without_features() {
    let folder = Folder::new();
    folder.write("corpus.jsonl", "{\"id\":\"1\",\"text\":\"some words\"}\n");
    let printed = folder.refusal(1, &["pairs", "corpus.jsonl"]);
    assert!(printed.contains("corpus.jsonl: line 1: it has no `fingerprint`"), "{printed}");
    assert!(printed.contains("hapax fingerprint --json"), "{printed}");
    folder.write("none.jsonl", "{\"id\":\"1\",\"fingerprint\":null}\n");
    let assert = folder.hapax(&["pairs", "none.jsonl"]).assert().code(0);
    assert!(stderr(&assert).contains("1 without fingerprint"), "{}", stderr(&assert));
}

#[test]
fn every_command_that_takes_fingerprints_reads_every_format_of_them() {
    let folder = Folder::new();
    folder.write("a/one.html", ARTICLE).write("a/two.html", ARTICLE.replace("Tuesday", "Monday"));
    let mut pairs = Vec::new();
    for file in ["f.txt", "f.jsonl", "f.csv", "f.parquet", "f.hpx"] {
        folder.output(&["fingerprint", "a", "--out", file, "-q"]);
        let found =
            folder.output(&["pairs", file, "--within", "16", "--min-similarity", "0", "-q"]);
        pairs.push(found.split('\t').skip(2).collect::<Vec<_>>().join("\t"));
        folder.output(&["near", "build", file, "--out", &format!("{file}.hpx"), "-q"]);
        let find = ["near", "find", file, "--index", "f.txt.hpx", "--within", "16", "-q"];
        assert_eq!(folder.output(&find).lines().count(), 4, "{file}");
    }
    assert!(pairs.iter().all(|it| it == "a/one.html\ta/two.html\n"), "{pairs:?}");
    // Every format that can store the recipe keeps it.
    for file in ["f.jsonl.hpx", "f.csv.hpx", "f.parquet.hpx", "f.hpx"] {
        assert!(folder.output(&["near", "info", file]).contains("recipe        web-2:"), "{file}");
    }
    for file in ["f.txt", "f.jsonl", "f.csv", "f.parquet", "f.hpx"] {
        let printed = folder.refusal(1, &["groups", file]);
        assert!(printed.contains("hapax pairs"), "{file}: {printed}");
    }
    let printed = folder.refusal(1, &["pairs", "a"]);
    assert!(printed.contains("hapax fingerprint"), "{printed}");
}

#[test]
fn an_unknown_file_ending_is_refused_with_the_known_ones() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    let printed = folder.refusal(2, &["fingerprint", "a.html", "--out", "a.xlsx"]);
    assert!(printed.contains(".jsonl, .csv, .parquet and .hpx"), "{printed}");
    folder.output(&["fingerprint", "a.html", "--out", "a.xlsx", "--format", "lines", "-q"]);
    folder.output(&["fingerprint", "a.html", "--out", "a.csv", "-q"]);
    let csv = String::from_utf8(folder.read("a.csv")).unwrap();
    assert!(csv.starts_with("id,url,recipe,fingerprint,") && csv.contains("\r\na.html,,web-2:"));
}
