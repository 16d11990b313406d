//! Invalid input (exit code 1) and invalid arguments (exit code 2).

use crate::folder::{ARTICLE, Folder, stderr, stdout};

/// Bytes that are neither HTML nor text.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0";

#[test]
fn a_missing_file_is_named_before_any_work() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    let assert = folder.hapax(&["fingerprint", "a.html", "gone.html"]).assert().code(1);
    assert_eq!(stdout(&assert), "");
    assert!(stderr(&assert).contains("cannot read gone.html: "), "{}", stderr(&assert));
}

#[test]
fn an_error_names_unsupported_content() {
    let folder = Folder::new();
    let printed = folder.write("a.html", PNG).refusal(1, &["fingerprint", "a.html"]);
    assert!(printed.contains("a.html: unsupported content: PNG image"), "{printed}");
}

#[cfg(unix)]
#[test]
fn an_error_names_an_unreadable_file_or_folder() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("site/locked.html", ARTICLE).write("site/shut/a.html", ARTICLE);
    let forbid = |name: &str, mode| {
        std::fs::set_permissions(folder.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    forbid("site/locked.html", 0o000);
    if std::fs::read(folder.path("site/locked.html")).is_ok() {
        // Root can read everything.
        return;
    }
    let printed = folder.refusal(1, &["fingerprint", "site"]);
    assert!(printed.contains("cannot read site/locked.html: Permission denied"), "{printed}");
    forbid("site/locked.html", 0o600);
    forbid("site/shut", 0o000);
    let printed = folder.refusal(1, &["fingerprint", "site"]);
    forbid("site/shut", 0o700);
    assert!(printed.contains("cannot list site/shut: Permission denied"), "{printed}");
}

#[test]
fn an_error_names_a_folder_without_pages() {
    let folder = Folder::new();
    folder.write("site/style.css", "p {}");
    let printed = folder.refusal(1, &["fingerprint", "site"]);
    assert!(printed.contains("folder site holds no pages (.html "), "{printed}");
    assert!(printed.contains("--all-files would read its 1 other file"), "{printed}");
}

#[cfg(unix)]
#[test]
fn an_error_names_a_dangling_link() {
    let folder = Folder::new();
    folder.write("site/a.html", ARTICLE);
    std::os::unix::fs::symlink("nowhere", folder.path("site/b.html")).unwrap();
    let printed = folder.refusal(1, &["fingerprint", "site"]);
    assert!(printed.contains("site/b.html: link to nothing"), "{printed}");
}

#[test]
fn a_failed_run_leaves_no_files() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("z.html", PNG).write("old.txt", "old");
    folder.refusal(1, &["fingerprint", "a.html", "z.html", "--out", "new.txt"]);
    folder.refusal(1, &["fingerprint", "a.html", "z.html", "--out", "old.txt", "--force"]);
    folder.refusal(1, &["train", "a.html", "z.html", "--out", "new.hdf"]);
    assert_eq!(folder.names(), ["a.html", "old.txt", "z.html"]);
    assert_eq!(folder.read("old.txt"), b"old");
}

#[test]
fn skipped_input_is_named_and_counted() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("b.html", PNG).write("bare/x.css", "");
    let all = ["fingerprint", "--skip-bad", "gone.html", "a.html", "b.html", "bare"];
    let assert = folder.hapax(&all).assert().code(0);
    assert!(stdout(&assert).ends_with("  a.html\n"));
    assert_eq!(stdout(&assert).lines().count(), 1);
    let printed = stderr(&assert);
    for named in ["skipped: cannot read gone.html", "skipped: b.html: ", "skipped: folder bare "] {
        assert!(printed.contains(named), "{named} in {printed}");
    }
    assert!(printed.contains("1 page, ") && printed.contains("3 skipped"), "{printed}");
}

