//! A comparison for a terminal: the numbers, the differing bits, both texts side by side.
//!
//! Fits the width of the terminal. Marks differences by signs between the columns, and by colour if wanted. Texts are
//! untrusted, so control characters are removed.

use super::abbreviate::{columns_of, middle};
use super::{Colour, Pair, Shown};
use crate::output;
use crate::readable;
use hapax::fingerprint::Signature;
use hapax::fingerprint::side_by_side::{Mark, Piece, Row};
use std::io::IsTerminal;

/// Maximum lines of a cell and rows of a table before the rest is abbreviated.
const CELL_LINES: usize = 8;
const SAME_LINES: usize = 2;
const TEXT_ROWS: usize = 40;
const BIT_ROWS: usize = 16;
/// Width if the output is not a terminal.
const WIDTH_ELSEWHERE: usize = 100;

/// Properties of the output device.
pub(super) struct Screen {
    columns: usize,
    coloured: bool,
    full: bool,
}

impl Screen {
    /// Detects standard output and the environment.
    pub(super) fn new(colour: Colour, full: bool) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let said = std::env::var("COLUMNS").ok().and_then(|c| c.parse::<usize>().ok());
        let asked = || is_terminal.then(terminal_size::terminal_size).flatten();
        let columns = asked().map(|(width, _)| usize::from(width.0)).or(said);
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        let coloured = match colour {
            Colour::Auto => is_terminal && !refused,
            Colour::Always => true,
            Colour::Never => false,
        };
        Self { columns: columns.unwrap_or(WIDTH_ELSEWHERE).clamp(40, 240), coloured, full }
    }

    fn paint(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Same => "2",
            Style::OnlyLeft => "31",
            Style::OnlyRight => "32",
            Style::Elsewhere => "33",
            Style::Heading => "1",
        };
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Same,
    OnlyLeft,
    OnlyRight,
    Elsewhere,
    Heading,
}

pub(super) fn text(pair: &Pair, screen: &Screen) -> String {
    let mut out = String::new();
    out.push_str(&page_line("A", &pair.left, &pair.comparison.left));
    out.push_str(&page_line("B", &pair.right, &pair.comparison.right));
    out.push('\n');
    out.push_str(&screen.paint(Style::Heading, &pair.sentence()));
    out.push_str("\n\n");
    out.push_str(&numbers(pair));
    out.push_str(&bits(pair, screen));
    if pair.comparison.same_text {
        return out;
    }
    out.push('\n');
    side_by_side(pair, screen, &mut out);
    out
}

fn page_line(letter: &str, shown: &Shown, signature: &Signature) -> String {
    let fingerprint = match &signature.comparable {
        Some(comparable) => comparable.fingerprint.to_string(),
        None => "no fingerprint".to_owned(),
    };
    let title = match &shown.title {
        Some(title) if !title.is_empty() => {
            let title: String = title.chars().take(60).collect();
            format!("  “{}”", readable::harmless(&title))
        }
        _ => String::new(),
    };
    let short = if signature.too_short { ", too short to compare" } else { "" };
    let hides = if signature.hides_most { ", more text hidden than shown" } else { "" };
    let words = readable::counted(u64::from(signature.words), "word");
    format!("{letter}  {fingerprint}  {}  ({words}{short}{hides}){title}\n", shown.name)
}

fn numbers(pair: &Pair) -> String {
    let c = &pair.comparison;
    let mut out = String::new();
    if let Some(bits) = &c.bits {
        out.push_str(&format!(
            "fingerprints  {:.1} %  {} of 64 bits differ\n\
             sketch        {:.3}   ± {:.3}, estimated Jaccard similarity\n",
            bits.percent, bits.distance, bits.estimate.jaccard, bits.estimate.standard_error,
        ));
    }
    out.push_str(&format!(
        "jaccard       {:.3}   {} shared, {} only in A, {} only in B ({}-word shingles)\n\
         containment   {:.3}   of the smaller page's shingles are in the other\n\
         cosine        {:.3}   of the features the fingerprint is made of ({})\n",
        c.jaccard,
        readable::count(c.shared as u64),
        readable::count(c.only_left as u64),
        readable::count(c.only_right as u64),
        pair.recipe.sketch_shingle.words(),
        c.containment,
        c.cosine,
        pair.recipe.name,
    ));
    out
}

