//! Formats pages and queries as PostgreSQL's `tsvector` and `tsquery`.
//!
//! Every word is quoted, so its characters have no special meaning. Title words have the label A, others none.
//! Observes the server's limits: positions up to 16383, 255 of them per word, less than a megabyte of words;
//! the end of the page is left out first.
//!
//! Source: PostgreSQL 15 documentation, 8.11 "Text Search Types" and 12.11 "Limitations".

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::page::SearchPage;
use crate::query::ParsedQuery;
use crate::words::Words;

/// Weights of words for `ts_rank`: without label, labels C and B, and in titles (A).
pub(super) const WEIGHTS: &str = "{0.5,0.5,0.5,1.0}";

const LAST_POSITION: u32 = 16_383;
const MOST_POSITIONS: usize = 255;
/// The server limits words and positions to less than a megabyte.
const MOST_BYTES: usize = 1_000_000;
/// Gap between title, address and body, so that no phrase spans them.
const GAP: u32 = 10;

#[derive(Default)]
struct Places {
    /// (position, whether it is in the title)
    at: Vec<(u32, bool)>,
}

pub(super) fn of_page(page: &SearchPage, words: &mut Words) -> String {
    let mut places: BTreeMap<String, Places> = BTreeMap::new();
    let mut bytes = 0;
    let mut start = 1u32;
    let address = page.address_words();
    for (text, title) in [(page.title.as_str(), true), (&address, false), (&page.body, false)] {
        let mut last = start;
        words.of_page(text, |at, word| {
            let at = start.saturating_add(at).min(LAST_POSITION);
            last = at;
            // Zero terminates a text in the server.
            if word.contains('\0') {
                return;
            }
            // A word takes its bytes, alignment and a count; a position two bytes.
            if !places.contains_key(word) {
                if bytes + word.len() + 8 > MOST_BYTES {
                    return;
                }
                bytes += word.len() + 8;
                places.insert(word.to_owned(), Places::default());
            }
            if let Some(Places { at: list }) = places.get_mut(word)
                && list.len() < MOST_POSITIONS
                && list.last() != Some(&(at, title))
                && bytes + 2 <= MOST_BYTES
            {
                bytes += 2;
                list.push((at, title));
            }
        });
        start = last.saturating_add(GAP).min(LAST_POSITION);
    }
    let mut text = String::new();
    for (word, Places { at }) in &places {
        quote(word, &mut text);
        for (number, (position, title)) in at.iter().enumerate() {
            let sign = if number == 0 { ':' } else { ',' };
            let label = if *title { "A" } else { "" };
            let _ = write!(text, "{sign}{position}{label}");
        }
        text.push(' ');
    }
    text
}

pub(super) fn words_of(query: &ParsedQuery) -> String {
    let mut text = String::new();
    for (number, word) in query.words.iter().enumerate() {
        text.push_str(if number == 0 { "" } else { " | " });
        quote(word, &mut text);
    }
    text
}

/// Any of the words, and every condition on words.
pub(super) fn condition_of(query: &ParsedQuery) -> String {
    let mut text = format!("({})", words_of(query));
    for (sign, lists) in [("", &query.required), ("!", &query.excluded)] {
        for words in lists {
            let _ = write!(text, " & {sign}(");
            for (number, word) in words.iter().enumerate() {
                text.push_str(if number == 0 { "" } else { " <-> " });
                quote(word, &mut text);
            }
            text.push(')');
        }
    }
    text
}

fn quote(word: &str, text: &mut String) {
    text.push('\'');
    for c in word.chars() {
        match c {
            '\'' => text.push_str("''"),
            '\\' => text.push_str("\\\\"),
            '\0' => {}
            c => text.push(c),
        }
    }
    text.push('\'');
}

#[cfg(test)]
mod tests {
    use hapax::fingerprint::{Fingerprinter, Recipe};

    use super::*;

    fn page(title: &str, body: &str) -> SearchPage {
        let mut by = Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap();
        let mut page = SearchPage::new("p", body, &by.text(body).unwrap());
        page.title = title.to_owned();
        page
    }

    #[test]
    fn words_are_quoted_and_placed() {
        let vector = of_page(&page("It's", "b a b"), &mut Words::default());
        assert_eq!(vector, "'a':22 'b':21,23 'it''s':1A ");
        let query = ParsedQuery::parse("it's \"a b\" -c\\d", &mut Words::default());
        assert_eq!(words_of(&query), "'it''s' | 'a' | 'b'");
        assert_eq!(condition_of(&query), "('it''s' | 'a' | 'b') & ('a' <-> 'b') & !('c' <-> 'd')");
    }

    #[test]
    fn the_servers_limits_are_kept() {
        let long: String = (0..300_000).map(|number| format!("word{number} same ")).collect();
        let vector = of_page(&page("", &long), &mut Words::default());
        let words: Vec<&str> = vector.split(' ').collect();
        let same = words.iter().find(|word| word.starts_with("'same'")).unwrap();
        assert_eq!(same.matches(',').count(), MOST_POSITIONS - 1);
        assert!(words.len() > 40_000 && words.len() < 100_000, "{}", words.len());
    }
}
