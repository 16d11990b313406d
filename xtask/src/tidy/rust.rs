//! Rules for source files: headers, sizes, unfinished work, silenced lints, `unsafe`.
//!
//! A module starts with a header that says what it does; a longer file needs a longer header. Files stay short enough
//! to read at once. Marks of unfinished work and files with silenced lints are not allowed. Only one folder may use
//! `unsafe`. Sizes apply to every language of the project, the other rules to Rust.

use super::Finding;
use super::source::{code_only, has_word};

/// Maximum lines of a source file.
pub(crate) const MAX_LINES: usize = 600;
/// Maximum lines of a source file before its test module.
pub(crate) const MAX_PRODUCTION_LINES: usize = 550;
/// Maximum lines of a file of tests or benchmarks only.
pub(crate) const MAX_TEST_LINES: usize = 800;
/// Longer files need a longer header.
pub(crate) const LONG_FILE_LINES: usize = 150;
/// Minimum header lines of a long file.
pub(crate) const LONG_FILE_HEADER_LINES: usize = 3;
/// Maximum lines of prose in a header; code, diagrams and tables are not counted.
pub(crate) const MAX_HEADER_LINES: usize = 8;
/// Minimum words in a header.
const HEADER_WORDS: usize = 3;

/// Folders whose Rust source must follow the rules.
const RUST_FOLDERS: [&str; 5] = ["crates/", "xtask/", "bench/", "fuzz/", "python/"];
/// The only folder that may use `unsafe`.
const UNSAFE_FOLDER: &str = "crates/hapax/src/hamming";
/// Marks of unfinished work, in two halves so that this file does not contain them.
const UNFINISHED_MARKS: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];
const UNFINISHED_MACROS: [&str; 2] = ["todo!", "unimplemented!"];

/// The findings in one file; none for files that are not source code.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_rust = path.ends_with(".rs");
    if !is_rust && ![".py", ".js", ".mjs", ".sh", ".css"].iter().any(|end| path.ends_with(end)) {
        return found;
    }
    let code = if is_rust { code_only(text) } else { String::new() };
    check_size(path, text, &code, &mut found);
    for (number, line) in numbered(text) {
        for mark in UNFINISHED_MARKS {
            if has_word(line, mark) {
                found.push(Finding::new(path, number, format!("`{mark}` marks unfinished work")));
            }
        }
    }
    if is_rust && RUST_FOLDERS.iter().any(|folder| path.starts_with(folder)) {
        check_header(path, text, &mut found);
        check_code(path, text, &code, &mut found);
    }
    found
}

fn check_header(path: &str, text: &str, found: &mut Vec<Finding>) {
    let header: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    if header.is_empty() {
        found.push(Finding::new(path, 1, "opens without a `//!` header"));
        return;
    }
    if !header.iter().any(|line| line.split_whitespace().count() >= HEADER_WORDS) {
        found.push(Finding::new(path, 1, "the header says nothing about the module"));
    }
    let header_lines = header.iter().filter(|line| !line.trim().is_empty()).count();
    let lines = text.lines().count();
    if !is_test_file(path) && lines > LONG_FILE_LINES && header_lines < LONG_FILE_HEADER_LINES {
        found.push(Finding::new(
            path,
            1,
            format!(
                "{lines} lines under a header of {header_lines}; over {LONG_FILE_LINES} lines it has at \
                 least {LONG_FILE_HEADER_LINES}: what it does, guarantees, does not handle"
            ),
        ));
    }
    let prose = prose_lines(&header);
    if prose > MAX_HEADER_LINES {
        found.push(Finding::new(
            path,
            1,
            format!("a header of {prose} lines of prose; at most {MAX_HEADER_LINES}: put details below it, or into `docs/internals`"),
        ));
    }
}

/// Lines of a header without blank lines, code blocks and tables.
fn prose_lines(header: &[&str]) -> usize {
    let mut fenced = false;
    let mut prose = 0;
    for line in header.iter().map(|line| line.trim()) {
        let is_fence = line.starts_with("```");
        fenced ^= is_fence;
        prose += usize::from(!(fenced || is_fence || line.is_empty() || line.starts_with('|')));
    }
    prose
}

