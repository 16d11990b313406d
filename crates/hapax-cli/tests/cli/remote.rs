//! The same commands on a folder and on a service have the same output and exit codes, except for the name of the
//! repository in errors, the number of commits, and the origin of an index.

use crate::folder::{ARTICLE, Folder, stderr, stdout};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// A real server on a free port, stopped at the end of the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// Keeps the pipe open for the server's messages.
    _said: BufReader<std::process::ChildStderr>,
}

impl Server {
    pub(crate) fn start(folder: &Folder, store: &str, settings: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
            .args(["serve", "--listen", "127.0.0.1:0", "--store"])
            .arg(folder.path(store))
            .envs(settings.iter().copied())
            // A service ignores the token of a client on the same machine.
            .env("HAPAX_TOKEN", "whatever")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended");
        }
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self { child, address, _said: said }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn other(text: &str) -> String {
    let words = "The ferry across the bay stopped at noon because the captain had seen fog over the \
        northern lights, and nobody aboard had brought anything to read but a timetable.";
    format!("<html lang=en-GB><body><p>{words} {text}</p></body></html>")
}

const READER: &str = "a-reader-of-pages";
const WRITER: &str = "a-writer-of-pages";
const TEA: &str = "https://example.org/tea";
const PRINT: &str = "https://example.org/tea/print";
const FERRY: &str = "https://example.org/ferry";

/// Arguments of commands in an order with many effects; `STORE` is the repository.
fn commands() -> Vec<Vec<&'static str>> {
    let time = ["--fetched", "2026-03-01"];
    let with = |words: &[&'static str], more: &[&'static str]| [words, more].concat();
    vec![
        with(&["page", "add", "STORE", TEA, "a.html"], &time),
        with(&["page", "add", "STORE", PRINT, "a.html", "--json"], &time),
        with(&["page", "add", "STORE", FERRY, "b.html", "--score", "0.5"], &time),
        with(&["page", "add", "STORE", "https://m.example/ferry", "near.html"], &time),
        with(&["page", "add", "STORE", "https://m.example/empty", "empty.html", "--json"], &time),
        with(&["page", "check", "STORE", "https://new.example/", "near.html"], &time),
        with(&["page", "check", "STORE", "https://new.example/", "near.html", "--json"], &time),
        // Two collisions, and a page between them.
        with(&["page", "add", "STORE", "https://l.example/1", "l1.html"], &time),
        with(&["page", "add", "STORE", "https://l.example/3", "l3.html"], &time),
        with(&["page", "add", "STORE", "https://l.example/2", "l2.html", "--score", "9"], &time),
        with(&["page", "redirect", "STORE", "http://example.org/old", TEA, "--json"], &time),
        with(
            &["page", "redirect", "STORE", "http://example.org/r1", "http://example.org/r2"],
            &time,
        ),
        vec!["page", "show", "STORE", PRINT],
        vec!["page", "show", "STORE", PRINT, "--json"],
        vec!["page", "show", "STORE", "http://example.org/old", "--json"],
        vec!["page", "show", "STORE", "http://example.org/r2"],
        vec!["page", "show", "STORE", "https://m.example/empty"],
        vec!["page", "show", "STORE", "https://nobody.example/"],
        vec!["page", "score", "STORE", PRINT, "2.5"],
        vec!["page", "score", "STORE", "https://nobody.example/", "1"],
        vec!["group", "show", "STORE", TEA],
        vec!["group", "show", "STORE", "http://example.org/old", "--json"],
        vec!["group", "show", "STORE", "https://nobody.example/"],
        vec!["group", "list", "STORE"],
        vec!["group", "list", "STORE", "--least", "1", "--json"],
        vec!["group", "list", "STORE", "--least", "1", "--after", "0", "--limit", "2"],
        vec!["group", "rules", "STORE", "--market", "short", "--set", "shortest-url"],
        vec!["group", "rules", "STORE", "--json"],
        vec!["group", "show", "STORE", TEA, "--market", "short", "--json"],
        vec!["group", "list", "STORE", "--market", "short", "--json"],
        vec!["page", "show", "STORE", PRINT, "--market", "short"],
        vec!["group", "rules", "STORE", "--set", "https, shortest-url"],
        vec!["group", "rules", "STORE", "--market", "short", "--drop"],
        vec!["group", "rules", "STORE"],
        with(&["page", "add", "STORE", PRINT, "b.html"], &["--fetched", "2026-03-02"]),
        vec!["page", "add", "STORE", "--from", "corpus.jsonl", "--json"],
        vec!["page", "add", "STORE", "--from", "corpus.jsonl"],
        vec!["page", "forget", "STORE", TEA, "https://nobody.example/", "--json"],
        vec!["page", "forget", "STORE", TEA],
        vec!["page", "expire", "STORE", "--before", "2026-02-01"],
        vec!["page", "expire", "STORE", "--before", "2026-03-01T12:00:00Z", "--json"],
        vec!["events", "STORE"],
        vec!["events", "STORE", "--json"],
        vec!["events", "STORE", "--after", "3", "--limit", "2"],
        vec!["page", "show", "STORE"],
        vec!["group", "rules", "STORE", "--set", "no-such-rule"],
    ]
}

