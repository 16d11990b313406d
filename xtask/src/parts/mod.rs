//! The parts of the tests, their order, and their output.
//!
//! A part is one entry of [`PARTS`]: its name, a line about what it proves, what it needs from outside, the parts it
//! depends on, and a function. Cheap parts come first, so that simple mistakes show within seconds. [`lanes`] runs
//! two at a time, each in its own process. The last line of a run is the sum of all tests, `test: N passed, N
//! failed`; a part that fails without naming a test counts as one failure. Everything uses the profile `--release`,
//! so that checks, tests, examples and the program share builds of dependencies.

mod lanes;
mod tally;

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::console;
use crate::fuzz;
use crate::needs::{self, Need};
use crate::package;
use crate::service;
use crate::tidy;
use crate::wheel;
use crate::workspace::{Workspace, run, run_watched};
use lanes::{Job, Lane};
pub(crate) use tally::Tally;

/// One step of the tests, which can also be run alone.
struct Part {
    name: &'static str,
    /// What a pass proves.
    about: &'static str,
    /// In the form of [`Need::parse`].
    needs: &'static [&'static str],
    /// Parts that must have passed before, if they are in the same run.
    after: &'static [&'static str],
    run: fn(&Workspace) -> Result<Tally>,
}

/// Dependencies of parts that compile or run compiled code; cargo compiles for one process at a
/// time.
const AFTER_BUILD: &[&str] = &["clippy", "build"];

const PARTS: &[Part] = &[
    Part {
        name: "format",
        about: "every file is as rustfmt writes it",
        needs: &[],
        after: &[],
        run: format,
    },
    Part { name: "tidy", about: "the house rules hold", needs: &[], after: &[], run: tidy },
    Part {
        name: "clippy",
        about: "no lint of the workspace fires",
        needs: &[],
        after: &[],
        run: clippy,
    },
    Part {
        name: "build",
        about: "the program and all tests compile",
        needs: &[],
        after: &["clippy"],
        run: build,
    },
    Part {
        name: "unit",
        about: "all Rust tests pass, doc tests too",
        needs: &[],
        after: AFTER_BUILD,
        run: unit,
    },
    Part {
        name: "fuzz",
        about: "hostile data of every kind, the same every time, breaks no promise",
        needs: &[],
        after: AFTER_BUILD,
        run: fuzz::smoke,
    },
    Part {
        name: "doc",
        about: "the documentation builds without a warning",
        needs: &[],
        after: AFTER_BUILD,
        run: doc,
    },
    Part {
        name: "package",
        about: "every crate can be packaged, with its licences",
        needs: &[],
        after: AFTER_BUILD,
        run: package::package,
    },
    Part {
        name: "vectors",
        about: "a second implementation, in Python, agrees with the golden vectors",
        needs: &["python:vectors/requirements.txt"],
        after: &[],
        run: vectors,
    },
    Part {
        name: "readme",
        about: "the documentation's examples print what they show",
        needs: &[],
        after: AFTER_BUILD,
        run: readme,
    },
    Part {
        name: "docs",
        about: "the documentation's site builds, and its links and anchors lead somewhere",
        needs: &["python:xtask/site/requirements.txt"],
        after: &[],
        run: site,
    },
    Part {
        name: "deploy",
        about: "manifests and workflows keep to the schemas of their formats",
        needs: &["python:deploy/requirements.txt"],
        after: &[],
        run: deploy,
    },
    Part {
        name: "search",
        about: "the search engine in PostgreSQL keeps the agreement of all engines",
        needs: &["debian:postgresql=pg_ctlcluster", "debian:openssl"],
        after: AFTER_BUILD,
        run: search,
    },
    Part {
        name: "browser",
        about: "the web page works in a real browser",
        needs: &["debian:chromium", "debian:nodejs=node", "debian:npm"],
        after: AFTER_BUILD,
        run: service::browser,
    },
    Part {
        name: "api",
        about: "the service keeps to its description, whatever it is sent",
        needs: &["python:crates/hapax-server/tests/requirements.txt"],
        after: AFTER_BUILD,
        run: service::api,
    },
    Part {
        name: "python",
        about: "the wheel works in a fresh environment: tests, types, documentation, a real crawl",
        needs: &[],
        after: AFTER_BUILD,
        run: wheel::python,
    },
    Part {
        name: "spark",
        about: "the job on Spark gives the rows of the program, on two executors",
        needs: &["debian:openjdk-17-jre-headless=java"],
        after: AFTER_BUILD,
        run: wheel::spark,
    },
];

/// The package of the `hapax` program.
const PROGRAM: &str = "hapax-cli";

fn format(workspace: &Workspace) -> Result<Tally> {
    run(&mut workspace.cargo(["fmt", "--all", "--check"]))?;
    Ok(Tally::default())
}

