//! What the program says about itself: help, the reference in docs/reference/commands.md, manual pages,
//! completions.
//!
//! docs/reference/commands.md is what `--help` says of every command, and so the snapshot of it: a change
//! of a text or an option is seen in review. `UPDATE_REFERENCE=1` writes it anew.

use crate::folder::Folder;
use std::fmt::Write;
use std::path::Path;

const REFERENCE_BEGINS: &str = "\
# Commands

What `hapax help COMMAND` says, for reading and searching; a test keeps this page as the program is. Exit codes: 0 done, 1 bad input or a failed run, 2 bad
arguments. Results go to standard output or to `--out`, everything else to standard error.
";

/// A command and those below it, the way to it first.
fn commands(command: &clap::Command, way: &str) -> Vec<(String, clap::Command)> {
    let mut found = vec![(way.to_owned(), command.clone())];
    for below in command.get_subcommands() {
        if below.get_name() != "help" && !below.is_hide_set() {
            found.extend(commands(below, &format!("{way} {}", below.get_name())));
        }
    }
    found
}

fn all_commands() -> Vec<(String, clap::Command)> {
    let mut program = hapax_cli::command().term_width(100);
    program.build();
    commands(&program, "hapax")
}

#[test]
fn the_reference_is_what_help_says() {
    let mut reference = REFERENCE_BEGINS.to_owned();
    for (way, mut command) in all_commands() {
        let help = command.render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let help = help.join("\n");
        write!(reference, "\n## {way}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    let differs = written.lines().zip(reference.lines()).find(|(old, new)| old != new);
    assert_eq!(differs, None, "UPDATE_REFERENCE=1 cargo test --release -p hapax-cli reference");
    assert_eq!(written.len(), reference.len());
}

#[test]
fn every_command_that_does_something_shows_an_example() {
    for (way, command) in all_commands() {
        let parent_shows = way.matches(' ').count() > 1;
        let shows = command.get_after_help().is_some_and(|help| help.to_string().contains("hapax"));
        assert!(shows || parent_shows, "{way} has no example");
        assert!(command.get_about().is_some(), "{way} does not say what it does");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    folder.output(&["man", "--out", "man1"]);
    for (way, _) in all_commands() {
        let page = folder.read(&format!("man1/{}.1", way.replace(' ', "-")));
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{way}");
    }
    assert!(folder.output(&["man"]).contains("hapax"));
    folder.write("file", "");
    let refused = folder.refusal(1, &["man", "--out", "file"]);
    assert!(refused.contains("file"), "{refused}");
}

#[test]
fn every_shell_gets_its_completions() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.output(&["completions", shell]);
        assert!(script.contains("query-dedup"), "{shell}");
    }
    let refused = folder.refusal(2, &["completions", "csh"]);
    assert!(refused.contains("possible values"), "{refused}");
}
