//! The service in its own process with readable memory, and a low-level client.
//!
//! The honest client keeps one connection and sends requests continuously; its latency during an attack is the cost
//! of the attack to others.

use anyhow::{Context, Result, bail, ensure};
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax_server::{Layers, Service};
use hapax_store::{Repository, Settings};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) fn fingerprinter() -> Result<Fingerprinter> {
    Ok(Fingerprinter::new(Recipe::built_in("web-2")?, None)?)
}

/// The main function of the child process, with settings from the environment.
pub(crate) fn serve(folder: &Path) -> Result<()> {
    hapax_server::pools::start_again();
    let by = fingerprinter()?;
    let recipe = by.recipe_id().clone();
    let store = Repository::create(folder, Settings::new(recipe))?;
    let mut layers = Layers::new()?;
    layers.set("attacked", "listen", "127.0.0.1:0")?;
    layers.environment(std::env::vars())?;
    let service = Service::new(store, by, layers.finish()?)?;
    hapax_server::run(service, |address| {
        let _ = writeln!(std::io::stdout(), "{address}");
    })?;
    Ok(())
}

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Connections that an attack leaves open, so that the service has them when it stops.
    left_open: Mutex<Vec<TcpStream>>,
    _folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start(settings: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // Another build of this program, for comparisons.
        let program = std::env::var_os("ATTACKED_PROGRAM").map(PathBuf::from);
        let mut command = Command::new(program.map_or_else(std::env::current_exe, Ok)?);
        command.arg("serve").arg(folder.path().join("store")).stdout(Stdio::piped());
        command.stderr(Stdio::null()).envs(settings.iter().copied());
        let mut child = command.spawn().context("cannot start the service")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line.trim().parse().context("the service did not say where it listens")?;
        Ok(Self { child, address, left_open: Mutex::default(), _folder: folder })
    }

    fn status(&self, field: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        Some(line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().ok()? >> 10)
    }

    /// Peak memory in megabytes.
    pub(crate) fn peak(&self) -> Option<u64> {
        self.status("VmHWM")
    }

    /// Current memory in megabytes.
    pub(crate) fn resident(&self) -> Option<u64> {
        self.status("VmRSS")
    }

    pub(crate) fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(20))?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        stream.set_write_timeout(Some(Duration::from_secs(120)))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Sends a body; returns the status and the whole answer.
    pub(crate) fn post(&self, path: &str, kind: &str, body: &[u8]) -> Result<(u16, Vec<u8>)> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let mut stream = self.connect()?;
        stream.write_all(head.as_bytes())?;
        let mut sender = stream.try_clone()?;
        std::thread::scope(|scope| {
            // The service may answer, and stop reading, before everything is sent.
            scope.spawn(move || sender.write_all(body));
            answer(&mut stream)
        })
    }

    /// Keeps connections open until the service has stopped.
    pub(crate) fn leave_open(&self, connections: Vec<TcpStream>) {
        self.left_open.lock().unwrap_or_else(PoisonError::into_inner).extend(connections);
    }

    /// Sends SIGTERM and waits until the service has stopped; returns the duration.
    pub(crate) fn stop(mut self) -> Result<Duration> {
        let start = Instant::now();
        let asked = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status()?;
        ensure!(asked.success(), "the service cannot be asked to stop");
        while self.child.try_wait()?.is_none() {
            ensure!(start.elapsed() < Duration::from_secs(120), "it does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(start.elapsed())
    }

    pub(crate) fn is_healthy(&self) -> Result<()> {
        let mut stream = self.connect()?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        match answer(&mut stream)? {
            (200, _) => Ok(()),
            (status, _) => bail!("not well: {status}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status of an answer, and the whole answer, up to the end of the connection; status 0 for
/// none.
pub(crate) fn answer(stream: &mut TcpStream) -> Result<(u16, Vec<u8>)> {
    let mut bytes = Vec::new();
    // A connection may be reset after a complete answer.
    let _ = stream.read_to_end(&mut bytes);
    let status = bytes.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    Ok((status.unwrap_or(0), bytes))
}

/// An honest client on its own connection: sends requests continuously and records latencies.
pub(crate) fn honest(
    server: &Server,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<Vec<Duration>> {
    let body = "{\"url\":\"http://honest/\",\"text\":\"a few plain words\"}";
    let ask = format!(
        "POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = BufReader::new(server.connect()?);
    let mut waits = Vec::new();
    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
        let start = Instant::now();
        // A client that gets 429 or 503 retries.
        while !ask_once(&mut stream, &ask)? {
            ensure!(start.elapsed() < Duration::from_secs(120), "there is no room any more");
            std::thread::sleep(Duration::from_millis(50));
        }
        waits.push(start.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(waits)
}

/// Returns whether an honest request was answered; `false` if the service is overloaded.
fn ask_once(stream: &mut BufReader<TcpStream>, ask: &str) -> Result<bool> {
    stream.get_mut().write_all(ask.as_bytes())?;
    let (mut line, mut length) = (String::new(), 0);
    stream.read_line(&mut line)?;
    let answered = line.contains(" 200 ");
    ensure!(answered || line.contains(" 503 "), "the honest client was answered {line:?}");
    while line != "\r\n" {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            bail!("the honest client was cut off");
        }
        if let Some(digits) = line.strip_prefix("content-length: ") {
            length = digits.trim().parse()?;
        }
    }
    std::io::copy(&mut stream.take(length), &mut std::io::sink())?;
    Ok(answered)
}