fn tidy(workspace: &Workspace) -> Result<Tally> {
    if !tidy::check(workspace)? {
        bail!("the house rules above are broken");
    }
    Ok(Tally::default())
}

fn clippy(workspace: &Workspace) -> Result<Tally> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--release", "--", "-D", "warnings"];
    run(&mut workspace.cargo(arguments))?;
    Ok(Tally::default())
}

/// Programs that measure or attack and contain no tests. `clippy` checks them; building them again
/// as tests would prove nothing more.
const UNTESTED: [&str; 8] = [
    "hapax-bench-fingerprint",
    "hapax-bench-group",
    "hapax-bench-join",
    "hapax-bench-live",
    "hapax-bench-serve",
    "hapax-bench-store",
    "hapax-hostile",
    "hapax-python",
];

/// The seed of property tests.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Compiles everything that `unit` runs, and the program.
fn build(workspace: &Workspace) -> Result<Tally> {
    run(rust_tests(workspace).arg("--no-run"))?;
    Ok(Tally::default())
}

fn rust_tests(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo(["test", "--workspace", "--release", "--no-fail-fast"]);
    UNTESTED.iter().for_each(|name| _ = command.args(["--exclude", name]));
    command
}

/// Runs property tests with the same cases everywhere, so that results are reproducible; other
/// seeds are for finding faults.
fn unit(workspace: &Workspace) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut command = rust_tests(workspace);
    if std::env::var_os(SEED).is_none() {
        println!("property tests: seed 1; {SEED}=N cargo xtask test unit tries others");
        command.env(SEED, "1");
    }
    let succeeded = run_watched(&mut command, |line| tally.add(Tally::of_libtest(line)))?;
    if !succeeded && tally.failed == 0 {
        bail!("the tests did not build or did not finish");
    }
    Ok(tally)
}

fn doc(workspace: &Workspace) -> Result<Tally> {
    // The program and the library have the same name and thus the same folder. Separate commands
    // avoid cargo's warning; in this order, the library's pages remain.
    let program = ["doc", "--package", PROGRAM, "--no-deps", "--release"];
    let others = ["doc", "--workspace", "--exclude", PROGRAM, "--no-deps", "--release"];
    run(workspace.cargo(program).env("RUSTDOCFLAGS", "-D warnings"))?;
    run(workspace.cargo(others).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Tally::default())
}

fn vectors(workspace: &Workspace) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut command = workspace.command("python3");
    command.arg("vectors/second_implementation.py");
    let succeeded = run_watched(&mut command, |line| tally.add(Tally::of_plain(line)))?;
    if !succeeded || tally.passed == 0 {
        bail!("the second implementation disagrees");
    }
    Ok(tally)
}

/// Runs the tests that need a server. Names the whole workspace so that nothing is built twice.
fn search(workspace: &Workspace) -> Result<Tally> {
    let mut tally = Tally::default();
    let arguments = ["test", "--workspace", "--release", "--test", "engines", "--features"];
    let mut command = workspace.cargo(arguments);
    command.args(["hapax-search/server-tests", "--", "postgres::"]);
    let succeeded = run_watched(&mut command, |line| tally.add(Tally::of_libtest(line)))?;
    if tally.failed == 0 && (tally.passed == 0 || !succeeded) {
        bail!("the tests did not build, did not finish, or were not found");
    }
    Ok(tally)
}

fn readme(workspace: &Workspace) -> Result<Tally> {
    console::run(workspace, console::Mode::Check)
}

/// MkDocs and its theme check the navigation, links and anchors; `xtask/site` checks the rest.
fn site(workspace: &Workspace) -> Result<Tally> {
    let target = workspace.binaries().parent().context("no target folder")?;
    let mut command = workspace.command("mkdocs");
    command.args(["build", "--strict", "--quiet", "--config-file", "xtask/site/mkdocs.yml"]);
    command.arg("--site-dir").arg(target.join("site"));
    // Disables an advertisement and compiled files next to the sources.
    run(command.env("NO_MKDOCS_2_WARNING", "1").env("PYTHONDONTWRITEBYTECODE", "1"))?;
    // The search needs HTTP; it does not work with `file:` addresses.
    println!("to read and search it: python3 -m http.server -d {}", target.join("site").display());
    Ok(Tally::default())
}

/// Checks manifests with the schemas of the two programs. Tests of `hapax-server` check the rest.
fn deploy(workspace: &Workspace) -> Result<Tally> {
    let mut kubernetes = workspace.command("kubernetes-validate");
    run(kubernetes.args(["--strict", "deploy/kubernetes.yaml", "deploy/kubernetes-dedup.yaml"]))?;
    let others = [
        ("vendor.compose-spec", "deploy/compose.yaml"),
        ("vendor.github-workflows", ".github/workflows/release.yml"),
    ];
    for (schema, file) in others {
        run(workspace.command("check-jsonschema").args(["--builtin-schema", schema, file]))?;
    }
    Ok(Tally { passed: 4, failed: 0 })
}

