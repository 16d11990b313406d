//! Builds the Python package, and tests its wheel in virtual environments.
//!
//! The wheel is built once, with the workspace's profile into the workspace's target folder, so that the engine is not
//! compiled twice (`python/backend.py`), and installed into an environment for the tests and one for the job on Spark,
//! whose pinned libraries `needs` provides. The system is not changed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::needs;
use crate::parts::Tally;
use crate::workspace::{Workspace, run, run_watched};

/// The part of the tests that builds the wheel, and the program that tests compare it with.
pub(crate) fn wheel(workspace: &Workspace) -> Result<Tally> {
    let out = workspace.binaries().join(WHEELS);
    if out.exists() {
        std::fs::remove_dir_all(&out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    let wheel = build(workspace, "release", &out)?;
    println!("{}", wheel.display());
    Ok(Tally::default())
}

/// The part of the tests that installs the wheel, tests, and checks types.
pub(crate) fn python(workspace: &Workspace) -> Result<Tally> {
    let environment = Environment::with_wheel(workspace, "python/requirements-test.txt")?;
    run(environment.program("mypy").arg("--config-file").arg("python/pyproject.toml").args([
        "--strict",
        "--package",
        "hapax",
    ]))?;
    run(environment.program("mypy").arg("--strict").arg("python/tests/typed.py"))?;
    // Skips the tests of Spark, which are another part.
    environment.test(&["python/tests"])
}

/// The part of the tests that runs the job on a Spark of two executors and compares it with the
/// program.
pub(crate) fn spark(workspace: &Workspace) -> Result<Tally> {
    let environment = Environment::with_wheel(workspace, "python/requirements-spark.txt")?;
    environment.test(&[
        "python/tests/test_spark.py",
        "python/tests/test_spark_later.py",
        "python/tests/test_spark_cells.py",
        "python/tests/test_spark_names.py",
        "python/tests/test_spark_object_store.py",
    ])
}

/// Builds the wheel with a profile in a folder.
pub(crate) fn build(workspace: &Workspace, profile: &str, out: &Path) -> Result<PathBuf> {
    let environment = Environment::fresh(workspace, "xtask-build")?;
    run(&mut environment.pip([&*maturin(workspace)?]))?;
    environment.build(profile, out)
}

/// The requirement of the package builder with its version.
pub(crate) fn maturin(workspace: &Workspace) -> Result<String> {
    let manifest = workspace.read("python/pyproject.toml")?;
    let named = manifest.split('"').find(|word| word.starts_with("maturin=="));
    Ok(named.context("python/pyproject.toml names no maturin")?.to_owned())
}

/// Installs the wheel into a fresh environment with no compiler on the search path, and cleans the
/// bundled sample with the program and with the package.
pub(crate) fn try_out(workspace: &Workspace, wheel: &Path) -> Result<()> {
    let environment = Environment::fresh(workspace, "xtask-tried")?;
    let place = tempfile::tempdir().context("cannot make a temporary folder")?;
    let bare = environment.folder.join("bin");
    run(environment.pip(["--no-deps"]).arg(wheel).env("PATH", &bare))?;
    let mut program = environment.program("hapax");
    program.args(["dedup", "examples/docs", "--quiet", "--out"]).arg(place.path().join("out"));
    run(program.env("PATH", &bare))?;
    let script = "import hapax; assert hapax.Fingerprinter().text('a page of words').hex";
    run(environment.program("python3").args(["-c", script]).env("PATH", &bare))?;
    println!("{}: installs and runs without a compiler", wheel.display());
    Ok(())
}

/// The folder of the wheel that is tested.
const WHEELS: &str = "xtask-wheels";

struct Environment<'w> {
    workspace: &'w Workspace,
    folder: PathBuf,
}

impl<'w> Environment<'w> {
    /// The environment of a requirement file, which exists, with the wheel as it was built last.
    fn with_wheel(workspace: &'w Workspace, requirements: &str) -> Result<Self> {
        let folder = needs::environment(workspace.binaries(), requirements);
        let made = Self { workspace, folder };
        let wheel = only_wheel(&workspace.binaries().join(WHEELS))?;
        run(made.pip(["--no-deps", "--force-reinstall"]).arg(&wheel))?;
        Ok(made)
    }

    /// An environment with nothing in it.
    fn fresh(workspace: &'w Workspace, name: &str) -> Result<Self> {
        let folder = workspace.binaries().join(name);
        run(workspace.command("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        Ok(Self { workspace, folder })
    }

    fn program(&self, name: &str) -> Command {
        let mut command = self.workspace.command(self.folder.join("bin").join(name));
        command.env("VIRTUAL_ENV", &self.folder);
        command
    }

    fn pip<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.program("python3");
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        command.args(arguments);
        command
    }

    /// Builds the wheel and returns its path.
    fn build(&self, profile: &str, out: &Path) -> Result<PathBuf> {
        let target = self.workspace.binaries().parent().context("no target folder")?;
        let mut command = self.program("python3");
        command.args(["-m", "pip", "wheel", "--disable-pip-version-check", "--no-deps"]);
        command.args(["--no-build-isolation", "./python", "--wheel-dir"]).arg(out);
        command.env("CARGO_TARGET_DIR", target);
        command.env(
            "MATURIN_PEP517_ARGS",
            format!("--locked --profile {profile} --compatibility pypi"),
        );
        run(command.env("PATH", self.workspace.search_path(&[self.folder.join("bin")])))?;
        only_wheel(out)
    }

    fn test(&self, tests: &[&str]) -> Result<Tally> {
        let mut tally = Tally::default();
        let mut command = self.program("python3");
        command.args(["-m", "pytest", "-q"]).args(tests);
        command.env("PROGRAM_UNDER_TEST", self.workspace.binaries().join("hapax"));
        // No files next to the sources.
        command.env("PYTHONDONTWRITEBYTECODE", "1").args(["-p", "no:cacheprovider"]);
        let succeeded = run_watched(&mut command, |line| tally.add(of_pytest(line)))?;
        if !succeeded && tally.failed == 0 || tally.passed == 0 {
            bail!("the tests did not finish");
        }
        Ok(tally)
    }
}

fn only_wheel(folder: &Path) -> Result<PathBuf> {
    let files = std::fs::read_dir(folder).context("no wheel was made")?;
    let mut wheels: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    wheels.retain(|path| path.extension().is_some_and(|ending| ending == "whl"));
    match (wheels.pop(), wheels.is_empty()) {
        (Some(wheel), true) => Ok(wheel),
        _ => bail!("expected one wheel in {}", folder.display()),
    }
}

/// Reads the last line of pytest: `3 failed, 120 passed, 2 warnings in 61.20s (0:01:01)`; other
/// lines give zeros.
fn of_pytest(line: &str) -> Tally {
    let Some((counts, _)) = line.rsplit_once(" in ") else { return Tally::default() };
    let count = |words: &[&str]| {
        let phrases = counts.trim_matches(['=', ' ']).split(", ");
        let found = phrases.filter_map(|phrase| {
            let (number, word) = phrase.split_once(' ')?;
            words.contains(&word).then(|| number.parse::<u64>().ok())?
        });
        found.sum()
    };
    Tally { passed: count(&["passed"]), failed: count(&["failed", "error", "errors"]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_pytest_is_counted_and_no_other() {
        let counted = |line: &str| {
            let tally = of_pytest(line);
            (tally.passed, tally.failed)
        };
        assert_eq!(counted("120 passed in 61.20s (0:01:01)"), (120, 0));
        assert_eq!(counted("2 failed, 118 passed, 3 warnings, 1 error in 3.1s"), (118, 3));
        assert_eq!(counted("===== 7 passed, 1 skipped in 0.5s ====="), (7, 0));
        assert_eq!(counted("..................... [ 40%]"), (0, 0));
        assert_eq!(counted("a test that slept in a bed"), (0, 0));
    }
}
