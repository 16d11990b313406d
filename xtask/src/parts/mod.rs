//! The parts of the tests and their order.
//!
//! A part is one entry of [`PARTS`]: its name, a line about what it proves, what it needs from outside, the parts it
//! depends on, and a function. Cheap parts come first, so that simple mistakes show within seconds; the last ones are
//! the longest, and start as early as what they depend on allows. [`running`] runs them. Everything uses the profile
//! `--release`, so that checks, tests, examples and the program share builds of dependencies.

mod lanes;
mod running;
mod tally;

use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::console;
use crate::fuzz;
use crate::needs::{self, Need};
use crate::package;
use crate::service;
use crate::tidy;
use crate::wheel;
use crate::workspace::{Workspace, run, run_watched};
pub(crate) use running::{test, test_one};
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
    /// Those of `after` that make what this part tests, so that they run even if only this part was named.
    requires: &'static [&'static str],
    run: fn(&Workspace) -> Result<Tally>,
}

/// Dependencies of parts that compile or run compiled code; cargo compiles for one process at a
/// time.
const AFTER_BUILD: &[&str] = &["clippy", "wheel", "build"];

const PARTS: &[Part] = &[
    Part {
        name: "format",
        about: "every file is as rustfmt writes it",
        needs: &[],
        after: &[],
        requires: &[],
        run: format,
    },
    Part {
        name: "tidy",
        about: "the house rules hold",
        needs: &[],
        after: &[],
        requires: &[],
        run: tidy,
    },
    Part {
        name: "clippy",
        about: "no lint of the workspace fires",
        needs: &[],
        after: &[],
        requires: &[],
        run: clippy,
    },
    // Before the tests compile, because the longest parts wait for it and for nothing else.
    Part {
        name: "wheel",
        about: "the program and the Python package build",
        needs: &[],
        after: &["clippy"],
        requires: &[],
        run: wheel::wheel,
    },
    Part {
        name: "build",
        about: "all tests compile",
        needs: &[],
        after: &["clippy", "wheel"],
        requires: &[],
        run: build,
    },
    Part {
        name: "unit",
        about: "all Rust tests pass, doc tests too",
        needs: &[],
        after: AFTER_BUILD,
        requires: &[],
        run: unit,
    },
    Part {
        name: "fuzz",
        about: "hostile data of every kind, the same every time, breaks no promise",
        needs: &[],
        after: AFTER_BUILD,
        requires: &[],
        run: fuzz::smoke,
    },
    Part {
        name: "doc",
        about: "the documentation builds without a warning",
        needs: &[],
        after: AFTER_BUILD,
        requires: &[],
        run: doc,
    },
    Part {
        name: "package",
        about: "every crate can be packaged, with its licences",
        needs: &[],
        after: AFTER_BUILD,
        requires: &[],
        run: package::package,
    },
    Part {
        name: "vectors",
        about: "a second implementation, in Python, agrees with the golden vectors",
        needs: &["python:vectors/requirements.txt"],
        after: &[],
        requires: &[],
        run: vectors,
    },
    Part {
        name: "readme",
        about: "the documentation's examples print what they show",
        needs: &[],
        after: AFTER_BUILD,
        requires: &[],
        run: readme,
    },
    Part {
        name: "docs",
        about: "the documentation's site builds, and its links and anchors lead somewhere",
        needs: &["python:xtask/site/requirements.txt"],
        after: &[],
        requires: &[],
        run: site,
    },
    Part {
        name: "deploy",
        about: "manifests and workflows keep to the schemas of their formats",
        needs: &["python:deploy/requirements.txt"],
        after: &[],
        requires: &[],
        run: deploy,
    },
    Part {
        name: "search",
        about: "the search engine in PostgreSQL keeps the agreement of all engines",
        needs: &["debian:postgresql=pg_ctlcluster", "debian:openssl"],
        after: AFTER_BUILD,
        requires: &[],
        run: search,
    },
    Part {
        name: "browser",
        about: "the web page works in a real browser",
        needs: &["debian:chromium", "debian:nodejs=node", "debian:npm"],
        after: AFTER_BUILD,
        requires: &[],
        run: service::browser,
    },
    Part {
        name: "api",
        about: "the service keeps to its description, whatever it is sent",
        needs: &["python:crates/hapax-server/tests/requirements.txt"],
        after: AFTER_BUILD,
        requires: &[],
        run: service::api,
    },
    Part {
        name: "python",
        about: "the wheel works in a fresh environment: tests, types, documentation, a real crawl",
        needs: &["environment:python/requirements-test.txt"],
        after: &["wheel"],
        requires: &["wheel"],
        run: wheel::python,
    },
    Part {
        name: "spark",
        about: "the job on Spark gives the rows of the program, on two executors",
        needs: &[
            "debian:openjdk-17-jre-headless=java",
            "environment:python/requirements-spark.txt",
        ],
        after: &["wheel"],
        requires: &["wheel"],
        run: wheel::spark,
    },
    Part {
        name: "install",
        about: "what the other parts need from outside can be had",
        needs: &[],
        after: &[],
        requires: &[],
        run: install,
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

/// Compiles everything that `unit` runs.
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

/// Installs everything at once, while others compile, so that they need not.
fn install(workspace: &Workspace) -> Result<Tally> {
    let texts = PARTS.iter().flat_map(|part| part.needs);
    let needs: Vec<Need> = texts.map(|text| Need::parse(text)).collect::<Result<_>>()?;
    needs::provide(workspace, &needs)?;
    Ok(Tally::default())
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
            for required in part.requires {
                assert!(part.after.contains(required), "{} comes before {required}", part.name);
            }
        }
    }

    #[test]
    fn the_list_has_a_line_for_every_part() {
        assert_eq!(list().lines().count(), PARTS.len());
    }
}
