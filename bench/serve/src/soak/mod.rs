//! Mixed load with kills and restarts: no acknowledged page may be lost, and memory must not grow.
//!
//! During the first half the process is killed every few seconds; only requests in progress may fail. The second half
//! is one process, whose memory is sampled (`--kill-every 0`: the whole run). The number of pages stays constant:
//! pages are crawled again, changed, deleted and recorded again, so growth of memory is not caused by more pages. At
//! the end every page must be as last acknowledged ([`crawl`]), and the folder must verify.

mod ask;
mod crawl;
mod memory;

use crate::pages;
use crate::process::Server;
use crate::wire::{Connection, request};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use crawl::Crawled;
use hapax_client::client::encoded;
use memory::{Memory, Sample};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Duration and load.
#[derive(Args)]
pub(crate) struct Options {
    /// Minutes; 60 is the long run
    #[arg(long, default_value_t = 2.0)]
    minutes: f64,
    /// Seconds between kills in the first half; 0 for no kill before the end
    #[arg(long, default_value_t = 20)]
    kill_every: u64,
    /// Connections; half of them write, half read
    #[arg(long, default_value_t = 64)]
    connections: usize,
    #[arg(long, default_value_t = 20_000)]
    pages: u64,
    /// Size of the service's page cache in bytes; small, so that it is full soon
    #[arg(long, default_value_t = 8_000_000)]
    cache_bytes: u64,
    /// Memory limit of the whole service, such as 1GB, instead of the cache size
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Pause of a connection after each answer in milliseconds; longer pauses reduce the load
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
    /// Folder of the repository, which is created if needed and changed; a temporary folder by
    /// default
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Check one page in this many at the end
    #[arg(long, default_value_t = 1)]
    look_up: usize,
    /// Skip the check of the whole folder at the end
    #[arg(long)]
    no_check: bool,
}

impl Options {
    /// The memory limit as a setting of the service.
    fn settings(&self) -> [(&'static str, String); 1] {
        match &self.memory {
            Some(memory) => [("HAPAX_MEMORY", memory.clone())],
            None => [("HAPAX_LIMITS__CACHE_BYTES", self.cache_bytes.to_string())],
        }
    }
}

const JSON: &str = "application/json";

#[derive(Default)]
struct Shared {
    address: Mutex<Option<SocketAddr>>,
    over: AtomicBool,
    /// Pause after each answer.
    pause: Duration,
    written: AtomicU64,
    read: AtomicU64,
    /// Deliberately wrong requests that were refused as expected.
    refused: AtomicU64,
    /// Requests interrupted by a kill.
    cut: AtomicU64,
}

impl Shared {
    fn connect(&self) -> Option<Connection> {
        let address = (*self.address.lock().ok()?)?;
        Connection::open(address).ok()
    }

    fn set(&self, address: Option<SocketAddr>) -> Result<()> {
        match self.address.lock() {
            Ok(mut place) => *place = address,
            Err(_) => bail!("a thread panicked"),
        }
        Ok(())
    }