/// The names of all parts in order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.name)
}

/// One line per part, for `--list`.
pub(crate) fn list() -> String {
    PARTS.iter().fold(String::new(), |mut text, part| {
        let _ = writeln!(text, "{:<9}{}", part.name, part.about);
        text
    })
}

/// Runs the named parts, or all if none is named, and prints the results.
pub(crate) fn test(workspace: &Workspace, requested: &[String]) -> Result<bool> {
    let chosen: Vec<&Part> =
        PARTS.iter().filter(|part| is_requested(part.name, requested)).collect();
    let jobs: Vec<Job> =
        chosen.iter().map(|part| Job { name: part.name, after: part.after }).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let lanes = &[Lane::Front, Lane::Back][..cores.min(chosen.len()).min(2)];
    let logs = tempfile::tempdir().context("cannot make a temporary folder")?;
    let record = Mutex::new(Record { last: LastTimes::read(workspace), ended: Vec::new() });
    let began = Instant::now();
    lanes::run(&jobs, lanes, |job, lane| chosen[job].run_separately(lane, logs.path(), &record));

    let took = Seconds(began.elapsed());
    let Record { ended, .. } = record.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut sum = Tally::default();
    for part in &ended {
        println!("{:<8} {:>10}", part.name, part.took);
        sum.add(part.tally);
    }
    println!("{:<8} {took:>10}", "whole");
    for part in ended.iter().filter(|part| part.failure.is_some()) {
        println!("\nFAILED: part {}: {}", part.name, part.failure.as_deref().unwrap_or_default());
        println!("run it alone with: cargo xtask test {}", part.name);
    }
    println!("test: {sum}");
    Ok(sum.failed == 0)
}

/// Runs one part in this process and writes its outcome to a file for the parent process.
pub(crate) fn test_one(
    workspace: &Workspace,
    requested: &[String],
    outcome: &Path,
) -> Result<bool> {
    let part = PARTS.iter().find(|part| requested.iter().any(|name| name == part.name));
    let part = part.context("no part is named")?;
    let (tally, why) = match part.provide_and_run(workspace) {
        Ok(tally) if tally.failed == 0 => (tally, String::new()),
        Ok(tally) => (tally, format!("{} failed", tally.failed)),
        Err(error) => (Tally { passed: 0, failed: 1 }, format!("{error:#}")),
    };
    fs::write(outcome, format!("{tally}\n{why}")).context("cannot write the outcome")?;
    Ok(tally.failed == 0)
}

fn is_requested(name: &str, requested: &[String]) -> bool {
    requested.is_empty() || requested.iter().any(|wanted| wanted == name)
}

impl Part {
    fn provide_and_run(&self, workspace: &Workspace) -> Result<Tally> {
        let needs: Vec<Need> = self.needs.iter().map(|n| Need::parse(n)).collect::<Result<_>>()?;
        needs::provide(workspace, &needs)?;
        (self.run)(workspace)
    }

    /// Runs the part in its own process. Output of the first lane is passed through, that of the
    /// second is printed when the part ends, so that the two do not mix.
    fn run_separately(&self, lane: Lane, logs: &Path, record: &Mutex<Record>) -> bool {
        let locked = || record.lock().unwrap_or_else(PoisonError::into_inner);
        let last = locked().last.of(self.name);
        let aside = if lane == Lane::Back { ", printed when it has ended" } else { "" };
        println!("== {}: {}{last}{aside}", self.name, self.about);
        let log = logs.join(format!("{}.log", self.name));
        let start = Instant::now();
        let outcome = self.outcome(lane, logs, &log);
        let took = Seconds(start.elapsed());
        let (tally, failure) = match outcome {
            Ok((tally, why)) => (tally, (tally.failed > 0).then_some(why)),
            Err(error) => (Tally { passed: 0, failed: 1 }, Some(format!("{error:#}"))),
        };
        let mut record = locked();
        if lane == Lane::Back {
            println!("== {}: its output", self.name);
            print!("{}", String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()));
        }
        let passed = failure.is_none();
        if passed {
            println!("== {}: ok in {took}\n", self.name);
            record.last.note(self.name, took);
        } else {
            println!("== {}: FAILED in {took}; what runs is finished first\n", self.name);
        }
        record.ended.push(Ended { name: self.name, took, tally, failure });
        passed
    }

    fn outcome(&self, lane: Lane, logs: &Path, log: &Path) -> Result<(Tally, String)> {
        let file = logs.join(format!("{}.outcome", self.name));
        let own = std::env::current_exe().context("cannot find the path of this program")?;
        let mut command = Command::new(own);
        command.args(["test", self.name, "--outcome"]).arg(&file);
        if lane == Lane::Back {
            let output = File::create(log).context("cannot make a file for its output")?;
            command.stdout(output.try_clone()?).stderr(output);
        }
        let status = command.status().context("cannot start it")?;
        let Ok(text) = fs::read_to_string(&file) else { bail!("it ended early ({status})") };
        let (tally, why) = text.split_once('\n').unwrap_or((&text, ""));
        Ok((Tally::of_plain(tally), why.to_owned()))
    }
}

