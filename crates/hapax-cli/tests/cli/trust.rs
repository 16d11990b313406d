//! Protection against hostile names, pages, and other users of the machine.

use crate::folder::{ARTICLE, Folder};
use std::process::{Command, Stdio};

/// The process id stays the same when the shell executes the program.
#[cfg(unix)]
#[test]
fn a_folder_of_another_user_in_the_temporary_folder_is_not_touched() {
    let folder = Folder::new();
    folder.write("in/a.html", ARTICLE).write("in/b.html", ARTICLE);
    folder.write("pairs.tsv", "id1\tid2\tlabel\na.html\tb.html\tdup\n");
    for (theirs, command) in
        [("hapax-dedup", "dedup in --dry-run"), ("hapax-eval", "eval in --truth pairs.tsv")]
    {
        let script = format!(
            "mkdir -p \"$TMPDIR/{theirs}-$$\" && touch \"$TMPDIR/{theirs}-$$/theirs\" && \
             exec \"$0\" {command}"
        );
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_hapax")])
            .env("TMPDIR", folder.path("tmp"))
            .current_dir(folder.path(""))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
        let left: Vec<String> = std::fs::read_dir(folder.path("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.join("theirs").exists())
            .map(|path| path.display().to_string())
            .collect();
        assert_eq!(left.len(), 1, "{command} removed it");
        std::fs::remove_dir_all(folder.path("tmp")).unwrap();
    }
}

/// Runs the program on a pseudo-terminal; `None` without a program that creates one.
#[cfg(target_os = "linux")]
fn on_a_terminal(folder: &Folder, command: &str) -> Option<String> {
    let line = format!("'{}' {command}", env!("CARGO_BIN_EXE_hapax"));
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(folder.path(""))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn names_are_printed_without_control_characters() {
    let folder = Folder::new();
    let line = |name: &str| {
        format!("{}\n", serde_json::json!({"id": name, "text": "some words of a page"}))
    };
    // Set the window's title, clear the screen, the same with one character, and reverse text.
    let names = ["a\u{1b}]0;owned\u{7}", "b\u{1b}[2J", "c\u{9b}2J", "d\u{202e}txt.exe"];
    folder.write("pages.jsonl", names.map(line).concat());
    let Some(shown) = on_a_terminal(&folder, "fingerprint pages.jsonl --quiet") else { return };
    assert!(shown.contains("owned"), "{shown:?}");
    for sign in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'] {
        assert!(!shown.contains(sign), "{shown:?}");
    }
    let piped = folder.output(&["fingerprint", "pages.jsonl", "--quiet"]);
    assert!(piped.contains("b\u{1b}[2J"), "what is piped is what was read: {piped:?}");
}

#[test]
fn errors_are_printed_without_control_characters() {
    let folder = Folder::new();
    let recipe = "name = \"x\u{1b}]0;owned\u{7}\"\nnonsense = 1\n";
    folder.write("recipe.toml", recipe).write("a.html", ARTICLE);
    let said = folder.refusal(1, &["fingerprint", "a.html", "--recipe", "recipe.toml"]);
    assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{said:?}");
}

#[test]
fn every_written_page_forbids_fetching_and_scripts_of_documents() {
    let folder = Folder::new();
    let hostile =
        ARTICLE.replace("crane", "</title><script>alert(1)</script><img src=x onerror=alert(1)>");
    let other: String = (0..60).map(|i| format!("word{i} ")).collect();
    folder.write("in/a.html", ARTICLE).write("in/b&lt;.html", &hostile).write("in/c.txt", other);
    folder.write("pairs.tsv", "id1\tid2\tlabel\na.html\tc.txt\tdup\n");
    let _ =
        folder.hapax(&["compare", "in/a.html", "in/b&lt;.html", "--html", "compare.html"]).assert();
    folder.output(&["eval", "in", "--truth", "pairs.tsv", "--html", "eval.html"]);
    folder.output(&["dedup", "in", "--out", "out", "--quiet"]);
    for name in ["compare.html", "eval.html", "out/report.html"] {
        let page = String::from_utf8(folder.read(name)).unwrap();
        let policy = page.split("http-equiv=\"Content-Security-Policy\" content=\"").nth(1);
        let policy = policy.unwrap_or_else(|| panic!("{name} has no policy")).split('"').next();
        let policy = policy.unwrap_or_default();
        assert!(policy.starts_with("default-src 'none'; style-src 'unsafe-inline'"), "{policy}");
        let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next());
        let allowed = format!("<script nonce=\"{}\"", nonce.unwrap_or_default());
        assert_eq!(page.matches("<script").count(), 1, "{name}");
        assert!(page.contains(&allowed) && !page.contains("<img"), "{name}");
    }
}
