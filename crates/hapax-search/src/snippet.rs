//! Chooses the passage of a text with the words of a query.
//!
//! Of all passages of [`LENGTH`] characters, shows the one with the most different words of the query, then the
//! one with the most of them, then the first; a text without any is shown from its beginning. Uses the words of
//! the search, so found words are marked. Does not know where texts come from: an engine that stores only the
//! beginning of a text provides that.

use std::ops::Range;

use serde::Serialize;

use crate::query::ParsedQuery;
use crate::words::Words;

/// Maximum length of a passage in characters.
pub const LENGTH: usize = 160;
/// Characters shown before the first marked word.
const BEFORE: usize = 40;
/// Replaces omitted text.
const LEFT_OUT: char = '…';

/// A passage with the words of the query marked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// One line, with an ellipsis for omitted text before and after it.
    pub text: String,
    /// Ranges of the words in Unicode code points, end exclusive, in order and without overlap.
    pub marks: Vec<(usize, usize)>,
}

impl Snippet {
    /// The passage of `text` for a query.
    pub fn of(text: &str, query: &ParsedQuery, words: &mut Words) -> Self {
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let character = |byte: usize| starts.partition_point(|&start| start < byte);
        let mut found: Vec<Found> = Vec::new();
        words.placed(text, |word, place| {
            if let Some(which) = query.words.iter().position(|asked| asked == word) {
                found.push(Found { which, at: character(place.start)..character(place.end) });
            }
        });
        found.sort_by_key(|one| (one.at.start, one.at.end));
        let characters: Vec<char> = text.chars().collect();
        let shown = densest(&found);
        let passage = around(&characters, shown.first(), shown.last());
        let inside = found.iter().map(|one| one.at.clone());
        written(&characters, &passage, inside.filter(|at| within(at, &passage)))
    }

    /// The text in pieces, each with whether it is marked.
    pub fn pieces(&self) -> impl Iterator<Item = (bool, String)> + '_ {
        let cuts = self.marks.iter().flat_map(|&(from, to)| [from, to]);
        let mut characters = self.text.chars();
        let mut at = 0;
        let mut marked = true;
        cuts.chain([usize::MAX]).map(move |cut| {
            marked = !marked;
            let piece = characters.by_ref().take(cut - at).collect();
            at = cut;
            (marked, piece)
        })
    }
}

/// A word of the query in the text.
struct Found {
    /// Which word of the query.
    which: usize,
    /// Range in characters of the text.
    at: Range<usize>,
}

fn within(at: &Range<usize>, passage: &Range<usize>) -> bool {
    passage.start <= at.start && at.end <= passage.end
}

/// The words of the best passage.
fn densest(found: &[Found]) -> &[Found] {
    let mut best: (usize, &[Found]) = (0, &[]);
    for from in 0..found.len() {
        let end = found[from].at.start + LENGTH - BEFORE;
        let inside = found[from..].iter().take_while(|one| one.at.end <= end).count();
        let inside = &found[from..from + inside];
        // A query has at most 64 words.
        let different = inside.iter().fold(0u64, |seen, one| seen | 1 << (one.which % 64));
        let different = different.count_ones() as usize;
        if (different, inside.len()) > (best.0, best.1.len()) {
            best = (different, inside);
        }
    }
    best.1
}

/// The passage around some words, cut between words if possible.
fn around(text: &[char], first: Option<&Found>, last: Option<&Found>) -> Range<usize> {
    let first = first.map_or(0, |one| one.at.start);
    let last = last.map_or(0, |one| one.at.end);
    let mut start = first.saturating_sub(BEFORE);
    if start > 0 {
        let gap = text[start..first].iter().position(|c| c.is_whitespace());
        start += gap.map_or(0, |gap| gap + 1);
    }
    let mut end = text.len().min(start + LENGTH);
    if end < text.len() {
        let from = last.max(end.saturating_sub(BEFORE)).min(end);
        let gap = text[from..end].iter().rposition(|c| c.is_whitespace());
        end = gap.map_or(end, |gap| from + gap);
    }
    start..end
}

/// Writes a passage on one line, with single spaces.
fn written(
    text: &[char],
    passage: &Range<usize>,
    found: impl Iterator<Item = Range<usize>>,
) -> Snippet {
    let mut line: Vec<char> = Vec::with_capacity(passage.len() + 2);
    if passage.start > 0 {
        line.push(LEFT_OUT);
    }
    // The place of each character of the passage, and of its end, on the line.
    let mut places = Vec::with_capacity(passage.len() + 1);
    for c in &text[passage.clone()] {
        places.push(line.len());
        match c.is_whitespace() {
            true if line.last().is_none_or(|last| [' ', LEFT_OUT].contains(last)) => {}
            true => line.push(' '),
            false => line.push(*c),
        }
    }
    places.push(line.len());
    if passage.end < text.len() {
        line.push(LEFT_OUT);
    }
    let mut marks: Vec<(usize, usize)> = Vec::new();
    for at in found {
        let (from, to) = (places[at.start - passage.start], places[at.end - passage.start]);
        match marks.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => marks.push((from, to)),
        }
    }
    Snippet { text: line.into_iter().collect(), marks }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn snippet(text: &str, query: &str) -> Snippet {
        let mut words = Words::default();
        let query = ParsedQuery::parse(query, &mut words);
        Snippet::of(text, &query, &mut words)
    }

    /// The text with brackets around marked words.
    fn marked(snippet: &Snippet) -> String {
        let piece = |(marked, piece): (bool, String)| match marked {
            true => format!("[{piece}]"),
            false => piece,
        };
        snippet.pieces().map(piece).collect()
    }

    #[test]
    fn the_passage_with_the_most_words_is_shown_wherever_it_is() {
        let filler = "nothing of interest here ".repeat(40);
        let text =
            format!("a harbour first. {filler} the old harbour has\n a CRANE today. {filler}");
        let found = snippet(&text, "harbour crane");
        assert!(found.text.starts_with('…') && found.text.ends_with('…'), "{}", found.text);
        assert!(marked(&found).contains("the old [harbour] has a [CRANE] today."), "{found:?}");
        assert!(found.text.chars().count() <= LENGTH + 2);
    }

    #[test]
    fn a_text_without_the_words_is_shown_from_its_beginning() {
        let found = snippet("Only the title has the word.", "harbour");
        assert_eq!(found, Snippet { text: "Only the title has the word.".into(), marks: vec![] });
        assert_eq!(snippet("", "harbour"), Snippet::default());
    }

    #[test]
    fn chinese_is_marked_by_characters() {
        assert_eq!(marked(&snippet("使用数据库的人", "数据库")), "使用[数据库]的人");
        assert_eq!(marked(&snippet("今天 天", "天")), "今[天] [天]");
    }

    #[test]
    fn words_that_are_excluded_are_not_marked() {
        assert_eq!(
            marked(&snippet("a crane in a harbour", "crane -harbour")),
            "a [crane] in a harbour"
        );
    }

    proptest! {
        #[test]
        fn marks_are_in_order_and_hold_words_of_the_query(
            text in "[a-cÀ-Ç水中文 \n.]{0,400}", query in "[a-cÀ-Ç水中文 ]{1,12}"
        ) {
            let found = snippet(&text, &query);
            let length = found.text.chars().count();
            let mut last = 0;
            for &(from, to) in &found.marks {
                prop_assert!(last <= from && from < to && to <= length, "{found:?}");
                last = to;
            }
            prop_assert!(length <= LENGTH + 2);
            let joined: String = found.pieces().map(|(_, piece)| piece).collect();
            prop_assert_eq!(joined, found.text);
        }
    }
}
