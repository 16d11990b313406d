//! Checks the house rules that no compiler knows.
//!
//! A rule is a function from text to findings and does no I/O, so each is tested on small samples. This module reads
//! the repository once, runs every rule, and prints findings as `path:line: what is wrong`.

mod constants;
mod figures;
mod markdown;
mod quotes;
mod rust;
mod source;
mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;

use anyhow::{Context, Result};

use crate::licences;
use crate::workspace::Workspace;

pub(crate) use quotes::shown;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// From 1; 0 for the whole file.
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// The files of the repository, for rules that check what exists.
#[derive(Default)]
struct Tree {
    /// Path to text; `None` for binary files.
    files: BTreeMap<String, Option<String>>,
    folders: BTreeSet<String>,
    /// Output that commands make and git ignores: it may be named although it does not exist.
    ignored: Vec<String>,
}

impl Tree {
    fn new(files: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        let files: BTreeMap<String, Option<String>> = files.into_iter().collect();
        let mut folders = BTreeSet::new();
        for path in files.keys() {
            for (end, _) in path.match_indices('/') {
                folders.insert(path[..end].to_owned());
            }
        }
        // Rooted patterns only; the others do not name a path.
        let ignored = match files.get(".gitignore") {
            Some(Some(text)) => text
                .lines()
                .filter_map(|line| line.strip_prefix('/'))
                .map(|path| path.trim_end_matches('/').to_owned())
                .collect(),
            Some(None) | None => Vec::new(),
        };
        Self { files, folders, ignored }
    }

    /// Whether a clone has this path, or a command creates it.
    fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty()
            || self.files.contains_key(path)
            || self.folders.contains(path)
            || self.ignored.iter().any(|made| {
                path.strip_prefix(made.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }
}

/// Checks the whole repository, prints the findings, and returns whether there are none.
pub(crate) fn check(workspace: &Workspace) -> Result<bool> {
    let mut files = Vec::new();
    for path in workspace.files()? {
        let bytes = fs::read(workspace.root().join(&path))
            .with_context(|| format!("cannot read {path}"))?;
        files.push((path, String::from_utf8(bytes).ok()));
    }
    let tree = Tree::new(files);
    let mut findings = findings(&tree);
    let licences = licences::check(workspace, false)?;
    findings.extend(licences.into_iter().map(|what| Finding::new(licences::FILE, 0, what)));
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", tree.files.len(), findings.len());
    Ok(findings.is_empty())
}

/// The findings of all rules, by path and line.
fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in &tree.files {
        let Some(text) = text else { continue };
        found.extend(rust::check(path, text));
        found.extend(traces::check(path, text));
        if path.ends_with(".md") {
            found.extend(markdown::check(path, text, tree));
            found.extend(constants::check(path, text, tree));
            found.extend(figures::check(path, text, tree));
            found.extend(quotes::check(path, text, tree));
        }
    }
    found.extend(markdown::check_architecture(tree));
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        Tree::new(files.iter().map(|(path, text)| ((*path).into(), Some((*text).into()))))
    }

    #[test]
    fn a_tree_knows_files_folders_and_ignored_output() {
        let tree = tree(&[(".gitignore", "/bench/out\n*.pyc\n"), ("docs/a/b.md", "x")]);
        for there in ["docs", "docs/", "docs/a", "docs/a/b.md", "bench/out", "bench/out/x.json"] {
            assert!(tree.has(there), "{there}");
        }
        for missing in ["doc", "docs/b.md", "bench/other", "bench/outside", "*.pyc"] {
            assert!(!tree.has(missing), "{missing}");
        }
    }

    #[test]
    fn findings_of_all_rules_are_sorted_by_path_and_line() {
        let tree = tree(&[
            ("crates/b/src/lib.rs", "fn main() {}\n"),
            ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("ARCHITECTURE.md", "See crates/gone/src.\n"),
            ("docs/a.md", "[x](missing.md)\n"),
        ]);
        let found: Vec<String> = findings(&tree).iter().map(ToString::to_string).collect();
        let starts = [
            "ARCHITECTURE.md: ",
            "ARCHITECTURE.md:1: ",
            "crates/b/src/lib.rs:1: ",
            "docs/a.md:1: ",
        ];
        assert_eq!(found.len(), starts.len(), "{found:#?}");
        for (finding, start) in found.iter().zip(starts) {
            assert!(finding.starts_with(start), "{finding}");
        }
    }
}
