//! Building blocks of self-contained HTML pages: escaping, two texts side by side, charts.
//!
//! Everything that comes from documents goes through [`escape`]. [`BASE_STYLE`] has a light and a dark colour scheme
//! and [`ROWS_STYLE`]; [`PAIR_STYLE`] and [`PAIR_SCRIPT`] are for a page that compares two texts, [`CHART_STYLE`] for
//! charts. [`frame`] draws axes, [`chart`] series, [`mod@bars`] bars, [`mod@bits`] two fingerprints. [`document`]
//! makes a page from a body.

pub mod bars;
pub mod bits;
pub mod chart;
pub mod frame;

use std::borrow::Cow;

use hapax::fingerprint::ContentHash;
use hapax::fingerprint::side_by_side::{Mark, Piece, Row};
use hapax::text::Place;

/// Colours and fonts of a page, and [`ROWS_STYLE`].
pub const BASE_STYLE: &str = concat!(include_str!("base.css"), include_str!("rows.css"));

/// Two texts side by side, for a page with its own colours.
pub const ROWS_STYLE: &str = include_str!("rows.css");

/// Surroundings of the two texts; goes after [`ROWS_STYLE`].
pub const PAIR_STYLE: &str = include_str!("pair.css");

/// A JavaScript module whose function `sideBySide(section)` makes a comparison interactive.
pub const PAIR_SCRIPT: &str = include_str!("side_by_side.js");

/// Charts and their legends; goes after [`BASE_STYLE`].
pub const CHART_STYLE: &str = include_str!("chart.css");

/// Longer shared passages are shortened to about this many characters.
const FOLDED: usize = 240;
/// Minimum number of hidden characters that justifies a button.
const WORTH_FOLDING: usize = 120;

/// Escapes text for an element or a quoted attribute.
pub fn escape(text: &str) -> Cow<'_, str> {
    let special =
        |c: char| matches!(c, '&' | '<' | '>' | '"' | '\'') || c.is_control() && !c.is_whitespace();
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ if special(c) => out.push('\u{FFFD}'),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A self-contained page. Title and body are markup; `styles` go after [`BASE_STYLE`].
///
/// A content security policy forbids the page to fetch anything. The script is a JavaScript module
/// and may be empty. It is allowed by a nonce, which is a hash of title and body, so that nothing
/// in them can contain it.
pub fn document(title: &str, styles: &[&str], body: &str, script: &str) -> String {
    let nonce = ContentHash::of(&format!("{title}{body}"));
    let (allowed, script) = match script {
        "" => (String::new(), String::new()),
        _ => (
            format!("; script-src 'nonce-{nonce}'"),
            format!("<script nonce=\"{nonce}\" type=\"module\">\n{script}\n</script>\n"),
        ),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'{allowed}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{BASE_STYLE}{}</style>\n</head>\n<body>\n\
         {body}{script}</body>\n</html>\n",
        styles.concat()
    )
}

/// Writes one row of two texts side by side.
pub fn row(out: &mut String, row: &Row, left_text: &str, right_text: &str) {
    match row {
        Row::Same { left, right } => {
            out.push_str("<div class=\"row same\">");
            same_cell(out, "a", left_text, left);
            same_cell(out, "b", right_text, right);
        }
        Row::Different { left, right } => {
            out.push_str("<div class=\"row differs\">");
            differing_cell(out, "a", left_text, left);
            differing_cell(out, "b", right_text, right);
        }
    }
    out.push_str("</div>\n");
}

fn same_cell(out: &mut String, side: &str, text: &str, place: &Place) {
    let text = &text[place.clone()];
    out.push_str(&format!("<div class=\"{side}\" dir=\"auto\">"));
    match middle(text) {
        None => out.push_str(&escape(text)),
        Some((cut, characters)) => out.push_str(&format!(
            "{}<span class=\"middle\">{}</span><button class=\"fold\">… {} characters …</button>{}",
            escape(&text[..cut.start]),
            escape(&text[cut.clone()]),
            grouped(characters as u64),
            escape(&text[cut.end..]),
        )),
    }
    out.push_str("</div>");
}

fn differing_cell(out: &mut String, side: &str, text: &str, pieces: &[Piece]) {
    let empty = if pieces.is_empty() { " empty" } else { "" };
    out.push_str(&format!("<div class=\"{side}{empty}\" dir=\"auto\">"));
    for piece in pieces {
        let words = escape(&text[piece.place.clone()]);
        match piece.mark {
            Mark::Between => out.push_str(&words),
            Mark::OnlyHere => {
                out.push_str(&format!("<span class=\"only-{side}\">{words}</span>"));
            }
            Mark::Elsewhere(None) => {
                out.push_str(&format!("<span class=\"moved\">{words}</span>"));
            }
            Mark::Elsewhere(Some(stretch)) => out.push_str(&format!(
                "<span class=\"moved\" tabindex=\"0\" data-stretch=\"{stretch}\">{words}</span>"
            )),
        }
    }
    out.push_str("</div>");
}

/// The middle part of a long text to hide, cut at spaces if possible, and its number of characters.
fn middle(text: &str) -> Option<(Place, usize)> {
    let characters = text.chars().count();
    if characters <= FOLDED + WORTH_FOLDING {
        return None;
    }
    let after = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (after(FOLDED / 2), after(characters - FOLDED / 2));
    let start = text[..head].rfind(' ').unwrap_or(head);
    let end = text[tail..].find(' ').map_or(tail, |space| tail + space + 1);
    Some((start..end, text[start..end].chars().count()))
}

/// Formats `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a size in decimal units.
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        1_000_000_000.. => format!("{:.2} GB", n as f64 / 1e9),
    }
}

/// The noun in singular or plural: `page`, `pages`, `queries`, `matches`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 {
        return noun.to_owned();
    }
    match noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{stem}ies"),
        None if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{noun}es"),
        None => format!("{noun}s"),
    }
}

/// The count with its noun: `1 page`, `1,234 pages`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {}", grouped(count), plural(count, noun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map(grouped));
        for (count, noun, expected) in [
            (1, "page", "1 page"),
            (0, "page", "0 pages"),
            (2, "address", "2 addresses"),
            (2, "query", "2 queries"),
            (2, "match", "2 matches"),
            (1000, "day", "1,000 days"),
            (1, "near-duplicate", "1 near-duplicate"),
        ] {
            assert_eq!(counted(count, noun), expected);
        }
    }

    #[test]
    fn text_never_becomes_markup() {
        assert_eq!(
            escape("<b a=\"1\" c='2'>&\0"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{FFFD}"
        );
        assert_eq!(escape("plain\ntext"), "plain\ntext");
    }

    #[test]
    fn only_long_texts_are_folded_and_their_ends_stay_visible() {
        assert_eq!(middle(&"word ".repeat(72)), None);
        for text in ["word ".repeat(100), "東京大阪".repeat(100)] {
            let (cut, characters) = middle(&text).unwrap();
            assert_eq!(characters, text[cut.clone()].chars().count());
            let left = text.chars().count() - characters;
            assert!((200..=FOLDED).contains(&left), "{left}");
        }
    }
}
