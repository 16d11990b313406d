//! Requests to the service: a page as JSON, and any body on any route.
//!
//! Every request is answered with JSON and without a server error; every line of a batch that is not blank is
//! answered once, with its number.

use crate::{Target, choice, scratch};
use axum::body::Body;
use axum::http::Request;
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax_client::prepare::prepare;
use hapax_client::wire::PageInput;
use hapax_server::routes::read_json;
use hapax_server::{App, Layers, Service};
use hapax_store::{Action, Repository, Settings};
use http_body_util::BodyExt;
use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A page as a client sends it.
pub const PAGE_JSON: Target = Target {
    name: "page_json",
    about: "JSON is a page or refused, and a page that is written out reads the same",
    run: page_json,
    seeds: page_seeds,
    pieces: FIELDS,
    rounds: 150_000,
};

/// Bodies on all routes.
pub const HTTP: Target = Target {
    name: "http",
    about: "every request is answered in JSON, every line of a batch once, and none is our fault",
    run: http,
    seeds: http_seeds,
    pieces: FIELDS,
    rounds: 15_000,
};

const FIELDS: &[&str] = &[
    "{\"url\":",
    "\"html\":",
    "\"text\":",
    "\"signature\":",
    "\"redirect\":",
    "\"score\":",
    "\"fetched\":",
    "\"headers\":{",
    "\"link\":\"</c>; rel=canonical\"",
    "\"canonical\":",
    "\"language\":",
    "\"field\":",
    "\"recipe\":",
    "\"fingerprint\":",
    "\"sketch\":",
    "\"content\":",
    "\"words\":",
    "\"rules\":",
    "\"to\":",
    "\"left\":",
    "\"right\":",
    "\"before\":",
    "}",
    "\n",
    "\\u0000",
    "\\ud800",
    "1e999",
    "null",
    "\"http://a/",
];

fn fingerprinter() -> Fingerprinter {
    Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap()
}

thread_local! {
    static FINGERPRINTER: RefCell<Fingerprinter> = RefCell::new(fingerprinter());
    static SERVER: RefCell<Option<Served>> = const { RefCell::new(None) };
}

/// Possible JSON of a page.
pub fn page_json(data: &[u8]) {
    let Ok(input) = read_json::<PageInput>(data) else { return };
    let written = serde_json::to_vec(&input).unwrap();
    assert_eq!(read_json::<PageInput>(&written).unwrap(), input);
    let address = input.url.clone();
    let Ok(prepared) = FINGERPRINTER.with_borrow_mut(|by| prepare(by, input)) else { return };
    assert_eq!(prepared.url, address);
    if let Action::Observe(seen) = prepared.action {
        assert!(seen.canonical.is_none_or(|url| !url.is_empty()));
        assert!(seen.score.is_none_or(f64::is_finite));
    }
}

fn page_seeds() -> Vec<Vec<u8>> {
    let digits = |n: usize| "5".repeat(n);
    let recipe = fingerprinter().recipe_id().to_string();
    let signature = format!(
        r#"{{"url":"http://a/","signature":{{"recipe":"{recipe}","fingerprint":"{}","sketch":"{}","content":"{}","words":9}}}}"#,
        digits(16),
        digits(256),
        digits(32)
    );
    let mut seeds = vec![signature.into_bytes()];
    seeds.extend(
        [
            r#"{"url":"http://a/b","html":"<p>one two","headers":{"Link":"</c>; rel=canonical"}}"#,
            r#"{"url":"http://a/c","redirect":"http://a/d","fetched":9,"score":-1e300}"#,
            r#"{"url":"http://a/e","text":"x","canonical":"http://a/f","language":"de-AT","field":"y"}"#,
        ]
        .map(|text| text.as_bytes().to_vec()),
    );
    seeds
}

/// A service that is replaced after some hundred requests.
struct Served {
    app: App,
    service: Arc<Service>,
    runtime: Runtime,
    asked: u32,
    _folder: tempfile::TempDir,
}

