//! Values as people read them: counts, sizes, paths, and text that cannot harm a terminal.

use std::borrow::Cow;
use std::path::Path;

/// `1234567` as `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 page`, `2 pages`, `3 queries`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    let n_th = count(n);
    if n == 1 {
        return format!("{n_th} {noun}");
    }
    match noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{n_th} {stem}ies"),
        None if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{n_th} {noun}es"),
        None => format!("{n_th} {noun}s"),
    }
}

/// Bytes in decimal units.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        1_000_000_000.. => format!("{:.2} GB", n as f64 / 1e9),
    }
}

/// A path as shown in messages: harmless, whatever bytes it has.
pub(crate) fn path(path: &Path) -> String {
    harmless(&path.to_string_lossy()).into_owned()
}

/// Text from outside without what would steer a terminal or reorder its line.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_harmful) {
        Cow::Owned(text.chars().map(|c| if is_harmful(c) { '\u{FFFD}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Several lines of text, made harmless one by one.
pub(crate) fn harmless_lines(text: &str) -> Cow<'_, str> {
    let harms = |c: char| is_harmful(c) && !matches!(c, '\n' | '\t');
    match text.chars().any(harms) {
        true => Cow::Owned(text.chars().map(|c| if harms(c) { '\u{FFFD}' } else { c }).collect()),
        false => Cow::Borrowed(text),
    }
}

fn is_harmful(c: char) -> bool {
    // Embeddings, overrides and isolates of the bidirectional algorithm act beyond their text.
    c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map(count));
        assert_eq!(counted(1, "page"), "1 page");
        assert_eq!(counted(0, "page"), "0 pages");
        assert_eq!(counted(2, "address"), "2 addresses");
        assert_eq!(counted(2, "query"), "2 queries");
        assert_eq!(counted(2, "match"), "2 matches");
        assert_eq!(counted(2, "day"), "2 days");
    }

    #[test]
    fn escape_sequences_lose_their_escape() {
        assert_eq!(harmless("a\u{1b}[2Jb\u{202E}c"), "a\u{FFFD}[2Jb\u{FFFD}c");
        assert_eq!(harmless("Straße 東京"), "Straße 東京");
        assert_eq!(harmless_lines("a\tb\nc\u{9b}2Jd\r"), "a\tb\nc\u{FFFD}2Jd\u{FFFD}");
    }
}
