//! Checks references in prose: links, paths in code spans, crates.
//!
//! A relative link must point to a file of the repository, and its anchor to a heading. A code span that looks like a
//! path of the repository must be one. Shell examples are `console` blocks, because those are run. In
//! `ARCHITECTURE.md`, every path under `crates/` must exist, also outside of code spans, and every crate of the
//! workspace must be named. Names of output that git ignores are allowed.

use super::{Finding, Tree};
use crate::console;
use crate::markdown::{Place, anchors, code_spans, lines, link_targets};

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// A code span that starts with one of these is a path from the root.
const TOP_FOLDERS: [&str; 12] = [
    ".cargo/",
    ".ci/",
    "bench/",
    "crates/",
    "deploy/",
    "docs/",
    "examples/",
    "experiments/",
    "fuzz/",
    "python/",
    "vectors/",
    "xtask/",
];

/// All findings in one Markdown file.
pub(super) fn check(path: &str, text: &str, tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for line in lines(text) {
        match line.place {
            Place::Prose => {
                for target in link_targets(line.text) {
                    if let Some(what) = wrong_link(path, &target, tree) {
                        found.push(Finding::new(path, line.number, what));
                    }
                }
                for span in code_spans(line.text) {
                    let span = &line.text[span];
                    if let Some(named) = repository_path(span)
                        && !tree.has(named)
                        && !tree.has(&join(path, named).unwrap_or_default())
                    {
                        let what = format!("`{span}` is not in the repository");
                        found.push(Finding::new(path, line.number, what));
                    }
                }
            }
            Place::FenceStart(info) => {
                let language = info.split_whitespace().next().unwrap_or_default();
                if console::is_run(path) && matches!(language, "sh" | "bash" | "shell") {
                    let what = format!("a `{language}` block is not run; write it as `console`");
                    found.push(Finding::new(path, line.number, what));
                }
            }
            Place::Fenced | Place::FenceEnd => {}
        }
    }
    found
}

/// What `ARCHITECTURE.md` gets wrong about the crates. Nothing if the file does not exist.
pub(super) fn check_architecture(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(ARCHITECTURE) else { return Vec::new() };
    let mut found = Vec::new();
    for line in lines(text) {
        for (start, _) in line.text.match_indices("crates/") {
            if line.text[..start].ends_with(in_path) {
                continue;
            }
            let named = line.text[start..].split(|c| !in_path(c)).next().unwrap_or_default();
            let named = named.trim_end_matches(['.', '/', '-']);
            if !tree.has(named) {
                let what = format!("{named} does not exist");
                found.push(Finding::new(ARCHITECTURE, line.number, what));
            }
        }
    }
    for manifest in tree.files.keys() {
        let Some(folder) = manifest.strip_suffix("/Cargo.toml") else { continue };
        let name = folder.rsplit('/').next().unwrap_or(folder);
        if !names_crate(text, name) {
            let what = format!("does not name the crate {name} ({folder})");
            found.push(Finding::new(ARCHITECTURE, 0, what));
        }
    }
    // The same path may be in a link, a span and a table.
    found.sort();
    found.dedup();
    found
}

/// Whether the name occurs as a whole word: `hapax-cli` does not name `hapax`.
fn names_crate(text: &str, name: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(name).any(|(start, _)| {
        !text[..start].ends_with(in_name) && !text[start + name.len()..].starts_with(in_name)
    })
}

/// The problem with a link in the file at `path`; `None` if it is valid.
fn wrong_link(path: &str, target: &str, tree: &Tree) -> Option<String> {
    let has_scheme = target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+')
    });
    if has_scheme {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let place = if file.is_empty() { Some(path.to_owned()) } else { join(path, file) };
    let Some(place) = place.filter(|place| tree.has(place)) else {
        return Some(format!("link to {target}, which is not in the repository"));
    };
    let text = tree.text(&place).filter(|_| place.ends_with(".md"))?;
    (!anchor.is_empty() && !anchors(text).iter().any(|known| known == anchor))
        .then(|| format!("link to {target}, but {place} has no such heading"))
}