#[test]
fn an_unwritable_output_is_named_before_any_work() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("site/b.html", ARTICLE);
    let printed = folder.refusal(1, &["fingerprint", "a.html", "--out", "none/x.txt"]);
    assert!(printed.contains("cannot write none/x.txt: "), "{printed}");
    let printed = folder.refusal(1, &["fingerprint", "a.html", "--out", "site"]);
    assert!(printed.contains("it is a folder"), "{printed}");
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).output(&["fingerprint", "a.html", "--out", "/dev/null"]);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[test]
fn an_unknown_recipe_is_a_bad_argument_and_the_error_lists_known_ones() {
    let folder = Folder::new();
    let printed = folder
        .write("a.html", ARTICLE)
        .refusal(2, &["fingerprint", "--recipe", "web-99", "a.html"]);
    assert!(printed.contains("--recipe: no recipe is called `web-99`"), "{printed}");
    assert!(printed.contains("web-2") && printed.contains("sood-tfidf"), "{printed}");
}

#[test]
fn a_bad_recipe_file_is_bad_input() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("bad.toml", "name = 'x'\nshingel = 3");
    folder.write("bytes.toml", b"\xff\xfe");
    for (file, reason) in
        [("gone.toml", "cannot read"), ("bad.toml", "shingel"), ("bytes.toml", "UTF-8")]
    {
        let printed = folder.refusal(1, &["fingerprint", "--recipe", file, "a.html"]);
        assert!(printed.contains(file) && printed.contains(reason), "{printed}");
    }
}

#[test]
fn a_table_must_be_given_exactly_when_it_is_used() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).output(&["train", "a.html", "--out", "t.hdf"]);
    let printed = folder.refusal(2, &["fingerprint", "--recipe", "sood-tfidf", "a.html"]);
    assert!(printed.contains("--frequencies TABLE"), "{printed}");
    let printed = folder.refusal(2, &["fingerprint", "--frequencies", "t.hdf", "a.html"]);
    assert!(printed.contains("--frequencies is of no use to --recipe web-2"), "{printed}");
    let printed = folder.refusal(2, &["train", "a.html", "--out", "t", "--recipe", "web-2"]);
    assert!(printed.contains("--recipe web-2 does not weigh by frequency"), "{printed}");
}

#[test]
fn a_damaged_foreign_or_wrong_table_is_refused() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).output(&["train", "a.html", "--out", "good.hdf"]);
    let mut bytes = folder.read("good.hdf");
    folder.write("cut.hdf", &bytes[..bytes.len() / 2]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.write("flipped.hdf", &bytes).write("foreign.hdf", ARTICLE);
    folder.write("other.toml", "name = 'other'\nbase = 'sood-tfidf'\nshingle = 2");
    for (table, recipe, reason) in [
        ("gone.hdf", "sood-tfidf", "cannot read"),
        ("cut.hdf", "sood-tfidf", "damaged"),
        ("flipped.hdf", "sood-tfidf", "checksum"),
        ("foreign.hdf", "sood-tfidf", "not a document-frequency table"),
        ("good.hdf", "other.toml", "trained for features"),
    ] {
        let arguments = ["fingerprint", "--recipe", recipe, "--frequencies", table, "a.html"];
        let printed = folder.refusal(1, &arguments);
        assert!(printed.contains(table) && printed.contains(reason), "{table}: {printed}");
    }
}

#[test]
fn bad_arguments_name_the_argument() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    for (arguments, named) in [
        (&["fingerprint"][..], "INPUT"),
        (&["fingerprint", "a.html", "--threads", "0"], "--threads"),
        (&["fingerprint", "a.html", "--threads", "many"], "--threads"),
        (&["fingerprint", "a.html", "--thread", "1"], "--thread"),
        (&["fingerprint", "-", "-"], "`-` is given more than once"),
        (&["train", "a.html"], "--out"),
        (&["train", "a.html", "--out", "t", "--width", "9"], "--width"),
        (&["compare", "a.html"], "<B>"),
        (&["compare", "-", "-"], "both `-`"),
        (&["recipe", "show", "x"], "recipe show: no recipe is called `x`"),
        (&["frobnicate"], "frobnicate"),
        (&[], "Usage"),
    ] {
        let printed = folder.refusal(2, arguments);
        assert!(printed.contains(named), "{arguments:?}: {printed}");
    }
}

