//! Measures many crawlers with one service: what each gets, and whether a greedy one takes it from the others.
//!
//! Twenty crawlers, each with a token and 64 connections, check pages, record pages and send batches. Their
//! throughput is compared with the same mix on the library and with `/healthz` on as many connections. Then one of
//! them opens ten times as many connections as each other one; then more requests come than the service processes at
//! once, and wait as `Retry-After` says.

use crate::clients::{Measured, must_be};
use crate::process::Server;
use crate::wire::{Connection, request_as};
use crate::{library, pages};
use anyhow::{Context, Result, ensure};
use clap::Args;
use comfy_table::Table;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Args)]
pub(crate) struct Options {
    /// Pages in the repository
    #[arg(long, default_value_t = 1_000_000)]
    pages: u64,
    /// Seconds per measurement
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Crawlers, each with its own token
    #[arg(long, default_value_t = 20)]
    crawlers: usize,
    /// Connections per crawler
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Request the nearest page also for pages without a match, which compares them with all pages
    #[arg(long)]
    nearest: bool,
    /// Folder of the repository, which is kept; a temporary folder by default
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Lines of a batch.
pub(crate) const LINES: u64 = 20;
/// Number of different requests per measurement.
const REQUESTS: u64 = 4000;
/// Connections of the greedy crawler relative to the others.
const GREEDY: usize = 10;
const JSON: &str = "application/json";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Check,
    Record,
    Batch,
    Health,
    Page,
}

impl Kind {
    /// The kind of a request in the mix: seven checks, two records and a batch of ten.
    pub(crate) fn of_mix(turn: u64) -> Self {
        match turn % 10 {
            0..=6 => Self::Check,
            7 | 8 => Self::Record,
            _ => Self::Batch,
        }
    }
}

/// An answer: number of the crawler, kind of the request, latency in milliseconds.
struct Answered {
    crawler: usize,
    kind: Kind,
    took: f32,
}

/// Answers during a number of seconds.
struct Load {
    answers: Vec<Answered>,
    seconds: f64,
    /// Answers with `Retry-After`.
    delayed: u64,
}

impl Load {
    fn of(&self, kind: Kind) -> Measured {
        let took = self.answers.iter().filter(|it| it.kind == kind).map(|it| it.took);
        Measured::new(took.collect(), self.seconds)
    }

    /// Number of answers to each crawler.
    fn shares(&self, crawlers: usize) -> Vec<usize> {
        let mut counts = vec![0; crawlers];
        self.answers.iter().for_each(|it| counts[it.crawler] += 1);
        counts
    }
}