fn check_size(path: &str, text: &str, code: &str, found: &mut Vec<Finding>) {
    let lines = text.lines().count();
    if is_test_file(path) {
        if lines > MAX_TEST_LINES {
            let what = format!("{lines} lines; a test file has at most {MAX_TEST_LINES}");
            found.push(Finding::new(path, 0, what));
        }
        return;
    }
    let production = production_lines(code).unwrap_or(lines);
    if production > MAX_PRODUCTION_LINES {
        let what = format!(
            "{production} lines before the tests; at most {MAX_PRODUCTION_LINES}, so split it"
        );
        found.push(Finding::new(path, 0, what));
    } else if lines > MAX_LINES {
        let what = format!("{lines} lines with its tests; at most {MAX_LINES}, so split it");
        found.push(Finding::new(path, 0, what));
    }
}

/// Accepted reasons for ignored tests: another test or a person runs them, and they prove nothing
/// themselves.
const IGNORED: [&str; 2] = ["what the child of the test below does", "makes a fixture"];

fn check_code(path: &str, text: &str, code: &str, found: &mut Vec<Finding>) {
    let may_be_unsafe =
        path.strip_prefix(UNSAFE_FOLDER).is_some_and(|rest| rest.starts_with('/') || rest == ".rs");
    for ((number, line), whole) in numbered(code).zip(text.lines()) {
        for name in UNFINISHED_MACROS {
            if has_word(line, name) {
                found.push(Finding::new(path, number, format!("`{name}` is unfinished work")));
            }
        }
        if line.contains("#[ignore") && !IGNORED.iter().any(|reason| whole.contains(reason)) {
            let what = "an ignored test proves nothing, unless it is a helper that says so";
            found.push(Finding::new(path, number, what));
        }
        if has_word(line, "unsafe") && !may_be_unsafe {
            let what = format!("`unsafe` lives only in {UNSAFE_FOLDER}");
            found.push(Finding::new(path, number, what));
        }
    }
    for (start, _) in code.match_indices("allow(") {
        let inside = code[start + "allow(".len()..].split(')').next().unwrap_or_default();
        for lint in inside.split(',').map(str::trim) {
            if lint == "dead_code" || lint.starts_with("unused") {
                let number = code[..start].matches('\n').count() + 1;
                let what = format!("`{lint}` is silenced; remove what is not used");
                found.push(Finding::new(path, number, what));
            }
        }
    }
}

/// Number of lines above the inline test module; `None` without one.
fn production_lines(code: &str) -> Option<usize> {
    let lines: Vec<&str> = code.lines().collect();
    (0..lines.len()).find(|&at| {
        lines[at].starts_with("#[cfg(test)]") && {
            let module = lines[at + 1..].iter().find(|line| !line.starts_with("#["));
            module.is_some_and(|line| line.starts_with("mod ") && line.contains('{'))
        }
    })
}

