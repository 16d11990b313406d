//! Runs the guide's examples, and compares the description of the API with the router.

use crate::running::{Answer, Running};
use hapax_server::{error, routes};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufReader, Write};

const GUIDE: &str = include_str!("../../../../docs/reference/http-api.md");

fn description() -> Value {
    serde_json::from_str(routes::OPENAPI).unwrap()
}

#[test]
fn the_description_has_every_route_and_no_other() {
    let mut described = BTreeSet::new();
    for (path, methods) in description()["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            described.insert((method.to_uppercase(), path.clone()));
        }
    }
    let routed: BTreeSet<(String, String)> = routes::list()
        .into_iter()
        .map(|(method, path)| (method.to_owned(), path.to_owned()))
        .collect();
    assert_eq!(described, routed);
}

#[test]
fn every_reference_in_the_description_resolves() {
    fn follow(value: &Value, whole: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(to)) = fields.get("$ref") {
                    assert!(whole.pointer(&to[1..]).is_some(), "{to}");
                }
                fields.values().for_each(|value| follow(value, whole));
            }
            Value::Array(items) => items.iter().for_each(|value| follow(value, whole)),
            _ => {}
        }
    }
    let whole = description();
    follow(&whole, &whole);
}

#[test]
fn the_guide_has_the_table_of_errors_and_every_path() {
    for (_, name, status, meaning) in error::TABLE {
        let row = format!("| `{name}` | {status} | {meaning} |");
        assert!(GUIDE.contains(&row), "docs/reference/http-api.md lacks\n{row}");
    }
    for (method, path) in routes::list() {
        let row = format!("| `{method} {path}` |");
        assert!(GUIDE.contains(&row), "docs/reference/http-api.md lacks {row}");
    }
}

/// Parses a `curl` line of the guide: method, path, headers, body.
fn parse(line: &str) -> (String, String, String, String) {
    let words = shell_words(line);
    let mut words = words.iter().map(String::as_str);
    assert_eq!(words.next(), Some("curl"));
    let (mut method, mut path, mut headers, mut body) =
        (None, String::new(), String::new(), String::new());
    while let Some(word) = words.next() {
        let mut argument = || words.next().unwrap().to_owned();
        match word {
            "-s" | "-N" => {}
            "-X" => method = Some(argument()),
            "--json" => {
                body = argument();
                headers += "Content-Type: application/json\r\n";
            }
            "-H" => headers += &format!("{}\r\n", argument()),
            "--data-binary" => body = argument().replace("\\n", "\n"),
            address => {
                path = address.strip_prefix("localhost:8017").expect("an address").to_owned()
            }
        }
    }
    let usual = if body.is_empty() { "GET" } else { "POST" };
    (method.unwrap_or_else(|| usual.to_owned()), path, headers, body)
}

fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            (_, c) => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[test]
fn the_examples_of_the_guide_are_answered_as_shown() {
    let server = Running::start();
    let mut examples = 0;
    for block in GUIDE.split("```curl\n").skip(1) {
        let block = block.split("```").next().unwrap().replace("\\\n  ", "");
        let mut lines = block.lines().peekable();
        while let Some(line) = lines.next() {
            if !line.starts_with("curl ") {
                continue;
            }
            let (method, path, headers, body) = parse(line);
            if path.starts_with("/v1/events/stream") {
                let mut stream = server.connect();
                write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
                let mut start = [0; 12];
                std::io::Read::read_exact(&mut BufReader::new(stream), &mut start).unwrap();
                assert_eq!(&start, b"HTTP/1.1 200");
                continue;
            }
            let answer: Answer = server.ask_with(&method, &path, &headers, &body);
            assert_eq!(answer.status, 200, "{line}\n{answer:?}");
            while let Some(shown) = lines.next_if(|line| line.starts_with("# ")) {
                let shown = shown.trim_start_matches("# ").trim_matches('…');
                for part in shown.split('…').filter(|part| !part.is_empty()) {
                    assert!(answer.body.contains(part), "{line}\nshows {part}\n{}", answer.body);
                }
            }
            examples += 1;
        }
    }
    assert!(examples >= 12, "only {examples} examples were found");
}

#[test]
fn alerts_and_dashboard_name_metrics_that_are_there() {
    let server = Running::start();
    server.post("/v1/pages", serde_json::json!({"url": "http://a/", "text": "some words"})).good();
    server.get("/metrics");
    let shown = server.get("/metrics").body;
    let lines = shown.lines().filter(|line| !line.starts_with('#'));
    let shown: BTreeSet<&str> = lines.filter_map(|line| line.split(['{', ' ']).next()).collect();
    let alerts = include_str!("../../../../deploy/alerts.yml");
    let dashboard = include_str!("../../../../deploy/dashboard.json");
    let mut named = 0;
    for (file, text) in [("alerts.yml", alerts), ("dashboard.json", dashboard)] {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with("hapax_")) {
            assert!(shown.contains(word), "deploy/{file} names {word}; there are {shown:?}");
            named += 1;
        }
    }
    assert!(named > 10, "{named}");
}

/// `cargo xtask test deploy` validates the manifests against the schemas of their formats; this
/// checks what they contain about this program.
#[test]
fn manifests_name_existing_paths_ports_and_files() {
    let dockerfile = include_str!("../../../../deploy/Dockerfile");
    let kubernetes = include_str!("../../../../deploy/kubernetes.yaml");
    let compose = include_str!("../../../../deploy/compose.yaml");
    let probes = kubernetes.match_indices("path: /").map(|(at, _)| &kubernetes[at + 6..]);
    let probes: Vec<&str> = probes.filter_map(|rest| rest.split(',').next()).collect();
    assert_eq!(probes, ["/readyz", "/healthz", "/readyz"]);
    assert!(probes.iter().all(|path| routes::list().contains(&("GET", path))));
    for manifest in [kubernetes, compose] {
        for named in ["/var/lib/hapax", "/run/secrets", "8017", "write-token", "read-token"] {
            assert!(manifest.contains(named) && dockerfile.contains(named), "{named}");
        }
    }
    assert!(dockerfile.contains("USER 65532:65532") && kubernetes.contains("runAsUser: 65532"));
    assert!(kubernetes.contains("replicas: 1"), "one process opens a repository at a time");
}