fn token(crawler: usize) -> String {
    format!("crawler-{crawler:04}-secret")
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let folder = options.folder.clone().unwrap_or_else(|| scratch.path().join("store"));
    let time = Duration::from_secs(options.seconds);
    let store = pages::repository_in(&folder, options.pages)?;
    let alone = library::mix(&store, options.pages, time)?;
    drop(store);
    let all = options.crawlers * options.connections;
    let tokens: Vec<String> = (0..options.crawlers).map(token).collect();
    let tokens = ("HAPAX_TOKENS__WRITE", tokens.join(","));
    let room = (all * 2).to_string();
    let settings = [
        tokens.clone(),
        ("HAPAX_LIMITS__CONNECTIONS", room.clone()),
        ("HAPAX_LIMITS__REQUESTS", room),
    ];
    let server = Server::start(&folder, &settings)?;
    let connections = vec![options.connections; options.crawlers];
    println!(
        "{} crawlers with {} connections each, {} pages",
        options.crawlers, options.connections, options.pages
    );

    let health = load(options, server.address, &connections, time, |_| Kind::Health)?;
    let mixed = load(options, server.address, &connections, time, Kind::of_mix)?;
    let mut table = Table::new();
    table.set_header(["", "a second", "p50 ms", "p99 ms"]);
    let mut row = |name: &str, run: &Measured| {
        let [half, most] = [0.5, 0.99].map(|share| format!("{:.1}", run.quantile(share)));
        table.add_row([name.to_owned(), format!("{:.0}", run.rate), half, most]);
    };
    row("GET /healthz", &health.of(Kind::Health));
    row("check", &mixed.of(Kind::Check));
    row("record", &mixed.of(Kind::Record));
    row("batch of 20", &mixed.of(Kind::Batch));
    println!("\n## The mix\n\n{table}");
    let requests = mixed.answers.len() as f64 / mixed.seconds;
    let alive = health.of(Kind::Health).rate;
    let mut table = Table::new();
    table.set_header(["", "requests a second", "the mix is this share of it"]);
    for (name, rate) in [
        ("the mix over HTTP", requests),
        ("the same mix on the library", alone),
        ("/healthz from as many connections", alive),
    ] {
        table.add_row([name.to_owned(), format!("{rate:.0}"), format!("{:.2}", requests / rate)]);
    }
    println!("\n## Against the library and /healthz\n\n{table}");
    println!("memory of the service: {} MB", server.memory().unwrap_or(0) / 1_000_000);
    let mut shares_of = Table::new();
    shares_of.set_header(["load", "fewest answers to a crawler", "most", "ratio"]);
    shares_of.add_row(spread("the mix, equal crawlers", &mixed.shares(options.crawlers)));
    let mut turns = Table::new();
    turns.set_header(["load", "ten times the connections get, times another", "p99 ms"]);

    let half = options.crawlers / 2;
    let mut greedy = vec![options.connections; half];
    greedy[0] *= GREEDY;
    for (name, kind) in [("pages of 20 KB", Kind::Page), ("ready signatures", Kind::Check)] {
        let run = load(options, server.address, &greedy, time, move |_| kind)?;
        let shares = run.shares(half);
        shares_of.add_row(spread(&format!("{name}, all but the greedy one"), &shares[1..]));
        let mean = shares[1..].iter().sum::<usize>() as f64 / (half - 1) as f64;
        turns.add_row([
            name.to_owned(),
            format!("{:.2}", shares[0] as f64 / mean),
            format!("{:.0}", run.of(kind).quantile(0.99)),
        ]);
    }
    server.kill()?;

    // The default limits, with fewer concurrent requests than connections.
    let settings = [
        tokens,
        ("HAPAX_LIMITS__CONNECTIONS", (all * 2).to_string()),
        ("HAPAX_LIMITS__REQUESTS", "256".into()),
    ];
    let server = Server::start(&folder, &settings)?;
    let full = load(options, server.address, &connections, time, |_| Kind::Page)?;
    shares_of.add_row(spread("pages of 20 KB, 256 places", &full.shares(options.crawlers)));
    println!(
        "\n## Shares by token\n\n{shares_of}\n\n## One crawler with {GREEDY} times the connections\n\n{turns}\n"
    );
    println!(
        "256 places for {all} connections: {} answers a second, p99 {:.0} ms, {} a second are refused with Retry-After",
        (full.answers.len() as f64 / full.seconds).round(),
        full.of(Kind::Page).quantile(0.99),
        (full.delayed as f64 / full.seconds).round()
    );
    ensure!(full.delayed > 0, "no request was refused");
    Ok(())
}

fn spread(name: &str, shares: &[usize]) -> [String; 4] {
    let (least, most) = (shares.iter().min().unwrap_or(&0), shares.iter().max().unwrap_or(&0));
    let ratio = *least as f64 / (*most).max(1) as f64;
    [name.to_owned(), least.to_string(), most.to_string(), format!("{ratio:.3}")]
}

