//! What clients without a token, other sites and readers cannot do: findings of the security review.

use crate::running::{Answer, Running, text};
use hapax_client::client::Client;
use hapax_server::Layers;
use hapax_server::fetch::{FetchError, Fetcher};
use serde_json::json;
use std::io::{BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Sends a request with exactly these headers.
fn raw(server: &Running, head: &str, body: &str) -> Answer {
    let mut stream = server.connect();
    let length = body.len();
    let head = format!("{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(head.as_bytes()).unwrap();
    Answer::read(&mut BufReader::new(stream))
}

#[test]
fn a_web_page_by_dns_rebinding_cannot_read() {
    let server = Running::start();
    let get = |host: &str| {
        raw(&server, &format!("GET /v1/pages HTTP/1.1\r\nHost: {host}\r\n"), "").status
    };
    for rebound in ["rebind.example:8017", "127.0.0.1.rebind.example", "localhost.rebind.example"] {
        assert_eq!(get(rebound), 403, "{rebound}");
    }
    for own in ["127.0.0.1:8017", "[::1]:8017", "localhost:8017", "192.0.2.1", "machine:8017"] {
        assert_eq!(get(own), 200, "{own}");
    }
    let named = Running::with("hosts = ['Hapax.example']");
    let get =
        |host: &str| raw(&named, &format!("GET /v1/pages HTTP/1.1\r\nHost: {host}\r\n"), "").status;
    assert_eq!((get("hapax.example:8017"), get("rebind.example")), (200, 403));
    let tokens = Running::with("[tokens]\nread = ['reader-0123456789']");
    let head = "GET /v1/pages HTTP/1.1\r\nHost: hapax.example\r\n\
                Authorization: Bearer reader-0123456789\r\n";
    assert_eq!(raw(&tokens, head, "").status, 200, "a token is proof enough");
}

#[test]
fn a_request_through_a_proxy_is_not_from_this_machine() {
    let server = Running::start();
    let body = json!({"url": "http://a", "text": text(1, 50)}).to_string();
    let json = "Content-Type: application/json\r\n";
    for brought in [
        "X-Forwarded-For: 203.0.113.9",
        "Forwarded: for=203.0.113.9",
        "X-Real-IP: 203.0.113.9",
        "Via: 1.1 p",
    ] {
        let answer = server.ask_with("POST", "/v1/pages", &format!("{json}{brought}\r\n"), &body);
        assert_eq!(answer.code(), "forbidden", "{brought}");
    }
    assert_eq!(server.ask_with("POST", "/v1/pages", json, &body).status, 200);
}

#[test]
fn a_request_with_an_ambiguous_end_is_refused() {
    let server = Running::start();
    for doubtful in [
        "Content-Length: 2\r\nContent-Length: 30\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: 2, 30\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding : chunked\r\n",
    ] {
        let mut stream = server.connect();
        let head = format!("POST /v1/check HTTP/1.1\r\nHost: x\r\n{doubtful}\r\n{{}}");
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(Answer::read(&mut BufReader::new(stream)).status, 400, "{doubtful}");
    }
}

#[test]
fn every_route_asks_for_the_permission_it_needs() {
    const OPEN: [&str; 5] = ["/healthz", "/readyz", "/openapi.json", "/", "/assets/{file}"];
    /// Their requests are large, but they change nothing.
    const READING: [&str; 2] = ["/v1/check", "/v1/compare"];
    let server =
        Running::with("[tokens]\nread = ['reader-0123456789']\nwrite = ['writer-0123456789']");
    let reader = "Authorization: Bearer reader-0123456789\r\n";
    for (method, path) in hapax_server::routes::list() {
        let real = path.replace("{id}", "1").replace("{file}", "app.js").replace("{url}", "x");
        let real = real.replace("{name}", "x");
        let anonymous = server.ask_with(method, &real, "", "").status;
        if OPEN.contains(&path) {
            assert_eq!((method, anonymous), ("GET", 200), "{path}");
            continue;
        }
        assert_eq!(anonymous, 401, "{method} {path}");
        if path == "/v1/events/stream" {
            continue;
        }
        let read = server.ask_with(method, &real, reader, "").status;
        let writes = method != "GET" && !READING.contains(&path);
        assert_eq!(read == 403, writes, "{method} {path} for a reader: {read}");
    }
}

#[test]
fn work_of_a_disconnected_client_still_takes_its_place() {
    let server = Running::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    runtime.block_on(async {
        for _ in 0..32 {
            let (now, most) = (now.clone(), most.clone());
            let call = server.service.work(move |_| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(300));
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            });
            // A client that disconnects at once.
            let _ = tokio::time::timeout(Duration::from_millis(5), call).await;
        }
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = most.load(Ordering::SeqCst);
    assert!(most <= cores, "{most} calls at once on {cores} cores");
}

#[test]
fn streams_leave_places_for_other_requests() {
    let server = Running::with("[limits]\nrequests = 8");
    let ask = "GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut streams: Vec<_> = (0..8).map(|_| server.connect()).collect();
    let mut answered = Vec::new();
    for stream in &mut streams {
        stream.write_all(ask.as_bytes()).unwrap();
        let mut first = String::new();
        std::io::BufRead::read_line(&mut BufReader::new(&mut *stream), &mut first).unwrap();
        answered.push(first[9..12].to_owned());
    }
    assert_eq!(answered.iter().filter(|status| *status == "200").count(), 6, "{answered:?}");
    assert_eq!(server.get("/v1/settings").status, 200);
}

fn fetcher(settings: &str) -> Fetcher {
    let mut layers = Layers::new().unwrap();
    layers.file("test", settings).unwrap();
    Fetcher::new(&layers.finish().unwrap().fetch).unwrap()
}

#[test]
fn ports_of_other_services_are_not_fetched() {
    let fetcher = fetcher("[fetch]\nallow = ['127.0.0.1']\nrobots = false\nseconds = 2");
    for port in [1, 22, 25, 110, 143, 465, 587, 6000, 6667, 10080] {
        let refused = fetcher.fetch(&format!("http://127.0.0.1:{port}/"));
        assert!(matches!(refused, Err(FetchError::Port { .. })), "{port}: {refused:?}");
    }
    // On public addresses, only the listed ports.
    for port in [81, 3000, 5432, 9200, 11211] {
        let refused = fetcher.fetch(&format!("http://8.8.8.8:{port}/"));
        assert!(matches!(refused, Err(FetchError::Port { .. })), "{port}: {refused:?}");
    }
}

#[test]
fn showing_settings_shows_no_token() {
    const SECRET: &str = "a-very-secret-token";
    let client = Client::new("http://127.0.0.1:1", Some(SECRET), Duration::from_secs(1));
    assert!(!format!("{client:?}").contains(SECRET));
    let mut layers = Layers::new().unwrap();
    layers.file("a.toml", &format!("[tokens]\nwrite = ['{SECRET}']")).unwrap();
    assert!(!format!("{layers:?}").contains(SECRET));
    assert!(!format!("{:?}", layers.finish().unwrap()).contains(SECRET));
    for wrong in [
        format!("[tokens]\nwrite = [{SECRET}]"),
        format!("[tokens]\nwrite = ['{SECRET}', 1]"),
        format!("[tokens]\nwrite = '{SECRET}'"),
    ] {
        let mut layers = Layers::new().unwrap();
        let error = layers.file("a.toml", &wrong).err();
        let error = error.or_else(|| layers.finish().err()).unwrap().to_string();
        assert!(!error.contains(SECRET), "{error}");
    }
}