#[test]
fn a_corpus_with_a_wrong_file_ending_is_not_read_as_text() {
    let folder = Folder::new();
    folder.write("x.parquet", "junk").write("x.csv", "id,text\n1,a\n");
    folder.write("x.json", "[{\"text\":\"a\"}]").write("ok.jsonl", "{\"text\":\"a\"}\n");
    let printed = "x.parquet is not a Parquet file: it looks like a text; rename it, or say what it is \
        by --input-format";
    for command in [&["fingerprint", "x.parquet"][..], &["dedup", "x.parquet", "--out", "out"]] {
        assert!(folder.refusal(1, command).contains(printed), "{command:?}");
    }
    let printed = folder.refusal(1, &["page", "add", "seen", "--create", "--from", "x.parquet"]);
    assert!(
        printed.contains("it looks like a text; rename it") && !printed.contains("format"),
        "{printed}"
    );
    assert!(folder.refusal(1, &["fingerprint", "x.json"]).contains("jq -c '.[]'"));
    let printed = folder.refusal(1, &["train", "x.csv", "--out", "t.hdf"]);
    assert!(printed.contains("make JSONL of it, or say what it is by --input-format"), "{printed}");
    let lines = folder.output(&["fingerprint", "x.csv", "--input-format", "lines"]);
    assert_eq!(lines.lines().count(), 2);
    let skipped = ["fingerprint", "x.parquet", "ok.jsonl", "--skip-bad"];
    let assert = folder.hapax(&skipped).assert().code(0);
    assert_eq!(stdout(&assert).lines().count(), 1);
    assert!(stderr(&assert).contains("1 skipped"), "{}", stderr(&assert));
}

#[test]
fn empty_input_has_no_document() {
    let folder = Folder::new();
    folder.write("x.warc.gz", "").write("x.jsonl", "").write("a.jsonl", "{\"text\":\"a\"}\n");
    folder.write("empty.txt", "");
    for (command, named) in [
        (&["dedup", "x.warc.gz", "--out", "out"][..], "x.warc.gz"),
        (&["dedup", "/dev/null", "--out", "out"], "/dev/null"),
        (&["dedup", "-", "--out", "out"], "-"),
        (&["fingerprint", "x.warc.gz", "x.jsonl"], "x.warc.gz, x.jsonl"),
        (&["fingerprint", "-"], "-"),
        (&["search", "build", "x.jsonl", "--out", "index"], "x.jsonl"),
        (&["page", "add", "seen", "--create", "--from", "x.jsonl"], "x.jsonl"),
    ] {
        let printed = stderr(&folder.hapax(command).write_stdin("").assert().code(1));
        assert!(
            printed.contains(&format!("there is no document in {named}\n")),
            "{command:?}: {printed}"
        );
    }
    let with_page = folder.hapax(&["fingerprint", "x.warc.gz", "a.jsonl"]).assert().code(0);
    assert!(stderr(&with_page).contains("1 page, "), "{}", stderr(&with_page));
    assert_eq!(folder.output(&["fingerprint", "empty.txt"]), "----------------  empty.txt\n");
}

