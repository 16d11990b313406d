//! Attacks with connections and bytes: many, slow, idle, endless, compressed.
//!
//! Each ends when the service has refused or disconnected the attacker. A service that waits for ever, or accepts
//! what it should not, fails the run.

use crate::Attack;
use crate::server::{Server, answer};
use anyhow::{Context, Result, ensure};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "slowloris: 900 connections, a header byte a second",
        settings: &[("HAPAX_LIMITS__IDLE_SECONDS", "5")],
        megabytes: 200,
        p99: Duration::MAX,
        run: slow_headers,
    },
    Attack {
        name: "900 bodies, a byte a second",
        settings: &[("HAPAX_LIMITS__IDLE_SECONDS", "5")],
        megabytes: 200,
        p99: Duration::MAX,
        run: slow_bodies,
    },
    Attack {
        name: "10,000 idle connections, 1,024 allowed",
        settings: &[("HAPAX_LIMITS__IDLE_SECONDS", "5")],
        megabytes: 200,
        p99: Duration::MAX,
        run: idle,
    },
    Attack {
        name: "a header of 64 MB",
        settings: &[],
        megabytes: 200,
        p99: Duration::MAX,
        run: long_header,
    },
    Attack {
        name: "a million headers",
        settings: &[],
        megabytes: 200,
        p99: Duration::MAX,
        run: many_headers,
    },
    Attack {
        name: "a body that says it has 1 TB",
        settings: &[],
        megabytes: 200,
        p99: Duration::MAX,
        run: claimed,
    },
    Attack {
        name: "a body of 2 GB in chunks",
        settings: &[],
        megabytes: 250,
        p99: Duration::MAX,
        run: endless,
    },
    Attack {
        name: "a batch line of 1 GB",
        settings: &[],
        megabytes: 250,
        p99: Duration::MAX,
        run: long_line,
    },
    Attack {
        name: "JSON 16 MB deep",
        settings: &[],
        megabytes: 250,
        p99: Duration::MAX,
        run: deep,
    },
    Attack {
        name: "a fetched page: 10 GB in 10 MB of gzip",
        settings: FETCH,
        megabytes: 300,
        p99: Duration::MAX,
        run: bomb,
    },
    Attack {
        name: "a fetched page without end, slowly",
        settings: FETCH,
        megabytes: 200,
        p99: Duration::MAX,
        run: dripping,
    },
];

const FETCH: &[(&str, &str)] = &[
    ("HAPAX_FETCH__ALLOW", "127.0.0.1"),
    ("HAPAX_FETCH__DELAY_SECONDS", "0.0"),
    ("HAPAX_FETCH__SECONDS", "5"),
];

/// Opens many connections, writes a byte to each now and then, and waits until the service has
/// closed all.
fn drip(server: &Server, count: usize, first: &[u8]) -> Result<String> {
    let mut open: Vec<TcpStream> = Vec::new();
    for _ in 0..count {
        let mut stream = server.connect()?;
        stream.write_all(first)?;
        stream.set_read_timeout(Some(Duration::from_millis(1)))?;
        open.push(stream);
    }
    let start = Instant::now();
    while !open.is_empty() {
        ensure!(start.elapsed() < Duration::from_secs(90), "{} are still open", open.len());
        std::thread::sleep(Duration::from_secs(1));
        open.retain_mut(|stream| {
            let sent = stream.write_all(b"x").is_ok();
            let mut byte = [0; 512];
            sent && stream.read(&mut byte).is_err()
        });
    }
    Ok(format!("all cut off after {:.0} s", start.elapsed().as_secs_f64()))
}

fn slow_headers(server: &Server) -> Result<String> {
    drip(server, 900, b"GET /healthz HTTP/1.1\r\nX-Slow: ")
}

