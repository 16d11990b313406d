//! Attacks the running service, and measures each attack's duration and memory, and the latency of an honest client.
//!
//! Every attack gets its own service. It passes if the service answers correctly, is healthy afterwards, stays within
//! the allowed memory, and stops in time. The table is for `docs/internals/testing.md`. [`connections`] attacks with
//! connections and bytes, [`pages`] with pages that are hard to read, [`collisions`] with colliding pages,
//! [`readers`] with clients that delay others.
#![expect(clippy::print_stdout, reason = "a program that prints its table")]

mod collisions;
mod connections;
mod pages;
mod readers;
mod server;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use server::Server;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The service under attack.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// All attacks, or those with a word in their name
    Run { word: Option<String> },
    /// The service's process
    #[command(hide = true)]
    Serve { folder: PathBuf },
}

/// Maximum time the service may take to stop, whatever its clients do: two seconds until it
/// disconnects inactive ones, plus final writes.
const STOP: Duration = Duration::from_secs(5);

/// An attack: its name, settings, memory limit, and code.
#[derive(Clone)]
struct Attack {
    name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    megabytes: u64,
    /// Maximum latency of 99 % of honest requests.
    p99: Duration,
    /// Returns a description of the outcome.
    run: fn(&Server) -> Result<String>,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Serve { folder } => server::serve(&folder),
        Command::Run { word } => {
            let all = [connections::ATTACKS, pages::ATTACKS, collisions::ATTACKS, readers::ATTACKS]
                .concat();
            println!(
                "| attack | answer | seconds | peak MB | an honest client waits, p99 | at most | stops in |"
            );
            println!("|---|---|---:|---:|---:|---:|---:|");
            let word = word.unwrap_or_default();
            let mut tried = 0;
            for attack in all.iter().filter(|attack| attack.name.contains(&word)) {
                one(attack).with_context(|| attack.name)?;
                tried += 1;
            }
            println!("\n{tried} attacks held");
            Ok(())
        }
    }
}

fn one(attack: &Attack) -> Result<()> {
    let server = Server::start(attack.settings)?;
    let stop = AtomicBool::new(false);
    let (came, took, mut waits) =
        std::thread::scope(|scope| -> Result<(String, Duration, Vec<Duration>)> {
            let honest = scope.spawn(|| server::honest(&server, &stop));
            // The honest client should be connected before the attack.
            std::thread::sleep(Duration::from_millis(200));
            let start = Instant::now();
            let came = (attack.run)(&server);
            let took = start.elapsed();
            stop.store(true, Ordering::Relaxed);
            let waits =
                honest.join().map_err(|_| anyhow::anyhow!("the honest client panicked"))??;
            Ok((came?, took, waits))
        })?;
    server.is_healthy()?;
    let peak = server.peak().context("the service states no memory")?;
    waits.sort_unstable();
    let p99 = waits.get(waits.len() * 99 / 100).copied().unwrap_or_default();
    let worst = waits.last().copied().unwrap_or_default();
    let stopped = server.stop()?;
    println!(
        "| {} | {came} | {:.1} | {peak} | {} ms | {} ms | {:.1} s |",
        attack.name,
        took.as_secs_f64(),
        p99.as_millis(),
        worst.as_millis(),
        stopped.as_secs_f64()
    );
    let most = attack.megabytes;
    ensure!(peak <= most, "{peak} MB are more than the {most} allowed");
    ensure!(p99 <= attack.p99, "{p99:?} are more than the {:?} allowed", attack.p99);
    ensure!(stopped <= STOP, "it took {stopped:?} to stop, and {STOP:?} are allowed");
    Ok(())
}
