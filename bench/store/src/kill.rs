//! The long variant of the kill test: hundreds of kills, one repository.
//!
//! A child observes pages on three threads and prints every address once the repository has answered. It is killed
//! after a random number of answers; then every printed address must exist, and the folder must verify.

use crate::pages::{page, scramble, settings};
use anyhow::{Context, ensure};
use hapax_store::{Observation, Repository, check_folder};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of kills
    #[arg(long, default_value_t = 300)]
    kills: u64,
    /// Seed of the times of kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(clap::Args)]
pub(crate) struct Victim {
    folder: PathBuf,
    round: u64,
}

pub(crate) fn victim(options: &Victim) -> anyhow::Result<()> {
    let store = Repository::open(&options.folder, None)?;
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let store = &store;
            scope.spawn(move || {
                for n in 0.. {
                    let number = scramble(options.round << 20 | thread << 18 | n) % 3_000_000;
                    let url = format!("http://{}.example/{thread}/{n}", options.round);
                    store.observe(Observation { url: url.clone(), ..page(number + 2) }).unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "{url}").unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
    Ok(())
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("store");
    drop(Repository::create(&store, settings()?)?);
    let mut acknowledged: BTreeSet<String> = BTreeSet::new();
    for round in 0..options.kills {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("victim")
            .arg(&store)
            .arg(round.to_string())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("the child has an output")?;
        let mut lines = BufReader::new(out).lines();
        for _ in 0..scramble(options.seed ^ round << 8) % 150 {
            acknowledged.insert(lines.next().context("the child ended by itself")??);
        }
        child.kill()?;
        child.wait()?;
        let mut rest: Vec<String> = lines.map_while(Result::ok).collect();
        // The last line may be incomplete.
        rest.pop();
        acknowledged.extend(rest);
        if round % 10 == 9 || round + 1 == options.kills {
            let found = check_folder(&store)?;
            ensure!(found.is_clean(), "{found:#?}");
            let opened = Repository::open(&store, None)?;
            for url in &acknowledged {
                ensure!(opened.page(url)?.is_some(), "{url} was acknowledged and is lost");
            }
        }
    }
    println!("{} kills, {} acknowledged pages, all there", options.kills, acknowledged.len());
    Ok(())
}