fn slow_bodies(server: &Server) -> Result<String> {
    let head = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
        Content-Length: 100000\r\n\r\n{";
    drip(server, 900, head)
}

/// A new honest connection is accepted when the idle ones before it are closed.
fn idle(server: &Server) -> Result<String> {
    let mut open = Vec::new();
    let mut refused = 0;
    for _ in 0..10_000 {
        match TcpStream::connect_timeout(&server.address, Duration::from_millis(300)) {
            Ok(stream) => open.push(stream),
            Err(_) => refused += 1,
        }
    }
    let start = Instant::now();
    drop(open.split_off(open.len().min(9_000)));
    let mut tries = 0;
    while server.is_healthy().is_err() {
        tries += 1;
        ensure!(tries < 30, "nobody gets in any more");
    }
    let waited = start.elapsed().as_secs_f64();
    Ok(format!("{refused} refused by the system; a new client waits {waited:.1} s"))
}

/// Sends `piece` up to `times` times; returns the status of the answer.
fn flood(server: &Server, first: &[u8], piece: &[u8], times: usize) -> Result<u16> {
    let mut stream = server.connect()?;
    stream.write_all(first)?;
    let mut sender = stream.try_clone()?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..times {
                if sender.write_all(piece).is_err() {
                    break;
                }
            }
            let _ = sender.shutdown(std::net::Shutdown::Write);
        });
        Ok(answer(&mut stream)?.0)
    })
}

fn refused(status: u16, wanted: &[u16]) -> Result<String> {
    ensure!(wanted.contains(&status), "answered {status}, not one of {wanted:?}");
    Ok(if status == 0 { "cut off".to_owned() } else { status.to_string() })
}

fn long_header(server: &Server) -> Result<String> {
    let status = flood(server, b"GET /healthz HTTP/1.1\r\nX: ", &[b'a'; 1 << 20], 64)?;
    refused(status, &[431, 400, 0])
}

fn many_headers(server: &Server) -> Result<String> {
    let piece = b"X-More: and more\r\n".repeat(1000);
    refused(flood(server, b"GET /healthz HTTP/1.1\r\n", &piece, 1000)?, &[431, 400, 0])
}

fn claimed(server: &Server) -> Result<String> {
    let head = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
        Content-Length: 1000000000000\r\n\r\n";
    refused(flood(server, head, &[b' '; 1 << 20], 64)?, &[413, 0])
}

fn chunked(path: &str, kind: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n\
         Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    .into_bytes()
}

fn endless(server: &Server) -> Result<String> {
    let piece = [&b"100000\r\n"[..], &[b' '; 1 << 20], b"\r\n"].concat();
    let head = chunked("/v1/check", "application/json");
    refused(flood(server, &head, &piece, 2000)?, &[413, 0])
}

fn long_line(server: &Server) -> Result<String> {
    let piece = [&b"100000\r\n"[..], &[b'x'; 1 << 20], b"\r\n"].concat();
    let head = chunked("/v1/pages/batch", "application/x-ndjson");
    refused(flood(server, &head, &piece, 1000)?, &[200])
        .map(|status| format!("{status}, the line refused"))
}

fn deep(server: &Server) -> Result<String> {
    let mut worst = String::new();
    for body in ["[".repeat(15_900_000), "{\"url\":".repeat(2_200_000)] {
        let (status, _) = server.post("/v1/check", "application/json", body.as_bytes())?;
        worst = refused(status, &[400])?;
    }
    Ok(worst)
}

/// A server that answers every request with the output of `write`.
fn answering(write: impl Fn(TcpStream) + Send + 'static) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no port")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let mut stream = stream;
            let read = stream.read(&mut request).unwrap_or(0);
            // Allows fetching everything.
            if request[..read].starts_with(b"GET /robots.txt") {
                let _ = stream.write_all(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
                continue;
            }
            write(stream);
        }
    });
    Ok(port)
}

fn fetch(server: &Server, port: u16) -> Result<String> {
    let body = format!("{{\"url\":\"http://127.0.0.1:{port}/page\"}}");
    let (status, answer) = server.post("/v1/fetch", "application/json", body.as_bytes())?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    ensure!([413, 422, 502, 504].contains(&status), "answered {status}: {answer}");
    Ok(status.to_string())
}

fn bomb(server: &Server) -> Result<String> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b' '; 10 << 20];
    for _ in 0..1000 {
        packed.write_all(&zeros)?;
    }
    let packed = packed.finish()?;
    let port = answering(move |mut stream| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\
             Content-Length: {}\r\n\r\n",
            packed.len()
        );
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&packed);
    })?;
    fetch(server, port)
}

fn dripping(server: &Server) -> Result<String> {
    let port = answering(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>");
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(300));
        }
    })?;
    fetch(server, port)
}
