//! Finds traces of the machine that a file was written on.
//!
//! Absolute paths of one machine mean nothing to other readers, and the address of a package registry belongs to the
//! settings of whoever builds. Examples in Markdown blocks may use a home or temporary folder. Ignores collected data
//! (`examples/`, `vectors/`), which is quoted from elsewhere, and paths in data formats. The patterns are written in
//! two halves, so that this file does not contain them.

use super::Finding;
use crate::markdown::{Place, lines};

/// The start of an absolute path of a machine.
struct Folder {
    path: &'static str,
    /// Whether Markdown blocks may use it.
    in_examples: bool,
    /// Number of names that must follow to form a path.
    names: usize,
}

const FOLDERS: [Folder; 4] = [
    Folder { path: concat!("/wo", "rk/"), in_examples: false, names: 1 },
    Folder { path: concat!("/ro", "ot/"), in_examples: false, names: 1 },
    Folder { path: concat!("/ho", "me/"), in_examples: true, names: 2 },
    Folder { path: concat!("/t", "mp/"), in_examples: true, names: 1 },
];

/// Hosts that only package tools contact, and settings that name one.
const REGISTRIES: [&str; 9] = [
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("pypi.org", "/simple"),
    concat!("files.python", "hosted.org"),
    concat!("registry.np", "mjs.org"),
    concat!("registry-1.do", "cker.io"),
    concat!("index", "-url"),
    concat!("replace", "-with"),
    concat!("arti", "factory"),
];

/// The only source allowed in our lock files.
const LOCK_SOURCE: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

const QUOTED_FOLDERS: [&str; 2] = ["examples/", "vectors/"];
const DATA_ENDINGS: [&str; 8] =
    [".html", ".json", ".jsonl", ".txt", ".csv", ".tsv", ".xml", ".lock"];

/// The findings in one text file.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_quoted = QUOTED_FOLDERS.iter().any(|folder| path.starts_with(folder));
    if is_quoted && !path.ends_with(".md") {
        return found;
    }
    let is_data = DATA_ENDINGS.iter().any(|end| path.ends_with(end));
    let is_markdown = path.ends_with(".md");
    for line in lines(text) {
        let in_block = is_markdown && line.place == Place::Fenced;
        for folder in &FOLDERS {
            let may_name = is_data || (in_block && folder.in_examples);
            if !may_name && names_path(line.text, folder) {
                let what = format!("absolute path under {} of some machine", folder.path);
                found.push(Finding::new(path, line.number, what));
            }
        }
        let lower = line.text.to_lowercase();
        for registry in REGISTRIES.iter().filter(|registry| lower.contains(**registry)) {
            let what = format!("`{registry}` belongs in the settings of whoever builds");
            found.push(Finding::new(path, line.number, what));
        }
        let is_source = path.ends_with("Cargo.lock") && line.text.starts_with("source = ");
        if is_source && line.text != LOCK_SOURCE {
            found.push(Finding::new(path, line.number, "a dependency from another registry"));
        }
    }
    found
}

/// Whether the line contains an absolute path below the folder. Longer paths that contain the
/// folder and addresses do not count.
fn names_path(line: &str, folder: &Folder) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '}');
    line.match_indices(folder.path).any(|(start, found)| {
        let names = line[start + found.len()..]
            .split('/')
            .take_while(|name| name.starts_with(in_name))
            .take(folder.names)
            .count();
        !line[..start].ends_with(in_name) && names == folder.names
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(path, text).len()
    }

    /// A path below one of the folders, given by its index.
    fn under(folder: usize, rest: &str) -> String {
        format!("{}{rest}", FOLDERS[folder].path)
    }

    #[test]
    fn absolute_paths_are_found_in_code_and_prose() {
        for folder in 0..FOLDERS.len() {
            let path = under(folder, "someone/x.rs");
            assert_eq!(count("xtask/src/a.rs", &format!("let p = \"{path}\";")), 1, "{path}");
            assert_eq!(count("README.md", &format!("in {path} there is")), 1, "{path}");
            assert_eq!(count(".ci/run", &format!("cd {path}")), 1, "{path}");
        }
    }

    #[test]
    fn blocks_in_markdown_may_use_a_home_or_temporary_folder_only() {
        let block = |line: String| format!("```console\n$ ls {line}\n```\n");
        assert_eq!(count("README.md", &block(under(3, "x"))), 0);
        assert_eq!(count("README.md", &block(under(2, "someone/x"))), 0);
        assert_eq!(count("README.md", &block(under(0, "x"))), 1);
        assert_eq!(count("README.md", &block(under(1, "x"))), 1);
    }

    #[test]
    fn addresses_and_longer_paths_are_not_found() {
        for line in [
            format!("https://site.example{}", under(0, "x")),
            format!("\"$ROOT{}\"", under(0, "x")),
            format!("src=\"{}\"", under(2, "index.html")),
            format!("the folder {} itself", FOLDERS[3].path),
        ] {
            assert_eq!(count("crates/hapax/src/a.rs", &line), 0, "{line}");
        }
    }

    #[test]
    fn data_may_contain_paths_but_no_registries() {
        assert_eq!(count("python/tests/page.html", &under(0, "x")), 0);
        assert_eq!(count("package-lock.json", REGISTRIES[4]), 1);
        assert_eq!(count("examples/page.html", REGISTRIES[4]), 0);
    }

    #[test]
    fn every_registry_is_found_in_any_case() {
        for registry in REGISTRIES {
            assert_eq!(count("a.toml", &format!("x = \"https://{registry}/y\"")), 1, "{registry}");
            assert_eq!(count("a.toml", &registry.to_uppercase()), 1, "{registry}");
        }
    }

    #[test]
    fn a_lock_file_names_the_public_index_alone() {
        assert_eq!(count("Cargo.lock", LOCK_SOURCE), 0);
        assert_eq!(count("Cargo.lock", "source = \"registry+https://mirror.example/index\""), 1);
        assert_eq!(count("Cargo.lock", "source = \"git+https://site.example/x\""), 1);
    }

    #[test]
    fn links_to_a_package_are_allowed() {
        assert_eq!(count("README.md", "https://pypi.org/project/hapax https://docs.rs/hapax"), 0);
    }
}
