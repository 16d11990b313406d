//! Checks that numbers repeated in prose equal their constants.
//!
//! In Markdown, a comment directly after a value names its constant. The last number before the comment must equal
//! the value of `const MIN_FEATURES: T = VALUE;` in that file. Numbers may be grouped (`1_000`, `1,000`) and in a
//! code span; integers may use `<<` or `*` in the code. A text constant must equal the last code span.
//!
//! ```text
//! A page needs at least 8 <!-- const: crates/hapax/src/features/mod.rs MIN_FEATURES --> features.
//! ```

use super::{Finding, Tree};
use crate::markdown::{Place, code_spans, lines};

const OPEN: &str = "<!-- const:";
const CLOSE: &str = "-->";

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    Text(String),
}

/// All values in one Markdown file that differ from their constants.
pub(super) fn check(path: &str, text: &str, tree: &Tree) -> Vec<Finding> {
    marked(path, text, OPEN, |line, start| check_marker(line, start, tree))
}

/// Calls `check` with the line and position of every comment in prose that starts with `open`.
pub(super) fn marked(
    path: &str,
    text: &str,
    open: &str,
    check: impl Fn(&str, usize) -> Result<(), String>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for line in lines(text).into_iter().filter(|line| line.place == Place::Prose) {
        let spans = code_spans(line.text);
        for (start, _) in line.text.match_indices(open) {
            // A comment in a code span is an example.
            if spans.iter().any(|span| span.contains(&start)) {
                continue;
            }
            if let Err(what) = check(line.text, start) {
                found.push(Finding::new(path, line.number, what));
            }
        }
    }
    found
}

fn check_marker(line: &str, start: usize, tree: &Tree) -> Result<(), String> {
    let marker = line[start + OPEN.len()..].split(CLOSE).next().unwrap_or_default();
    let mut words = marker.split_whitespace();
    let (Some(file), Some(name), None) = (words.next(), words.next(), words.next()) else {
        return Err(format!("a marker is written `{OPEN} FILE NAME {CLOSE}`"));
    };
    let source = tree.text(file).ok_or_else(|| format!("marker names {file}, which is missing"))?;
    let actual = constant(source, name)
        .ok_or_else(|| format!("{file} has no constant {name} with a plain value"))?;
    // Text before an earlier marker belongs to that one.
    let before = line[..start].rsplit(CLOSE).next().unwrap_or_default();
    let stated = match &actual {
        Value::Number(_) => last_number(before).map(Value::Number),
        Value::Text(_) => code_spans(before).pop().map(|span| Value::Text(before[span].to_owned())),
    };
    match stated {
        Some(stated) if stated == actual => Ok(()),
        Some(stated) => Err(format!("states {stated}, but {name} in {file} is {actual}")),
        None => Err(format!("no value stands before the marker of {name}")),
    }
}

/// The value of `const NAME: T = VALUE;`; `None` unless it is a literal or a product or shift of
/// literals.
fn constant(source: &str, name: &str) -> Option<Value> {
    let declaration = source.lines().find_map(|line| {
        let (before, rest) = line.split_once("const ")?;
        let is_item = before.is_empty() || before.ends_with([' ', ')']);
        let rest = rest.strip_prefix(name)?.trim_start().strip_prefix(':')?;
        is_item.then_some(rest)
    })?;
    let (_, value) = declaration.split_once('=')?;
    let value = value.split_once(';')?.0.trim();
    match value.strip_prefix('"') {
        Some(text) => text.strip_suffix('"').map(|text| Value::Text(text.to_owned())),
        None => number(value).map(Value::Number),
    }
}

fn number(text: &str) -> Option<f64> {
    if let Some((left, right)) = text.split_once("<<") {
        return Some(number(left)? * number(right)?.exp2());
    }
    if let Some((left, right)) = text.split_once('*') {
        return Some(number(left)? * number(right)?);
    }
    let text = text.trim().replace('_', "");
    if let Some(digits) = text.strip_prefix("0x") {
        // Above 2^53 different values could become equal.
        let value = u64::from_str_radix(digits, 16).ok()?;
        return u32::try_from(value).ok().map(f64::from);
    }
    let digits = text.find(['u', 'i', 'f']).map_or(text.as_str(), |suffix| &text[..suffix]);
    digits.parse().ok()
}

/// The last number of a text, grouped or not.
fn last_number(text: &str) -> Option<f64> {
    let in_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '_');
    text.split(|c| !in_number(c))
        .map(|token| token.trim_matches(['.', ',', '_']).replace([',', '_'], ""))
        .filter_map(|token| token.parse().ok())
        .next_back()
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "`{text}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "/// The least.\n\
        pub const MIN_FEATURES: usize = 8;\n\
        pub(crate) const LIMIT: u64 = 50 * (1) ;\n\
        pub const BYTES: usize = 50 * 1_000_000;\n\
        const BUFFER: usize = 1 << 16;\n\
        pub const SHARE: f64 = 0.95;\n\
        pub const MASK: u32 = 0xff;\n\
        pub const SUFFIXED: u32 = 7u32;\n\
        pub const RECIPE: &str = \"web-1\";\n";

    fn found_in(prose: &str) -> Vec<String> {
        let tree = Tree::new([("a.rs".to_owned(), Some(SOURCE.to_owned()))]);
        check("README.md", prose, &tree).into_iter().map(|f| f.what).collect()
    }

    #[test]
    fn a_stated_value_that_is_the_constant_is_fine() {
        for line in [
            "at least 8 <!-- const: a.rs MIN_FEATURES --> words",
            "| `8` <!-- const: a.rs MIN_FEATURES --> | 9 |",
            "up to 50,000,000 <!-- const: a.rs BYTES --> bytes",
            "a buffer of 65_536 <!-- const: a.rs BUFFER -->",
            "a share of 0.95 <!-- const: a.rs SHARE -->.",
            "255 <!-- const: a.rs MASK --> and 7 <!-- const: a.rs SUFFIXED -->",
            "the recipe `web-1` <!-- const: a.rs RECIPE -->",
        ] {
            assert_eq!(found_in(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn a_stale_value_is_reported_with_the_real_one() {
        assert_eq!(
            found_in("between 8 and 9 <!-- const: a.rs MIN_FEATURES -->"),
            ["states 9, but MIN_FEATURES in a.rs is 8"]
        );
        assert_eq!(
            found_in("`web-2` <!-- const: a.rs RECIPE -->"),
            ["states `web-2`, but RECIPE in a.rs is `web-1`"]
        );
    }

    #[test]
    fn every_marker_needs_its_own_value() {
        let line = "8 <!-- const: a.rs MIN_FEATURES --> <!-- const: a.rs MIN_FEATURES -->";
        assert_eq!(found_in(line), ["no value stands before the marker of MIN_FEATURES"]);
    }

    #[test]
    fn a_marker_of_a_missing_constant_is_found() {
        for wrong in [
            "8 <!-- const: b.rs MIN_FEATURES -->",
            "8 <!-- const: a.rs MIN -->",
            "8 <!-- const: a.rs -->",
            "50 <!-- const: a.rs LIMIT -->",
        ] {
            assert_eq!(found_in(wrong).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn markers_in_code_spans_are_ignored() {
        assert!(found_in("write `9 <!-- const: a.rs MIN_FEATURES -->`").is_empty());
        assert!(found_in("```text\n9 <!-- const: a.rs MIN_FEATURES -->\n```").is_empty());
    }
}
