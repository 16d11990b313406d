//! `hapax dedup` killed by the system and started again.
//!
//! The moments of killing are sizes of the checkpoint; whenever it really dies, the result must be the same.
//! Every format and packing is interrupted inside the library's own tests.

use crate::folder::{Folder, stderr};

const FILES: [&str; 6] = [
    "groups.parquet",
    "removed.parquet",
    "report.html",
    "summary.json",
    "kept.signatures",
    "kept.jsonl",
];

/// 3,000 different texts in the given format.
fn corpus(folder: &Folder, format: &str) -> String {
    let words = |seed: usize| (0..400).map(move |i| format!("w{} ", (i * 31 + seed * 7) % 5000));
    let lines: String = (0..3_000)
        .map(|i| format!("{{\"id\": \"{i}\", \"text\": \"{}\"}}\n", words(i).collect::<String>()))
        .collect();
    folder.write("pages.jsonl", lines);
    folder.output(&["dedup", "pages.jsonl", "--format", format, "--out", format, "-q"]);
    format!("{format}/kept.{format}")
}

/// Starts a run and kills it when its checkpoint has so many bytes.
fn kill_at(folder: &Folder, arguments: &[&str], bytes: u64) {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(arguments)
        .current_dir(folder.path(""))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = folder.path("killed/.hapax-work/signatures");
    while child.try_wait().unwrap().is_none() {
        if checkpoint.metadata().is_ok_and(|it| it.len() > bytes) {
            child.kill().unwrap();
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_killed_run_continues_and_writes_what_an_undisturbed_one_does() {
    for format in ["jsonl.zst", "jsonl", "warc.gz", "parquet"] {
        let folder = Folder::new();
        let input = corpus(&folder, format);
        let common = ["dedup", &input, "--format", "jsonl", "--threads", "2"];
        folder.output(&[&common[..], &["-q", "--out", "whole"]].concat());
        let arguments = [&common[..], &["--out", "killed"]].concat();
        kill_at(&folder, &arguments, 100_000);
        kill_at(&folder, &arguments, 300_000);
        // On a machine so fast that it ended before it was killed nothing is left to continue.
        if !folder.path("killed/summary.json").exists() {
            let told = stderr(&folder.hapax(&arguments).assert().code(0));
            assert!(told.contains("continuing an interrupted run"), "{format}: {told}");
        }
        for name in FILES {
            let (one, other) = (format!("whole/{name}"), format!("killed/{name}"));
            assert!(folder.result(&one) == folder.result(&other), "{name} of {format}");
        }
    }
}

#[test]
fn a_run_that_cannot_be_continued_says_why_and_starts_over_when_asked() {
    let folder = Folder::new();
    let input = corpus(&folder, "jsonl");
    let arguments = ["dedup", &input, "--out", "killed"];
    kill_at(&folder, &arguments, 100_000);
    if folder.path("killed/summary.json").exists() {
        return;
    }
    let told = folder.refusal(1, &[&arguments[..], &["--scope", "host"]].concat());
    assert!(told.contains("begun with scope none, and this job has host"), "{told}");
    assert!(told.contains("start over with --restart"), "{told}");
    let told = stderr(
        &folder
            .hapax(&[&arguments[..], &["--scope", "host", "--restart"]].concat())
            .assert()
            .code(0),
    );
    assert!(!told.contains("continuing") && told.contains("3,000 documents read"), "{told}");
    let told = folder.refusal(2, &["dedup", &input, "--dry-run", "--restart"]);
    assert!(told.contains("--out"), "{told}");
}
