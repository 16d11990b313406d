//! `hapax dedup` as run by users: its messages, outputs, and refusals.

use crate::folder::{ARTICLE, Folder, stderr, stdout};

/// An article, its exact copy with different markup, a near copy, and another page.
fn pages(folder: &Folder) {
    let facts: String = (0..40).map(|i| format!("fact{i} ")).collect();
    let long = format!("{ARTICLE} It will be open to visitors from spring on. {facts}");
    let other: String = (0..60).map(|i| format!("word{i} ")).collect();
    folder
        .write("in/a.html", &long)
        .write("in/b.html", long.replace("<h1>", "<h1 class=x>"))
        .write("in/c.html", format!("{long} {}", other.replace("word", "tail")))
        .write("in/d.html", long.replace("Tuesday", "Wednesday"))
        .write("in/e.txt", &other);
}

#[test]
fn a_folder_is_cleaned_and_the_numbers_are_reported() {
    let folder = Folder::new();
    pages(&folder);
    let printed = stderr(&folder.hapax(&["dedup", "in", "--out", "out"]).assert().code(0));
    assert!(printed.contains("5 documents read"), "{printed}");
    assert!(
        printed.contains("3 kept · 2 removed: 1 exact, 1 near-duplicate, in 1 group"),
        "{printed}"
    );
    assert!(printed.contains("out/report.html"), "{printed}");
    let kept = String::from_utf8(folder.read("out/kept.jsonl")).unwrap();
    let ids: Vec<&str> = kept.lines().map(|line| &line[..16]).collect();
    assert_eq!(ids, ["{\"id\":\"in/a.html", "{\"id\":\"in/c.html", "{\"id\":\"in/e.txt\""]);
    let report = String::from_utf8(folder.read("out/report.html")).unwrap();
    assert!(report.contains("2 of 5 documents are duplicates"));
    assert!(report.contains("Tuesday") && report.contains("Wednesday"));
    let version = env!("CARGO_PKG_VERSION");
    assert!(report.contains(&format!("Z by hapax {version}</dd>")), "date and version");
    assert!(report.contains("<dt>command</dt><dd><code>hapax dedup in --out out</code></dd>"));
    assert!(report.contains("similar (estimate)") && report.contains("Exactly 0."));
    assert!(!report.contains("1 documents") && !report.contains("1 groups"), "plurals");
    let fetches = ["src=", "@import", "url(", "<link", "<img", "<iframe"];
    assert!(fetches.iter().all(|tag| !report.contains(tag)));
}

