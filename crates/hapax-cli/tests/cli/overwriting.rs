//! A result that would replace an input is a bad argument, and no file is changed.

use crate::folder::{ARTICLE, Folder};

/// Runs the command, which must refuse to overwrite `kept` and leave it unchanged.
fn spared(folder: &Folder, kept: &str, arguments: &[&str]) {
    let before = folder.read(kept);
    let printed = folder.refusal(2, arguments);
    assert!(printed.contains("is the same file as"), "{arguments:?}: {printed}");
    assert!(printed.contains(kept), "{arguments:?}: {printed}");
    assert!(folder.read(kept) == before, "{arguments:?} changed {kept}");
}

#[test]
fn no_command_overwrites_its_input() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("b.html", ARTICLE.replace("Tuesday", "Monday"));
    folder.write("mine.toml", "name = 'mine'\nbase = 'web-2'");
    folder.write("corpus.jsonl", "{\"id\":\"1\",\"text\":\"some words of a text\"}\n");
    folder.write("links.tsv", "a\tb\nb\ta\n").write("truth.tsv", "id1\tid2\tlabel\n1\t1\tdup\n");
    folder.output(&["fingerprint", "a.html", "b.html", "--json", "--out", "f.jsonl"]);
    folder.output(&["fingerprint", "a.html", "b.html", "--out", "f.hpx"]);
    folder.output(&["near", "build", "f.jsonl", "--out", "x.hpx"]);
    folder.output(&["pairs", "f.jsonl", "--out", "pairs.tsv"]);
    folder.output(&["partition", "learn", "a.html", "--machines", "2", "--out", "map.toml"]);
    for (kept, arguments) in [
        ("x.hpx", &["near", "find", "f.jsonl", "--index", "x.hpx", "--out", "x.hpx"][..]),
        ("f.jsonl", &["near", "find", "f.jsonl", "--index", "x.hpx", "--out", "f.jsonl"]),
        ("f.hpx", &["near", "build", "f.hpx", "--out", "f.hpx"]),
        ("f.jsonl", &["near", "build", "f.jsonl", "--out", "./f.jsonl"]),
        ("f.jsonl", &["pairs", "f.jsonl", "--out", "f.jsonl"]),
        ("pairs.tsv", &["groups", "pairs.tsv", "--out", "pairs.tsv"]),
        ("a.html", &["fingerprint", "b.html", "a.html", "--out", "a.html"]),
        ("corpus.jsonl", &["fingerprint", "corpus.jsonl", "--out", "corpus.jsonl"]),
        ("corpus.jsonl", &["fingerprint", "*.jsonl", "--format", "hpx", "--out", "corpus.jsonl"]),
        ("mine.toml", &["fingerprint", "a.html", "--recipe", "mine.toml", "--out", "mine.toml"]),
        ("a.html", &["train", "a.html", "--out", "a.html"]),
        ("links.tsv", &["rank", "--links", "links.tsv", "--out", "links.tsv"]),
        ("a.html", &["rank", "a.html", "--out", "a.html"]),
        ("b.html", &["compare", "a.html", "b.html", "--html", "b.html"]),
        ("truth.tsv", &["eval", "corpus.jsonl", "--truth", "truth.tsv", "--html", "truth.tsv"]),
        ("a.html", &["partition", "learn", "a.html", "--machines", "2", "--out", "a.html"]),
        (
            "map.toml",
            &["partition", "route", "a.html", "--mapping", "map.toml", "--out", "map.toml"],
        ),
    ] {
        spared(&folder, kept, arguments);
    }
}

#[test]
fn a_result_must_not_replace_a_page_of_an_input_folder() {
    let folder = Folder::new();
    folder.write("site/a.html", ARTICLE).write("site/old.txt", "an older list");
    spared(&folder, "site/old.txt", &["fingerprint", "site", "--out", "site/old.txt"]);
    folder.write("site/c.jsonl", "{\"text\":\"some words\"}\n");
    spared(&folder, "site/c.jsonl", &["fingerprint", "site", "--out", "site/c.jsonl"]);
}

#[test]
fn an_existing_result_is_replaced_only_with_force() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("b.html", ARTICLE.replace("Tuesday", "Monday"));
    folder.write("links.tsv", "a\tb\nb\ta\n").write("truth.tsv", "id1\tid2\tlabel\n1\t1\tdup\n");
    folder.output(&["fingerprint", "a.html", "b.html", "--out", "f.jsonl"]);
    folder.output(&["near", "build", "f.jsonl", "--out", "f.hpx"]);
    folder.output(&["pairs", "f.jsonl", "--out", "pairs.tsv"]);
    for (option, arguments) in [
        ("--out", &["fingerprint", "a.html"][..]),
        ("--out", &["fingerprint", "a.html", "--format", "hpx"]),
        ("--out", &["near", "build", "f.jsonl"]),
        ("--out", &["near", "find", "f.jsonl", "--index", "f.hpx"]),
        ("--out", &["pairs", "f.jsonl"]),
        ("--out", &["groups", "pairs.tsv"]),
        ("--out", &["train", "a.html"]),
        ("--out", &["rank", "--links", "links.tsv"]),
        ("--out", &["partition", "learn", "a.html", "--machines", "2"]),
        ("--html", &["compare", "a.html", "b.html"]),
    ] {
        folder.write("there.txt", "precious");
        let arguments = [arguments, &[option, "there.txt"]].concat();
        let printed = folder.refusal(2, &arguments);
        assert!(
            printed.contains(&format!("{option} there.txt is there already: --force")),
            "{printed}"
        );
        assert_eq!(folder.read("there.txt"), b"precious");
        folder.output(&[&arguments[..], &["--force"]].concat());
        assert_ne!(folder.read("there.txt"), b"precious", "{arguments:?}");
    }
    // Pipes and devices are written to.
    folder.output(&["fingerprint", "a.html", "--out", "/dev/null"]);
}

#[cfg(unix)]
#[test]
fn links_to_inputs_are_resolved() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    std::os::unix::fs::symlink("a.html", folder.path("soft.html")).unwrap();
    std::fs::hard_link(folder.path("a.html"), folder.path("hard.html")).unwrap();
    spared(&folder, "a.html", &["fingerprint", "a.html", "--out", "soft.html"]);
    spared(&folder, "a.html", &["fingerprint", "a.html", "--out", "hard.html"]);
    spared(&folder, "a.html", &["compare", "soft.html", "-", "--html", "a.html"]);
    // Standard input may be a file, too.
    let input = std::fs::File::open(folder.path("a.html")).unwrap();
    let printed = std::process::Command::new(env!("CARGO_BIN_EXE_hapax"))
        .current_dir(folder.path(""))
        .args(["fingerprint", "-", "--out", "a.html"])
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!(printed.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&printed.stderr)
            .contains("a.html is the same file as standard input")
    );
    assert_eq!(folder.read("a.html"), ARTICLE.as_bytes());
}
