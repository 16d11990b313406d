//! Checks that measured figures in prose equal those in their records.
//!
//! A comment in Markdown after a figure names a record and a place in it. In a table: words of the line above it;
//! the row, by one cell or several joined by ` & `; the column. In JSON: keys, places in a list from 0, or
//! `KEY=VALUE` for the first element that has it. ` / N` means the N-th part. The last number before the comment
//! must be the record's, rounded to the digits that prose has; before `%`, a hundred times it. Does not know
//! whether the record is the latest, or whether it measured what prose says.
//!
//! ```text
//! rensa takes 4.7 <!-- record: bench/records/D/compare.md; Cleaning; rensa 0.5.0; times ours --> times as long
//! of web-uci 0.99 <!-- record: bench/records/D/quality.json; web-uci graded/runs/0/pairs/recall/value -->
//! ```

use serde_json::Value;

use super::constants::marked;
use super::{Finding, Tree};

const OPEN: &str = "<!-- record:";
const CLOSE: &str = "-->";

/// All figures in one Markdown file that differ from their records.
pub(super) fn check(path: &str, text: &str, tree: &Tree) -> Vec<Finding> {
    marked(path, text, OPEN, |line, start| check_mark(line, start, tree))
}

fn check_mark(line: &str, start: usize, tree: &Tree) -> Result<(), String> {
    let mark = line[start + OPEN.len()..].split(CLOSE).next().unwrap_or_default();
    let parts: Vec<&str> = mark.split(';').map(str::trim).collect();
    let (file, place, last) = match parts[..] {
        [file, path] => (file, None, path),
        [file, section, row, column] => (file, Some((section, row)), column),
        _ => {
            return Err(format!(
                "a mark is written `{OPEN} FILE; SECTION; ROW; COLUMN {CLOSE}` or `{OPEN} FILE.json; PATH {CLOSE}`"
            ));
        }
    };
    let record = tree.text(file).ok_or_else(|| format!("mark names {file}, which is missing"))?;
    let (last, divisor) = match last.split_once(" / ") {
        Some((last, divisor)) => {
            (last, divisor.parse().map_err(|_| format!("{divisor} is not a number"))?)
        }
        None => (last, 1.0),
    };
    let cell = match place {
        Some((section, row)) => cell(record, section, row, last)
            .map(str::to_owned)
            .ok_or_else(|| format!("{file} has no {last} of {row} below {section}"))?,
        None => element(record, last).ok_or_else(|| format!("{file} has no {last}"))?,
    };
    let measured =
        number(&cell).ok_or_else(|| format!("{cell} in {file} is not a number"))? / divisor;
    // What stands before an earlier mark belongs to that one.
    let before = line[..start].rsplit(CLOSE).next().unwrap_or_default();
    let Some(stated) = numbers(before).last() else {
        return Err(format!("no figure stands before the mark of {last}"));
    };
    let scale = if before.trim_end().ends_with('%') { 100.0 } else { 1.0 };
    let digits = stated.split_once('.').map_or(0, |(_, digits)| digits.len());
    let rounded = format!("{:.digits$}", measured * scale);
    if rounded == stated {
        Ok(())
    } else {
        Err(format!("states {stated}, but {file} has {cell}, which is {rounded}"))
    }
}

/// The cell of the first table below `section` that has both the column and the row.
fn cell<'r>(record: &'r str, section: &str, row: &str, column: &str) -> Option<&'r str> {
    let mut place = None;
    let below = record.lines().skip_while(|line| !line.contains(section)).skip(1);
    for line in below {
        let cells: Vec<&str> = line.trim().split('|').map(plain).collect();
        // Some tables have frames with `+---+` between their rows.
        if !line.trim().starts_with(['|', '+']) {
            place = None;
        } else if let Some(at) = cells.iter().position(|cell| *cell == column) {
            place = Some(at);
        } else if let Some(at) = place
            && row.split(" & ").all(|wanted| cells.contains(&wanted.trim()))
        {
            return cells.get(at).copied();
        }
    }
    None
}