fn is_test_file(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    name == "tests.rs"
        || folders.split('/').any(|folder| matches!(folder, "tests" | "benches" | "fuzz_targets"))
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINE: &str = "crates/hapax/src/text/mod.rs";

    /// The findings in a file, without the path.
    fn found_in(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|f| format!("{}: {}", f.line, f.what)).collect()
    }

    fn headed(code: &str) -> String {
        format!("//! Words of a text.\n{code}\n")
    }

    fn long(header_lines: usize, lines: usize) -> String {
        "//! What it does and promises.\n".repeat(header_lines) + &"\n".repeat(lines - header_lines)
    }

    #[test]
    fn a_file_without_a_header_is_found_and_one_with_it_is_not() {
        assert_eq!(found_in(ENGINE, "fn f() {}\n").len(), 1);
        assert_eq!(found_in(ENGINE, "// Words of a text.\n").len(), 1);
        assert!(found_in(ENGINE, &headed("fn f() {}")).is_empty());
    }

    #[test]
    fn a_header_of_one_or_two_words_is_found() {
        assert_eq!(found_in(ENGINE, "//! Words.\n").len(), 1);
        assert_eq!(found_in(ENGINE, "//!\n//! Text module.\n").len(), 1);
    }

    #[test]
    fn a_long_file_needs_a_longer_header() {
        assert!(found_in(ENGINE, &long(1, LONG_FILE_LINES)).is_empty());
        assert_eq!(found_in(ENGINE, &long(2, LONG_FILE_LINES + 1)).len(), 1);
        assert!(found_in(ENGINE, &long(3, LONG_FILE_LINES + 1)).is_empty());
    }

    #[test]
    fn a_header_has_few_lines_of_prose_besides_code_and_tables() {
        assert!(found_in(ENGINE, &long(MAX_HEADER_LINES, 20)).is_empty());
        assert_eq!(found_in(ENGINE, &long(MAX_HEADER_LINES + 1, 20)).len(), 1);
        let shown = "//!\n//! | a | b |\n//! ```text\n//! x\n//! ```\n".repeat(9);
        assert!(found_in(ENGINE, &(long(MAX_HEADER_LINES, MAX_HEADER_LINES) + &shown)).is_empty());
    }

    #[test]
    fn the_bounds_on_size_are_inclusive() {
        let tests = "#[cfg(test)]\nmod tests {\n";
        let split = |production: usize, all: usize| {
            long(3, production) + tests + &"\n".repeat(all - production - 2)
        };
        assert!(found_in(ENGINE, &split(MAX_PRODUCTION_LINES, MAX_LINES)).is_empty());
        assert_eq!(found_in(ENGINE, &split(MAX_PRODUCTION_LINES + 1, MAX_LINES)).len(), 1);
        assert_eq!(found_in(ENGINE, &split(MAX_PRODUCTION_LINES, MAX_LINES + 1)).len(), 1);
        assert_eq!(found_in(ENGINE, &long(3, MAX_PRODUCTION_LINES + 1)).len(), 1);
    }

    #[test]
    fn a_test_module_in_its_own_file_does_not_end_the_production_lines() {
        let text = long(3, 3) + "#[cfg(test)]\nmod tests;\n" + &"\n".repeat(MAX_PRODUCTION_LINES);
        assert_eq!(found_in(ENGINE, &text).len(), 1);
    }

    #[test]
    fn test_files_may_be_longer() {
        for path in ["crates/hapax/tests/all/words.rs", "crates/hapax/src/text/tests.rs"] {
            assert!(found_in(path, &long(3, MAX_TEST_LINES)).is_empty());
            assert_eq!(found_in(path, &long(3, MAX_TEST_LINES + 1)).len(), 1);
        }
    }

    #[test]
    fn python_has_the_same_sizes_and_no_header() {
        assert!(found_in("python/hapax/a.py", &"\n".repeat(MAX_PRODUCTION_LINES)).is_empty());
        assert_eq!(found_in("python/hapax/a.py", &"\n".repeat(MAX_PRODUCTION_LINES + 1)).len(), 1);
    }

    #[test]
    fn unfinished_work_is_found_in_code_and_comments() {
        for mark in UNFINISHED_MARKS {
            assert_eq!(found_in(ENGINE, &headed(&format!("// {mark}: later"))).len(), 1, "{mark}");
            assert_eq!(found_in("python/a.py", &format!("# {mark}\n")).len(), 1, "{mark}");
        }
        assert_eq!(found_in(ENGINE, &headed("fn f() { todo!() }")).len(), 1);
        assert_eq!(found_in(ENGINE, &headed("fn f() { unimplemented!(\"x\") }")).len(), 1);
        assert!(found_in(ENGINE, &headed("// no todo! here\nlet a = \"todo!\";")).is_empty());
    }

    #[test]
    fn ignored_tests_are_found_with_and_without_a_reason() {
        assert_eq!(found_in(ENGINE, &headed("#[ignore]")).len(), 1);
        assert_eq!(found_in(ENGINE, &headed("#[ignore = \"slow\"]")).len(), 1);
    }

    #[test]
    fn silenced_lints_are_found_alone_and_in_a_list() {
        assert_eq!(
            found_in(ENGINE, &headed("#[allow(dead_code)]")),
            ["2: `dead_code` is silenced; remove what is not used"]
        );
        assert_eq!(found_in(ENGINE, &headed("#![allow(clippy::x, unused_variables)]")).len(), 1);
        assert_eq!(found_in(ENGINE, &headed("#[allow(\n    unused\n)]")).len(), 1);
        assert!(found_in(ENGINE, &headed("#[allow(clippy::x, reason = \"y\")]")).is_empty());
    }

    #[test]
    fn unsafe_code_is_allowed_in_one_folder() {
        let text = headed("fn f() { unsafe { g() } }");
        assert_eq!(found_in(ENGINE, &text).len(), 1);
        assert_eq!(found_in("crates/hapax/src/hamming_two/a.rs", &text).len(), 1);
        assert!(found_in("crates/hapax/src/hamming/avx2.rs", &text).is_empty());
        assert!(
            found_in(ENGINE, &headed("// unsafe is elsewhere\n#![deny(unsafe_code)]")).is_empty()
        );
    }

    #[test]
    fn other_folders_and_other_files_are_ignored() {
        assert!(found_in("examples/data/x.rs", "fn f() { unsafe {} }\n").is_empty());
        assert!(found_in("README.md", "unsafe\n").is_empty());
    }
}