fn bits(pair: &Pair, screen: &Screen) -> String {
    let differing = match &pair.comparison.bits {
        Some(bits) if !bits.differing.is_empty() => &bits.differing,
        _ => return String::new(),
    };
    let shown = if screen.full { differing.len() } else { differing.len().min(BIT_ROWS) };
    let rows = differing[..shown].iter().map(|d| {
        [
            d.bit.to_string(),
            format!("{:+}", d.left_sum),
            format!("{} of 64", d.left_rank),
            format!("{:+}", d.right_sum),
            format!("{} of 64", d.right_rank),
        ]
    });
    let header = ["bit", "sum in A", "weakness in A", "sum in B", "weakness in B"];
    let mut out = String::from("\nDiffering bits (weakness 1: the sum nearest to zero)\n");
    out.push_str(&output::table(&header, rows, 0));
    if shown < differing.len() {
        out.push_str(&format!("… {} more; --full shows them\n", differing.len() - shown));
    }
    out
}

fn side_by_side(pair: &Pair, screen: &Screen, out: &mut String) {
    let width = (screen.columns - 3) / 2;
    let heading = |letter: &str, shown: &Shown| {
        let cell = vec![(format!("{letter}  {}", shown.name), Style::Heading)];
        wrap(&cell, width, Some(1))
    };
    write_row(&heading("A", &pair.left), " │ ", &heading("B", &pair.right), width, screen, out);
    out.push_str(&format!("{}─┼─{}\n", "─".repeat(width), "─".repeat(width)));
    let shown = if screen.full { pair.rows.len() } else { pair.rows.len().min(TEXT_ROWS) };
    for row in &pair.rows[..shown] {
        let (left, sign, right) = match row {
            Row::Same { left, right } => {
                let cell = |text: &str| {
                    let text = match screen.full {
                        true => text.to_owned(),
                        false => abbreviated(text, SAME_LINES * width - 10),
                    };
                    wrap(&[(text, Style::Same)], width, None)
                };
                (cell(&pair.left.text[left.clone()]), " │ ", cell(&pair.right.text[right.clone()]))
            }
            Row::Different { left, right } => {
                let lines = (!screen.full).then_some(CELL_LINES);
                let cell = |text: &str, pieces: &[Piece], own: Style| {
                    let styled: Vec<(String, Style)> = pieces
                        .iter()
                        .map(|p| (text[p.place.clone()].to_owned(), style(p.mark, own)))
                        .collect();
                    wrap(&styled, width, lines)
                };
                (
                    cell(&pair.left.text, left, Style::OnlyLeft),
                    sign(left, right),
                    cell(&pair.right.text, right, Style::OnlyRight),
                )
            }
        };
        write_row(&left, sign, &right, width, screen, out);
    }
    if shown < pair.rows.len() {
        let more = readable::counted((pair.rows.len() - shown) as u64, "more row");
        out.push_str(&format!("… {more}; --full shows everything, --html as a web page\n"));
    }
}

fn style(mark: Mark, own: Style) -> Style {
    match mark {
        Mark::Between => Style::Plain,
        Mark::OnlyHere => own,
        Mark::Elsewhere(_) => Style::Elsewhere,
    }
}

fn sign(left: &[Piece], right: &[Piece]) -> &'static str {
    let own = |pieces: &[Piece]| pieces.iter().any(|p| p.mark == Mark::OnlyHere);
    match (own(left), own(right)) {
        (false, false) => " ~ ",
        (true, _) if right.is_empty() => " ‹ ",
        (_, true) if left.is_empty() => " › ",
        _ => " ≠ ",
    }
}

/// A line of a cell: styled characters and their width in columns.
struct Line {
    chars: Vec<(char, Style)>,
    columns: usize,
}

