//! The tests: their parts, the order of these, and what is said about them.
//!
//! A part is one entry of [`PARTS`]: a name to run it alone, a line about what it proves, what
//! it needs from outside, and a function. Cheap parts come first, so that a slip is seen in
//! seconds. The first part that fails ends the run.
//!
//! Everything is built with one profile, `--release`, so that checks, tests, examples and the
//! program share their dependencies' build.
//!
//! A part answers with the tests it ran. The last line of a run is their sum,
//! `test: N passed, N failed`; a part that failed without naming a test counts as one failure.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::console;
use crate::fuzz;
use crate::needs::{Need, Provider};
use crate::package;
use crate::service;
use crate::tidy;
use crate::wheel;
use crate::workspace::{Workspace, run, run_watched};

/// One step of the tests that can also be run alone.
struct Part {
    name: &'static str,
    /// What holds when it passes.
    about: &'static str,
    /// As [`Need::parse`] reads them.
    needs: &'static [&'static str],
    run: fn(&Workspace) -> Result<Tally>,
}

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

const PARTS: &[Part] = &[
    Part { name: "format", about: "every file is as rustfmt writes it", needs: &[], run: format },
    Part { name: "tidy", about: "the house rules hold", needs: &[], run: tidy },
    Part { name: "clippy", about: "no lint of the workspace fires", needs: &[], run: clippy },
    Part { name: "unit", about: "all Rust tests pass, doc tests too", needs: &[], run: unit },
    Part {
        name: "fuzz",
        about: "hostile data of every kind, the same every time, breaks no promise",
        needs: &[],
        run: fuzz::smoke,
    },
    Part { name: "doc", about: "the documentation builds without a warning", needs: &[], run: doc },
    Part {
        name: "package",
        about: "every crate can be packaged, with its licences",
        needs: &[],
        run: package::package,
    },
    Part {
        name: "vectors",
        about: "a second implementation, in Python, agrees with the golden vectors",
        needs: &["python:vectors/requirements.txt"],
        run: vectors,
    },
    Part {
        name: "readme",
        about: "the documentation's examples print what they show",
        needs: &[],
        run: readme,
    },
    Part {
        name: "docs",
        about: "the documentation's site builds, and its links and anchors lead somewhere",
        needs: &["python:xtask/site/requirements.txt"],
        run: site,
    },
    Part {
        name: "deploy",
        about: "manifests and workflows keep to the schemas of their formats",
        needs: &["python:deploy/requirements.txt"],
        run: deploy,
    },
    Part {
        name: "search",
        about: "the search engine in PostgreSQL keeps the agreement of all engines",
        needs: &["debian:postgresql=pg_ctlcluster", "debian:openssl"],
        run: search,
    },
    Part {
        name: "browser",
        about: "the web page works in a real browser",
        needs: &["debian:chromium", "debian:nodejs=node", "debian:npm"],
        run: service::browser,
    },
    Part {
        name: "api",
        about: "the service keeps to its description, whatever it is sent",
        needs: &["python:crates/hapax-server/tests/requirements.txt"],
        run: service::api,
    },
    Part {
        name: "python",
        about: "the wheel works in a fresh environment: tests, types, documentation, a real crawl",
        needs: &[],
        run: wheel::python,
    },
    Part {
        name: "spark",
        about: "the job on Spark gives the rows of the program, on two executors",
        needs: &["debian:openjdk-17-jre-headless=java"],
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

/// Programs that measure or attack and hold no test of their own. `clippy` checks them; building
/// each twice, as a program and as a test, would prove nothing more.
const UNTESTED: [&str; 9] = [
    "hapax-bench",
    "hapax-bench-fingerprint",
    "hapax-bench-group",
    "hapax-bench-join",
    "hapax-bench-live",
    "hapax-bench-serve",
    "hapax-bench-store",
    "hapax-hostile",
    "hapax-python",
];

/// Where property tests take their seed from.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Property tests have the same cases every time, so that what passes in one place passes in another; other
/// seeds are for whoever looks for faults.
fn unit(workspace: &Workspace) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut command = workspace.cargo(["test", "--workspace", "--release", "--no-fail-fast"]);
    if std::env::var_os(SEED).is_none() {
        println!("property tests: seed 1; {SEED}=N cargo xtask test unit tries others");
        command.env(SEED, "1");
    }
    UNTESTED.iter().for_each(|name| _ = command.args(["--exclude", name]));
    let succeeded = run_watched(&mut command, |line| tally.add(Tally::of_libtest(line)))?;
    if !succeeded && tally.failed == 0 {
        bail!("the tests did not build or did not finish");
    }
    Ok(tally)
}

fn doc(workspace: &Workspace) -> Result<Tally> {
    // The program and the library share a name and so a folder. Apart, cargo does not complain;
    // in this order, the library's pages are the ones that stay.
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

/// The tests that want a server. The whole workspace is named so that nothing is built twice.
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

/// MkDocs and its theme check the navigation, links and anchors; `xtask/site` says what else.
fn site(workspace: &Workspace) -> Result<Tally> {
    let target = workspace.binaries().parent().context("no target folder")?;
    let mut command = workspace.command("mkdocs");
    command.args(["build", "--strict", "--quiet", "--config-file", "xtask/site/mkdocs.yml"]);
    command.arg("--site-dir").arg(target.join("site"));
    // Neither an advertisement nor compiled files beside the sources.
    run(command.env("NO_MKDOCS_2_WARNING", "1").env("PYTHONDONTWRITEBYTECODE", "1"))?;
    // A browser searches no file; it does over HTTP.
    println!("to read and search it: python3 -m http.server -d {}", target.join("site").display());
    Ok(Tally::default())
}

/// By schemas that come with the two programs. What manifests say of this program is tested beside the program.
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

/// The names of all parts, in the order they run.
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

/// Runs the named parts, or all when none is named, and says how it went.
pub(crate) fn test(workspace: &Workspace, asked: &[String]) -> Result<bool> {
    let chosen: Vec<&Part> = PARTS.iter().filter(|part| is_asked(part.name, asked)).collect();
    let mut sum = Tally::default();
    let mut provider = Provider::default();
    let mut timed = Vec::new();
    let mut broken = None;
    let mut last = LastTimes::read(workspace);
    for part in chosen {
        println!("== {}: {}{}", part.name, part.about, last.of(part.name));
        let start = Instant::now();
        let outcome = part.provide_and_run(&mut provider, workspace);
        let took = Seconds(start.elapsed());
        timed.push((part.name, took));
        match outcome {
            Ok(tally) => {
                sum.add(tally);
                if tally.failed > 0 {
                    broken = Some((part.name, format!("{} failed", tally.failed)));
                }
            }
            Err(error) => {
                sum.failed += 1;
                broken = Some((part.name, format!("{error:#}")));
            }
        }
        if broken.is_some() {
            break;
        }
        println!("== {}: ok in {took}\n", part.name);
        last.note(part.name, took);
    }

    for (name, took) in &timed {
        println!("{name:<8} {took:>10}");
    }
    if let Some((name, why)) = &broken {
        println!("\nFAILED: part {name}: {why}");
        println!("run it alone with: cargo xtask test {name}");
    }
    println!("test: {sum}");
    Ok(broken.is_none())
}

fn is_asked(name: &str, asked: &[String]) -> bool {
    asked.is_empty() || asked.iter().any(|wanted| wanted == name)
}

impl Part {
    fn provide_and_run(&self, provider: &mut Provider, workspace: &Workspace) -> Result<Tally> {
        let needs: Vec<Need> = self.needs.iter().map(|n| Need::parse(n)).collect::<Result<_>>()?;
        provider.provide(workspace, &needs)?;
        (self.run)(workspace)
    }
}

impl Tally {
    /// What one line of a Rust test program's output says, which is mostly nothing.
    fn of_libtest(line: &str) -> Self {
        let Some(result) = line.strip_prefix("test result: ") else { return Self::default() };
        let count = |what: &str| {
            result
                .split([';', '.'])
                .find_map(|phrase| phrase.trim().strip_suffix(what)?.trim().parse().ok())
                .unwrap_or(0)
        };
        Self { passed: count(" passed"), failed: count(" failed") }
    }

    /// The plain line `N passed, N failed`; nothing of any other.
    pub(crate) fn of_plain(line: &str) -> Self {
        let counts = || {
            let (passed, failed) = line.trim().split_once(" passed, ")?;
            Some(Self {
                passed: passed.parse().ok()?,
                failed: failed.strip_suffix(" failed")?.parse().ok()?,
            })
        };
        counts().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// How long each part took when it last passed, kept in the target folder.
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

    /// Lines that cannot be read are left out: the file only helps to guess.
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

/// A duration for a person: tenths of a second.
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
    fn packages_that_are_left_out_of_the_tests_hold_none() {
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
    fn the_counts_of_every_test_program_are_summed() {
        let output = "running 3 tests\n\
            test index::the_scan_is_exact ... ok\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
            test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.20s\n";
        let mut sum = Tally::default();
        for line in output.lines() {
            sum.add(Tally::of_libtest(line));
        }
        assert_eq!(sum, Tally { passed: 13, failed: 2 });
    }

    #[test]
    fn a_test_that_prints_numbers_is_not_counted() {
        assert_eq!(Tally::of_libtest("99 passed; 99 failed"), Tally::default());
    }

    #[test]
    fn the_closing_line_has_its_two_numbers() {
        assert_eq!(Tally { passed: 7, failed: 0 }.to_string(), "7 passed, 0 failed");
    }

    #[test]
    fn part_names_are_distinct_words_and_their_needs_can_be_read() {
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
        }
    }

    #[test]
    fn no_names_mean_all_parts_and_a_name_means_itself() {
        assert!(is_asked("unit", &[]));
        assert!(is_asked("unit", &["doc".into(), "unit".into()]));
        assert!(!is_asked("unit", &["doc".into()]));
    }

    #[test]
    fn the_last_time_of_a_part_is_said_and_a_damaged_line_is_left_out() {
        let times = LastTimes { file: None, seconds: LastTimes::parsed("unit 61.2\nnonsense\n") };
        assert_eq!(times.of("unit"), " (last time 61 s)");
        assert_eq!(times.of("clippy"), "");
    }

    #[test]
    fn the_list_has_a_line_for_every_part() {
        assert_eq!(list().lines().count(), PARTS.len());
    }
}
