//! The output of `hapax fingerprint`, and its order.

use crate::folder::{ARTICLE, Folder, stderr, stdout};
use serde_json::Value;
use std::io::Read;
use std::process::{Command, Stdio};

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_line_is_the_fingerprint_two_spaces_and_the_path() {
    let folder = Folder::new();
    let output = folder.write("a.html", ARTICLE).output(&["fingerprint", "a.html"]);
    let (fingerprint, path) = output.trim_end().split_once("  ").unwrap();
    assert_eq!(path, "a.html");
    assert_eq!(fingerprint.len(), 16);
    assert!(fingerprint.bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn markup_does_not_change_a_fingerprint_but_words_do() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    folder.write("b.html", ARTICLE.replace("<p>", "<script>var x = 1;</script><p class='x'>"));
    folder.write("c.html", "<p>Something else entirely, about tea and how it is grown.");
    let output = folder.output(&["fingerprint", "a.html", "b.html", "c.html"]);
    let prints: Vec<&str> = output.lines().map(|line| &line[..16]).collect();
    assert_eq!(prints[0], prints[1]);
    assert_ne!(prints[0], prints[2]);
}

#[test]
fn json_has_every_field() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("empty.html", "").write("short.txt", "two words");
    let output = folder.output(&["fingerprint", "--json", "a.html", "empty.html", "short.txt"]);
    let [article, empty, short] = &records(&output)[..] else { panic!("{output}") };
    assert_eq!(article["id"], "a.html");
    assert!(article["recipe"].as_str().unwrap().starts_with("web-2:"));
    assert_eq!(article["fingerprint"].as_str().unwrap().len(), 16);
    assert_eq!(article["content"].as_str().unwrap().len(), 32);
    assert_eq!(article["sketch"].as_str().unwrap().len(), 256);
    assert_eq!((&article["words"], &article["features"]), (&36.into(), &36.into()));
    assert_eq!((&article["too_short"], &article["no_features"]), (&false.into(), &false.into()));
    let mut bits: Vec<u64> =
        article["weak_bits"].as_array().unwrap().iter().map(|b| b.as_u64().unwrap()).collect();
    bits.sort_unstable();
    assert_eq!(bits, (0..64).collect::<Vec<_>>());

    assert_eq!(empty["no_features"], true);
    for field in ["fingerprint", "weak_bits", "sketch"] {
        assert_eq!(empty[field], Value::Null, "{field}");
    }
    assert_eq!((&short["too_short"], &short["no_features"]), (&true.into(), &false.into()));
}

#[test]
fn a_page_without_words_has_dashes_and_is_counted() {
    let folder = Folder::new();
    folder.write("empty.html", "").write("image.html", "<body><img alt='x' src='y'></body>");
    let assert = folder.hapax(&["fingerprint", "empty.html", "image.html"]).assert().code(0);
    assert_eq!(stdout(&assert), "----------------  empty.html\n----------------  image.html\n");
    assert!(stderr(&assert).contains("2 without features, 0 too short, 0 skipped"));
}

#[test]
fn output_is_in_input_order_for_any_number_of_threads() {
    let folder = Folder::new();
    for i in 0..150usize {
        // Sizes vary widely, so that documents are finished out of order.
        let words = format!("word{i} again{} ", i % 7).repeat(1 + (i * 7919) % 3000);
        folder.write(&format!("site/{}/{i:03}.txt", i % 5), words);
    }
    let one = folder.output(&["fingerprint", "--json", "--threads", "1", "site"]);
    let many = folder.output(&["fingerprint", "--json", "--threads", "8", "site"]);
    assert_eq!(one.lines().count(), 150);
    assert!(one == many);
    let ids: Vec<String> = records(&one).iter().map(|r| r["id"].to_string()).collect();
    assert!(ids.is_sorted());
}

