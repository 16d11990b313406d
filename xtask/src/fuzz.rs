//! Fuzzing: a smoke run of every target in the tests, and the long run with libFuzzer.
//!
//! The smoke run takes seeds, former findings and a fixed number of mutations. The long run compiles this
//! repository's crates with coverage counters (`-C passes=sancov-module`, on stable), links libFuzzer, and runs each
//! target for some minutes; dependencies have no counters, so dictionaries guide their inputs. Findings are stored
//! below `target/fuzz`. `fuzz/soak` and `fuzz/hostile` are built and started here.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::parts::Tally;
use crate::workspace::{Workspace, run, run_watched};

/// Compiler wrapper that Cargo uses for the crates of this repository only: adds counters for every
/// edge and every comparison, and enables assertions and overflow checks.
const COMPILER: &str = r#"#!/bin/sh
for word in "$@"; do
    case "$word" in build_script_*) exec "$@" ;; esac
done
exec "$@" -C debug-assertions=on -C overflow-checks=on -C passes=sancov-module \
    -C llvm-args=-sanitizer-coverage-level=4 -C llvm-args=-sanitizer-coverage-inline-8bit-counters \
    -C llvm-args=-sanitizer-coverage-pc-table -C llvm-args=-sanitizer-coverage-trace-compares
"#;

/// Limits for one input; exceeding one is a failure.
const MOST_MEGABYTES: u32 = 1500;
const MOST_SECONDS: u32 = 20;
const LONGEST_INPUT: u32 = 8192;

/// The part of the tests that runs every target briefly.
pub(crate) fn smoke(workspace: &Workspace) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut command = workspace.command(program(workspace, "hapax-fuzz")?);
    command.arg("smoke");
    let succeeded = run_watched(&mut command, |line| tally.add(Tally::of_plain(line)))?;
    if !succeeded || tally.passed == 0 {
        bail!("a target failed; the line above names it");
    }
    Ok(tally)
}

/// A program of the release build.
fn program(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    run(&mut workspace.cargo(["build", "--release", "--workspace", "--bin", name]))?;
    Ok(workspace.binaries().join(name))
}

/// Runs a repository under faults and compares it with a model.
pub(crate) fn soak(workspace: &Workspace, seed: u64, minutes: f64) -> Result<bool> {
    let mut command = workspace.command(program(workspace, "hapax-soak")?);
    command.args(["run", "--seed", &seed.to_string(), "--minutes", &minutes.to_string()]);
    Ok(command.status().context("cannot start the soak")?.success())
}

/// Attacks a running service.
pub(crate) fn hostile(workspace: &Workspace, word: Option<&str>) -> Result<bool> {
    let mut command = workspace.command(program(workspace, "hapax-hostile")?);
    command.arg("run").args(word);
    Ok(command.status().context("cannot start the attacks")?.success())
}

/// The long run of these targets, or all; `minutes` per target.
pub(crate) fn long(
    workspace: &Workspace,
    asked: &[String],
    minutes: f64,
    jobs: u32,
) -> Result<bool> {
    let program = program(workspace, "hapax-fuzz")?;
    let place = workspace.root().join("target/fuzz");
    let seeds = place.join("seeds");
    fs::create_dir_all(&seeds).with_context(|| format!("cannot make {}", seeds.display()))?;
    run(workspace.command(&program).arg("seeds").arg(&seeds))?;
    let compiler = place.join("rustc.sh");
    fs::write(&compiler, COMPILER).context("cannot write the compiler's wrapper")?;
    run(workspace.command("chmod").arg("+x").arg(&compiler))?;
    let build = ["build", "--release", "--workspace", "--bin", "hapax-libfuzzer", "--features"];
    let mut build = workspace.cargo(build);
    run(build.arg("hapax-fuzz/libfuzzer").env("RUSTC_WORKSPACE_WRAPPER", &compiler))?;
    let fuzzer = workspace.binaries().join("hapax-libfuzzer");

    let listing =
        workspace.command(&program).arg("list").output().context("cannot list targets")?;
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    let names: Vec<&str> = listing.lines().filter_map(|line| line.split(' ').next()).collect();
    for name in asked {
        ensure!(names.contains(&name.as_str()), "there is no target {name}; there are {names:?}");
    }
    let wanted = |name: &&&str| asked.is_empty() || asked.iter().any(|it| it == **name);
    let queue = Mutex::new(names.iter().filter(wanted));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<Vec<Row>> {
        std::iter::from_fn(next)
            .map(|name| one(workspace, &fuzzer, &place, name, minutes))
            .collect()
    };
    let rows = thread::scope(|scope| -> Result<Vec<Row>> {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        let mut rows = Vec::new();
        for worker in workers {
            rows.extend(worker.join().map_err(|_| anyhow!("a worker panicked"))??);
        }
        Ok(rows)
    })?;
    println!(
        "\n{:<14}{:>12}{:>10}{:>9}{:>9}  result",
        "target", "executions", "a second", "edges", "MB"
    );
    let mut sound = true;
    for Row { name, executions, rate, edges, megabytes, passed } in &rows {
        sound &= passed;
        let result = if *passed { "held" } else { "FAILED" };
        println!("{name:<14}{executions:>12}{rate:>10}{edges:>9}{megabytes:>9}  {result}");
    }
    Ok(sound)
}

