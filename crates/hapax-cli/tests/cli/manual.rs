//! Help, the reference in docs/reference/commands, manual pages, and completions.
//!
//! The reference is the output of `--help` of every command, and thus a snapshot: changes of texts and options are
//! visible in review. `UPDATE_REFERENCE=1` rewrites it.

use crate::folder::Folder;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const INDEX_BEGINS: &str = "\
# Commands

What `hapax help COMMAND` prints, one page for each command; a test compares the pages with the program. Results go to
standard output or to `--out`, everything else to standard error. Exit codes: 0 done, 1 bad input or a failed run, 2 bad
arguments.

| command | does |
| --- | --- |
";

/// A command and its subcommands, each with its full name.
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

/// File names and contents: an index, and a page for every command with its subcommands.
fn reference() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let mut index = INDEX_BEGINS.to_owned();
    let mut program = String::new();
    for (way, mut command) in all_commands() {
        let help = command.render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let help = format!("```text\n{}\n```\n", help.join("\n").trim_end());
        let mut names = way.split(' ').skip(1);
        match (names.next(), names.next()) {
            (None, _) => program = help,
            (Some(name), None) => {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                writeln!(index, "| [`{way}`]({name}.md) | {about} |").unwrap();
                pages.insert(format!("{name}.md"), format!("# {way}\n\n{help}"));
            }
            (Some(name), Some(_)) => {
                let page = pages.get_mut(&format!("{name}.md")).unwrap();
                write!(page, "\n## {way}\n\n{help}").unwrap();
            }
        }
    }
    pages.insert("index.md".to_owned(), format!("{index}\n## hapax\n\n{program}"));
    pages
}

#[test]
fn the_reference_is_what_help_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands");
    let pages = reference();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in &pages {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    let again = "UPDATE_REFERENCE=1 cargo test --release -p hapax-cli reference";
    let files = std::fs::read_dir(&folder).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    assert!(names.iter().eq(pages.keys()), "{again}: {names:?}");
    for (name, text) in &pages {
        let written = std::fs::read_to_string(folder.join(name)).unwrap();
        let differs = written.lines().zip(text.lines()).find(|(old, new)| old != new);
        assert_eq!(differs, None, "{again}: {name}");
        assert_eq!(written.len(), text.len(), "{again}: {name}");
    }
}

#[test]
fn every_command_shows_an_example() {
    for (way, command) in all_commands() {
        let shows = command.get_after_help().is_some_and(|help| help.to_string().contains("hapax"));
        assert!(shows, "{way} has no example");
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
