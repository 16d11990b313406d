//! Fetching allowed and forbidden addresses, from a small site on this machine.

use crate::running::{Running, text};
use hapax_server::Layers;
use hapax_server::fetch::{FetchError, Fetcher, list};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A site with fixed answers: path to everything after the HTTP version of the status line.
struct Site {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn start(answers: &[(&str, String)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let answers: BTreeMap<String, String> =
            answers.iter().map(|(path, answer)| ((*path).to_owned(), answer.clone())).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let mut head = BufReader::new(stream.try_clone().unwrap());
                let mut first = String::new();
                let _ = head.read_line(&mut first);
                let mut line = String::new();
                while head.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.clear();
                }
                let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                let missing = "404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned();
                let answer = answers.get(&path).unwrap_or(&missing);
                seen.lock().unwrap().push(path);
                let _ = write!(stream, "HTTP/1.1 {answer}");
            }
        });
        Self { base, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn page(text: &str) -> String {
    format!(
        "200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

fn redirect(to: &str) -> String {
    format!("302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

const LOCAL: &str = "[fetch]\nallow = ['127.0.0.1']\ndelay_seconds = 0.0\n";

fn fetcher(settings: &str) -> Fetcher {
    let mut layers = Layers::new().unwrap();
    layers.file("test", settings).unwrap();
    Fetcher::new(&layers.finish().unwrap().fetch).unwrap()
}

#[test]
fn addresses_that_are_not_public_are_refused_by_number_and_by_name() {
    let site = Site::start(&[("/", page("secret"))]);
    let port = site.base.rsplit(':').next().unwrap();
    let fetcher = fetcher(&format!("[fetch]\nports = [{port}]"));
    for host in [
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "169.254.169.254",
    ] {
        let refused = fetcher.fetch(&format!("http://{host}:{port}/"));
        assert!(matches!(refused, Err(FetchError::Refused { .. })), "{host}: {refused:?}");
    }
    for other in
        ["file:///etc/passwd", "ftp://a/", "gopher://a/", "http://user@a/", "nothing", "http:///"]
    {
        let refused = fetcher.fetch(other);
        let expected =
            matches!(refused, Err(FetchError::NotAnAddress { .. } | FetchError::Failed { .. }));
        assert!(expected, "{other}: {refused:?}");
    }
    assert_eq!(site.asked(), [""; 0]);
}

#[test]
fn a_redirect_to_an_address_that_is_not_public_is_refused() {
    let inner = Site::start(&[("/", page("secret"))]);
    let by_name = inner.base.replace("127.0.0.1", "[::ffff:127.0.0.2]");
    let site = Site::start(&[
        ("/", redirect("http://169.254.169.254/latest/")),
        ("/name", redirect(&by_name)),
        ("/file", redirect("file:///etc/passwd")),
    ]);
    let fetcher = fetcher(LOCAL);
    for path in ["/", "/name"] {
        let refused = fetcher.fetch(&format!("{}{path}", site.base));
        assert!(matches!(refused, Err(FetchError::Refused { .. })), "{refused:?}");
    }
    let refused = fetcher.fetch(&format!("{}/file", site.base));
    assert!(matches!(refused, Err(FetchError::NotAnAddress { .. })), "{refused:?}");
    assert_eq!(inner.asked(), [""; 0]);
}

#[test]
fn redirects_size_and_status_are_limited() {
    let bomb = "200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n".to_owned()
        + &"x".repeat(5000);
    let site = Site::start(&[
        ("/loop", redirect("/loop")),
        ("/long", bomb),
        ("/gone", "410 Gone\r\nContent-Length: 0\r\n\r\n".into()),
    ]);
    let fetcher = fetcher(&format!("{LOCAL}body_bytes = 4000\nredirects = 3\nrobots = false\n"));
    let fetch = |path: &str| fetcher.fetch(&format!("{}{path}", site.base));
    assert!(matches!(fetch("/loop"), Err(FetchError::TooManyRedirects { most: 3, .. })));
    assert_eq!(site.asked().len(), 4);
    assert!(matches!(fetch("/long"), Err(FetchError::TooLong { most: 4000, .. })));
    assert!(matches!(fetch("/gone"), Err(FetchError::Status { status: 410, .. })));
}

#[test]
fn robots_txt_is_fetched_once_and_obeyed_unless_disabled() {
    let robots = "User-agent: *\nDisallow: /private";
    let answers = [("/robots.txt", page(robots)), ("/private", page("no")), ("/open", page("yes"))];
    let site = Site::start(&answers);
    let polite = fetcher(LOCAL);
    let private = format!("{}/private", site.base);
    assert!(matches!(polite.fetch(&private), Err(FetchError::Robots { .. })));
    assert_eq!(polite.fetch(&format!("{}/open", site.base)).unwrap().body, b"yes");
    assert_eq!(site.asked(), ["/robots.txt", "/open"]);
    assert_eq!(fetcher(&format!("{LOCAL}robots = false\n")).fetch(&private).unwrap().body, b"no");
}

#[test]
fn an_unavailable_robots_txt_is_reported_as_such() {
    let site = Site::start(&[
        ("/robots.txt", "503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into()),
        ("/", page("yes")),
    ]);
    let fetcher = fetcher(LOCAL);
    let why = |url: &str| match fetcher.fetch(url) {
        Err(FetchError::RobotsUnreachable { why, .. }) => why,
        other => panic!("{url}: {other:?}"),
    };
    assert_eq!(why(&site.base), "status 503");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = why(&format!("http://{nobody}/"));
    assert!(refused.contains("refused"), "{refused}");
    // The file is not requested again for every page.
    assert_eq!(why(&format!("{}/other", site.base)), "status 503");
    assert_eq!(site.asked(), ["/robots.txt"]);
    let server = Running::with(LOCAL);
    let said = server.post("/v1/fetch", json!({"url": site.base}));
    assert_eq!(said.code(), "robots_unreachable");
}

#[test]
fn a_name_that_does_not_resolve_is_reported_as_such() {
    // Reserved, so that no resolver may know it.
    let url = "http://nobody.invalid/";
    let unresolved = fetcher("").fetch(url);
    let Err(FetchError::Unresolved { host, .. }) = &unresolved else {
        panic!("{unresolved:?}");
    };
    assert_eq!(host, "nobody.invalid");
    let said = Running::start().post("/v1/fetch", json!({"url": url}));
    assert_eq!(said.code(), "name_not_resolved");
}

#[test]
fn the_service_fetches_records_redirects_and_compares() {
    let words = text(1, 100);
    let site = Site::start(&[
        ("/old", redirect("/new")),
        ("/new", page(&format!("<title>New</title><p>{words}</p>"))),
        ("/image", "200 OK\r\nContent-Type: image/png\r\nContent-Length: 8\r\nConnection: close\r\n\r\n\u{7f}PNG\r\n\u{1a}\n".into()),
    ]);
    let server = Running::with(LOCAL);
    let old = format!("{}/old", site.base);
    let checked = server.post("/v1/fetch", json!({"url": old, "record": false})).good();
    assert_eq!((&checked["verdict"], &checked["recorded"]), (&json!("new"), &json!(false)));
    let judged = server.post("/v1/fetch", json!({"url": old})).good();
    let new = format!("{}/new", site.base);
    assert_eq!((&judged["url"], &judged["redirects"][0]["to"]), (&json!(new), &json!(new)));
    let asked = server.post("/v1/check", json!({"url": "http://copy", "text": words})).good();
    assert_eq!(asked["matches"][0]["url"], new);
    assert_eq!(server.get("/v1/stats").good()["pages"], 2);
    let image = server.post("/v1/fetch", json!({"url": format!("{}/image", site.base)}));
    assert_eq!(image.code(), "not_a_page");
    assert_eq!(Running::start().post("/v1/fetch", json!({"url": old})).code(), "address_refused");
    let off = Running::with("[fetch]\nenabled = false");
    assert_eq!(off.post("/v1/fetch", json!({"url": old})).code(), "forbidden");
}

#[test]
fn a_list_resumes_where_it_stopped() {
    let site = Site::start(&[("/1", page("a")), ("/2", page("b")), ("/3", page("c"))]);
    let urls = [1, 2, 3, 2].map(|n| format!("{}/{n}", site.base));
    let fetcher = fetcher(&format!("{LOCAL}robots = false\n"));
    let mut finished = BTreeSet::new();
    let stopped = list::fetch_all(&fetcher, urls.clone(), &BTreeSet::new(), 2, |url, fetched| {
        fetched.unwrap();
        finished.insert(url.to_owned());
        if finished.len() == 2 { Err("stop") } else { Ok(()) }
    });
    assert_eq!(stopped, Err("stop"));
    let mut rest = Vec::new();
    list::fetch_all(&fetcher, urls.clone(), &finished, 2, |url, _| {
        rest.push(url.to_owned());
        Ok::<_, ()>(())
    })
    .unwrap();
    assert_eq!(rest, urls[2..3]);
}

#[test]
fn a_host_that_does_not_answer_does_not_take_all_places() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}/", silent.local_addr().unwrap());
    let site = Site::start(&[("/", page(&text(1, 50)))]);
    let server = Running::with(
        "[fetch]\nallow = ['127.0.0.1']\ndelay_seconds = 0.0\nrobots = false\nseconds = 600",
    );
    let body = json!({ "url": silent_url }).to_string();
    let request = format!(
        "POST /v1/fetch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut waiting: Vec<_> = (0..20).map(|_| server.connect()).collect();
    waiting.iter_mut().for_each(|stream| stream.write_all(request.as_bytes()).unwrap());
    let answer = server.post("/v1/fetch", json!({ "url": site.base }));
    answer.good();
    let mut tries = 0;
    while server.post("/v1/fetch", json!({ "url": silent_url })).code() != "overloaded" {
        tries += 1;
        assert!(tries < 100, "the silent host is asked without end");
    }
}
