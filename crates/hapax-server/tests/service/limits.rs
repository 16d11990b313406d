//! Overload, slow and hostile clients, tokens.

use crate::running::{Answer, Running, text};
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};

#[test]
fn requests_that_cannot_be_read_are_refused_with_their_code() {
    let server = Running::with("[limits]\nbody_bytes = 5000");
    let json = "Content-Type: application/json\r\n";
    let long = json!({"url": "http://a", "text": "x".repeat(6000)}).to_string();
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    for (method, path, headers, body, code) in [
        ("POST", "/v1/pages", json, "{", "invalid"),
        (
            "POST",
            "/v1/pages",
            json,
            "{\"url\":\"http://a\",\"text\":\"x\",\"colour\":1}",
            "invalid",
        ),
        ("POST", "/v1/pages", json, &deep, "invalid"),
        ("POST", "/v1/pages", json, &long, "too_large"),
        ("POST", "/v1/pages", "Content-Type: text/plain\r\n", "{}", "media_type"),
        ("POST", "/v1/pages/batch", json, "{}", "media_type"),
        ("GET", "/v1/nothing", "", "", "not_found"),
        ("PUT", "/v1/stats", "", "", "method_not_allowed"),
        ("GET", "/v1/groups/none", "", "", "invalid"),
        ("GET", "/v1/groups/77", "", "", "not_found"),
        ("GET", "/v1/groups?after=x&sort=number", "", "", "invalid"),
        ("GET", "/v1/events?limit=0", "", "", "invalid"),
        ("GET", "/v1/pages/%ff", "", "", "invalid"),
        ("GET", "/assets/..%2fCargo.toml", "", "", "not_found"),
    ] {
        let answer = server.ask_with(method, path, headers, body);
        assert_eq!(answer.code(), code, "{method} {path}: {answer:?}");
        assert!(answer.headers.contains("x-request-id: "), "{answer:?}");
    }
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn tokens_grant_their_permission() {
    let server =
        Running::with("[tokens]\nread = ['reader-0123456789']\nwrite = ['writer-0123456789']");
    let body = json!({"url": "http://a", "text": text(1, 50)}).to_string();
    let send = |path: &str, token: &str| {
        let headers = format!("Content-Type: application/json\r\n{token}");
        server.ask_with("POST", path, &headers, &body).status
    };
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    let (read, write) = (bearer("reader-0123456789"), bearer("writer-0123456789"));
    assert_eq!(send("/v1/check", ""), 401);
    assert_eq!(send("/v1/check", &bearer("wrong-0123456789")), 401);
    assert_eq!(send("/v1/check", &read), 200);
    assert_eq!(send("/v1/pages", &read), 403);
    assert_eq!(send("/v1/pages", &write), 200);
    assert_eq!(server.get("/metrics").status, 401);
    assert_eq!((server.get("/healthz").status, server.get("/").status), (200, 200));
}

#[test]
fn another_web_page_cannot_write_or_read_by_a_browser() {
    let server = Running::start();
    let body = json!({"url": "http://a", "text": "x"}).to_string();
    let json = "Content-Type: application/json\r\nOrigin: http://evil.example\r\n";
    let answer = server.ask_with("POST", "/v1/pages", json, &body);
    assert_eq!(answer.code(), "forbidden");
    assert!(!answer.headers.contains("access-control-allow-origin"), "{answer:?}");
    assert!(answer.headers.contains("content-security-policy: default-src 'none'"), "{answer:?}");
    let friend = Running::with("[cors]\norigins = ['http://friend.example']");
    let asked = "Origin: http://friend.example\r\nAccess-Control-Request-Method: POST\r\n";
    let answer = friend.ask_with("OPTIONS", "/v1/check", asked, "");
    assert_eq!(answer.status, 204);
    assert!(answer.headers.contains("access-control-allow-origin: http://friend.example"));
}

#[test]
fn overload_is_refused_at_once_and_ends_with_the_load() {
    let server = Running::with("[limits]\nrequests = 2");
    let wait = "GET /v1/events?after=0&wait=20 HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut waiting: Vec<_> = (0..2).map(|_| server.connect()).collect();
    waiting.iter_mut().for_each(|stream| stream.write_all(wait.as_bytes()).unwrap());
    let refused = |server: &Running| server.get("/v1/settings").status == 503;
    let mut tries = 0;
    while server.service.in_flight.available_permits() > 0 {
        tries += 1;
        assert!(tries < 3000, "the room is never full");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(server.get("/v1/settings").code(), "overloaded");
    assert!(server.get("/v1/settings").headers.contains("retry-after: 1"));
    assert_eq!(server.get("/healthz").status, 200);
    // A commit wakes the waiting requests; making one over HTTP would need a place itself.
    server.service.changed.send_modify(|commits| *commits += 1);
    drop(waiting);
    let mut tries = 0;
    while refused(&server) {
        tries += 1;
        assert!(tries < 3000, "refused for ever");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_client_that_sends_too_slowly_is_cut_off() {
    let server = Running::with("[limits]\nidle_seconds = 1");
    let mut headers = server.connect();
    headers.write_all(b"GET /healthz HTTP/1.1\r\nHost:").unwrap();
    let mut body = server.connect();
    body.write_all(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{").unwrap();
    assert_eq!(Answer::read(&mut BufReader::new(body)).code(), "slow_body");
    let mut rest = Vec::new();
    let _ = headers.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    let mut batch = server.connect();
    batch.write_all(b"POST /v1/pages/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/jsonl\r\nContent-Length: 50\r\n\r\n\n").unwrap();
    let answer = Answer::read(&mut BufReader::new(batch));
    let line: Value = serde_json::from_str(answer.body.trim()).unwrap();
    assert_eq!(line["error"]["code"], "slow_body");
}

#[test]
fn invalid_requests_do_no_harm() {
    let server = Running::start();
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20));
    for bytes in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        long.as_bytes(),
        b"POST /v1/pages HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ] {
        let mut stream = server.connect();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(server.get("/healthz").status, 200);
}

/// A request whose body of this size is incomplete.
fn unfinished(server: &Running, bytes: usize) -> std::net::TcpStream {
    let mut stream = server.connect();
    let length = bytes + 1;
    let head = format!(
        "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b' '; bytes]).unwrap();
    stream
}

#[test]
fn bodies_together_hold_at_most_the_limit_and_small_ones_pass() {
    let server = Running::with("[limits]\nheld_bytes = 1_000_000");
    let held = unfinished(&server, 900_000);
    let large = json!({"url": "http://a", "text": text(1, 60_000)});
    let mut tries = 0;
    let refused = loop {
        let answer = server.post("/v1/check", large.clone());
        if answer.status == 503 {
            break answer;
        }
        tries += 1;
        assert!(tries < 300, "both are let in: {answer:?}");
    };
    assert_eq!(refused.code(), "overloaded");
    assert!(refused.headers.contains("retry-after: 1"), "{refused:?}");
    server.post("/v1/check", json!({"url": "http://a", "text": text(1, 50)})).good();
    drop(held);
    while server.post("/v1/check", large.clone()).status != 200 {
        tries += 1;
        assert!(tries < 600, "what was held does not come back");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn bodies_that_are_still_arriving_take_no_place() {
    let server = Running::with("[limits]\nrequests = 2");
    let slow: Vec<_> = (0..20).map(|_| unfinished(&server, 10)).collect();
    for _ in 0..20 {
        server.get("/v1/settings").good();
    }
    drop(slow);
}

#[test]
fn connections_without_a_request_give_way_to_new_ones() {
    let server = Running::with("[limits]\nconnections = 4\nidle_seconds = 600");
    let idle: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for _ in 0..20 {
        assert_eq!(server.get("/healthz").status, 200);
    }
    drop(idle);
}

#[test]
fn a_follower_that_does_not_read_does_not_keep_the_service_from_stopping() {
    let mut server = Running::with("[limits]\nrequest_seconds = 600\nidle_seconds = 600");
    // More than the buffers of two sockets hold.
    let page = |n: u32| json!({"url": format!("http://a/{n}"), "text": text(n, 20)}).to_string();
    let long = "x".repeat(1500);
    let lines: Vec<String> =
        (0..4000).map(|n| page(n).replace("http://a/", &format!("http://a/{long}/"))).collect();
    let kind = "Content-Type: application/x-ndjson\r\n";
    assert_eq!(server.ask_with("POST", "/v1/pages/batch", kind, &lines.join("\n")).status, 200);
    let mut follower = server.connect();
    follower
        .write_all(b"GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        .unwrap();
    follower.read_exact(&mut [0; 12]).unwrap();
    assert!(server.stops(), "it waits for whoever does not read");
}

#[test]
fn a_client_that_sends_only_a_part_of_a_request_does_not_keep_the_service_from_stopping() {
    let mut server = Running::with("[limits]\nrequest_seconds = 600\nidle_seconds = 600");
    let body = unfinished(&server, 4_000_000);
    let mut head = server.connect();
    head.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").unwrap();
    let mut batch = server.connect();
    let page = json!({"url": "http://a/", "text": text(1, 20)}).to_string();
    let sent = format!(
        "POST /v1/pages/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n\
         Content-Length: 100000\r\n\r\n{page}\n{{\"url\":"
    );
    batch.write_all(sent.as_bytes()).unwrap();
    batch.read_exact(&mut [0; 12]).unwrap();
    assert!(server.stops(), "it waits for whoever does not send");
    let mut rest = String::new();
    let _ = batch.read_to_string(&mut rest);
    assert!(rest.contains("\"recorded\":true"), "the page that came was recorded: {rest}");
    drop((body, head));
}

#[test]
fn connections_that_have_sent_a_batch_give_way_to_new_ones() {
    let server = Running::with("[limits]\nconnections = 4\nidle_seconds = 600");
    let batch = b"POST /v1/pages/batch HTTP/1.1\r\nHost: 127.0.0.1\r\n\
        Content-Type: application/x-ndjson\r\nContent-Length: 1\r\n\r\n\n";
    let idle: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(batch).unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"0\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                answer.push(byte[0]);
            }
            stream
        })
        .collect();
    assert_eq!(server.get("/healthz").status, 200);
    drop(idle);
}

/// The path of a list of 8 MB, more than the buffers of two sockets hold.
fn long_list(server: &Running, token: &str) -> &'static str {
    let long = "x".repeat(8000);
    let page = |n: u32| json!({"url": format!("http://a/{long}/{n}"), "text": text(n, 20)});
    let lines: Vec<String> = (0..1000).map(|n| page(n).to_string()).collect();
    let head = format!("{token}Content-Type: application/x-ndjson\r\n");
    assert_eq!(server.ask_with("POST", "/v1/pages/batch", &head, &lines.join("\n")).status, 200);
    "/v1/pages?limit=1000"
}

#[test]
fn answers_that_are_not_read_count_until_they_are() {
    let server =
        Running::with("[limits]\nheld_bytes = 10_000_000\nclient_share = 1.0\nidle_seconds = 600");
    let list = long_list(&server, "");
    let mut reader = server.connect();
    let head = format!("GET {list} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    reader.write_all(head.as_bytes()).unwrap();
    let mut start = [0; 12];
    reader.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    let refused = server.get(list);
    assert_eq!(refused.code(), "overloaded");
    assert!(refused.headers.contains("connection: close"), "{}", refused.headers);
    server.get("/v1/pages?limit=1").good();
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 8_000_000);
    let mut tries = 0;
    while server.get(list).status != 200 {
        tries += 1;
        assert!(tries < 600, "what was held does not come back");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_client_holds_at_most_its_share_in_answers_that_it_does_not_read() {
    let tokens = "[tokens]\nwrite = ['one-0123456789abcd', 'other-0123456789abcd']";
    let limits = "[limits]\nheld_bytes = 100_000_000\nclient_share = 0.1\nidle_seconds = 600";
    let server = Running::with(&format!("{tokens}\n{limits}"));
    let [one, other] =
        ["one", "other"].map(|name| format!("Authorization: Bearer {name}-0123456789abcd\r\n"));
    let list = long_list(&server, &one);
    let mut reader = server.connect();
    write!(reader, "GET {list} HTTP/1.1\r\nHost: 127.0.0.1\r\n{one}\r\n").unwrap();
    reader.read_exact(&mut [0; 12]).unwrap();
    assert_eq!(server.ask_with("GET", list, &one, "").code(), "too_many_requests");
    server.ask_with("GET", "/v1/pages?limit=1", &one, "").good();
    assert_eq!(server.ask_with("GET", list, &other, "").status, 200);
}

#[test]
fn a_local_program_that_does_not_read_refuses_no_other_one() {
    let server =
        Running::with("[limits]\nheld_bytes = 100_000_000\nclient_share = 0.1\nidle_seconds = 600");
    let list = long_list(&server, "");
    let mut reader = server.connect();
    write!(reader, "GET {list} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    reader.read_exact(&mut [0; 12]).unwrap();
    assert_eq!(server.get(list).status, 200);
}
