//! A web server on a free port that serves ranges, redirects and fails as tests request.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// How the next answer fails.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Status(u16),
    /// The connection ends after this many bytes of the body.
    Cut(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Page {
    File {
        bytes: Arc<[u8]>,
        etag: String,
    },
    /// A whole body with an optional header.
    Json(String, Option<(&'static str, String)>),
    Redirect(String),
}

#[derive(Default)]
struct State {
    pages: BTreeMap<String, Page>,
    faults: VecDeque<Fault>,
    requests: Vec<Request>,
}

#[derive(Clone)]
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { state: Arc::default(), url };
        let shared = server.clone();
        // Runs until the process ends.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = shared.clone();
                thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    pub(crate) fn put(&self, path: &str, page: Page) {
        self.state.lock().unwrap().pages.insert(path.to_owned(), page);
    }

    pub(crate) fn file(&self, path: &str, bytes: &[u8], etag: &str) -> String {
        self.put(path, Page::File { bytes: bytes.into(), etag: format!("\"{etag}\"") });
        format!("{}{path}", self.url)
    }

    pub(crate) fn fail(&self, faults: &[Fault]) {
        self.state.lock().unwrap().faults.extend(faults);
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        while let Some(request) = read(&mut reader) {
            let (page, fault) = {
                let mut state = self.state.lock().unwrap();
                state.requests.push(request.clone());
                let path = request.target.split('?').next().unwrap_or_default();
                let page = state.pages.get(&request.target).or_else(|| state.pages.get(path));
                (page.cloned(), state.faults.pop_front())
            };
            if !answer(&mut stream, &request, page, fault) {
                return;
            }
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let target = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    Some(Request { target, headers })
}

/// Returns whether the connection stays open.
fn answer(
    out: &mut TcpStream,
    request: &Request,
    page: Option<Page>,
    fault: Option<Fault>,
) -> bool {
    let (status, headers, body) = match (page, fault) {
        (_, Some(Fault::Status(status))) => (status, String::new(), Vec::new()),
        (None, _) => (404, String::new(), Vec::new()),
        (Some(Page::Redirect(to)), _) => (302, format!("Location: {to}\r\n"), Vec::new()),
        (Some(Page::Json(text, header)), _) => {
            let header = header.map(|(name, value)| format!("{name}: {value}\r\n"));
            (200, header.unwrap_or_default(), text.into_bytes())
        }
        (Some(Page::File { bytes, etag }), _) => {
            let other = request.headers.get("if-match").is_some_and(|wanted| *wanted != etag);
            let range = request.headers["range"].strip_prefix("bytes=").unwrap();
            let (first, last) = range.split_once('-').unwrap();
            let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
            let last = last.min(bytes.len().wrapping_sub(1));
            match (other, first < bytes.len()) {
                (true, _) => (412, String::new(), Vec::new()),
                (_, false) => {
                    (416, format!("Content-Range: bytes */{}\r\n", bytes.len()), Vec::new())
                }
                _ => {
                    let size = bytes.len();
                    let headers =
                        format!("Content-Range: bytes {first}-{last}/{size}\r\nETag: {etag}\r\n");
                    (206, headers, bytes[first..=last].to_vec())
                }
            }
        }
    };
    let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    let sent = match fault {
        Some(Fault::Cut(at)) => &body[..at.min(body.len())],
        _ => &body[..],
    };
    let written = out.write_all(head.as_bytes()).and_then(|()| out.write_all(sent));
    written.is_ok() && sent.len() == body.len()
}
