//! A server for a test, and a small client that sees every byte.

use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax_server::standby::Source;
use hapax_server::{Layers, Service, server};
use hapax_store::{Repository, Settings};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) service: Arc<Service>,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<Runtime>,
    serving: Option<JoinHandle<()>>,
    _folder: Option<tempfile::TempDir>,
}

pub(crate) fn fingerprinter() -> Fingerprinter {
    Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap()
}

impl Running {
    pub(crate) fn start() -> Self {
        Self::with("")
    }

    /// With settings over the default.
    pub(crate) fn with(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut running = Self::over(folder.path(), settings);
        running._folder = Some(folder);
        running
    }

    pub(crate) fn over(folder: &Path, settings: &str) -> Self {
        Self::with_source(folder, settings, None)
    }

    /// A standby, over a folder prepared for it.
    pub(crate) fn following(folder: &Path, settings: &str, source: Source) -> Self {
        Self::with_source(folder, settings, Some(source))
    }

    fn with_source(folder: &Path, settings: &str, source: Option<Source>) -> Self {
        let by = fingerprinter();
        let recipe = by.recipe_id().clone();
        let store = Repository::open(folder, Some(&recipe));
        let store = store.or_else(|_| Repository::create(folder, Settings::new(recipe))).unwrap();
        let mut layers = Layers::new().unwrap();
        layers.file("test", settings).unwrap();
        let config = layers.finish().unwrap();
        let service = Service::following(store, by, config, source).unwrap();
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { drop(stopped.await) };
        let serving = Some(runtime.spawn(server::serve(service.clone(), listener, stopped)));
        let (stop, runtime) = (Some(stop), Some(runtime));
        Self { address, service, stop, runtime, serving, _folder: None }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a complete request with these headers and reads the complete answer.
    pub(crate) fn ask_with(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = self.connect();
        let length = body.len();
        let host = self.address;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
             Content-Length: {length}\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that has refused need not read the rest.
        let _ = stream.write_all(body.as_bytes());
        Answer::read(&mut BufReader::new(stream))
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: Value) -> Answer {
        let json = "Content-Type: application/json\r\n";
        self.ask_with(
            method,
            path,
            json,
            &if body.is_null() { String::new() } else { body.to_string() },
        )
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask_with("GET", path, "", "")
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, body)
    }

    /// Stops it as by a signal; returns whether it stops within a minute.
    pub(crate) fn stops(&mut self) -> bool {
        drop(self.stop.take());
        let (Some(runtime), Some(serving)) = (&self.runtime, self.serving.take()) else {
            return true;
        };
        runtime.block_on(async { timeout(Duration::from_secs(60), serving).await.is_ok() })
    }

    /// Stops it as by a signal, and waits until everything is finished.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.service.finish();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn read(stream: &mut impl BufRead) -> Self {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0, "ended in the headers: {head}");
        }
        let status = head[9..12].parse().unwrap();
        let headers = head.to_ascii_lowercase();
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = Vec::new();
        if headers.contains("transfer-encoding: chunked") {
            loop {
                let mut size = String::new();
                stream.read_line(&mut size).unwrap();
                let size = u64::from_str_radix(size.trim(), 16).unwrap();
                stream.take(size).read_to_end(&mut body).unwrap();
                stream.read_line(&mut String::new()).unwrap();
                if size == 0 {
                    break;
                }
            }
        } else if let Some(length) = length {
            stream.take(length.parse().unwrap()).read_to_end(&mut body).unwrap();
        }
        Self { status, headers, body: String::from_utf8(body).unwrap() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The answer, which must be a success.
    pub(crate) fn good(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// A text of many words; equal seeds give equal texts, different seeds share nothing.
pub(crate) fn text(seed: u32, words: u32) -> String {
    let word = |n: u32| format!("w{:x}", (seed * 1_000_003 + n).wrapping_mul(2_654_435_761));
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}
