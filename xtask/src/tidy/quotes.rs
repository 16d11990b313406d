//! Checks that tables quoted in prose equal those in their records.
//!
//! A record has a table between two comments. In a document that shows it, the opening comment has the record's path
//! instead of `begin`; before the first update nothing is between the comments. Both must contain the same lines.
//! [`shown`] copies a record's table into a document; [`check`] finds differences. Does not check whether the record
//! is the latest.
//!
//! ```text
//! <!-- compare: begin -->
//! | job | tool | ...
//! <!-- compare: end -->
//! ```

use super::{Finding, Tree};
use crate::markdown::{Place, lines};

const OPEN: &str = "<!-- compare: ";
const CLOSE: &str = " -->";
const BEGIN: &str = "begin";
const END: &str = "end";

/// A table between two comments.
struct Block<'a> {
    /// `begin` in the record, the record's path in a document.
    label: &'a str,
    /// Line number of the opening comment.
    line: usize,
    lines: Vec<&'a str>,
    closed: bool,
}

/// All tables in one Markdown file that differ from their records.
pub(super) fn check(path: &str, text: &str, tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for block in blocks(text) {
        if !block.closed {
            found.push(Finding::new(path, block.line, format!("no `{OPEN}{END}{CLOSE}` follows")));
        } else if block.label != BEGIN {
            let what = match tree.text(block.label).map(table) {
                None => format!("shows {}, which is missing", block.label),
                Some(None) => format!("shows {}, which holds no table to show", block.label),
                Some(Some(lines)) if lines != block.lines => {
                    format!("differs from {}; `cargo xtask compare --show`", block.label)
                }
                Some(Some(_)) => continue,
            };
            found.push(Finding::new(path, block.line, what));
        }
    }
    found
}

/// `document` with the table of `record`, whose path is `path`; `None` if one of them lacks the
/// comments.
pub(crate) fn shown(document: &str, path: &str, record: &str) -> Option<String> {
    let table = table(record)?;
    let block = blocks(document).into_iter().find(|block| block.closed)?;
    let all: Vec<&str> = document.lines().collect();
    let opening = format!("{OPEN}{path}{CLOSE}");
    let mut made: Vec<&str> = all[..block.line - 1].to_vec();
    made.push(&opening);
    made.extend(table);
    made.extend(&all[block.line + block.lines.len()..]);
    Some(made.join("\n") + "\n")
}

/// The table of a record.
fn table(record: &str) -> Option<Vec<&str>> {
    let offered = blocks(record).into_iter().find(|block| block.closed && block.label == BEGIN)?;
    Some(offered.lines)
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    for line in lines(text) {
        let comment = line.text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE));
        let open = found.last_mut().filter(|block| !block.closed);
        match (comment.filter(|_| line.place == Place::Prose), open) {
            (Some(END), Some(block)) => block.closed = true,
            (Some(END), None) | (None, None) => {}
            (Some(label), _) => {
                found.push(Block { label, line: line.number, lines: Vec::new(), closed: false });
            }
            (None, Some(block)) => block.lines.push(line.text),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "# Rows\n\n<!-- compare: begin -->\n| a |\n| 1 |\n<!-- compare: end -->\n";

    fn found_in(document: &str) -> Vec<String> {
        let tree = Tree::new([
            ("r.md".to_owned(), Some(RECORD.to_owned())),
            ("empty.md".to_owned(), Some("nothing\n".to_owned())),
        ]);
        check("README.md", document, &tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_table_that_is_the_records_is_fine() {
        let same = "x\n<!-- compare: r.md -->\n| a |\n| 1 |\n<!-- compare: end -->\ny\n";
        assert_eq!(found_in(same), Vec::<String>::new());
        assert_eq!(found_in(RECORD), Vec::<String>::new());
    }

    #[test]
    fn a_table_that_differs_or_has_no_record_is_found() {
        for (label, table, words) in [
            ("r.md", "| a |\n| 2 |", "differs from r.md"),
            ("r.md", "| a |", "differs from r.md"),
            ("gone.md", "| a |", "missing"),
            ("empty.md", "| a |", "no table"),
        ] {
            let text = format!("x\n<!-- compare: {label} -->\n{table}\n<!-- compare: end -->\n");
            let found = found_in(&text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].starts_with("README.md:2: ") && found[0].contains(words), "{found:?}");
        }
        assert_eq!(found_in("<!-- compare: r.md -->\n| a |\n").len(), 1);
    }

    #[test]
    fn showing_a_record_makes_its_document_agree() {
        let old = "x\n<!-- compare: old.md -->\n| b |\n<!-- compare: end -->\ny\n";
        let new = shown(old, "r.md", RECORD).unwrap();
        assert_eq!(new, "x\n<!-- compare: r.md -->\n| a |\n| 1 |\n<!-- compare: end -->\ny\n");
        assert_eq!(found_in(&new), Vec::<String>::new());
        let empty = "x\n<!-- compare: begin -->\n<!-- compare: end -->\ny\n";
        assert_eq!(found_in(empty), Vec::<String>::new());
        assert_eq!(shown(empty, "r.md", RECORD).unwrap(), new);
        assert_eq!(shown("no place\n", "r.md", RECORD), None);
        assert_eq!(shown(old, "r.md", "no table\n"), None);
    }
}
