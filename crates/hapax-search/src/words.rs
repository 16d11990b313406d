//! Splits texts and queries into search words, with `hapax::text`.
//!
//! Chinese and Japanese become overlapping pairs of characters, so a word of two or more characters is found
//! anywhere, and no dictionary can split query and page differently. A page also gets each Chinese character as
//! a word; a query only a single one. Guarantees that the words [`of_query`](Words::of_query) gives for a piece
//! of a text, cut at white space, are among those that [`of_page`](Words::of_page) gives for the text.

use std::ops::Range;

use hapax::text::{PlacedWord, Segmenter, Unspaced};

/// Must change if the same text would give other words; part of an index's identity.
pub const VERSION: &str = "pairs-1";

/// Longer words in bytes are ignored, because nobody types them.
pub const LONGEST_WORD: usize = 200;

/// Splits texts into words. Reuse it to keep its buffers.
#[derive(Debug)]
pub struct Words {
    segmenter: Segmenter,
}

impl Default for Words {
    fn default() -> Self {
        Self { segmenter: Segmenter::new(Unspaced::Bigrams) }
    }
}

impl Clone for Words {
    /// Copies settings, not buffers.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Words {
    /// Calls `visit` for every word of a page with its position. Positions never decrease; words at
    /// the same position are readings of the same characters.
    pub fn of_page(&mut self, text: &str, mut visit: impl FnMut(u32, &str)) {
        let mut at = 0u32;
        let mut buffer = [0; 4];
        // The last character of a pair is the first of the next, unless the run ends.
        let mut last: Option<char> = None;
        let mut next = 0u32;
        self.segmenter.words(text, |word| {
            let mut characters = word.chars();
            let pair = match (characters.next(), characters.next(), characters.next()) {
                (Some(a), Some(b), None) if is_han(a) || is_han(b) => Some((a, b)),
                _ => None,
            };
            if let Some(end) = last.take()
                && pair.is_none_or(|(a, _)| a != end)
            {
                visit(at, end.encode_utf8(&mut buffer));
            }
            if word.len() > LONGEST_WORD {
                next = next.saturating_add(1);
                return;
            }
            at = next;
            next = next.saturating_add(1);
            visit(at, word);
            if let Some((a, b)) = pair {
                if is_han(a) {
                    visit(at, a.encode_utf8(&mut buffer));
                }
                last = is_han(b).then_some(b);
            }
        });
        if let Some(end) = last {
            visit(at, end.encode_utf8(&mut buffer));
        }
    }

    /// The words of a page with their byte ranges in the text, for display; slower than
    /// [`of_page`](Self::of_page).
    pub fn placed(&mut self, text: &str, mut visit: impl FnMut(&str, Range<usize>)) {
        for PlacedWord { word, place } in self.segmenter.placed_words(text) {
            if word.len() > LONGEST_WORD {
                continue;
            }
            for (at, c) in text[place.clone()].char_indices().filter(|&(_, c)| is_han(c)) {
                let start = place.start + at;
                visit(c.encode_utf8(&mut [0; 4]), start..start + c.len_utf8());
            }
            visit(&word, place);
        }
    }

    /// The words of a query, in order.
    pub fn of_query(&mut self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        self.segmenter.words(text, |word| {
            if word.len() <= LONGEST_WORD {
                words.push(word.to_owned());
            }
        });
        words
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn of_page(text: &str) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        Words::default().of_page(text, |at, word| found.push((at, word.to_owned())));
        found
    }

    #[test]
    fn a_chinese_page_has_its_pairs_and_its_characters() {
        let found = of_page("数据库 a 天");
        let expected =
            [(0, "数据"), (0, "数"), (1, "据库"), (1, "据"), (1, "库"), (2, "a"), (3, "天")];
        assert_eq!(found, expected.map(|(at, word)| (at, word.to_owned())));
    }

    #[test]
    fn japanese_kana_are_searched_in_pairs_only() {
        let words: Vec<String> = of_page("水を飲む").into_iter().map(|(_, word)| word).collect();
        assert_eq!(words, ["水を", "水", "を飲", "飲む", "飲"]);
    }

    #[test]
    fn endless_words_are_left_out() {
        let text = format!("a {} b", "x".repeat(300));
        assert_eq!(of_page(&text), [(0, "a".to_owned()), (2, "b".to_owned())]);
        assert_eq!(Words::default().of_query(&text), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn words_of_a_query_for_a_passage_are_on_the_page(text in "[a-z水中文日本のテ ,.]{0,40}") {
            let page: BTreeSet<String> = of_page(&text).into_iter().map(|(_, word)| word).collect();
            for piece in text.split(' ') {
                for word in Words::default().of_query(piece) {
                    prop_assert!(page.contains(&word), "{word} of {piece}");
                }
            }
        }

        #[test]
        fn positions_never_decrease(text in "[a-z水中文 ]{0,40}") {
            prop_assert!(of_page(&text).is_sorted_by_key(|&(at, _)| at));
        }
    }
}