/// Breaks styled text at spaces, or anywhere in text without spaces, into lines of `width` columns.
/// With a limit on lines, the last one ends in an ellipsis if text was omitted.
fn wrap(text: &[(String, Style)], width: usize, most: Option<usize>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line { chars: Vec::new(), columns: 0 };
    let mut last_space = None;
    for (part, style) in text {
        for c in readable::harmless(part).chars() {
            if c.is_whitespace() && line.chars.is_empty() {
                continue;
            }
            if line.columns + columns_of(c) > width {
                let rest = match last_space {
                    Some(at) if !c.is_whitespace() => line.chars.split_off(at + 1),
                    _ => Vec::new(),
                };
                lines.push(line);
                if most.is_some_and(|most| lines.len() >= most) {
                    if let Some(last) = lines.last_mut() {
                        end_in_ellipsis(last, width);
                    }
                    return lines;
                }
                line =
                    Line { columns: rest.iter().map(|(c, _)| columns_of(*c)).sum(), chars: rest };
                last_space = None;
                if c.is_whitespace() && line.chars.is_empty() {
                    continue;
                }
            }
            if c.is_whitespace() {
                last_space = Some(line.chars.len());
            }
            line.columns += columns_of(c);
            line.chars.push((c, *style));
        }
    }
    lines.push(line);
    lines
}

fn end_in_ellipsis(line: &mut Line, width: usize) {
    line.columns = line.chars.iter().map(|(c, _)| columns_of(*c)).sum();
    while let Some((c, _)) = line.chars.last().copied()
        && (line.columns + 2 > width || c.is_whitespace())
    {
        line.chars.pop();
        line.columns -= columns_of(c);
    }
    line.chars.extend([(' ', Style::Plain), ('…', Style::Plain)]);
}

/// The beginning and the end of a text, together about `columns` wide.
fn abbreviated(text: &str, columns: usize) -> String {
    match middle(text, columns) {
        None => text.to_owned(),
        Some(cut) => {
            format!("{} … {}", text[..cut.start].trim_end(), text[cut.end..].trim_start())
        }
    }
}

fn write_row(
    left: &[Line],
    sign: &str,
    right: &[Line],
    width: usize,
    screen: &Screen,
    out: &mut String,
) {
    for i in 0..left.len().max(right.len()) {
        let columns = left.get(i).map_or(0, |line| push_line(line, screen, out));
        out.push_str(&" ".repeat(width.saturating_sub(columns)));
        out.push_str(if i == 0 { sign } else { " │ " });
        if let Some(line) = right.get(i) {
            push_line(line, screen, out);
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
}

/// Writes a line with one escape sequence per run of a style; returns its columns.
fn push_line(line: &Line, screen: &Screen, out: &mut String) -> usize {
    for run in line.chars.chunk_by(|a, b| a.1 == b.1) {
        let text: String = run.iter().map(|(c, _)| c).collect();
        out.push_str(&screen.paint(run[0].1, &text));
    }
    line.chars.iter().map(|(c, _)| columns_of(*c)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, width: usize, most: Option<usize>) -> Vec<String> {
        wrap(&[(text.to_owned(), Style::Plain)], width, most)
            .iter()
            .map(|line| line.chars.iter().map(|(c, _)| c).collect::<String>().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn lines_break_at_spaces_or_inside_long_words() {
        assert_eq!(wrapped("aa bb cc", 5, None), ["aa bb", "cc"]);
        assert_eq!(wrapped("aaaaaaa b", 3, None), ["aaa", "aaa", "a b"]);
        assert_eq!(wrapped("東京東京東京", 4, None), ["東京", "東京", "東京"]);
        assert_eq!(wrapped("aa bb cc dd", 5, Some(1)), ["aa …"]);
        assert_eq!(wrapped("a\u{1b}b", 5, None), ["a\u{FFFD}b"]);
    }

    #[test]
    fn no_line_is_wider_than_its_column() {
        let text = "Über 1,000 Seiten: 東京タワー, naïve façade — supercalifragilistic! ".repeat(5);
        for width in 10..40 {
            for line in wrap(&[(text.clone(), Style::Plain)], width, None) {
                let text: String = line.chars.iter().map(|(c, _)| c).collect();
                let columns: usize = text.trim_end().chars().map(columns_of).sum();
                assert!(columns <= width, "{text:?} in {width}");
            }
        }
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(abbreviated("one two three four five six", 16), "one two … six");
        assert_eq!(abbreviated("short", 16), "short");
        assert_eq!(abbreviated("東京大阪京都東京", 8), "東京 … 東京");
    }
}