/// Exit code, output and errors, without the repository's name.
fn outcome(folder: &Folder, words: &[&str], store: &[&str]) -> (Option<i32>, String, String) {
    let typed: Vec<&str> = words
        .iter()
        .flat_map(|word| if *word == "STORE" { store.to_vec() } else { vec![*word] })
        .collect();
    let assert = folder.hapax(&typed).assert();
    let errors = stderr(&assert).replace(store[store.len() - 1], "STORE");
    let output = match words[0] {
        "events" => without_times(&stdout(&assert)),
        _ => stdout(&assert),
    };
    (assert.get_output().status.code(), output, errors)
}

/// Events with `TIME` instead of the recording time.
fn without_times(events: &str) -> String {
    let is_time = |text: &str| text.len() == 20 && text.contains('T') && text.ends_with('Z');
    let separator = |c: char| c == ' ' || c == '"';
    let pieces = events.split_inclusive(separator).map(|piece| {
        let (text, end) = piece.split_at(piece.trim_end_matches(separator).len());
        if is_time(text) { format!("TIME{end}") } else { piece.to_owned() }
    });
    pieces.collect()
}

#[test]
fn every_command_has_the_same_output_for_a_folder_and_a_service() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("b.html", other("Nobody minded."));
    folder.write("near.html", other("Nobody minded it.")).write("empty.html", "<p></p>");
    let line = |url: &str, html: &str| {
        serde_json::json!({"url": url, "html": html, "fetched": 1_772_323_200}).to_string()
    };
    let corpus: Vec<String> = (0..5)
        .map(|n| line(&format!("https://c.example/{n}"), &other(&format!("Day {}.", n / 2))))
        .collect();
    folder.write("corpus.jsonl", corpus.join("\n"));
    let ladder = |changed: &dyn Fn(usize) -> bool| {
        let word = |n| if changed(n) { format!("other{n}") } else { format!("word{n}") };
        format!("<p>{}</p>", (0..200).map(word).collect::<Vec<_>>().join(" "))
    };
    folder.write("l1.html", ladder(&|_| false)).write("l2.html", ladder(&|n| n < 10));
    folder.write("l3.html", ladder(&|n| n < 10 || (100..110).contains(&n)));
    // An empty repository, created by the service.
    drop(Server::start(&folder, "seen", &[]));
    let server = Server::start(&folder, "served", &[]);
    let mut printed = String::new();
    for words in commands() {
        let here = outcome(&folder, &words, &["seen"]);
        let there = outcome(&folder, &words, &["--server", &server.address]);
        assert_eq!(here, there, "{words:?}");
        printed += &here.1;
    }
    for word in [
        "near duplicate of",
        "redirects into",
        "awaited",
        "\"merged\"",
        "is now part of",
        "wins group",
    ] {
        assert!(printed.contains(word), "nothing says {word}: {printed}");
    }
    // The address may also be in the place of the folder.
    let by_name = without_times(&folder.output(&["events", &server.address]));
    assert_eq!(by_name, without_times(&folder.output(&["events", "seen"])));
    assert!(by_name.contains("TIME"), "{by_name}");

    let local: Vec<String> = inspected(&folder.output(&["inspect", "seen"]));
    assert_eq!(local, inspected(&folder.output(&["inspect", "--server", &server.address])));
    for (code, words) in [(2, ["inspect", "--check"]), (2, ["export", "--json"])] {
        let refused = folder.hapax(&[&words[..], &["--server", &server.address]].concat());
        let refused = { refused }.assert().code(code);
        assert!(!stderr(&refused).is_empty());
    }
}