#[test]
fn a_field_that_no_document_has_is_named_before_any_work() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\":\"1\",\"site\":\"a\",\"text\":\"one\"}\n".repeat(2));
    folder.write("site/a.html", ARTICLE);
    let there = "; there are: id, site, text";
    for flag in
        ["--id-field", "--url-field", "--score-field", "--fetched-field", "--language-field"]
    {
        for command in [&["dedup", "a.jsonl", "--out", "out"][..], &["fingerprint", "a.jsonl"]] {
            let printed = folder.refusal(1, &[command, &[flag, "ids"]].concat());
            let expected = format!("{flag} ids: no document has a field ids{there}");
            assert!(printed.contains(&expected), "{printed}");
        }
    }
    let printed =
        folder.refusal(1, &["dedup", "a.jsonl", "--scope", "field:sites", "--out", "out"]);
    assert!(
        printed.contains(&format!("--scope field:sites: no document has a field sites{there}"))
    );
    let printed = folder.refusal(1, &["dedup", "site", "--scope", "field:sites", "--dry-run"]);
    assert!(printed.contains("no document has a field sites"), "{printed}");
    let create = ["page", "add", "seen", "--create", "--scope", "field:sites", "--from", "a.jsonl"];
    assert!(folder.refusal(1, &create).contains("no document has a field sites"));
    for command in [
        &["search", "build", "a.jsonl", "--out", "index", "--url-field", "ids"][..],
        &["rank", "a.jsonl", "--url-field", "ids"],
        &["partition", "learn", "a.jsonl", "--machines", "2", "--out", "m", "--id-field", "ids"],
        &["train", "a.jsonl", "--out", "t.hdf", "--id-field", "ids"],
        &["eval", "a.jsonl", "--id-field", "ids"],
    ] {
        assert!(folder.refusal(1, command).contains("no document has a field ids"), "{command:?}");
    }
    assert_eq!(folder.names(), ["a.jsonl", "site"]);
    folder.output(&[
        "dedup",
        "a.jsonl",
        "--scope",
        "field:site",
        "--id-field",
        "id",
        "--out",
        "out",
    ]);
}

#[test]
fn a_field_that_no_document_of_standard_input_has_is_named() {
    let folder = Folder::new();
    let lines = "{\"id\":\"1\",\"site\":\"a\",\"text\":\"one\"}\n".repeat(2);
    let asked = |command: &[&str]| {
        stderr(&folder.hapax(command).write_stdin(lines.clone()).assert().code(1)).to_owned()
    };
    for (command, looked_at) in [
        (&["dedup", "-", "--out", "out"][..], ""),
        (&["dedup", "-", "--dry-run"], " at the beginning of the stream"),
        (&["fingerprint", "-"], " at the beginning of the stream"),
        (&["fingerprint", "-", "--skip-bad"], " at the beginning of the stream"),
        (&["search", "build", "-", "--out", "index"], " at the beginning of the stream"),
        (&["rank", "-"], " at the beginning of the stream"),
        (&["train", "-", "--out", "t.hdf"], " at the beginning of the stream"),
    ] {
        let printed = asked(&[command, &["--url-field", "ids"]].concat());
        let expected = format!(
            "--url-field ids: no document{looked_at} has a field ids; there are: id, site, text\n"
        );
        assert!(printed.contains(&expected), "{command:?}: {printed}");
    }
    let printed = asked(&["dedup", "-", "--scope", "field:sites", "--dry-run"]);
    assert!(printed.contains("--scope field:sites: no document at the beginning"), "{printed}");
    // A field in the last record is enough.
    let late = format!("{lines}{{\"ids\":\"3\",\"text\":\"three\"}}\n");
    let command = ["fingerprint", "-", "--id-field", "ids"];
    folder.hapax(&command).write_stdin(late).assert().success();
    let left = folder.names();
    assert!(left.iter().all(|name| name == "out"), "{left:?}");
}

#[test]
fn a_field_that_a_stream_does_not_have_is_named_before_anything_is_done() {
    let folder = Folder::new();
    let line = format!("{{\"id\":\"1\",\"text\":\"{}\"}}\n", "some words ".repeat(900));
    let stream = format!("{}{{\"ids\":\"2\",\"text\":\"last\"}}\n", line.repeat(400));
    let run = |command: &[&str]| folder.hapax(command).write_stdin(stream.clone()).assert().code(1);
    let refused = run(&["fingerprint", "-", "--id-field", "ids"]);
    assert_eq!(refused.get_output().stdout, b"", "nothing is printed");
    let printed = stderr(&refused);
    assert!(
        printed.contains("no document at the beginning of the stream has a field ids"),
        "{printed}"
    );
    let printed =
        stderr(&run(&["page", "add", "seen", "--create", "--scope", "field:ids", "--from", "-"]));
    assert!(printed.contains("--scope field:ids: no document at the beginning"), "{printed}");
    let stats = folder.output(&["inspect", "seen"]);
    assert!(stats.contains("pages       0,"), "{stats}");
    // A file is searched completely.
    folder.write("late.jsonl", &stream);
    folder.output(&["fingerprint", "late.jsonl", "--id-field", "ids"]);
}