#[test]
fn page_show_says_why_a_job_removed_a_document() {
    let folder = Folder::new();
    pages(&folder);
    folder.output(&["dedup", "in", "--out", "out", "-q"]);
    let shown = folder.output(&["page", "show", "out", "in/d.html"]);
    for line in ["removed: a near-duplicate", "in/a.html", "because", "distance", "in/d.html"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(folder.output(&["page", "show", "out", "in/a.html"]).contains("status     kept"));
    let json = folder.output(&["page", "show", "out", "in/b.html", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    let fields = (&rows[0]["winner"], &rows[0]["outcome"], &rows[0]["similarity"]);
    assert_eq!(fields, (&"in/a.html".into(), &"exact".into(), &1.0.into()));

    let refused = folder.refusal(1, &["page", "show", "out", "in/none.html"]);
    assert!(refused.contains("has no document in/none.html"), "{refused}");
    let refused = folder.refusal(2, &["page", "show", "out", "in/a.html", "--market", "de"]);
    assert!(refused.contains("a job has no markets"), "{refused}");
    folder.write("out/groups.parquet", "PAR1 damaged");
    let refused = folder.refusal(1, &["page", "show", "out", "in/a.html"]);
    assert!(refused.contains("cannot read what was decided from out/groups.parquet"), "{refused}");
}

#[test]
fn a_dry_run_says_what_would_happen_and_writes_nothing() {
    let folder = Folder::new();
    pages(&folder);
    let before = folder.names();
    let printed = folder.output(&["dedup", "in", "--dry-run"]);
    assert!(printed.contains("3 kept · 2 removed"), "{printed}");
    folder.output(&["dedup", "in", "--dry-run", "--out", "out"]);
    assert_eq!(folder.names(), before);
}

#[test]
fn the_summary_is_the_same_in_the_file_and_on_standard_output() {
    let folder = Folder::new();
    pages(&folder);
    let shown = folder.output(&["dedup", "in", "--out", "out", "--json", "--quiet"]);
    assert_eq!(shown.as_bytes(), folder.read("out/summary.json"));
}

#[test]
fn standard_input_is_read_and_named() {
    let folder = Folder::new();
    let lines = "one two three four five six\none two three four five six\nseven eight\n";
    let arguments = ["dedup", "-", "--input-format", "lines", "--out", "out", "-q"];
    let mut command = folder.hapax(&arguments);
    command.write_stdin(lines).assert().code(0);
    let kept = String::from_utf8(folder.read("out/kept.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 2, "{kept}");
    assert!(
        kept.contains("\"standard input:1\"") && kept.contains("\"standard input:3\""),
        "{kept}"
    );
}

#[test]
fn main_content_ignores_navigation_and_footers() {
    let folder = Folder::new();
    let words = |name: &str| (0..80).map(|i| format!("{name}{i} ")).collect::<String>();
    let page = |menu: &str| {
        format!(
            "<html><body><nav><ul>{}</ul></nav><main><p>{}</p></main></body></html>",
            words(menu)
                .split(' ')
                .map(|w| format!("<li><a href=/{w}>{w}</a></li>"))
                .collect::<String>(),
            words("text"),
        )
    };
    folder.write("in/a.html", page("left")).write("in/b.html", page("right"));
    assert!(folder.output(&["dedup", "in", "--dry-run"]).contains("2 kept"));
    assert!(folder.output(&["dedup", "in", "--dry-run", "--main-content"]).contains("1 kept"));
}

#[test]
fn a_bad_line_is_reported_with_the_flag_that_skips_it() {
    let folder = Folder::new();
    folder.write("pages.jsonl", "{\"text\": \"fine\"}\n{\"text\": \n");
    let printed = folder.refusal(1, &["dedup", "pages.jsonl", "--out", "out"]);
    assert!(printed.contains("pages.jsonl, line 2") && printed.contains("--skip-bad"), "{printed}");
    assert_eq!(folder.names(), ["pages.jsonl"]);
    let printed = stderr(
        &folder.hapax(&["dedup", "pages.jsonl", "--out", "out", "--skip-bad"]).assert().code(0),
    );
    assert!(
        printed.contains("skipped: ") && printed.contains("1 record passed over: damaged: 1"),
        "{printed}"
    );
}

#[test]
fn invalid_arguments_are_refused_before_anything_is_read() {
    let folder = Folder::new();
    for (arguments, about) in [
        (&["--within", "17"][..], "17"),
        (&["--min-similarity", "1.5"], "from 0 to 1"),
        (&["--keep", "newest"], "`newest`"),
        (&["--scope", "site"], "`site`"),
        (&["--format", "csv"], "`csv`"),
        (&["--recipe", "web-99"], "web-99"),
        (&["--threads", "0"], "1 to 1024"),
    ] {
        let all: Vec<&str> =
            ["dedup", "no-such-file", "--out", "out"].iter().chain(arguments).copied().collect();
        let printed = folder.refusal(2, &all);
        assert!(printed.contains(about), "{printed}");
    }
    assert!(folder.refusal(2, &["dedup", "x"]).contains("--out"));
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn stages_read_the_output_of_earlier_stages() {
    let folder = Folder::new();
    pages(&folder);
    for json in [true, false] {
        let flag: &[&str] = if json { &["--json"] } else { &[] };
        let run = |arguments: &[&str], input: &str| {
            let all: Vec<&str> = arguments.iter().chain(flag).copied().collect();
            stdout(&folder.hapax(&all).write_stdin(input).assert().code(0))
        };
        let fingerprints = run(&["fingerprint", "in"], "");
        let pairs = run(&["pairs", "-"], &fingerprints);
        assert!(pairs.contains("in/a.html") && pairs.contains("in/d.html"), "{pairs}");
        let groups = run(&["groups", "-"], &pairs);
        let removed: Vec<&str> = groups.lines().filter(|line| !line.contains("kept")).collect();
        assert_eq!(removed.len(), 2, "{groups}");
    }
}

#[test]
fn lines_with_two_recipes_and_invalid_lines_are_refused() {
    let folder = Folder::new();
    pages(&folder);
    let one = folder.output(&["fingerprint", "in/a.html", "--json"]);
    let two = folder.output(&["fingerprint", "in/d.html", "--json", "--recipe", "zhu-shingles"]);
    folder.write("mixed.jsonl", format!("{one}{two}")).write("text.txt", "hello\n");
    assert!(folder.refusal(1, &["pairs", "mixed.jsonl"]).contains("line 2: recipe zhu-shingles"));
    assert!(folder.refusal(1, &["pairs", "text.txt"]).contains("text.txt: line 1"));
    assert!(folder.refusal(1, &["groups", "text.txt"]).contains("between tabs"));
    assert!(folder.refusal(1, &["pairs", "nothing.txt"]).contains("nothing.txt"));
}

#[test]
fn documents_in_other_languages_are_kept() {
    let folder = Folder::new();
    let words: String = (0..60).map(|i| format!("word{i} ")).collect();
    let line = |language: &str| format!("{{\"lang\": \"{language}\", \"text\": \"{words}\"}}\n");
    let pages = [line("en"), line("en-GB"), line("de"), line("DE-at"), line("fr"), line("fr")];
    folder.write("pages.jsonl", format!("{}{{\"text\": \"{words}\"}}\n", pages.concat()));
    let printed = |languages: &str| {
        folder.output(&["dedup", "pages.jsonl", "--dry-run", "--language", languages])
    };
    assert!(printed("en").contains("5 kept · 2 removed"), "{}", printed("en"));
    assert!(printed("en").contains("4 documents in other languages"), "{}", printed("en"));
    assert!(printed("EN,de").contains("3 kept · 4 removed"), "{}", printed("EN,de"));
    assert!(printed("it").contains("7 kept · 0 removed"), "{}", printed("it"));
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_and_the_run_can_be_resumed() {
    let folder = Folder::new();
    let words = |seed: usize| (0..200).map(move |i| format!("w{} ", (i * 31 + seed * 7) % 5000));
    let lines: String = (0..400)
        .map(|i| format!("{{\"id\": \"{i}\", \"text\": \"{}\"}}\n", words(i).collect::<String>()))
        .collect();
    folder.write("pages.jsonl", lines);
    folder.output(&["dedup", "pages.jsonl", "--out", "whole", "-q"]);
    // Limits files to 200 blocks of 512 or 1,024 bytes, with the signal ignored by the shell.
    let program = env!("CARGO_BIN_EXE_hapax");
    let command =
        format!("trap '' XFSZ; ulimit -f 200; exec {program} dedup pages.jsonl --out small");
    let output = std::process::Command::new("sh")
        .args(["-c", &command])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("cannot write small/.hapax-work/kept.jsonl: "), "{printed}");
    let left: Vec<_> =
        folder.path("small").read_dir().unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, [".hapax-work"]);
    let printed =
        stderr(&folder.hapax(&["dedup", "pages.jsonl", "--out", "small"]).assert().code(0));
    assert!(
        printed.contains("continuing an interrupted run: 400 documents already read"),
        "{printed}"
    );
    for name in ["kept.jsonl", "groups.parquet", "removed.parquet", "report.html", "summary.json"] {
        assert!(
            folder.result(&format!("whole/{name}")) == folder.result(&format!("small/{name}")),
            "{name}"
        );
    }
    // A full disk must not damage an existing output file of a stage.
    folder.write("old.jsonl", "old");
    let command = format!(
        "trap '' XFSZ; ulimit -f 20; exec {program} fingerprint pages.jsonl --out old.jsonl --force"
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &command])
        .current_dir(folder.path(""))
        .output();
    assert_eq!(output.unwrap().status.code(), Some(1));
    assert_eq!(folder.read("old.jsonl"), b"old");
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let folder = Folder::new();
    let word = |i: usize| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50;
    for file in 0..7 {
        let text = |i: usize| {
            (0..90).map(|j| format!("w{} ", word((i % 90) * 100 + j))).collect::<String>()
        };
        let line = |i| {
            format!(
                "{{\"url\": \"http://h{}.test/{i}\", \"text\": \"{}more{}\"}}\n",
                i % 9,
                text(i),
                i % 7
            )
        };
        let lines: String = (file * 100..file * 100 + 100).map(line).collect();
        folder.write(&format!("in/{file}.jsonl"), lines);
    }
    folder.write("key", "0123456789abcdef".repeat(4));
    for threads in ["1", "2", "4"] {
        let key = ["--key", "key"];
        let words = ["dedup", "in", "--threads", threads, "--out", threads, "-q"];
        folder.output(&[&words[..], &key].concat());
    }
    for name in [
        "kept.jsonl",
        "groups.parquet",
        "removed.parquet",
        "report.html",
        "summary.json",
        "kept.signatures",
    ] {
        let one = folder.result(&format!("1/{name}"));
        assert!(
            one == folder.result(&format!("2/{name}"))
                && one == folder.result(&format!("4/{name}")),
            "{name}"
        );
    }
    let summary = String::from_utf8(folder.read("1/summary.json")).unwrap();
    assert!(summary.contains("\"documents\": 700"), "{summary}");
    assert!(!summary.contains("\"near\": 0"), "{summary}");
}

#[test]
fn revisits_are_refused_in_formats_without_them() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"text\": \"some words of a text\"}\n");
    for format in [&[][..], &["--format", "jsonl.gz"], &["--format", "parquet"]] {
        let dedup = [&["dedup", "a.jsonl", "--out", "out", "--revisits"], format].concat();
        let printed = folder.refusal(1, &dedup);
        assert!(printed.contains("revisit records exist in WARC files only"), "{printed}");
        assert!(printed.contains("warc.gz"), "{printed}");
    }
    folder.output(&["dedup", "a.jsonl", "--out", "out", "--revisits", "--format", "warc", "-q"]);
}
