//! Formats values for people: counts, sizes, paths, and text that is safe for a terminal.

use std::borrow::Cow;
use std::path::Path;

pub(crate) use hapax_report::{bytes, counted, grouped as count};

/// A path for messages, without control characters and without the credentials of an address.
pub(crate) fn path(path: &Path) -> String {
    harmless(&hapax_corpus::shown(&path.to_string_lossy())).into_owned()
}

/// Outside text without characters that control a terminal or reorder its line.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_harmful) {
        Cow::Owned(text.chars().map(|c| if is_harmful(c) { '\u{FFFD}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Like [`harmless`], line by line.
pub(crate) fn harmless_lines(text: &str) -> Cow<'_, str> {
    let harms = |c: char| is_harmful(c) && !matches!(c, '\n' | '\t');
    match text.chars().any(harms) {
        true => Cow::Owned(text.chars().map(|c| if harms(c) { '\u{FFFD}' } else { c }).collect()),
        false => Cow::Borrowed(text),
    }
}

fn is_harmful(c: char) -> bool {
    // Embeddings, overrides and isolates of the bidirectional algorithm affect text beyond their
    // end.
    c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_lose_their_escape() {
        assert_eq!(harmless("a\u{1b}[2Jb\u{202E}c"), "a\u{FFFD}[2Jb\u{FFFD}c");
        assert_eq!(harmless("Straße 東京"), "Straße 東京");
        assert_eq!(harmless_lines("a\tb\nc\u{9b}2Jd\r"), "a\tb\nc\u{FFFD}2Jd\u{FFFD}");
    }
}