impl Served {
    fn new() -> Self {
        let folder = scratch();
        let settings = Settings::new(fingerprinter().recipe_id().clone());
        let store = Repository::create(folder.path(), settings).unwrap();
        let mut layers = Layers::new().unwrap();
        layers.set("fuzzed", "limits.body_bytes", "20000").unwrap();
        let service = Service::new(store, fingerprinter(), layers.finish().unwrap()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let app = App::new(service.clone());
        Self { app, service, runtime, asked: 0, _folder: folder }
    }

    fn ask(&mut self, request: Request<Body>) -> (u16, Vec<u8>) {
        self.asked += 1;
        self.runtime.block_on(async {
            let answer = self.app.answer(IpAddr::from([127, 0, 0, 1]), request).await;
            let status = answer.status().as_u16();
            (status, answer.into_body().collect().await.unwrap().to_bytes().to_vec())
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.service.begin_stop();
        self.service.finish();
    }
}

const ROUTES: [(&str, &str); 14] = [
    ("POST", "/v1/pages"),
    ("POST", "/v1/pages/batch"),
    ("POST", "/v1/check"),
    ("POST", "/v1/compare"),
    ("PUT", "/v1/rules"),
    ("PUT", "/v1/markets/de"),
    ("GET", "/v1/groups"),
    ("GET", "/v1/pages"),
    ("DELETE", "/v1/pages/"),
    ("GET", "/v1/pages/"),
    ("GET", "/v1/groups/"),
    ("GET", "/v1/events"),
    ("GET", "/v1/search"),
    ("GET", "/assets/"),
];

fn lines_of(body: &[u8]) -> Vec<u64> {
    let lines = body.split(|&byte| byte == b'\n').zip(1u64..);
    lines.filter(|(line, _)| !line.trim_ascii().is_empty()).map(|(_, number)| number).collect()
}

/// The first byte chooses the route; the rest is the body, or the end of the path.
pub fn http(data: &[u8]) {
    let (first, rest) = choice(data);
    let (method, path) = ROUTES[first % ROUTES.len()];
    let (path, body) = match method {
        "POST" | "PUT" => (path.to_owned(), rest.to_vec()),
        _ => {
            let between = if path.ends_with('/') { "" } else { "?" };
            (format!("{path}{between}{}", String::from_utf8_lossy(rest)), Vec::new())
        }
    };
    // Skips requests that would wait.
    if path.contains("wait") || path.contains("stream") {
        return;
    }
    let batch = path == "/v1/pages/batch";
    let kind = if batch { "application/x-ndjson" } else { "application/json" };
    let request = Request::builder().method(method).uri(&path);
    let request = request.header("host", "localhost").header("content-type", kind);
    let Ok(request) = request.body(Body::from(body.clone())) else { return };
    let (status, answer) = SERVER.with_borrow_mut(|server| {
        if server.as_ref().is_none_or(|server| server.asked >= 500) {
            *server = None;
        }
        server.get_or_insert_with(Served::new).ask(request)
    });
    assert!(status < 500, "{method} {path}: {status} {}", String::from_utf8_lossy(&answer));
    if batch {
        assert_eq!(status, 200);
        let answers = answer.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let answers: Vec<serde_json::Value> =
            answers.map(|line| serde_json::from_slice(line).unwrap()).collect();
        let numbers: Vec<u64> = answers.iter().map(|line| line["line"].as_u64().unwrap()).collect();
        assert_eq!(numbers, lines_of(&body), "lines and answers");
    } else if !path.starts_with("/assets") && !answer.is_empty() {
        let value: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(value.get("error").is_some(), status >= 400, "{status} {value}");
    }
}

fn http_seeds() -> Vec<Vec<u8>> {
    let pages = page_seeds();
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for page in &pages {
        seeds.extend([0, 2].map(|route| [&[route], &page[..]].concat()));
    }
    seeds.push([&[1], pages.join(&b"\n\n"[..]).as_slice(), b"\n{}\n"].concat());
    for (route, text) in [
        (3u8, r#"{"left":{"text":"one two"},"right":{"url":"http://a/b"}}"#),
        (3, r#"{"left":{"html":"<p>one two"},"right":{"text":"one two three"}}"#),
        (4, r#"{"rules":"score, prefer-host:a|b"}"#),
        (5, r#"{"rules":"shortest-url"}"#),
        (6, "limit=20&sort=size&least=2&after=3"),
        (7, "limit=3&prefix=http%3A%2F%2Fa&after=x"),
        (8, "http%3A%2F%2Fa%2Fb"),
        (9, "http%3A%2F%2Fa%2Fb?market=de"),
        (10, "1/events?limit=3"),
        (10, "0?market=de"),
        (11, "after=0&limit=5"),
        (12, "q=tea&limit=3"),
        (13, "app.js"),
    ] {
        seeds.push([&[route], text.as_bytes()].concat());
    }
    seeds
}