struct Row {
    name: String,
    executions: u64,
    rate: u64,
    edges: u64,
    megabytes: u64,
    passed: bool,
}

fn one(
    workspace: &Workspace,
    fuzzer: &Path,
    place: &Path,
    name: &str,
    minutes: f64,
) -> Result<Row> {
    let corpus = place.join("corpus").join(name);
    let failures = place.join("failures");
    for folder in [&corpus, &failures] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut command = workspace.command(fuzzer);
    command.env("HAPAX_FUZZ_TARGET", name).arg(&corpus).arg(place.join("seeds").join(name));
    let known = workspace.root().join("fuzz/findings").join(name);
    if known.is_dir() {
        command.arg(known);
    }
    let dictionary = place.join("seeds").join(format!("{name}.dict"));
    if fs::metadata(&dictionary).is_ok_and(|file| file.len() > 0) {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    command.args([
        format!("-max_total_time={}", (minutes * 60.0).round().max(1.0) as u64),
        format!("-rss_limit_mb={MOST_MEGABYTES}"),
        format!("-timeout={MOST_SECONDS}"),
        format!("-max_len={LONGEST_INPUT}"),
        format!("-artifact_prefix={}/{name}-", failures.display()),
        "-print_final_stats=1".to_owned(),
        "-verbosity=1".to_owned(),
    ]);
    let mut row = Row {
        name: name.to_owned(),
        executions: 0,
        rate: 0,
        edges: 0,
        megabytes: 0,
        passed: false,
    };
    command.stderr(std::process::Stdio::piped());
    println!("== {name}, {minutes} minutes");
    let output = command.output().context("cannot start libFuzzer")?;
    let said = String::from_utf8_lossy(&output.stderr);
    for line in said.lines() {
        row.take(line);
    }
    row.passed = output.status.success();
    if !row.passed {
        let from = said.char_indices().rev().nth(4000).map_or(0, |(at, _)| at);
        println!("{}", &said[from..]);
        println!("the input is in {}", failures.display());
    }
    Ok(row)
}

impl Row {
    /// Reads the figures in a line of libFuzzer's output; most lines have none.
    fn take(&mut self, line: &str) {
        let last = || line.rsplit(' ').next()?.parse().ok();
        if line.starts_with("stat::number_of_executed_units:") {
            self.executions = last().unwrap_or(0);
        } else if line.starts_with("stat::average_exec_per_sec:") {
            self.rate = last().unwrap_or(0);
        } else if line.starts_with("stat::peak_rss_mb:") {
            self.megabytes = last().unwrap_or(0);
        } else if let Some((_, rest)) = line.split_once(" cov: ") {
            self.edges = rest.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(self.edges);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_run_are_read() {
        let mut row =
            Row { name: "x".into(), executions: 0, rate: 0, edges: 0, megabytes: 0, passed: false };
        for line in [
            "#128\tpulse  cov: 1204 ft: 1500 corp: 7/55b exec/s: 64 rss: 90Mb",
            "#131\tDONE   cov: 1210 ft: 1509 corp: 7/55b lim: 33 exec/s: 65 rss: 90Mb",
            "stat::number_of_executed_units: 131",
            "stat::average_exec_per_sec:     65",
            "stat::peak_rss_mb:              92",
        ] {
            row.take(line);
        }
        assert_eq!((row.executions, row.rate, row.edges, row.megabytes), (131, 65, 1210, 92));
    }
}
