//! Ctrl-C while a result is being written: partial results are deleted, and existing files are unchanged.

use crate::folder::{ARTICLE, Folder};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a command, writes to its standard input, waits for a temporary file, and interrupts it.
fn interrupted(folder: &Folder, signal: &str, arguments: &[&str], fed: &str) {
    let before = hidden(folder);
    let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .current_dir(folder.path(""))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(fed.as_bytes()).unwrap();
    input.flush().unwrap();
    let started = Instant::now();
    while hidden(folder) == before {
        assert!(started.elapsed() < Duration::from_secs(60), "{arguments:?}: nothing temporary");
        std::thread::yield_now();
    }
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ended = child.wait().unwrap();
    drop(input);
    assert_eq!(ended.code(), Some(130), "{arguments:?}");
    assert_eq!(hidden(folder), before, "{arguments:?}");
}

/// Names of all files in the folder, including hidden ones.
fn hidden(folder: &Folder) -> Vec<String> {
    let entries = folder.path("").read_dir().unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn an_interrupted_command_leaves_nothing_behind() {
    let folder = Folder::new();
    folder.write("old.txt", "old").write("old.hpx", "old");
    for signal in ["-INT", "-TERM"] {
        interrupted(&folder, signal, &["fingerprint", "-", "--out", "new.txt"], ARTICLE);
        interrupted(&folder, signal, &["fingerprint", "-", "--out", "old.txt", "--force"], ARTICLE);
        interrupted(&folder, signal, &["fingerprint", "-", "--out", "new.hpx"], ARTICLE);
        let lines = "0123456789abcdef  a\n".repeat(20_000);
        interrupted(&folder, signal, &["near", "build", "-", "--out", "new.hpx"], &lines);
        interrupted(
            &folder,
            signal,
            &["near", "build", "-", "--out", "old.hpx", "--force"],
            &lines,
        );
        interrupted(&folder, signal, &["search", "build", "-", "--out", "index"], "");
    }
    assert_eq!(folder.read("old.txt"), b"old");
    assert_eq!(folder.read("old.hpx"), b"old");
}