/// Sends requests on all connections of all crawlers at once.
fn load(
    options: &Options,
    address: SocketAddr,
    connections: &[usize],
    time: Duration,
    kind: impl Fn(u64) -> Kind,
) -> Result<Load> {
    let over = AtomicBool::new(false);
    let delayed = AtomicU64::new(0);
    let made = requests(options, kind)?;
    let start = Instant::now();
    let mut seconds = 0.0;
    let answers = std::thread::scope(|scope| -> Result<Vec<Answered>> {
        let mut clients = Vec::new();
        for (crawler, count) in connections.iter().enumerate() {
            for place in 0..*count {
                let (over, made, delayed_count) = (&over, &made, &delayed);
                let first = (crawler * 64 + place) * 31;
                let client = std::thread::Builder::new().stack_size(256 << 10);
                clients.push(client.spawn_scoped(scope, move || {
                    ask(address, crawler, first, made, over, delayed_count)
                })?);
            }
        }
        std::thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        seconds = start.elapsed().as_secs_f64();
        let mut answers = Vec::new();
        for client in clients {
            answers.extend(client.join().ok().context("a client panicked")??);
        }
        Ok(answers)
    })?;
    Ok(Load { answers, seconds, delayed: delayed.into_inner() })
}

/// A request without its token.
struct Made {
    kind: Kind,
    path: &'static str,
    media: &'static str,
    body: String,
    /// Expected part of the answer.
    expected: &'static [u8],
}

/// Requests for different pages, in the order in which a connection sends them.
fn requests(options: &Options, kind: impl Fn(u64) -> Kind) -> Result<Vec<Made>> {
    let real = pages::real()?;
    let recipe = pages::fingerprinter()?.recipe_id().to_string();
    let page = |n: u64| pages::ready(n % options.pages, pages::url(n % options.pages), &recipe);
    let step = (options.pages / REQUESTS).max(1);
    let (check, record) = match options.nearest {
        true => ("/v1/check", "/v1/pages"),
        false => ("/v1/check?nearest=false", "/v1/pages?nearest=false"),
    };
    let made = (0..REQUESTS).map(|turn| {
        let (n, kind) = (turn * step, kind(turn));
        let (path, media, body, expected): (_, _, _, &[u8]) = match kind {
            Kind::Health => ("/healthz", JSON, String::new(), b"alive"),
            Kind::Check => (check, JSON, page(n)?, b"\"recorded\":false"),
            Kind::Record => (record, JSON, page(n)?, b"\"recorded\":true"),
            Kind::Batch => {
                let lines: Result<Vec<String>> = (n..n + LINES).map(page).collect();
                ("/v1/pages/batch", "application/x-ndjson", lines?.join("\n"), b"{\"line\":20,")
            }
            Kind::Page => {
                let html = &real[turn as usize % real.len()];
                let page = serde_json::json!({ "url": "https://example.org/page", "html": html });
                (check, JSON, page.to_string(), b"\"recorded\":false")
            }
        };
        Ok(Made { kind, path, media, body, expected })
    });
    made.collect()
}

/// One connection: sends requests until `over` is set, and waits as the answers say.
fn ask(
    address: SocketAddr,
    crawler: usize,
    first: usize,
    made: &[Made],
    over: &AtomicBool,
    delayed: &AtomicU64,
) -> Result<Vec<Answered>> {
    let mut connection = Connection::open(address)?;
    let mut answers = Vec::new();
    let token = token(crawler);
    for turn in first.. {
        let Made { kind, path, media, body, expected } = &made[turn % made.len()];
        let method = if *kind == Kind::Health { "GET" } else { "POST" };
        let request = request_as(&token, method, path, media, body);
        let start = Instant::now();
        let mut status = connection.ask(&request)?;
        while matches!(status, 429 | 503) && !over.load(Ordering::Relaxed) {
            delayed.fetch_add(1, Ordering::Relaxed);
            let wait = connection.retry_after.context("a refusal without Retry-After")?;
            std::thread::sleep(Duration::from_secs(wait));
            status = connection.ask(&request)?;
        }
        // The last answer may arrive after the clock has stopped.
        if over.load(Ordering::Relaxed) {
            break;
        }
        let took = start.elapsed().as_secs_f32() * 1e3;
        must_be(&connection, status, expected)?;
        answers.push(Answered { crawler, kind: *kind, took });
    }
    Ok(answers)
}
