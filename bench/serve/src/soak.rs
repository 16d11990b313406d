//! The soak: mixed load, kills and restarts, and nothing acknowledged may be lost.
//!
//! Writers remember every page that was acknowledged; readers check, browse and compare. Now and then
//! the process is killed without warning and started again; what was under way then may fail, and
//! nothing else may. At the end every acknowledged page must be there.

use crate::pages;
use crate::process::Server;
use crate::wire::{Connection, request};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use hapax_server::client::encoded;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long, how hard.
#[derive(Args)]
pub(crate) struct Options {
    /// Minutes: 60 is the long run
    #[arg(long, default_value_t = 2.0)]
    minutes: f64,
    /// Seconds between kills
    #[arg(long, default_value_t = 20)]
    kill_every: u64,
    /// Connections that write, and as many that read
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Pages to begin with
    #[arg(long, default_value_t = 20_000)]
    pages: u64,
}

const JSON: &str = "application/json";

struct Shared {
    address: Mutex<Option<std::net::SocketAddr>>,
    over: AtomicBool,
    next: AtomicU64,
    written: AtomicU64,
    read: AtomicU64,
    /// Requests that a kill cut short.
    cut: AtomicU64,
}

impl Shared {
    fn connect(&self) -> Option<Connection> {
        let address = (*self.address.lock().ok()?)?;
        Connection::open(address).ok()
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let folder = scratch.path().join("store");
    drop(pages::repository(&folder, options.pages)?);
    let recipe = pages::fingerprinter()?.recipe_id().to_string();
    let shared = Shared {
        address: Mutex::new(None),
        over: AtomicBool::new(false),
        next: AtomicU64::new(options.pages),
        written: AtomicU64::new(0),
        read: AtomicU64::new(0),
        cut: AtomicU64::new(0),
    };
    let end = Instant::now() + Duration::from_secs_f64(options.minutes * 60.0);
    let mut memory = Vec::new();
    let mut kills = 0;
    let acknowledged = std::thread::scope(|scope| -> Result<Vec<u64>> {
        let writers: Vec<_> =
            (0..options.connections).map(|_| scope.spawn(|| write(&shared, &recipe))).collect();
        let readers: Vec<_> = (0..options.connections)
            .map(|_| scope.spawn(|| read(&shared, options.pages, &recipe)))
            .collect();
        let supervised = (|| -> Result<()> {
            while Instant::now() < end {
                let server = Server::start(&folder)?;
                set(&shared, Some(server.address))?;
                let until = end.min(Instant::now() + Duration::from_secs(options.kill_every));
                while Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(500));
                    memory.push(server.memory().unwrap_or(0));
                }
                set(&shared, None)?;
                server.kill()?;
                kills += 1;
            }
            Ok(())
        })();
        shared.over.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().ok().context("a reader panicked")??;
        }
        let mut all = Vec::new();
        for writer in writers {
            all.extend(writer.join().ok().context("a writer panicked")??);
        }
        supervised.map(|()| all)
    })?;

    let server = Server::start(&folder)?;
    let mut connection = Connection::open(server.address)?;
    let mut lost = 0u64;
    for n in &acknowledged {
        let path = format!("/v1/pages/{}", encoded(&pages::url(*n)));
        lost += u64::from(connection.ask(&request("GET", &path, JSON, ""))? != 200);
    }
    drop(server);
    let check = hapax_store::check_folder(&folder)?;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{:.1} minutes, {kills} kills: {} pages acknowledged, {} questions answered, {} requests cut off by kills",
        options.minutes,
        acknowledged.len(),
        count(&shared.read),
        count(&shared.cut),
    );
    println!("acknowledged and not there: {lost}");
    println!("check of the folder: {check:?}");
    let mut by_life =
        memory.chunks((options.kill_every as usize * 2).max(1)).map(|life| life.iter().max());
    let peaks: Vec<u64> = by_life.by_ref().flatten().map(|bytes| bytes / 1_000_000).collect();
    println!("most memory in each life, MB: {peaks:?}");
    ensure!(lost == 0, "{lost} acknowledged pages are lost");
    Ok(())
}

fn set(shared: &Shared, address: Option<std::net::SocketAddr>) -> Result<()> {
    match shared.address.lock() {
        Ok(mut place) => *place = address,
        Err(_) => bail!("a thread panicked"),
    }
    Ok(())
}

/// Records pages one by one and in small batches; what was acknowledged.
fn write(shared: &Shared, recipe: &str) -> Result<Vec<u64>> {
    let mut acknowledged = Vec::new();
    let mut connection = None;
    while !shared.over.load(Ordering::Relaxed) {
        let Some(open) = connection.as_mut() else {
            connection = shared.connect();
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let n = shared.next.fetch_add(3, Ordering::Relaxed);
        let lines: Result<Vec<String>> =
            (n..n + 3).map(|n| pages::ready(n, pages::url(n), recipe)).collect();
        let lines = lines?;
        let asked = match n % 2 {
            0 => request("POST", "/v1/pages/batch", "application/x-ndjson", &lines.join("\n")),
            _ => request("POST", "/v1/pages", JSON, &lines[0]),
        };
        let sent = if n.is_multiple_of(2) { n..n + 3 } else { n..n + 1 };
        match open.ask(&asked) {
            Ok(200) => {
                let body = String::from_utf8_lossy(&open.body);
                let recorded = body.matches("\"recorded\":true").count() as u64;
                // A stream may be cut off between lines; those that came count.
                ensure!(!body.contains("\"error\""), "a page was refused: {body}");
                acknowledged.extend(sent.take(recorded as usize));
                shared.written.fetch_add(recorded, Ordering::Relaxed);
            }
            Ok(status) => {
                bail!("a write was answered {status}: {}", String::from_utf8_lossy(&open.body))
            }
            Err(_) => {
                shared.cut.fetch_add(1, Ordering::Relaxed);
                connection = None;
            }
        }
    }
    Ok(acknowledged)
}

/// Asks everything that does not change anything.
fn read(shared: &Shared, known: u64, recipe: &str) -> Result<()> {
    let mut connection = None;
    let mut n = 0u64;
    while !shared.over.load(Ordering::Relaxed) {
        let Some(open) = connection.as_mut() else {
            connection = shared.connect();
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        n = n.wrapping_add(7919);
        let page = n % known;
        let asked = match n % 7 {
            0 => request("GET", "/v1/stats", JSON, ""),
            1 => request("GET", "/v1/groups?limit=20", JSON, ""),
            2 => request("GET", &format!("/v1/events?after={page}&limit=20"), JSON, ""),
            3 => request("GET", &format!("/v1/pages/{}", encoded(&pages::url(page))), JSON, ""),
            4 => request(
                "POST",
                "/v1/check",
                JSON,
                &serde_json::json!({"url": "http://a/", "html": "<p>some words of a page"})
                    .to_string(),
            ),
            _ => request("POST", "/v1/check", JSON, &pages::ready(page, pages::url(page), recipe)?),
        };
        match open.ask(&asked) {
            Ok(200) => drop(shared.read.fetch_add(1, Ordering::Relaxed)),
            Ok(status) => {
                bail!("a question was answered {status}: {}", String::from_utf8_lossy(&open.body))
            }
            Err(_) => {
                shared.cut.fetch_add(1, Ordering::Relaxed);
                connection = None;
            }
        }
    }
    Ok(())
}