/// What stands at `path` in a record of JSON.
fn element(record: &str, path: &str) -> Option<String> {
    let record: Value = serde_json::from_str(record).ok()?;
    let found =
        path.split('/').try_fold(&record, |value, part| match (value, part.split_once('=')) {
            (Value::Array(list), Some((key, wanted))) => list
                .iter()
                .find(|element| element.get(key).is_some_and(|known| text(known) == wanted)),
            (Value::Array(list), None) => list.get(part.parse::<usize>().ok()?),
            (object, _) => object.get(part),
        })?;
    Some(text(found))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The number that a cell begins with, or the first in it.
fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().or_else(|| numbers(cell).next()?.parse().ok())
}

fn plain(cell: &str) -> &str {
    cell.trim().trim_matches('*')
}

/// The numbers of a text, without group separators.
fn numbers(text: &str) -> impl Iterator<Item = String> {
    let in_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    text.split(move |c| !in_number(c))
        .map(|token| token.trim_matches(['.', ',']).replace(',', ""))
        .filter(|token| token.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "## Other\n\n| tool | s |\n| --- | --- |\n| rensa 0.5.0 | 99 |\n\n\
        ## Cleaning\n\n| tool | set | s | right |\n| --- | --- | --- | --- |\n\
        | **hapax** | a | **1,480,000** | 0.9992 |\n+-----+\n\
        | rensa 0.5.0 | a | 7.04 | 0.9754 |\n";

    const JSON: &str = r#"{"a set": {"runs": [{"by": "bits", "recall": {"value": 0.99516}},
        {"by": "sketch", "tiny": 5e-7, "cell": "1,480 s"}]}}"#;

    fn found_in(prose: &str) -> Vec<String> {
        let tree = Tree::new([
            ("r.md".to_owned(), Some(RECORD.to_owned())),
            ("r.json".to_owned(), Some(JSON.to_owned())),
        ]);
        check("README.md", prose, &tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_figure_of_the_record_is_accepted_with_the_digits_in_prose() {
        for right in [
            "7 <!-- record: r.md; Cleaning; rensa 0.5.0; s --> seconds",
            "7.0 s <!-- record: r.md; Cleaning; a & rensa 0.5.0; s -->",
            "99.9 % <!-- record: r.md; Cleaning; hapax; right -->",
            "1,480,000 <!-- record: r.md; Cleaning; hapax; s -->",
            "1.5 M <!-- record: r.md; Cleaning; hapax; s / 1000000 -->",
            "`1 <!-- record: nowhere -->`",
            "0.995 <!-- record: r.json; a set/runs/0/recall/value -->",
            "99.5 % <!-- record: r.json; a set/runs/by=bits/recall/value -->",
            "1,480 <!-- record: r.json; a set/runs/by=sketch/cell -->",
            "1.48 thousand <!-- record: r.json; a set/runs/by=sketch/cell / 1000 -->",
            "0.0000005 <!-- record: r.json; a set/runs/1/tiny -->",
        ] {
            assert_eq!(found_in(right), Vec::<String>::new(), "{right}");
        }
    }

    #[test]
    fn a_figure_that_differs_or_has_no_cell_is_found() {
        for (wrong, words) in [
            ("8 <!-- record: r.md; Cleaning; rensa 0.5.0; s -->", "states 8"),
            ("99.8 % <!-- record: r.md; Cleaning; hapax; right -->", "states 99.8"),
            ("7 <!-- record: r.md; Cleaning; rensa 0.4; s -->", "no s of rensa 0.4"),
            ("7 <!-- record: r.md; Cleaning; b & rensa 0.5.0; s -->", "no s of b"),
            ("7 <!-- record: gone.md; Cleaning; hapax; s -->", "missing"),
            ("7 <!-- record: r.md; Cleaning; hapax -->", "a mark is written"),
            ("it <!-- record: r.md; Cleaning; hapax; s -->", "no figure"),
            ("1 <!-- record: r.md; Cleaning; hapax; tool -->", "not a number"),
            ("0.996 <!-- record: r.json; a set/runs/0/recall/value -->", "states 0.996"),
            ("1 <!-- record: r.json; a set/runs/0/precision/value -->", "has no a set/runs/0/prec"),
            ("1 <!-- record: r.json; a set/runs/by=both/tiny -->", "has no a set"),
            ("1 <!-- record: r.json; a set/runs/2/tiny -->", "has no a set"),
            ("1 <!-- record: r.json; a set/runs/0/by -->", "not a number"),
        ] {
            let found = found_in(wrong);
            assert!(found.len() == 1 && found[0].contains(words), "{wrong}: {found:?}");
        }
    }
}
