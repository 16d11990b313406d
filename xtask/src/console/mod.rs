//! Runs the examples in the documentation and compares their output.
//!
//! An example is a line that starts with `$ ` in a block tagged `console`, in the files of [`is_run`]. It must end
//! with code 0, or the one of a trailing `# exits N`; the lines below it must be its output, standard output and
//! error combined. Without lines only the exit code counts. `console no-run` blocks are counted and reported. A
//! command that would start the tests again is not run; its part names must exist.

mod expect;
mod scratch;
mod script;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};

use self::scratch::{Ran, Scratch};
use self::script::{Block, Example};
use crate::parts::{self, Tally};
use crate::workspace::{Workspace, run as run_command};

/// Reaction to shown output that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Check,
    /// Write the real output to the file.
    Update,
}

/// Whether the examples of this Markdown file are run.
pub(crate) fn is_run(path: &str) -> bool {
    matches!(path, "README.md" | "CONTRIBUTING.md")
        || (path.starts_with("docs/") && path.ends_with(".md"))
}

/// Runs all examples; each counts as one test.
pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<Tally> {
    let before: BTreeSet<String> = workspace.files()?.into_iter().collect();
    // Builds the default members, like `cargo run` in an example.
    run_command(&mut workspace.cargo(["build", "--release"]))?;

    let mut tally = Tally::default();
    let mut skipped = 0;
    for path in before.iter().filter(|path| is_run(path)) {
        let text = workspace.read(path)?;
        let blocks = script::parse(&text).with_context(|| format!("cannot read {path}"))?;
        let mut corrections = Vec::new();
        for block in &blocks {
            if block.no_run {
                println!("{path}:{}: not run, {} commands", block.line, block.examples.len());
                skipped += block.examples.len();
                continue;
            }
            skipped += run_block(workspace, path, block, mode, &mut tally, &mut corrections)?;
        }
        if !corrections.is_empty() {
            let corrected = script::correct(&text, &corrections);
            fs::write(workspace.root().join(path), corrected)
                .with_context(|| format!("cannot write {path}"))?;
            println!("{path}: rewrote the output of {} commands", corrections.len());
        }
    }

    let after: BTreeSet<String> = workspace.files()?.into_iter().collect();
    let left: Vec<&str> = after.difference(&before).map(String::as_str).collect();
    if !left.is_empty() {
        println!("FAILED: examples left files in the tree: {}; write to out/", left.join(", "));
        tally.failed += 1;
    }
    println!("examples: {tally}, {skipped} not run");
    Ok(tally)
}

/// Runs the examples of a block in order; returns the number of skipped ones.
fn run_block<'a>(
    workspace: &Workspace,
    path: &str,
    block: &'a Block,
    mode: Mode,
    tally: &mut Tally,
    corrections: &mut Vec<(&'a Example, String)>,
) -> Result<usize> {
    let mut skipped = 0;
    let scratch = Scratch::new(workspace)?;
    for example in &block.examples {
        if let Some(named) = tests_command(&example.command) {
            match named.iter().find(|name| !parts::names().any(|known| known == **name)) {
                None => {
                    println!("{path}:{}: not run: {}", example.line, example.command);
                    skipped += 1;
                }
                Some(name) => {
                    println!("{path}:{}: the tests have no part {name}", example.line);
                    tally.failed += 1;
                }
            }
            continue;
        }
        println!("{path}:{}: $ {}", example.line, example.command);
        let ran = scratch.run(workspace, &example.command)?;
        match problem(example, &ran) {
            None => tally.passed += 1,
            Some(Problem::Output(_)) if mode == Mode::Update => {
                tally.passed += 1;
                corrections.push((example, ran.output));
            }
            Some(Problem::Output(what) | Problem::Exit(what)) => {
                tally.failed += 1;
                println!("{path}:{}: FAILED: {what}", example.line);
            }
        }
    }
    Ok(skipped)
}

/// Why an example failed. Only shown output can be rewritten.
#[derive(Debug)]
enum Problem {
    Exit(String),
    Output(String),
}

fn problem(example: &Example, ran: &Ran) -> Option<Problem> {
    let printed = || match ran.output.trim_end() {
        "" => "nothing".to_owned(),
        text => text.lines().map(|line| format!("\n    {line}")).collect(),
    };
    if ran.code != Some(example.exit) {
        let end = match ran.code {
            Some(code) => format!("exit code {code} instead of {}", example.exit),
            None => format!("ended by a signal, or after {} s", scratch::TIME_LIMIT.as_secs()),
        };
        return Some(Problem::Exit(format!("{end}; it printed {}", printed())));
    }
    let shown = example.output.as_ref()?;
    let what = expect::difference(shown, &ran.output)?;
    Some(Problem::Output(format!("{what}; it printed {}", printed())))
}

/// The parts in a command that would start the tests again; `None` for other commands.
fn tests_command(command: &str) -> Option<Vec<&str>> {
    let rest = match command.strip_prefix("cargo xtask test") {
        Some(rest) => rest,
        None => command.strip_prefix("cargo xtask readme")?,
    };
    let is_whole = rest.is_empty() || rest.starts_with(' ');
    let lists = rest.split_whitespace().any(|word| word == "--list" || word == "--help");
    let words = rest.split('#').next().unwrap_or_default().split_whitespace();
    (is_whole && !lists).then(|| words.filter(|word| !word.starts_with('-')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_documentation_is_run() {
        for path in
            ["README.md", "CONTRIBUTING.md", "docs/how-to/size-memory.md", "docs/guides/crawler.md"]
        {
            assert!(is_run(path), "{path}");
        }
        for path in ["CHANGELOG.md", "crates/hapax/README.md", "docs/picture.svg"] {
            assert!(!is_run(path), "{path}");
        }
    }

    #[test]
    fn commands_that_start_the_tests_are_recognised_with_their_parts() {
        assert_eq!(tests_command("cargo xtask test"), Some(vec![]));
        assert_eq!(tests_command("cargo xtask test unit doc  # alone"), Some(vec!["unit", "doc"]));
        assert_eq!(tests_command("cargo xtask readme --update"), Some(vec![]));
        assert_eq!(tests_command("cargo xtask tests"), None);
        assert_eq!(tests_command("cargo xtask test --list"), None);
        assert_eq!(tests_command("cargo xtask tidy"), None);
    }

    fn checked(code: Option<i32>, output: &str, shown: Option<&[&str]>) -> Option<Problem> {
        let example = Example {
            line: 1,
            command: "x".into(),
            exit: 0,
            output: shown.map(|lines| lines.iter().map(|line| (*line).into()).collect()),
            place: 1..1,
        };
        problem(&example, &Ran { code, output: output.into() })
    }

    #[test]
    fn a_wrong_exit_code_is_a_problem_with_any_output() {
        assert!(matches!(checked(Some(1), "a\n", Some(&["a"])), Some(Problem::Exit(_))));
        assert!(matches!(checked(None, "a\n", None), Some(Problem::Exit(_))));
    }

    #[test]
    fn output_counts_only_when_it_is_shown() {
        assert!(checked(Some(0), "anything\n", None).is_none());
        assert!(checked(Some(0), "a\n", Some(&["a"])).is_none());
        assert!(matches!(checked(Some(0), "b\n", Some(&["a"])), Some(Problem::Output(_))));
    }
}