/// Without differences: sizes of the file and the index, and commits, because a service forgets
/// pages one by one.
fn inspected(text: &str) -> Vec<String> {
    let differs = ["file", "index", "commits"];
    let same = |line: &&str| !differs.iter().any(|word| line.starts_with(word));
    text.lines().filter(same).map(str::to_owned).collect()
}

#[test]
fn a_token_is_taken_from_the_flag_or_the_environment() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    let tokens = [("HAPAX_TOKENS__READ", READER), ("HAPAX_TOKENS__WRITE", WRITER)];
    let server = Server::start(&folder, "served", &tokens);
    let add = ["page", "add", "--server", &server.address, TEA, "a.html"];
    let refused = folder.refusal(1, &add);
    assert!(refused.contains("--token") && refused.contains("HAPAX_TOKEN"), "{refused}");
    let refused = folder.refusal(1, &[&add[..], &["--token", "wrong"]].concat());
    assert!(refused.contains("this token is unknown"), "{refused}");
    let refused = folder.refusal(1, &[&add[..], &["--token", READER]].concat());
    assert!(refused.contains("this token may only read"), "{refused}");
    folder.output(&[&add[..], &["--token", WRITER]].concat());
    folder.hapax(&add).env("HAPAX_TOKEN", WRITER).assert().code(0);
    let show = ["page", "show", &server.address, TEA];
    folder.hapax(&show).env("HAPAX_TOKEN", READER).assert().code(0);
}

#[test]
fn an_unreachable_or_wrong_service_is_reported_with_advice() {
    let folder = Folder::new();
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let lost = folder.refusal(1, &["events", "--server", &nobody]);
    assert!(lost.contains(&nobody) && lost.contains("is `hapax serve` running there"), "{lost}");
    let wrong = folder.refusal(1, &["inspect", "--server", "http://"]);
    assert!(wrong.contains("hapax serve"), "{wrong}");

    // A service of an earlier version, and another program.
    for answer in [r#"{"version":"0.0.1","recipe":{"id":"x"}}"#, "<p>hello</p>"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let length = answer.len();
        let said = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{answer}");
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 1000];
            assert!(stream.read(&mut asked).unwrap() > 0);
            stream.write_all(said.as_bytes()).unwrap();
        });
        let strange = folder.refusal(1, &["page", "show", "--server", &address, TEA]);
        assert!(strange.contains("does not answer like a Hapax service"), "{strange}");
        assert!(strange.contains("of the same version"), "{strange}");
        answering.join().unwrap();
    }
}

#[test]
fn a_failing_corpus_reports_what_was_recorded() {
    let folder = Folder::new();
    let line = |url: &str, text: &str| format!("{{\"url\":\"{url}\",\"text\":\"{text}\"}}\n");
    let too_long = format!("http://a.example/{}", "x".repeat(20_000));
    let few = [
        line("http://a.example/1", "one"),
        line(&too_long, "two"),
        line("http://a.example/3", "three"),
    ];
    folder.write("few.jsonl", few.concat());
    let server = Server::start(&folder, "served", &[]);
    let printed = folder.refusal(1, &["page", "add", &server.address, "--from", "few.jsonl"]);
    assert!(printed.contains("; 2 of the 3 pages sent together were recorded"), "{printed}");
    folder.output(&["page", "show", &server.address, "http://a.example/3"]);
    // In a folder a commit is atomic.
    let printed = folder.refusal(1, &["page", "add", "seen", "--create", "--from", "few.jsonl"]);
    assert!(!printed.contains("recorded"), "{printed}");
    folder.refusal(1, &["page", "show", "seen", "http://a.example/1"]);
    let padding = "w ".repeat(150);
    let mut many: String =
        (0..9_000).map(|n| line(&format!("http://a.example/{n}"), &padding)).collect();
    many.push_str(&line(&too_long, "last"));
    folder.write("many.jsonl", many);
    let printed = folder.refusal(1, &["page", "add", "seen", "--from", "many.jsonl", "-q"]);
    assert!(
        printed.contains("; the ") && printed.contains(" pages before were recorded"),
        "{printed}"
    );
    folder.output(&["page", "show", "seen", "http://a.example/4999"]);
}
