//! Attacks that keep others from being served: pages that grow when they are read, bodies that are never finished,
//! idle connections.
//!
//! Each must leave an honest client with short latencies, and the service with little memory, under the default
//! settings. Attacks that hold connections keep them while the service is asked to stop.

use crate::Attack;
use crate::server::Server;
use anyhow::{Context, Result, ensure};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const P99: Duration = Duration::from_millis(250);

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "readers: two clients post 15.6 MB of U+FDFA, again and again",
        settings: &[],
        megabytes: 512,
        p99: P99,
        run: growing,
    },
    Attack {
        name: "readers: 200 bodies of 16 MB without their last bytes",
        settings: &[],
        megabytes: 512,
        p99: P99,
        run: unfinished,
    },
    Attack {
        name: "readers: 540 bodies, a byte a second",
        settings: &[],
        megabytes: 512,
        p99: P99,
        run: slow,
    },
    Attack {
        name: "readers: 1,100 idle connections, 1,024 allowed",
        settings: &[],
        megabytes: 512,
        p99: P99,
        run: idle,
    },
    Attack {
        name: "readers: 200 followers that never read their events",
        settings: &[],
        megabytes: 512,
        p99: P99,
        run: deaf,
    },
    Attack {
        name: "readers: 100 batches that stop in the middle of a line",
        settings: &[],
        megabytes: 512,
        p99: P99,
        run: stalled,
    },
    Attack {
        name: "readers: 895 connections ask for lists of 1.8 MB, and read nothing",
        settings: &[],
        megabytes: 256,
        // The honest client is on this machine, too, so all of them are one client and wait in one queue.
        p99: Duration::from_secs(2),
        run: unread,
    },
];

fn growing(server: &Server) -> Result<String> {
    let page = "\u{FDFA}".repeat(5_200_000);
    let body = format!("{{\"url\":\"http://evil/\",\"text\":\"{page}\"}}");
    let mut answers = Vec::new();
    std::thread::scope(|scope| -> Result<()> {
        let post = || server.post("/v1/check", "application/json", body.as_bytes());
        let both = [0, 1].map(|_| scope.spawn(move || (0..3).map(|_| post()).collect::<Vec<_>>()));
        for client in both {
            let posted = client.join().map_err(|_| anyhow::anyhow!("a client panicked"))?;
            for answer in posted {
                answers.push(answer?.0);
            }
        }
        Ok(())
    })?;
    answers.sort_unstable();
    ensure!(answers.iter().all(|status| [200, 413, 503].contains(status)), "{answers:?}");
    Ok(format!("{answers:?}"))
}

fn head(length: usize) -> String {
    format!(
        "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{{"
    )
}

fn unfinished(server: &Server) -> Result<String> {
    let mut open: Vec<TcpStream> = Vec::new();
    let mut cut = 0;
    let piece = vec![b' '; 1 << 20];
    for _ in 0..200 {
        let mut stream = server.connect()?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let sent = stream
            .write_all(head(15_990_000).as_bytes())
            .and_then(|()| (0..15).try_for_each(|_| stream.write_all(&piece)));
        cut += u32::from(sent.is_err());
        open.push(stream);
    }
    std::thread::sleep(Duration::from_secs(5));
    server.leave_open(open);
    Ok(format!("{cut} were cut off while they sent"))
}

fn slow(server: &Server) -> Result<String> {
    let mut open = Vec::new();
    for _ in 0..540 {
        let mut stream = server.connect()?;
        stream.write_all(head(100_000).as_bytes())?;
        stream.set_read_timeout(Some(Duration::from_millis(1)))?;
        open.push(stream);
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) && !open.is_empty() {
        std::thread::sleep(Duration::from_secs(1));
        open.retain_mut(|stream| {
            let sent = stream.write_all(b"x").is_ok();
            sent && stream.read(&mut [0; 512]).is_err()
        });
    }
    let left = open.len();
    // As many again, which start just before the service is asked to stop.
    for _ in 0..540 {
        let mut stream = server.connect()?;
        stream.write_all(head(100_000).as_bytes())?;
        open.push(stream);
    }
    server.leave_open(open);
    Ok(format!("{left} of 540 are left after {:.0} s", start.elapsed().as_secs_f64()))
}

/// A new honest connection is accepted at once.
fn idle(server: &Server) -> Result<String> {
    let connect = || TcpStream::connect_timeout(&server.address, Duration::from_secs(5));
    let open = (0..1100).map(|_| connect()).collect::<Result<Vec<_>, _>>().context("refused")?;
    let start = Instant::now();
    server.is_healthy()?;
    let waited = start.elapsed();
    server.leave_open(open);
    ensure!(waited < Duration::from_secs(1), "a new client waits {:.1} s", waited.as_secs_f64());
    Ok(format!("a new client waits {} ms", waited.as_millis()))
}

/// More events than all buffers between the service and a client can hold.
const EVENTS: usize = 6000;

fn deaf(server: &Server) -> Result<String> {
    let long = "x".repeat(2000);
    let line = |n: usize| format!("{{\"url\":\"http://a/{long}/{n}\",\"text\":\"page {n}\"}}\n");
    let lines: String = (0..EVENTS).map(line).collect();
    let (status, _) = server.post("/v1/pages/batch", "application/x-ndjson", lines.as_bytes())?;
    ensure!(status == 200, "the pages were answered {status}");
    let before = server.resident().context("the service states no memory")?;
    let mut open = Vec::new();
    for _ in 0..200 {
        let mut stream = server.connect()?;
        stream.write_all(b"GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")?;
        stream.read_exact(&mut [0; 12]).context("a follower was refused")?;
        open.push(stream);
    }
    std::thread::sleep(Duration::from_secs(10));
    let after = server.resident().context("the service states no memory")?;
    server.leave_open(open);
    Ok(format!("200 followers hold {} MB", after.saturating_sub(before)))
}

fn stalled(server: &Server) -> Result<String> {
    let head = b"POST /v1/pages/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n\
        Content-Length: 100000\r\n\r\n{\"url\":\"http://a/\",";
    let mut open = Vec::new();
    for _ in 0..100 {
        let mut stream = server.connect()?;
        stream.write_all(head)?;
        open.push(stream);
    }
    std::thread::sleep(Duration::from_secs(5));
    server.leave_open(open);
    Ok("100 wait for their lines".to_owned())
}

/// Pages with addresses so long that a list of a thousand has 1.8 MB.
const LONG: usize = 1700;

fn unread(server: &Server) -> Result<String> {
    let long = "x".repeat(LONG);
    let line = |n: usize| format!("{{\"url\":\"http://a/{long}/{n}\",\"text\":\"page {n}\"}}\n");
    let lines: String = (0..1000).map(line).collect();
    let (status, _) = server.post("/v1/pages/batch", "application/x-ndjson", lines.as_bytes())?;
    ensure!(status == 200, "the pages were answered {status}");
    let before = server.resident().context("the service states no memory")?;
    let lists = "GET /v1/pages?limit=1000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(8);
    let mut open = Vec::new();
    for _ in 0..895 {
        let mut stream = server.connect()?;
        stream.write_all(lists.as_bytes())?;
        open.push(stream);
    }
    let mut most = 0;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_secs(1));
        most = most.max(server.resident().context("the service states no memory")?);
    }
    server.leave_open(open);
    Ok(format!("unread lists hold {} MB", most.saturating_sub(before)))
}
