//! Measures the effect of a backup on clients, and the size of an increment.
//!
//! Clients check and record continuously; their latencies before a backup are compared with those during it. The
//! client that takes the backup shares the cores with all others. After the clients have stopped, one page in a
//! hundred is changed: the next backup contains those pages only. At the end the chain is restored, which checks it,
//! and compared with what was acknowledged.

use crate::clients::{Measured, must_be};
use crate::pages;
use crate::process::Server;
use crate::wire::{Connection, request};
use anyhow::{Context, Result, ensure};
use clap::Args;
use comfy_table::Table;
use hapax_client::repository::Service;
use hapax_store::backups;
use hapax_store::increment::Summary;
use std::io::{self, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Args)]
pub(crate) struct Options {
    /// Pages in the repository
    #[arg(long, default_value_t = 1_000_000)]
    pages: u64,
    /// Seconds measured before a backup, for comparison
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Connections; one request in four records a page, the others check one
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Pause of a connection after each answer in milliseconds; 0 uses the full capacity of the
    /// machine
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
    /// Folder of the repository, which is kept; a temporary folder by default
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Maximum ratio of latencies during and before a backup.
const MOST: f32 = 2.0;
/// Number of consecutive increments while clients are active.
const INCREMENTS: usize = 5;
/// One in this many pages is changed for the increment whose size is measured.
const CHANGED: u64 = 100;
/// Number of words of a changed page.
const OTHER_WORDS: u32 = pages::WORDS + 1;
const JSON: &str = "application/json";

/// An answer: time of the request, latency in milliseconds, whether it was a write.
struct Answered {
    asked: Instant,
    took: f32,
    write: bool,
}

/// A time range with a name.
struct Window {
    name: &'static str,
    times: Vec<(Instant, Instant)>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let folder = options.folder.clone().unwrap_or_else(|| scratch.path().join("store"));
    drop(pages::repository_in(&folder, options.pages)?);
    let place = scratch.path().join("backups");
    let server = Server::start(&folder, &[])?;
    let over = AtomicBool::new(false);
    let (answers, windows, whole) = std::thread::scope(|scope| -> Result<_> {
        let clients: Vec<_> = (0..options.connections as u64)
            .map(|place| {
                let (over, address) = (&over, server.address);
                scope.spawn(move || ask(options, address, place, over))
            })
            .collect();
        let made = phases(options, server.address, &place);
        over.store(true, Ordering::Relaxed);
        let mut answers = Vec::new();
        for client in clients {
            answers.extend(client.join().ok().context("a client panicked")??);
        }
        let (windows, whole) = made?;
        Ok((answers, windows, whole))
    })?;
    let worst = table(&answers, &windows);
    backup(server.address, &place, "clients gone")?;
    let changed = change(options, server.address)?;
    let (made, took) = backup(server.address, &place, "one in a hundred")?;
    let mut copied = Table::new();
    copied.set_header(["backup", "rows", "bytes", "seconds", "of everything, %"]);
    let increment = format!("{changed} changed pages of {}", options.pages);
    for (name, made, took) in [("everything", &whole.0, whole.1), (increment.as_str(), &made, took)]
    {
        copied.add_row([
            name.to_owned(),
            made.rows.to_string(),
            made.bytes.to_string(),
            format!("{:.2}", took.as_secs_f64()),
            format!("{:.2}", made.bytes as f64 / whole.0.bytes as f64 * 100.0),
        ]);
    }
    println!("\n## What was copied\n\n{copied}\n");
    println!("memory of the service: {} MB", server.memory().unwrap_or(0) / 1_000_000);
    server.kill()?;
    compare(options, &folder, &place, &scratch.path().join("restored"))?;
    ensure!(worst <= MOST, "waits grew by {worst:.2} times, and {MOST} are allowed");
    Ok(())
}

/// Sends requests until `over` is set: three checks, then a page that is recorded again unchanged.
fn ask(
    options: &Options,
    address: SocketAddr,
    place: u64,
    over: &AtomicBool,
) -> Result<Vec<Answered>> {
    let recipe = pages::fingerprinter()?.recipe_id().to_string();
    let mut connection = Connection::open(address)?;
    let mut answers = Vec::new();
    let mut n = place * 15_485_863;
    while !over.load(Ordering::Relaxed) {
        n += 7919;
        let page = n % options.pages;
        let write = answers.len() % 4 == 3;
        let (path, url, expected): (_, _, &[u8]) = match write {
            true => ("/v1/pages", pages::url(page), b"\"recorded\":true"),
            false => ("/v1/check", pages::url(page) + "x", b"\"recorded\":false"),
        };
        let asked = request("POST", path, JSON, &pages::ready(page, url, &recipe)?);
        let start = Instant::now();
        let status = connection.ask(&asked)?;
        let took = start.elapsed().as_secs_f32() * 1e3;
        must_be(&connection, status, expected)?;
        answers.push(Answered { asked: start, took, write });
        if options.pause_ms > 0 {
            std::thread::sleep(Duration::from_millis(options.pause_ms));
        }
    }
    Ok(answers)
}

type Made = (Summary, Duration);

/// Takes backups while clients are active; returns the time ranges and the first backup.
fn phases(options: &Options, address: SocketAddr, place: &Path) -> Result<(Vec<Window>, Made)> {
    let quiet = |name, seconds| {
        let start = Instant::now();
        std::thread::sleep(Duration::from_secs(seconds));
        Window { name, times: vec![(start, Instant::now())] }
    };
    // Warms up the caches.
    quiet("", 5);
    let before = quiet("before", options.seconds);
    let start = Instant::now();
    let whole = backup(address, place, "everything")?;
    let during =
        Window { name: "while everything is copied", times: vec![(start, Instant::now())] };
    let after = quiet("after", options.seconds / 2);
    let mut increments = Window { name: "while increments are copied", times: Vec::new() };
    for number in 0..INCREMENTS {
        std::thread::sleep(Duration::from_secs(1));
        let start = Instant::now();
        backup(address, place, &format!("increment {number}"))?;
        increments.times.push((start, Instant::now()));
    }
    Ok((vec![before, during, after, increments], whole))
}

/// Takes a backup over HTTP, like `hapax store backup --server`: writes it, then reads it again.
fn backup(address: SocketAddr, place: &Path, name: &str) -> Result<Made> {
    let start = Instant::now();
    let client = Service::client(&format!("http://{address}"), None);
    let place = place.to_owned();
    let mut copy = |after: Option<&hapax_store::Position>, out: &mut dyn Write| {
        let after = after.map(ToString::to_string);
        let increment = client.increment(after.as_deref(), 0, None).map_err(io::Error::other)?;
        hapax_store::increment::copy(&mut BufReader::new(increment), out).map(drop)
    };
    let made = backups::take(&place, &name.replace(' ', "-"), false, &mut copy)?;
    Ok((made, start.elapsed()))
}

/// Prints the latencies of each window; returns the largest ratio of p50 or p99 during a backup.
fn table(answers: &[Answered], windows: &[Window]) -> f32 {
    let mut table = Table::new();
    table.set_header(["", "", "seconds", "a second", "p50 ms", "p99 ms", "p50 ratio", "p99 ratio"]);
    let mut worst = 0.0f32;
    for (kind, wanted) in [("check", false), ("record", true)] {
        let mut before = None;
        for window in windows {
            let within = |asked| window.times.iter().any(|(from, to)| (from..to).contains(&asked));
            let seconds: f64 =
                window.times.iter().map(|(from, to)| (*to - *from).as_secs_f64()).sum();
            let took = answers.iter().filter(|it| it.write == wanted && within(&it.asked));
            let run = Measured::new(took.map(|it| it.took).collect(), seconds);
            let [half, most] = [0.5, 0.99].map(|share| run.quantile(share));
            let first = *before.get_or_insert((half, most));
            let ratios = (half / first.0, most / first.1);
            if window.name.starts_with("while") {
                worst = worst.max(ratios.0).max(ratios.1);
            }
            let mut row = vec![kind.to_owned(), window.name.to_owned(), format!("{seconds:.1}")];
            row.push(format!("{:.0}", run.rate));
            row.extend([half, most, ratios.0, ratios.1].map(|number| format!("{number:.2}")));
            table.add_row(row);
        }
    }
    println!("## Waits of clients\n\n{table}");
    worst
}

fn changed(options: &Options) -> impl Iterator<Item = u64> {
    (0..options.pages).step_by(CHANGED as usize)
}

/// Records one page in a hundred with other words; returns their number.
fn change(options: &Options, address: SocketAddr) -> Result<u64> {
    let recipe = pages::fingerprinter()?.recipe_id().to_string();
    let mut lines = String::new();
    for n in changed(options) {
        lines += &pages::version(n, n, OTHER_WORDS, &recipe)?;
        lines.push('\n');
    }
    let mut connection = Connection::open(address)?;
    let asked = request("POST", "/v1/pages/batch", "application/x-ndjson", &lines);
    let status = connection.ask_long(&asked)?;
    let recorded = String::from_utf8_lossy(&connection.body).matches("\"recorded\":true").count();
    ensure!(status == 200 && recorded == changed(options).count(), "{status}: {recorded} recorded");
    Ok(recorded as u64)
}

/// Checks that the restored repository has every page as last acknowledged.
fn compare(options: &Options, folder: &Path, place: &Path, restored: &Path) -> Result<()> {
    let start = Instant::now();
    let (_, found) = backups::restore(&place.to_owned(), None, restored)?;
    let took = start.elapsed().as_secs_f64();
    ensure!(found.problems == 0, "the restored repository is damaged: {:?}", found.details);
    let [ours, theirs] =
        [folder, restored].map(|folder| hapax_store::Repository::open(folder, None));
    let (ours, theirs) = (ours?, theirs?);
    let (known, copied) = (ours.stats()?, theirs.stats()?);
    ensure!(
        (known.pages, known.groups) == (copied.pages, copied.groups),
        "{} pages and {} groups were copied of {} and {}",
        copied.pages,
        copied.groups,
        known.pages,
        known.groups
    );
    for n in (0..options.pages).step_by(7).chain(changed(options)) {
        let url = pages::url(n);
        let (ours, theirs) = (ours.page(&url)?, theirs.page(&url)?);
        ensure!(ours.is_some() && ours == theirs, "page {n} is {theirs:?}, and should be {ours:?}");
        let words = if n % CHANGED == 0 { OTHER_WORDS } else { pages::WORDS };
        ensure!(ours.is_some_and(|page| page.words == words), "page {n} is of another version");
    }
    println!(
        "restored and checked in {took:.1} s: {} pages, {} groups, as in the service",
        found.pages, found.groups
    );
    Ok(())
}