#[test]
fn standard_input_is_one_page() {
    let folder = Folder::new();
    let named = folder.write("a.html", ARTICLE).output(&["fingerprint", "a.html"]);
    let piped = folder.hapax(&["fingerprint", "-"]).write_stdin(ARTICLE).assert().code(0);
    assert_eq!(stdout(&piped), named.replace("a.html", "-"));
}

#[test]
fn folders_are_read_in_sorted_order_without_hidden_and_other_files() {
    let folder = Folder::new();
    for name in ["b.html", "a/z.txt", "a/b/c.HTM", "c.md", ".hidden.html", ".git/x.html"] {
        folder.write(&format!("site/{name}"), ARTICLE);
    }
    folder.write("site/x.css", "p {}");
    let assert = folder.hapax(&["fingerprint", "site"]).assert().code(0);
    let output = stdout(&assert);
    let paths: Vec<&str> = output.lines().map(|line| &line[18..]).collect();
    assert_eq!(paths, ["site/a/b/c.HTM", "site/a/z.txt", "site/b.html", "site/c.md"]);
    assert!(stderr(&assert).contains("1 other file in folders ignored"));
    let all = folder.output(&["fingerprint", "--all-files", "site"]);
    assert_eq!(all.lines().count(), 5);
}

#[cfg(unix)]
#[test]
fn circular_links_are_ignored() {
    let folder = Folder::new();
    folder.write("site/a.html", ARTICLE);
    std::os::unix::fs::symlink("..", folder.path("site/up")).unwrap();
    std::os::unix::fs::symlink("a.html", folder.path("site/b.html")).unwrap();
    let output = folder.output(&["fingerprint", "site"]);
    let paths: Vec<&str> = output.lines().map(|line| &line[18..]).collect();
    assert_eq!(paths, ["site/a.html", "site/b.html"]);
}

#[cfg(unix)]
#[test]
fn a_path_with_a_line_break_stays_on_one_line() {
    let folder = Folder::new();
    folder.write("a\nb\\c.html", ARTICLE);
    let output = folder.output(&["fingerprint", "a\nb\\c.html"]);
    assert!(output.starts_with('\\') && output.ends_with("  a\\nb\\\\c.html\n"), "{output}");
}

#[test]
fn a_named_file_is_read_whatever_its_name() {
    let folder = Folder::new();
    folder.write("page", ARTICLE).write("page.php", ARTICLE);
    let output = folder.output(&["fingerprint", "page", "page.php"]);
    let prints: Vec<&str> = output.lines().map(|line| &line[..16]).collect();
    assert_eq!(prints[0], prints[1]);
}

#[test]
fn results_go_to_a_file_when_asked() {
    let folder = Folder::new();
    let printed = folder.write("a.html", ARTICLE).output(&["fingerprint", "a.html"]);
    let nothing = folder.output(&["fingerprint", "a.html", "--out", "prints.txt"]);
    assert_eq!(nothing, "");
    assert_eq!(folder.read("prints.txt"), printed.as_bytes());
    assert_eq!(folder.names(), ["a.html", "prints.txt"]);
}

#[test]
fn quiet_prints_results_only() {
    let folder = Folder::new();
    let assert = folder.write("a.html", ARTICLE).hapax(&["fingerprint", "-q", "a.html"]).assert();
    assert_eq!(stderr(&assert.code(0)), "");
}

#[test]
fn a_closed_pipe_is_success() {
    let folder = Folder::new();
    for i in 0..300 {
        folder.write(&format!("site/{i}.html"), ARTICLE);
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["fingerprint", "--json", "site"])
        .current_dir(folder.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut printed = String::new();
    child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(printed, "");
}

#[test]
fn help_and_version_succeed() {
    let folder = Folder::new();
    assert!(folder.output(&["--version"]).starts_with("hapax "));
    for arguments in [&["--help"][..], &["help", "fingerprint"], &["compare", "--help"]] {
        assert!(folder.output(arguments).contains("Examples:"), "{arguments:?}");
    }
}
