//! Checks that `deploy/` fits the program: its arguments, its settings, its token files.

use crate::folder::Folder;
use std::path::Path;

fn deployed(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The values of a setting in a unit.
fn values<'u>(unit: &'u str, name: &str) -> Vec<&'u str> {
    let value = |line: &'u str| line.strip_prefix(name)?.strip_prefix('=');
    unit.lines().filter_map(value).collect()
}

/// Checks the arguments of a deployed command: the program prints its default settings instead of
/// serving.
fn accepted(arguments: &[&str]) {
    let folder = Folder::new();
    let shown = folder.output(&[arguments, &["--show-config"]].concat());
    assert!(shown.contains("listen = "), "{shown}");
}

#[test]
fn the_service_file_uses_valid_arguments() {
    let unit = deployed("hapax.service");
    let start = values(&unit, "ExecStart");
    let words: Vec<&str> = start[0].split_whitespace().collect();
    assert_eq!((start.len(), words[0], words[1]), (1, "/usr/local/bin/hapax", "serve"));
    accepted(&words[1..]);
    for (setting, value) in [
        ("DynamicUser", "yes"),
        ("ProtectSystem", "strict"),
        ("NoNewPrivileges", "yes"),
        ("StateDirectory", "hapax"),
        ("UMask", "0077"),
        ("CapabilityBoundingSet", ""),
    ] {
        assert_eq!(values(&unit, setting), [value], "{setting}");
    }
    let credentials = values(&unit, "LoadCredential");
    let environment = values(&unit, "Environment").into_iter();
    let tokens = environment.filter(|it| it.starts_with("HAPAX_"));
    for (variable, value) in tokens.map(|it| it.split_once('=').unwrap()) {
        let name = value.strip_prefix("%d/").unwrap();
        assert!(variable.starts_with("HAPAX_TOKENS__"), "{variable}");
        assert!(credentials.iter().any(|it| it.starts_with(&format!("{name}:"))), "{name}");
    }
}

#[test]
fn the_container_uses_valid_arguments() {
    let file = deployed("Dockerfile");
    let words = |instruction: &str| -> Vec<String> {
        let line = file.lines().rev().find_map(|line| line.strip_prefix(instruction)).unwrap();
        serde_json::from_str(line.trim()).unwrap()
    };
    assert_eq!(words("ENTRYPOINT"), ["/usr/local/bin/hapax"]);
    let command = words("CMD");
    accepted(&command.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(file.contains("\nUSER 65532:65532\n"), "it runs as nobody in particular");
}

#[test]
fn the_deployed_settings_are_valid_and_require_tokens() {
    let folder = Folder::new();
    folder.write("hapax.toml", deployed("hapax.toml")).write("empty", "# none yet\n");
    let environment = deployed("Dockerfile");
    let variables = environment.lines().find_map(|line| line.strip_prefix("ENV HAPAX_")).unwrap();
    let variables = format!("HAPAX_{variables}");
    let mut command = folder.hapax(&["serve", "--store", "s", "--config", "hapax.toml"]);
    for (name, _) in variables.split_whitespace().map(|it| it.split_once('=').unwrap()) {
        command.env(name, folder.path("empty"));
    }
    let refused = crate::folder::stderr(&command.assert().failure());
    assert!(refused.contains("it holds no token"), "{refused}");
}

/// `cargo xtask test deploy` checks the manifest with the schemas of its format; this test checks
/// the commands in it.
#[test]
fn the_deployed_jobs_clean_a_corpus() {
    let manifest = deployed("kubernetes-dedup.yaml");
    let commands: Vec<Vec<&str>> = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix("args: [")?.strip_suffix(']'))
        .map(|words| words.split(", ").collect())
        .collect();
    let folder = Folder::new();
    for number in 0..20 {
        let text = format!("{{\"id\": {number}, \"text\": \"text {}\"}}\n", number % 7);
        folder.write(&format!("crawl/{number}.jsonl"), text);
    }
    let corpus = folder.path("").display().to_string();
    let run = |words: &[&str], index: usize| {
        let word = |word: &&str| {
            word.replace("$(JOB_COMPLETION_INDEX)", &index.to_string())
                .replace("/corpus/", &format!("{corpus}/"))
        };
        let words: Vec<String> = words.iter().map(word).collect();
        folder.output(&words.iter().map(String::as_str).collect::<Vec<_>>());
    };
    let [fingerprint, decide, apply] = &commands[..] else { panic!("{commands:?}") };
    (0..16).for_each(|index| run(fingerprint, index));
    run(decide, 0);
    (0..16).for_each(|index| run(apply, index));
    let kept = |index| folder.read(&format!("clean/{index}/kept.jsonl"));
    let kept = String::from_utf8((0..16).flat_map(kept).collect()).unwrap();
    assert_eq!(kept.lines().count(), 7, "{kept}");
    assert_eq!(manifest.matches("completions: 16").count(), 2);
    assert_eq!(manifest.matches("runAsNonRoot: true").count(), 3);
}
