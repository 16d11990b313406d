//! Compares Hapax with its peers: builds the contenders, runs them, stores the record.
//!
//! `bench/compare` measures: a separate crate with the peers from crates.io, and Python code that installs those from
//! PyPI, starts each contender in its own process and checks its answers. Everything fetched or built is under the
//! target folder. Does not know the contenders or the measured quantities.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;

use crate::tidy;
use crate::workspace::{Workspace, run};

const FAMILIES: [&str; 4] = ["fingerprint", "near", "dedup", "extract"];
const SHOWN_IN: &str = "docs/benchmarks/compare.md";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Comparisons to run; default: all
    #[arg(value_name = "FAMILY", value_parser = PossibleValuesParser::new(FAMILIES))]
    families: Vec<String>,
    /// The bundled pages and 100,000 fingerprints: minutes (the default)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Up to 10 million fingerprints, and slow peers: an hour and 8 GB of memory
    #[arg(long)]
    full: bool,
    /// A folder with pages and known pairs, in addition to the bundled pages; repeatable
    #[arg(long, value_name = "SET")]
    data: Vec<PathBuf>,
    /// Search only this number of fingerprints; repeatable
    #[arg(long, value_name = "COUNT")]
    fingerprints: Vec<u64>,
    /// Runs of each contender, alternating; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Folder of the record, instead of the target folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Measure nothing: copy the table of the record in --out into the documentation
    #[arg(long, requires = "out")]
    show: bool,
}

/// Measures, or shows a record in the documentation.
pub(crate) fn compare(workspace: &Workspace, arguments: &Arguments) -> Result<bool> {
    if arguments.show {
        return show(workspace, arguments);
    }
    let target = workspace.binaries().parent().context("no target folder")?;
    let folder = workspace.root().join("bench/compare");
    run(&mut workspace.cargo(["build", "--release", "--bin", "hapax"]))?;
    // A shared target folder, so that common dependencies are compiled once.
    let mut peers = workspace.cargo(["build", "--release", "--locked", "--manifest-path"]);
    run(peers.arg("bench/compare/Cargo.toml").env("CARGO_TARGET_DIR", target))?;
    // Tests the scores first.
    let mut tests = workspace.command("python3");
    run(tests.args(["-m", "unittest", "--quiet", "test_score"]).current_dir(folder))?;
    let mut command = workspace.command("python3");
    command.arg("bench/compare/compare.py").arg("--target").arg(target);
    command.arg("--out").arg(arguments.out.clone().unwrap_or_else(|| target.join("compare")));
    command.args(["--rounds", &arguments.rounds.to_string()]);
    if arguments.full && !arguments.quick {
        command.arg("--full");
    }
    for folder in &arguments.data {
        command.arg("--data").arg(folder);
    }
    for count in &arguments.fingerprints {
        command.arg("--fingerprints").arg(count.to_string());
    }
    run(command.args(&arguments.families))?;
    Ok(true)
}

fn show(workspace: &Workspace, arguments: &Arguments) -> Result<bool> {
    let folder = arguments.out.clone().unwrap_or_default();
    let path = folder.join("compare.md").to_string_lossy().replace('\\', "/");
    let document = workspace.read(SHOWN_IN)?;
    let Some(made) = tidy::shown(&document, &path, &workspace.read(&path)?) else {
        bail!("{path} has no table to show, or {SHOWN_IN} no place for one");
    };
    std::fs::write(workspace.root().join(SHOWN_IN), made)
        .with_context(|| format!("cannot write {SHOWN_IN}"))?;
    Ok(true)
}
