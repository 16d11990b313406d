//! Serving and fetching: settings, refusals, and a server that is queried and stopped.

use crate::folder::{ARTICLE, Folder, stdout};
use crate::remote::Server;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

#[test]
fn the_printed_default_settings_are_valid() {
    let folder = Folder::new();
    let shown = folder.output(&["serve", "--show-config"]);
    assert!(shown.contains("listen = \"127.0.0.1:8017\""), "{shown}");
    folder.write("again.toml", shown.replace("rows = ", "row = "));
    let refused = folder.refusal(2, &["serve", "--store", "s", "--config", "again.toml"]);
    assert!(refused.contains("there is no setting `limits.row`"), "{refused}");
    let refused = folder.refusal(2, &["serve", "--store", "s", "--listen", "nowhere"]);
    assert!(refused.contains("such as 127.0.0.1:8017"), "{refused}");
}

#[test]
fn results_of_a_job_are_not_served_as_a_repository() {
    let folder = Folder::new();
    folder.write("page.html", ARTICLE);
    folder.output(&["dedup", "page.html", "--out", "clean"]);
    let refused = folder.refusal(1, &["serve", "--store", "clean"]);
    assert!(refused.contains("clean has results of `hapax dedup`, and no repository"), "{refused}");
    assert!(!folder.path("clean/pages.redb").exists());
}

#[test]
fn a_public_service_without_tokens_warns_and_can_listen_on_a_host_name() {
    let folder = Folder::new();
    for (listen, tokens, warns) in [
        ("0.0.0.0:0", None, true),
        ("0.0.0.0:0", Some("a-reader-of-pages"), false),
        ("localhost:0", None, false),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
        command.args(["serve", "--listen", listen, "--store"]).arg(folder.path("served"));
        command.envs(tokens.map(|token| ("HAPAX_TOKENS__READ", token)));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut printed = String::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            printed += &line.unwrap();
            if printed.contains("listening on http://") {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(printed.contains("listening on http://"), "{listen}: {printed}");
        assert_eq!(
            printed.contains("warning: other machines can reach"),
            warns,
            "{listen}: {printed}"
        );
    }
}

#[test]
fn a_fetch_that_fails_leaves_no_repository_behind() {
    let folder = Folder::new();
    for (url, said) in [
        ("http://nobody.invalid/", "the name nobody.invalid cannot be resolved"),
        ("http://127.0.0.1:1/", "its host is not a public address"),
    ] {
        let failed = folder.hapax(&["page", "fetch", "--store", "seen", url]).assert().code(1);
        assert!(stdout(&failed).contains(said), "{}", stdout(&failed));
        assert!(!folder.path("seen").exists(), "{url}");
    }
}

#[test]
fn an_address_that_is_not_public_is_not_fetched() {
    let folder = Folder::new();
    folder.write("list.txt", "# mine\n\nhttp://127.0.0.1:1/\nfile:///etc/hosts\n");
    let arguments =
        ["page", "fetch", "--store", "s", "--from", "list.txt", "--progress", "done.txt"];
    let lines = stdout(&folder.hapax(&arguments).assert().code(1));
    assert_eq!(lines.lines().filter(|line| line.starts_with("failed\t")).count(), 2, "{lines}");
    assert_eq!(folder.output(&arguments), "", "everything is done already");
}

/// A local site: two pages with the same text, a redirect to the first, and nothing else.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = String::new();
            BufReader::new(&stream).read_line(&mut asked).unwrap();
            let path = asked.split(' ').nth(1).unwrap_or_default();
            let (status, more, body) = match path {
                "/one" | "/two" => ("200 OK", "Content-Type: text/html\r\n", ARTICLE),
                "/old" => ("301 Moved Permanently", "Location: /one\r\n", ""),
                _ => ("404 Not Found", "", ""),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\n");
            let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn pages_are_fetched_into_a_folder_and_into_a_service_alike() {
    let folder = Folder::new();
    let site = site();
    folder.write("fetch.toml", "[fetch]\nallow = [\"127.0.0.0/8\"]\ndelay_seconds = 0.0\n");
    folder.write(
        "list.txt",
        ["/one", "/two", "/old", "/none"].map(|path| format!("{site}{path}\n")).concat(),
    );
    let server = Server::start(&folder, "served", &[]);
    let fetch = |target: [&str; 2], progress: &str| {
        let list = ["page", "fetch", "--config", "fetch.toml", "--from", "list.txt"];
        folder.hapax(&[&list[..], &["--progress", progress], &target].concat()).assert()
    };
    let here = fetch(["--store", "kept"], "kept.done").code(1);
    let there = fetch(["--server", &server.address], "served.done").code(1);
    let lines = stdout(&here);
    assert_eq!(stdout(&there), lines);
    let begun: Vec<&str> = lines.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(begun, ["new", "exact", "exact", "failed"], "{lines}");
    let old = format!("{site}/old");
    let kept = folder.output(&["group", "show", "kept", &old]);
    let served = folder.output(&["group", "show", "--server", &server.address, &old]);
    assert_eq!(kept, served);
    assert_eq!(stdout(&fetch(["--server", &server.address], "served.done").code(0)), "");
}

#[test]
fn a_page_that_could_not_be_recorded_is_fetched_again_the_next_time() {
    let folder = Folder::new();
    let one = format!("{}/one", site());
    folder.write("fetch.toml", "[fetch]\nallow = [\"127.0.0.0/8\"]\n");
    let tokens = [("HAPAX_TOKENS__READ", "a-reader-of-pages")];
    let server = Server::start(&folder, "served", &tokens);
    let arguments = ["page", "fetch", "--config", "fetch.toml", "--progress", "done.txt", &one];
    let arguments = [&arguments[..], &["--server", &server.address]].concat();
    let reader = [&arguments[..], &["--token", "a-reader-of-pages"]].concat();
    let refused = folder.refusal(1, &reader);
    assert!(refused.contains("token that may write"), "{refused}");
    assert_eq!(folder.read("done.txt"), b"");
}

#[cfg(unix)]
#[test]
fn a_server_prints_its_address_answers_and_stops_on_a_signal() {
    let folder = Folder::new();
    let mut server = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["serve", "--listen", "127.0.0.1:0", "--store"])
        .arg(folder.path("store"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("listening on") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended");
    }
    let address = line.trim().rsplit('/').nth(1).unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let asked = Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(asked.success());
    assert!(server.wait().unwrap().success());
    assert!(folder.path("store/index.segment").exists(), "the index was not saved");
}
