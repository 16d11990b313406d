//! Serving and fetching: settings, refusals, and a server that is asked and stopped.

use crate::folder::{Folder, stdout};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

#[test]
fn the_default_settings_are_shown_and_can_be_given_back() {
    let folder = Folder::new();
    let shown = folder.output(&["serve", "--show-config"]);
    assert!(shown.contains("listen = \"127.0.0.1:8017\""), "{shown}");
    folder.write("again.toml", shown.replace("rows = ", "row = "));
    let refused = folder.refusal(2, &["serve", "--store", "s", "--config", "again.toml"]);
    assert!(refused.contains("there is no setting `limits.row`"), "{refused}");
    let refused = folder.refusal(2, &["serve", "--store", "s", "--listen", "nowhere"]);
    assert!(refused.contains("socket address"), "{refused}");
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

#[cfg(unix)]
#[test]
fn a_server_says_where_it_listens_answers_and_stops_when_asked() {
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
    assert!(folder.path("store/index.hpx").exists(), "the index was not saved");
}