/// A finished part; `failure` says why it did not pass.
struct Ended {
    name: &'static str,
    took: Seconds,
    tally: Tally,
    failure: Option<String>,
}

/// Results of both lanes.
struct Record {
    last: LastTimes,
    ended: Vec<Ended>,
}

/// The duration of each part's last pass, stored in the target folder.
struct LastTimes {
    file: Option<PathBuf>,
    seconds: BTreeMap<String, f64>,
}

impl LastTimes {
    fn read(workspace: &Workspace) -> Self {
        let file = workspace.binaries().parent().map(|target| target.join("xtask-seconds.txt"));
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        Self { file, seconds: Self::parsed(&text.unwrap_or_default()) }
    }

    /// Skips invalid lines, because the file only helps to estimate.
    fn parsed(text: &str) -> BTreeMap<String, f64> {
        let entry = |line: &str| {
            let (name, seconds) = line.split_once(' ')?;
            Some((name.to_owned(), seconds.parse().ok()?))
        };
        text.lines().filter_map(entry).collect()
    }

    fn of(&self, name: &str) -> String {
        let seconds = self.seconds.get(name);
        seconds.map(|seconds| format!(" (last time {seconds:.0} s)")).unwrap_or_default()
    }

    fn note(&mut self, name: &str, took: Seconds) {
        self.seconds.insert(name.to_owned(), took.0.as_secs_f64());
        let lines = self.seconds.iter().map(|(name, seconds)| format!("{name} {seconds:.1}\n"));
        if let Some(file) = &self.file {
            let _ = std::fs::write(file, lines.collect::<String>());
        }
    }
}

/// A duration, printed in tenths of a second.
#[derive(Clone, Copy)]
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} s", self.0.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_without_tests_contain_no_tests() {
        let workspace = Workspace::locate().unwrap();
        let files = workspace.files().unwrap();
        let manifests = files.iter().filter(|path| path.ends_with("Cargo.toml"));
        let mut found = 0;
        for manifest in manifests {
            let text = workspace.read(manifest).unwrap();
            let named = |name: &&str| text.contains(&format!("\nname = \"{name}\"\n"));
            if !UNTESTED.iter().any(named) {
                continue;
            }
            found += 1;
            let folder = manifest.strip_suffix("Cargo.toml").unwrap();
            for place in ["src/", "tests/"].map(|below| format!("{folder}{below}")) {
                for file in files.iter().filter(|file| file.starts_with(&place)) {
                    let attribute = concat!("#[", "test]");
                    assert!(!workspace.read(file).unwrap().contains(attribute), "{file}");
                }
            }
        }
        assert_eq!(found, UNTESTED.len());
    }

    #[test]
    fn part_names_are_distinct_words_and_their_needs_are_valid() {
        let mut seen: Vec<&str> = names().collect();
        seen.sort_unstable();
        let all = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), all);
        for part in PARTS {
            assert!(part.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", part.name);
            for need in part.needs {
                Need::parse(need).unwrap();
            }
            let place = |name: &str| PARTS.iter().position(|part| part.name == name);
            for earlier in part.after {
                assert!(place(earlier) < place(part.name), "{} comes after {earlier}", part.name);
                assert!(place(earlier).is_some(), "{} waits for no part {earlier}", part.name);
            }
        }
    }

    #[test]
    fn no_names_select_all_parts_and_a_name_selects_its_part() {
        assert!(is_requested("unit", &[]));
        assert!(is_requested("unit", &["doc".into(), "unit".into()]));
        assert!(!is_requested("unit", &["doc".into()]));
    }

    #[test]
    fn the_last_time_of_a_part_is_printed_and_invalid_lines_are_skipped() {
        let times = LastTimes { file: None, seconds: LastTimes::parsed("unit 61.2\nnonsense\n") };
        assert_eq!(times.of("unit"), " (last time 61 s)");
        assert_eq!(times.of("clippy"), "");
    }

    #[test]
    fn the_list_has_a_line_for_every_part() {
        assert_eq!(list().lines().count(), PARTS.len());
    }
}
