//! A minimal HTTP client with little overhead: one open connection, prepared requests.
//!
//! Understands only what this service sends: a content length, or chunks.

use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) fn request(method: &str, path: &str, kind: &str, body: &str) -> Vec<u8> {
    with_headers(method, path, &format!("Content-Type: {kind}\r\n"), body)
}

/// The bytes of a request with a token.
pub(crate) fn request_as(token: &str, method: &str, path: &str, kind: &str, body: &str) -> Vec<u8> {
    let headers = format!("Content-Type: {kind}\r\nAuthorization: Bearer {token}\r\n");
    with_headers(method, path, &headers, body)
}

fn with_headers(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
    pub(crate) body: Vec<u8>,
    /// `Retry-After` of the last answer, in seconds.
    pub(crate) retry_after: Option<u64>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let stream = BufReader::with_capacity(64 * 1024, stream);
        Ok(Self { stream, line: String::new(), body: Vec::new(), retry_after: None })
    }

    /// Sends a request and reads the answer; returns the status.
    pub(crate) fn ask(&mut self, request: &[u8]) -> Result<u16> {
        self.stream.get_mut().write_all(request)?;
        self.answer()
    }

    /// Sends a long request on another thread while reading the answer.
    pub(crate) fn ask_long(&mut self, request: &[u8]) -> Result<u16> {
        let mut sender = self.stream.get_ref().try_clone()?;
        std::thread::scope(|scope| {
            let sent = scope.spawn(move || sender.write_all(request));
            let status = self.answer();
            match sent.join() {
                Ok(sent) => sent?,
                Err(_) => bail!("the sender panicked"),
            }
            status
        })
    }

    fn answer(&mut self) -> Result<u16> {
        self.next_line()?;
        let status = self.line.get(9..12).and_then(|digits| digits.parse().ok());
        let status = status.with_context(|| format!("not an answer: {}", self.line))?;
        let mut length = None;
        let mut chunked = false;
        self.retry_after = None;
        loop {
            self.next_line()?;
            let line = self.line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(digits) = line.strip_prefix("content-length: ") {
                length = Some(digits.parse::<u64>()?);
            }
            if let Some(digits) = line.strip_prefix("retry-after: ") {
                self.retry_after = Some(digits.parse()?);
            }
            chunked |= line == "transfer-encoding: chunked";
        }
        self.body.clear();
        if !chunked {
            let length = length.context("no length")?;
            (&mut self.stream).take(length).read_to_end(&mut self.body)?;
            return Ok(status);
        }
        loop {
            self.next_line()?;
            let size = u64::from_str_radix(self.line.trim_end(), 16)?;
            (&mut self.stream).take(size).read_to_end(&mut self.body)?;
            self.next_line()?;
            if size == 0 {
                return Ok(status);
            }
        }
    }

    fn next_line(&mut self) -> Result<()> {
        self.line.clear();
        ensure!(self.stream.read_line(&mut self.line)? > 0, "the connection ended");
        Ok(())
    }
}