    /// Sends requests until the end; reconnects after an interruption.
    fn keep_asking(
        &self,
        mut turn: impl FnMut(&mut Connection) -> Result<Option<u16>>,
    ) -> Result<()> {
        let mut connection = None;
        while !self.over.load(Ordering::Relaxed) {
            match connection.as_mut() {
                None => {
                    connection = self.connect();
                    std::thread::sleep(Duration::from_millis(20));
                }
                Some(open) => {
                    if turn(open)?.is_none() {
                        self.cut.fetch_add(1, Ordering::Relaxed);
                        connection = None;
                    }
                    if !self.pause.is_zero() {
                        std::thread::sleep(self.pause);
                    }
                }
            }
        }
        Ok(())
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let folder = options.folder.clone().unwrap_or_else(|| scratch.path().join("store"));
    let filling = Instant::now();
    drop(pages::repository_in(&folder, options.pages)?);
    println!("{} pages are there after {:.0} s", options.pages, filling.elapsed().as_secs_f64());
    let recipe = pages::fingerprinter()?.recipe_id().to_string();
    let pause = Duration::from_millis(options.pause_ms);
    let shared = Shared { pause, ..Shared::default() };
    let writers = (options.connections / 2).max(1) as u64;
    let mut memory = Memory::default();
    let mut kills = 0;
    println!(
        "{} minutes, {} connections that pause {} ms, {} pages, {} = {}",
        options.minutes,
        options.connections,
        options.pause_ms,
        options.pages,
        options.settings()[0].0,
        options.settings()[0].1
    );
    let html = pages::real()?;
    let crawled = std::thread::scope(|scope| -> Result<Vec<Crawled>> {
        let (shared, recipe, html) = (&shared, &recipe, &*html);
        let crawlers: Vec<_> = (0..writers)
            .map(|place| Crawled::new((place..options.pages).step_by(writers as usize)))
            .map(|pages| scope.spawn(move || crawl::crawl(shared, pages, recipe)))
            .collect();
        let askers: Vec<_> = (0..writers)
            .map(|place| scope.spawn(move || ask::ask(shared, place, options.pages, recipe, html)))
            .collect();
        let supervised = supervise(options, &folder, shared, &mut memory, &mut kills);
        shared.over.store(true, Ordering::Relaxed);
        for asker in askers {
            asker.join().ok().context("a reader panicked")??;
        }
        let mut all = Vec::new();
        for crawler in crawlers {
            all.push(crawler.join().ok().context("a writer panicked")??);
        }
        supervised.map(|()| all)
    })?;

    memory.report();
    let (lost, looked_up) = lost(options, &folder, &crawled)?;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{kills} kills: {} writes acknowledged, {} questions answered, {} wrong requests refused, \
         {} requests cut off by kills, no other error",
        count(&shared.written),
        count(&shared.read),
        count(&shared.refused),
        count(&shared.cut),
    );
    println!("acknowledged and not as it was: {lost} of {looked_up} pages");
    ensure!(lost == 0, "{lost} acknowledged pages are lost");
    if !options.no_check {
        let check = hapax_store::check_folder(&folder)?;
        println!(
            "check of the folder: {} pages, {} groups, {} events, {} problems",
            check.pages, check.groups, check.events, check.problems
        );
        ensure!(check.problems == 0, "the folder is damaged: {:?}", check.details);
    }
    memory.must_be_flat()
}

/// Kills and restarts the process during the first half, then runs one process.
fn supervise(
    options: &Options,
    folder: &Path,
    shared: &Shared,
    memory: &mut Memory,
    kills: &mut u32,
) -> Result<()> {
    let start = Instant::now();
    let half = Duration::from_secs_f64(options.minutes * 30.0);
    let mut since_minute = start;
    while start.elapsed() < half * 2 {
        let server = Server::start(folder, &options.settings())?;
        shared.set(Some(server.address))?;
        let last_life = options.kill_every == 0 || start.elapsed() >= half;
        let until = match last_life {
            true => start + half * 2,
            false => (start + half).min(Instant::now() + Duration::from_secs(options.kill_every)),
        };
        while Instant::now() < until && !shared.over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(500));
            let bytes = server.memory().unwrap_or(0);
            memory.add(Sample { seconds: start.elapsed().as_secs_f64(), bytes, last_life });
            if since_minute.elapsed() >= Duration::from_secs(60) {
                since_minute = Instant::now();
                let parts = parts(server.address).unwrap_or_default();
                memory.print_minute(shared.written.load(Ordering::Relaxed), &parts);
            }
        }
        shared.set(None)?;
        server.kill()?;
        *kills += 1;
    }
    Ok(())
}

/// The parts of its memory that the service reports.
fn parts(address: SocketAddr) -> Result<String> {
    let mut connection = Connection::open(address)?;
    connection.ask(&request("GET", "/metrics", JSON, ""))?;
    let text = String::from_utf8_lossy(&connection.body);
    let parts = text.lines().filter_map(|line| {
        let (part, bytes) = line.strip_prefix("hapax_memory_bytes{part=\"")?.split_once("\"} ")?;
        Some(format!("{part} {:.1}", bytes.parse::<f64>().ok()? / 1e6))
    });
    Ok(parts.collect::<Vec<_>>().join(", "))
}

/// The numbers of pages that differ from their acknowledged state, and of checked pages.
fn lost(options: &Options, folder: &Path, crawled: &[Crawled]) -> Result<(u64, u64)> {
    let server = Server::start(folder, &options.settings())?;
    let mut connection = Connection::open(server.address)?;
    let (mut lost, mut looked_up) = (0, 0);
    for (n, page) in crawled.iter().flat_map(Crawled::pages).step_by(options.look_up.max(1)) {
        looked_up += 1;
        let path = format!("/v1/pages/{}", encoded(&pages::url(*n)));
        let found = match connection.ask(&request("GET", &path, JSON, ""))? {
            200 => {
                let answer: serde_json::Value = serde_json::from_slice(&connection.body)?;
                answer.get("words").and_then(serde_json::Value::as_u64)
            }
            404 => None,
            status => bail!("page {n} was answered {status}"),
        };
        if !page.may_be(found) {
            println!("page {n} is {found:?}, and should be {page:?}");
            lost += 1;
        }
    }
    Ok((lost, looked_up))
}