#[test]
fn files_left_out_of_folders_are_counted_by_every_command() {
    let folder = Folder::new();
    folder.write("site/a.html", ARTICLE).write("site/b.shtml", ARTICLE);
    folder.write("site/style.css", "p {}").write("site/notes.json", "{}");
    folder.write("truth.tsv", "id1\tid2\tlabel\nsite/a.html\tsite/b.shtml\tdup\n");
    for command in [
        &["fingerprint", "site"][..],
        &["train", "site", "--out", "t.hdf"],
        &["dedup", "site", "--out", "out"],
        &["search", "build", "site", "--out", "index"],
        &["page", "add", "seen", "--create", "--from", "site"],
        &["eval", "site", "--truth", "truth.tsv"],
        &["partition", "learn", "site", "--machines", "2", "--out", "mapping.toml"],
    ] {
        let printed = stderr(&folder.hapax(command).assert().code(0));
        assert!(
            printed.contains("2 other files in folders ignored, such as site/notes.json: "),
            "{command:?}: {printed}"
        );
        assert_eq!(printed.contains("--all-files"), command[0] != "page", "{command:?}: {printed}");
    }
}

#[test]
fn invalid_rules_scores_and_times_are_bad_arguments() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    let url = "https://example.org/";
    folder.output(&["page", "add", "seen", url, "a.html", "--create"]);
    let before = folder.output(&["group", "rules", "seen"]);
    let default = "no rule is named; the default is \"score, first-domain, ";
    for (arguments, named) in [
        (&["group", "rules", "seen", "--set", ""][..], default),
        (&["dedup", "a.html", "--out", "out", "--keep", " "], default),
        (&["groups", "a.html", "--keep", ""], default),
        (&["page", "add", "new", url, "a.html", "--create", "--keep", ""], default),
        (&["page", "add", "seen", url, "a.html", "--score", "nan"], "a score is a finite number"),
        (&["page", "add", "seen", url, "a.html", "--score", "1e999"], "a score is a finite number"),
        (&["page", "score", "seen", url, "inf"], "a score is a finite number"),
        (&["page", "add", "seen", url, "a.html", "--fetched", "9999999999999999"], "year 9999"),
        (&["page", "expire", "seen", "--before", "9999999999999999"], "year 9999"),
    ] {
        let printed = folder.refusal(2, arguments);
        assert!(printed.contains(named), "{arguments:?}: {printed}");
    }
    assert_eq!(folder.output(&["group", "rules", "seen"]), before);
}

#[test]
fn a_library_that_panics_on_damaged_input_prints_nothing() {
    let folder = Folder::new();
    let lines = (0..50).map(|n| {
        format!("{{\"url\":\"http://a.example/{n}\",\"text\":\"some words {n} of a text long enough {n}\"}}\n")
    });
    folder.write("in.jsonl", lines.collect::<String>());
    folder.hapax(&["fingerprint", "in.jsonl", "--out", "sound.parquet"]).assert().success();
    let sound = std::fs::read(folder.path("sound.parquet")).unwrap();
    let mut gave_up = 0;
    for place in (4..sound.len()).step_by(7) {
        let mut damaged = sound.clone();
        damaged[place] ^= 0xff;
        folder.write("damaged.parquet", damaged);
        let output = folder.hapax(&["pairs", "damaged.parquet"]).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!printed.contains("panicked"), "byte {place}: {printed}");
        if printed.contains("gave up on damaged data") {
            gave_up += 1;
            assert_eq!(printed.lines().count(), 1, "byte {place}: {printed}");
        }
        // Two are enough, because there are thousands of bytes.
        if gave_up == 2 {
            return;
        }
    }
    panic!(
        "the Parquet library panicked {gave_up} times; other damage must be found for this test"
    );
}
