//! Checks before a release that are too slow for the tests.
//!
//! Three steps, each with its own build: the tests of the computing crates with overflow checks and assertions; every
//! published crate, built from its package alone; and the Python package, built from its source archive in an empty
//! folder and compared with the program. Publishes nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::package::published;
use crate::wheel;
use crate::workspace::{Workspace, run};

struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Workspace) -> Result<()>,
}

const STEPS: &[Step] = &[
    Step { name: "checked", about: "no number overflows in the tests", run: checked },
    Step { name: "crates", about: "every package builds by itself", run: crates },
    Step { name: "source", about: "the Python package builds from its archive", run: source },
];

/// Crates that compute, without servers and programs.
const CHECKED: [&str; 6] =
    ["hapax", "hapax-corpus", "hapax-dedup", "hapax-store", "hapax-search", "hapax-eval"];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    STEPS.iter().map(|step| step.name)
}

/// Runs the named steps, or all if none is named.
pub(crate) fn release(workspace: &Workspace, requested: &[String]) -> Result<bool> {
    for step in STEPS {
        if requested.is_empty() || requested.iter().any(|name| name == step.name) {
            println!("== {}: {}", step.name, step.about);
            (step.run)(workspace).with_context(|| format!("the step {} failed", step.name))?;
        }
    }
    println!("a release can be made of this");
    Ok(true)
}

/// A debug build with checks, slightly optimized so that it finishes in time.
fn debug<'a>(workspace: &Workspace, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = workspace.cargo(arguments);
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "false");
    command
}

fn checked(workspace: &Workspace) -> Result<()> {
    let mut command = debug(workspace, ["test", "--locked"]);
    CHECKED.iter().for_each(|name| _ = command.args(["--package", name]));
    run(&mut command)
}

fn crates(workspace: &Workspace) -> Result<()> {
    let mut command = debug(workspace, ["package", "--locked", "--allow-dirty"]);
    for name in published(&workspace.root().join("crates"))? {
        command.args(["--package", &name]);
    }
    let target = workspace.binaries().parent().context("no target folder")?;
    run(command.env("CARGO_TARGET_DIR", target))
}

fn source(workspace: &Workspace) -> Result<()> {
    let place = workspace.binaries().join("xtask-source");
    if place.exists() {
        fs::remove_dir_all(&place).context("cannot remove what an earlier run left")?;
    }
    let environment = place.join("environment");
    run(workspace.command("python3").args(["-m", "venv"]).arg(&environment))?;
    let program = |name: &str| workspace.command(environment.join("bin").join(name));
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(program("python3").args(install).arg(wheel::maturin(workspace)?))?;
    let archives = place.join("archive");
    fs::create_dir(&archives).context("cannot make a folder for the archive")?;
    let build = ["-c", "import backend, sys; backend.build_sdist(sys.argv[1])"];
    let path = workspace.search_path(&[environment.join("bin")]);
    let mut command = program("python3");
    command.args(build).arg(&archives).current_dir(workspace.root().join("python"));
    run(command.env("PATH", path))?;
    let archive = only_file(&archives)?;
    // An empty folder, so that no other files can be found from there.
    let elsewhere = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut build = program("python3");
    build.args(install).arg(&archive).current_dir(elsewhere.path()).env_remove("CARGO_TARGET_DIR");
    run(&mut build)?;
    run(&mut workspace.cargo(["build", "--release", "--bin", "hapax"]))?;
    let judge = workspace.binaries().join("hapax");
    let spoken = |mut command: Command| -> Result<Vec<u8>> {
        let output = command.args(["fingerprint", "--json", "examples/docs"]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(output.stdout)
    };
    let (expected, found) = (spoken(workspace.command(judge))?, spoken(program("hapax"))?);
    ensure!(expected == found, "the package built from its archive says other fingerprints");
    ensure!(!found.is_empty(), "there were no fingerprints to compare");
    Ok(())
}

fn only_file(folder: &PathBuf) -> Result<PathBuf> {
    let files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("cannot list {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    let [file] = &files[..] else { anyhow::bail!("expected one archive, found {files:?}") };
    ensure!(file.extension() == Some(OsStr::new("gz")), "{} is no archive", file.display());
    Ok(file.clone())
}
