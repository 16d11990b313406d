//! Fuzz targets without libFuzzer: a smoke run for the tests, seeds for the long run.
//!
//! `smoke` runs every target on its seeds, on former findings and on a fixed number of deterministic mutations.
//! `seeds` writes the initial inputs of libFuzzer. `replay` runs one target on files.
#![expect(clippy::print_stdout, reason = "a program that says how far it has come")]

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use hapax_fuzz::{TARGETS, Target, mutate, target};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Fuzz targets without libFuzzer.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run seeds, findings and mutations of every target
    Smoke {
        /// Only this target
        target: Option<String>,
        /// Folder of the findings
        #[arg(long, default_value = "fuzz/findings")]
        findings: PathBuf,
        /// Multiplies the number of mutations
        #[arg(long, default_value_t = 1)]
        times: u32,
        /// Number of the first mutation
        #[arg(long, default_value_t = 0)]
        from: u64,
    },
    /// Write seeds and dictionaries into a folder
    Seeds { folder: PathBuf },
    /// Run a target on files
    Replay { target: String, files: Vec<PathBuf> },
    /// Print the names of all targets
    List,
}

fn main() -> Result<()> {
    let tell = std::panic::take_hook();
    hapax_fuzz::see_all_panics();
    std::panic::set_hook(Box::new(move |panic| {
        if !hapax_fuzz::is_caught(panic) {
            tell(panic);
        }
    }));
    match Arguments::parse().task {
        Task::Smoke { target: only, findings, times, from } => {
            let mut run = 0;
            for target in TARGETS {
                if only.as_deref().is_none_or(|only| only == target.name) {
                    smoke(target, &findings, times, from)?;
                    run += 1;
                }
            }
            ensure!(run > 0, "there is no such target");
            println!("{run} passed, 0 failed");
            Ok(())
        }
        Task::Seeds { folder } => TARGETS.iter().try_for_each(|target| seeds(target, &folder)),
        Task::Replay { target: name, files } => {
            let target = target(&name).context("there is no such target")?;
            for file in files {
                println!("{}", file.display());
                (target.run)(&std::fs::read(&file)?);
            }
            Ok(())
        }
        Task::List => {
            TARGETS.iter().for_each(|target| println!("{:<14}{}", target.name, target.about));
            Ok(())
        }
    }
}

fn smoke(target: &Target, findings: &Path, times: u32, from: u64) -> Result<()> {
    let start = Instant::now();
    let seeds = (target.seeds)();
    seeds.iter().for_each(|seed| (target.run)(seed));
    let found = hapax_fuzz::findings(&findings.join(target.name))?;
    for (name, bytes) in &found {
        println!("{}: {name}", target.name);
        (target.run)(bytes);
    }
    let rounds = u64::from(target.rounds) * u64::from(times);
    for round in from..from + rounds {
        let input = mutate::mutated(&seeds, target.pieces, round);
        let held = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        if held.is_err() {
            let file = findings.with_file_name(format!("{}-{round}", target.name));
            std::fs::write(&file, &input)?;
            anyhow::bail!("{}: mutation {round} failed; it is in {}", target.name, file.display());
        }
    }
    let took = start.elapsed().as_secs_f64();
    let (seeds, found) = (seeds.len(), found.len());
    println!(
        "{:<14}{seeds} seeds, {found} findings, {rounds} mutations in {took:.1} s",
        target.name
    );
    Ok(())
}

/// A dictionary in libFuzzer's format: everything except plain letters as `\xNN`.
fn dictionary(target: &Target) -> String {
    let quoted = |piece: &&str| {
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        let byte = |byte: u8| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("\\x{byte:02x}"),
        };
        format!("\"{}\"\n", piece.bytes().map(byte).collect::<String>())
    };
    target.pieces.iter().map(quoted).collect()
}

fn seeds(target: &Target, folder: &Path) -> Result<()> {
    let place = folder.join(target.name);
    std::fs::create_dir_all(&place)?;
    for (number, seed) in (target.seeds)().iter().enumerate() {
        std::fs::write(place.join(format!("{number:03}")), seed)?;
    }
    std::fs::write(folder.join(format!("{}.dict", target.name)), dictionary(target))?;
    Ok(())
}
