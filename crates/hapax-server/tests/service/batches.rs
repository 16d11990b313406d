//! Streams of lines.

use crate::running::{Answer, Running, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};

const LINES: &str = "Content-Type: application/x-ndjson\r\n";

fn line(url: &str, seed: u32) -> String {
    json!({ "url": url, "text": text(seed, 40) }).to_string() + "\n"
}

fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_line_is_answered_in_order_and_a_bad_one_does_not_stop_the_others() {
    let server = Running::start();
    let mut body = String::new();
    for n in 0..3000 {
        body += &match n % 100 {
            7 => "{\"url\": 5}\n".to_owned(),
            8 => {
                json!({ "url": format!("http://r/{n}"), "redirect": "http://a/1" }).to_string()
                    + "\n"
            }
            _ => line(&format!("http://a/{n}"), n / 2),
        };
    }
    let answers = lines(&server.ask_with("POST", "/v1/pages/batch", LINES, &body));
    assert_eq!(answers.len(), 3000);
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer["line"], n + 1);
        match n % 100 {
            7 => assert_eq!(answer["error"]["code"], "invalid"),
            8 => assert_eq!(answer["verdict"], "redirect"),
            9 => assert_eq!(answer["verdict"], "new", "the line before was none"),
            _ if n % 2 == 1 => assert_eq!(answer["verdict"], "exact", "{answer}"),
            _ => assert_eq!(answer["verdict"], "new", "{answer}"),
        }
    }
    let pages = server.get("/v1/stats").good()["pages"].as_u64().unwrap();
    assert_eq!(pages, 3000 - 30);
}

#[test]
fn a_line_is_answered_before_the_next_is_sent() {
    let server = Running::start();
    let mut stream = server.connect();
    let head = "POST /v1/pages/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n";
    write!(stream, "{head}{LINES}\r\n").unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    for n in 0..3 {
        let sent = line(&format!("http://a/{n}"), 1);
        write!(stream, "{:x}\r\n{sent}\r\n", sent.len()).unwrap();
        let mut answer = String::new();
        while !answer.starts_with('{') {
            answer.clear();
            answers.read_line(&mut answer).unwrap();
        }
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["verdict"], if n == 0 { "new" } else { "exact" });
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_others_are_not() {
    let server = Running::with("[limits]\nbody_bytes = 2000");
    let long = line("http://long", 1).replace("http", &"h".repeat(200_000));
    let body = format!("{}\n\n{long}{}", line("http://a", 1), line("http://b", 1).trim_end());
    let answers = lines(&server.ask_with("POST", "/v1/pages/batch", LINES, &body));
    let told: Vec<_> = answers
        .iter()
        .map(|a| (a["line"].as_u64().unwrap(), &a["verdict"], &a["error"]["code"]))
        .collect();
    assert_eq!(
        told,
        [
            (1, &json!("new"), &Value::Null),
            (4, &Value::Null, &json!("too_large")),
            (5, &json!("exact"), &Value::Null)
        ]
    );
}

#[test]
fn a_client_that_disconnects_early_loses_no_acknowledged_page() {
    let server = Running::start();
    let mut stream = server.connect();
    let head = "POST /v1/pages/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n";
    write!(stream, "{head}{LINES}\r\n{}", line("http://a", 1)).unwrap();
    let mut answers = BufReader::new(stream);
    let mut answer = String::new();
    while !answer.starts_with('{') {
        answer.clear();
        answers.read_line(&mut answer).unwrap();
    }
    drop(answers);
    assert_eq!(server.get("/v1/stats").good()["pages"], 1);
}