/// The path in a code span that looks like one of this repository: up to a wildcard, without a line
/// number.
fn repository_path(span: &str) -> Option<&str> {
    let named = span.strip_prefix("./").unwrap_or(span);
    let is_document = named
        .strip_suffix(".md")
        .is_some_and(|stem| !stem.is_empty() && stem.chars().all(|c| c.is_ascii_uppercase()));
    if !is_document && !TOP_FOLDERS.iter().any(|folder| named.starts_with(folder)) {
        return None;
    }
    let named = match named.rsplit_once(':') {
        Some((path, line)) if line.bytes().all(|b| b.is_ascii_digit()) => path,
        Some(_) | None => named,
    };
    let certain = match named.find(['*', '{', '‹', '<', '…']) {
        // The folder of the first variable part.
        Some(end) => &named[..named[..end].rfind('/')?],
        None => named,
    };
    certain.chars().all(in_path).then_some(certain)
}

/// Resolves `target` relative to the file at `from`; `None` if it leaves the repository.
fn join(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn in_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(architecture: &str) -> Tree {
        let files = [
            ("ARCHITECTURE.md", architecture),
            ("crates/hapax/Cargo.toml", ""),
            ("crates/hapax/src/lib.rs", ""),
            ("crates/hapax-cli/Cargo.toml", ""),
            ("docs/guide.md", "# First steps\n"),
            (".gitignore", "/bench/out\n"),
        ];
        Tree::new(files.map(|(path, text)| (path.into(), Some(text.into()))))
    }

    fn found_in(path: &str, text: &str) -> Vec<String> {
        check(path, text, &tree("")).into_iter().map(|f| f.what).collect()
    }

    #[test]
    fn a_link_is_relative_to_its_file() {
        assert!(found_in("README.md", "[g](docs/guide.md)").is_empty());
        assert!(
            found_in("docs/other.md", "[g](guide.md) [l](../crates/hapax/src/lib.rs)").is_empty()
        );
        assert_eq!(found_in("docs/other.md", "[g](docs/guide.md)").len(), 1);
        assert_eq!(found_in("README.md", "[g](../outside.md)").len(), 1);
        assert_eq!(found_in("README.md", "![picture](docs/missing.png)").len(), 1);
    }

    #[test]
    fn addresses_are_not_followed() {
        assert!(
            found_in("README.md", "[a](https://example.org/x) [b](mailto:a@b.example)").is_empty()
        );
    }

    #[test]
    fn an_anchor_leads_to_a_heading() {
        assert!(found_in("README.md", "[g](docs/guide.md#first-steps)").is_empty());
        assert_eq!(found_in("README.md", "[g](docs/guide.md#last-steps)").len(), 1);
        assert_eq!(found_in("docs/guide.md", "[g](#nowhere)").len(), 1);
    }

    #[test]
    fn code_spans_that_look_like_paths_must_be_paths() {
        assert!(
            found_in("README.md", "`crates/hapax/src/lib.rs:12` `docs/` `docs/*.md`").is_empty()
        );
        assert!(found_in("README.md", "`bench/out/run.json` `ARCHITECTURE.md`").is_empty());
        assert_eq!(found_in("README.md", "`crates/hapax/src/gone.rs`").len(), 1);
        assert_eq!(found_in("README.md", "`vectors/*.json`").len(), 1);
        assert_eq!(found_in("README.md", "`SECURITY.md`").len(), 1);
    }

    #[test]
    fn other_code_spans_are_ignored() {
        let text = "`hapax::index` `a/b` `1/64` `--out DIR` `docs/ and more` `crates/{a, b}`";
        assert!(found_in("README.md", text).is_empty());
    }

    #[test]
    fn fenced_blocks_are_not_prose() {
        assert!(found_in("README.md", "```text\n[a](missing.md) `crates/gone`\n```\n").is_empty());
    }

    #[test]
    fn shell_examples_in_the_documentation_are_console_blocks() {
        assert_eq!(found_in("README.md", "```sh\nls\n```\n").len(), 1);
        assert!(found_in("README.md", "```console\n$ ls\n```\n").is_empty());
        assert!(found_in("crates/hapax/notes.md", "```sh\nls\n```\n").is_empty());
    }

    #[test]
    fn the_architecture_names_every_crate_as_a_whole_word() {
        let found_in = |text: &str| check_architecture(&tree(text));
        assert!(found_in("`hapax` and `hapax-cli`").is_empty());
        let found = found_in("only `hapax-cli`");
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("crates/hapax)"), "{}", found[0].what);
    }

    #[test]
    fn every_crate_path_in_the_architecture_exists_even_in_a_drawing() {
        let text =
            "hapax, hapax-cli\n```text\ncrates/hapax/src/gone.rs\n```\n(crates/hapax/src).\n";
        let found = check_architecture(&tree(text));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 3);
    }

    #[test]
    fn a_repository_without_the_file_has_no_findings() {
        assert!(check_architecture(&Tree::default()).is_empty());
    }
}
