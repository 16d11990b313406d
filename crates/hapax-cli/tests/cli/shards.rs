//! A corpus cleaned by several processes: `dedup --signatures`, `dedup --from-signatures`, `apply`.

use crate::folder::{Folder, stderr};

/// Six files; every text occurs twice, in different files.
fn corpus(folder: &Folder) {
    for file in 0..6 {
        let lines: String = (0..5)
            .map(|line| {
                let text: String =
                    (0..60).map(|i| format!("w{} ", (file % 3 * 5 + line) * 97 + i * 3)).collect();
                format!("{{\"id\": \"{file}-{line}\", \"text\": \"{text}\"}}\n")
            })
            .collect();
        folder.write(&format!("in/{file}.jsonl"), lines);
    }
}

#[test]
fn three_steps_report_their_work_and_give_the_result_of_one_process() {
    let folder = Folder::new();
    corpus(&folder);
    for shard in ["2/4", "0/4", "1/4", "3/4"] {
        let command = ["dedup", "in", "--signatures", "s", "--shard", shard];
        let printed = stderr(&folder.hapax(&command).assert().code(0));
        assert!(printed.contains(&format!("shard {shard}: ")), "{printed}");
    }
    let decide = ["dedup", "--from-signatures", "s", "--out", "decided"];
    let printed = stderr(&folder.hapax(&decide).assert().code(0));
    assert!(printed.contains("30 documents read") && printed.contains("15 kept"), "{printed}");
    folder.output(&["dedup", "in", "--key", "s/key", "--out", "one", "-q"]);
    for name in ["groups.parquet", "removed.parquet", "kept.signatures", "summary.json"] {
        assert!(folder.read(&format!("one/{name}")) == folder.read(&format!("decided/{name}")));
    }
    let mut kept = Vec::new();
    for shard in 0..4 {
        let (number, out) = (format!("{shard}/4"), format!("clean/{shard}"));
        let command = ["apply", "decided", "in", "--shard", &number, "--out", &out];
        let printed = stderr(&folder.hapax(&command).assert().code(0));
        assert!(printed.contains(" kept · ") && printed.contains("kept.jsonl"), "{printed}");
        kept.extend(folder.read(&format!("{out}/kept.jsonl")));
    }
    assert!(kept == folder.read("one/kept.jsonl"));
    let shown = folder.output(&["apply", "one", "in/2.jsonl", "--out", "x", "--json", "-q"]);
    assert_eq!(shown.as_bytes(), folder.read("x/summary.json"));
    assert!(shown.contains("\"documents\": 5"), "{shown}");
}

#[test]
fn unusable_input_of_a_step_is_refused() {
    let folder = Folder::new();
    corpus(&folder);
    let refused = |arguments: &[&str], code: i32, why: &str| {
        let printed = stderr(&folder.hapax(arguments).assert().code(code));
        assert!(printed.contains(why), "{printed}");
    };
    refused(&["dedup", "in", "--signatures", "s", "--shard", "4/4"], 2, "K from 0 to N - 1");
    refused(&["apply", "in", "in", "--out", "c"], 1, "name the output folder of a finished job");
    refused(
        &["dedup", "ftp://host/x", "--out", "c"],
        1,
        "no address that can be read; expected s3://",
    );
    refused(&["fingerprint", "in", "--out", "https://host/x"], 1, "cannot be written to");
    refused(&["dedup", "in", "--out", "o", "--shard", "1/4"], 2, "--shard");
    for option in [["--within", "3"], ["--keep", "longest"], ["--out", "o"], ["--format", "warc"]] {
        let [name, value] = option;
        refused(&["dedup", "in", "--signatures", "s", name, value], 2, name);
    }
    refused(&["dedup", "-", "--signatures", "s"], 1, "name files");
    refused(&["dedup", "--from-signatures", "in", "--out", "o"], 1, "no file that ends in");
    folder.output(&["dedup", "in", "--signatures", "s", "-q"]);
    refused(&["dedup", "--from-signatures", "s", "--out", "o", "--verify"], 2, "--verify");
    refused(&["dedup", "--from-signatures", "s", "in", "--out", "o"], 2, "INPUT");
    refused(&["dedup", "--from-signatures", "s", "--out", "o", "--scope", "host"], 1, "scope none");
    refused(&["apply", "s", "in", "--out", "o"], 1, "summary.json");
    assert!(!folder.path("o").exists());
}
