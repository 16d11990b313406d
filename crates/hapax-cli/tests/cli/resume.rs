//! `hapax dedup` killed and started again.
//!
//! Runs are killed at given sizes of the checkpoint; at any actual point, the result must be the same. The library's
//! own tests interrupt every format and compression.

use std::path::Path;

use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax_dedup::{Error, Options, Watch, dedup};

use crate::folder::{Folder, stderr};
use crate::remote::Server;

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
    let word = |seed: u64, i: u64| {
        let mixed = (seed << 32 | i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
    };
    let words = |seed| (0..400).map(move |i| format!("w{} ", word(seed, i) % 5000));
    let lines: String = (0..3_000)
        .map(|i| format!("{{\"id\": \"{i}\", \"text\": \"{}\"}}\n", words(i).collect::<String>()))
        .collect();
    folder.write("pages.jsonl", lines);
    folder.output(&["dedup", "pages.jsonl", "--format", format, "--out", format, "-q"]);
    let summary = String::from_utf8(folder.read(&format!("{format}/summary.json"))).unwrap();
    assert!(summary.contains("\"kept\": 3000"), "they are different: {summary}");
    format!("{format}/kept.{format}")
}

/// Starts a run and kills it when its checkpoint reaches this size. Returns whether it was in time.
fn kill_at(folder: &Folder, arguments: &[&str], bytes: u64) -> bool {
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
    !folder.path("killed/summary.json").exists()
}

#[test]
fn a_killed_run_continues_and_writes_the_same_result() {
    for format in ["jsonl.zst", "jsonl", "warc.gz", "parquet"] {
        let folder = Folder::new();
        let input = corpus(&folder, format);
        let common = ["dedup", &input, "--format", "jsonl", "--threads", "2"];
        folder.output(&[&common[..], &["-q", "--out", "whole"]].concat());
        let arguments = [&common[..], &["--key", "whole", "--out", "killed"]].concat();
        // A run may finish before it can be killed, or be killed before its first batch is
        // complete; then another one is tried. The result is always the same.
        let continued = (0..100).any(|_| {
            let _ = std::fs::remove_dir_all(folder.path("killed"));
            if !kill_at(&folder, &arguments, 100_000) || !kill_at(&folder, &arguments, 300_000) {
                return false;
            }
            let said = stderr(&folder.hapax(&arguments).assert().code(0));
            for name in FILES {
                let (one, other) = (format!("whole/{name}"), format!("killed/{name}"));
                assert!(folder.result(&one) == folder.result(&other), "{name} of {format}");
            }
            said.contains("continuing an interrupted run")
        });
        assert!(continued, "{format}: no run was killed that another could continue");
    }
}

#[test]
fn a_run_that_cannot_record_leaves_no_result_and_continues() {
    let folder = Folder::new();
    let line = |i: usize| {
        let text =
            format!("page {} of a text that is long enough to be compared with others", i / 2);
        format!("{{\"url\": \"https://a{i}.test/\", \"text\": \"{text}\"}}\n")
    };
    folder.write("pages.jsonl", (0..60).map(line).collect::<String>());
    let run = |out: &str, into: &str| {
        let words = ["dedup", "pages.jsonl", "--out", out, "--into", into, "--key", "key"];
        folder.hapax(&words).assert()
    };
    folder.write("key", "0123456789abcdef".repeat(4));
    run("whole", "one").code(0);
    folder.output(&["page", "add", "seen", "--from", "pages.jsonl", "--create", "-q"]);
    {
        // Another process has the repository.
        let _server = Server::start(&folder, "seen", &[]);
        let said = stderr(&run("out", "seen").code(1));
        assert!(said.contains("seen"), "{said}");
        assert!(!folder.path("out/summary.json").exists());
    }
    let said = stderr(&run("out", "seen").code(0));
    assert!(said.contains("continuing an interrupted run: 60 documents"), "{said}");
    for name in FILES.into_iter().filter(|name| *name != "report.html") {
        assert!(
            folder.read(&format!("whole/{name}")) == folder.read(&format!("out/{name}")),
            "{name}"
        );
    }
    let groups = |store: &str| folder.output(&["group", "list", store, "--json"]);
    assert_eq!(groups("one"), groups("seen"));
}

/// The output of a run that was stopped after its first batch; uses the library, so that the run
/// cannot finish before.
fn stopped(input: &str, out: &Path) {
    struct AtOnce(bool);
    impl Watch for AtOnce {
        fn progress(&mut self, _documents: u64, _input_bytes: u64) {
            self.0 = true;
        }
        fn stopped(&self) -> bool {
            self.0
        }
    }
    let recipe = Recipe::built_in("web-2").unwrap();
    let options = Options::new(Fingerprinter::new(recipe, None).unwrap());
    let error = dedup(&[input.to_owned()], out, &options, &mut AtOnce(false)).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
}

#[test]
fn a_run_that_cannot_be_continued_says_why_and_can_start_over() {
    let folder = Folder::new();
    let input = folder.path(&corpus(&folder, "jsonl")).display().to_string();
    let arguments = ["dedup", &input, "--out", "killed"];
    stopped(&input, &folder.path("killed"));
    let printed = folder.refusal(1, &[&arguments[..], &["--scope", "host"]].concat());
    assert!(printed.contains("begun with scope none, and this job has host"), "{printed}");
    assert!(printed.contains("start over with --restart"), "{printed}");
    let printed = stderr(
        &folder
            .hapax(&[&arguments[..], &["--scope", "host", "--restart"]].concat())
            .assert()
            .code(0),
    );
    assert!(
        !printed.contains("continuing") && printed.contains("3,000 documents read"),
        "{printed}"
    );
    let printed = folder.refusal(2, &["dedup", &input, "--dry-run", "--restart"]);
    assert!(printed.contains("--out"), "{printed}");
}
