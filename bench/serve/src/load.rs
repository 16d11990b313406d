//! The load: the library, then the service, then their ratios.
//!
//! All in one run on the same cores, so that the ratios are valid on a busy machine too. The batch is one stream,
//! sent by one thread while another reads.

use crate::clients::{Measured, measure};
use crate::process::Server;
use crate::wire::{Connection, request};
use crate::{library, pages};
use anyhow::{Result, ensure};
use clap::Args;
use comfy_table::Table;
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Args)]
pub(crate) struct Options {
    /// Pages in the repository
    #[arg(long, default_value_t = 1_000_000)]
    pages: u64,
    /// Seconds per measurement
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Pages recorded in the batches
    #[arg(long, default_value_t = 200_000)]
    batch: u64,
    /// Folder of the repository, which is kept; a temporary folder by default
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

const JSON: &str = "application/json";

pub(crate) fn run(options: &Options) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let folder = options.folder.clone().unwrap_or_else(|| scratch.path().join("store"));
    let time = Duration::from_secs(options.seconds);
    let html = pages::real()?;
    let mean = html.iter().map(String::len).sum::<usize>() / html.len();
    let known = options.pages;
    let recipe = pages::fingerprinter()?.recipe_id().to_string();

    let store = pages::repository_in(&folder, known)?;
    let first = store.stats()?.pages;
    println!("{first} pages, {} real pages of {mean} bytes on average", html.len());
    let alone = [
        library::check_ready(&store, known, time)?,
        library::check_real(&store, &html, time)?,
        library::observe(&store, first..first + options.batch)?,
    ];
    drop(store);

    let server = Server::start(&folder, &[])?;
    let address = server.address;
    let health = vec![request("GET", "/healthz", JSON, "")];
    let step = (known / 2000).max(1);
    let ready: Result<Vec<Vec<u8>>> = (0..known)
        .step_by(step as usize)
        .map(|n| {
            Ok(request("POST", "/v1/check", JSON, &pages::ready(n, pages::url(n) + "x", &recipe)?))
        })
        .collect();
    // Without and with a search for the nearest page, which compares a page with all.
    let real = |path: &str| -> Vec<Vec<u8>> {
        let pages =
            html.iter().map(|html| json!({ "url": "https://example.org/page", "html": html }));
        pages.map(|page| request("POST", path, JSON, &page.to_string())).collect()
    };
    let mut table = Table::new();
    table.set_header(["", "a second", "p50 ms", "p99 ms", "p99.9 ms", "against", "ratio"]);
    let mut row = |name: &str, run: &Measured, against: &str, other: f64| {
        let [half, most, nearly] =
            [0.5, 0.99, 0.999].map(|share| format!("{:.2}", run.quantile(share)));
        let ratio = format!("{:.2}", run.rate / other);
        table.add_row([
            name.into(),
            format!("{:.0}", run.rate),
            half,
            most,
            nearly,
            against.into(),
            ratio,
        ]);
    };
    let healthz = measure(address, options.connections, time, &health, b"alive")?;
    row("GET /healthz", &healthz, "itself", healthz.rate);
    let checked = measure(address, options.connections, time, &ready?, b"\"recorded\":false")?;
    row("check a ready fingerprint", &checked, "/healthz", healthz.rate);
    row("check a ready fingerprint", &checked, "the library alone", alone[0]);
    for (name, path) in [
        ("check a page of 20 KB", "/v1/check?nearest=false"),
        ("the same, with the nearest page", "/v1/check"),
    ] {
        let paged =
            measure(address, options.connections, time, &real(path), b"\"recorded\":false")?;
        row(name, &paged, "the library alone", alone[1]);
    }
    let again = measure(address, options.connections, time, &health, b"alive")?;
    row("GET /healthz, again", &again, "the first time", healthz.rate);
    let from = first + options.batch;
    let batched = batch(address, from, options.batch, &recipe)?;
    row("batch observe", &batched, "the library alone", alone[2]);
    println!("{table}");
    println!(
        "library alone, a second: {:.0} ready fingerprints, {:.0} pages checked, {:.0} recorded",
        alone[0], alone[1], alone[2]
    );
    println!("memory of the service: {} MB", server.memory().unwrap_or(0) / 1_000_000);
    Ok(())
}

/// Sends one stream of new pages and checks every verdict.
fn batch(address: SocketAddr, from: u64, count: u64, recipe: &str) -> Result<Measured> {
    let mut body = String::new();
    for n in from..from + count {
        body += &pages::ready(n, pages::url(n), recipe)?;
        body.push('\n');
    }
    let request = request("POST", "/v1/pages/batch", "application/x-ndjson", &body);
    let mut connection = Connection::open(address)?;
    let start = Instant::now();
    let status = connection.ask_long(&request)?;
    let seconds = start.elapsed().as_secs_f64();
    let body = String::from_utf8_lossy(&connection.body);
    ensure!(status == 200, "{status}: {body}");
    let mut lines = 0;
    for (line, n) in body.lines().zip(from..) {
        let kind = if pages::is_copy(n) && n >= from + 2 {
            "\"verdict\":\"near\""
        } else {
            "\"verdict\":\""
        };
        ensure!(line.contains(kind), "page {n}: {line}");
        lines += 1;
    }
    ensure!(lines == count, "{lines} of {count} lines were answered");
    Ok(Measured::one(count as f64 / seconds, seconds))
}
