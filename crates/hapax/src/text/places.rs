//! Finds the words of a text with the place of each in the original.
//!
//! Gives the same words as [`Segmenter::words`], but slowly: a chunk beyond ASCII is folded in the smallest
//! independent pieces, so that every folded byte is known to come from a short range of the original. Used to
//! display results, never to make fingerprints.

use super::segment::{Segmenter, is_chunk_end, most_folded};
use std::ops::Range;

/// A byte range of the original text.
pub type Place = Range<usize>;

/// A folded word and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedWord {
    /// As [`Segmenter::words`] returns it.
    pub word: String,
    /// Its place: at character boundaries, never empty.
    pub place: Place,
}

impl Segmenter {
    /// The words of `text`, in order, with their places.
    pub fn placed_words(&mut self, text: &str) -> Vec<PlacedWord> {
        let mut found = Vec::new();
        let mut room = most_folded(text);
        let mut start = 0;
        for end in text
            .bytes()
            .enumerate()
            .filter_map(|(at, b)| is_chunk_end(b).then_some(at))
            .chain([text.len()])
        {
            if !self.place_chunk(text, start..end, &mut room, &mut found) {
                break;
            }
            start = end + 1;
        }
        found
    }

    /// Returns whether all of it was read.
    fn place_chunk(
        &mut self,
        text: &str,
        chunk: Place,
        room: &mut usize,
        found: &mut Vec<PlacedWord>,
    ) -> bool {
        let mut folded = String::new();
        // For each byte of `folded`, the range of the original it came from.
        let mut sources: Vec<Place> = Vec::new();
        let original = &text[chunk.clone()];
        // Only text beyond ASCII can grow.
        let most = if original.is_ascii() { usize::MAX } else { *room };
        let mut from = 0;
        let mut whole = true;
        let cuts: Vec<usize> = original
            .char_indices()
            .filter(|&(at, c)| at > 0 && self.normalizer().starts_afresh(c))
            .map(|(at, _)| at)
            .chain((!original.is_empty()).then_some(original.len()))
            .collect();
        for to in cuts {
            let before = folded.len();
            self.normalizer().fold_into(&original[from..to], &mut folded);
            if folded.len() > most {
                folded.truncate(before);
                whole = false;
                break;
            }
            sources.resize(folded.len(), chunk.start + from..chunk.start + to);
            from = to;
        }
        if !original.is_ascii() {
            *room -= folded.len();
        }
        self.cut_folded(&folded, |range| {
            // A word is never empty, so both ends have a source.
            let place = sources[range.start].start..sources[range.end - 1].end;
            found.push(PlacedWord { word: self.spelt(&folded[range]), place });
        });
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::super::Unspaced;
    use super::*;
    use proptest::prelude::*;

    fn placed(text: &str) -> Vec<(String, &str)> {
        Segmenter::new(Unspaced::Bigrams)
            .placed_words(text)
            .into_iter()
            .map(|w| (w.word, &text[w.place]))
            .collect()
    }

    #[test]
    fn places_point_at_what_a_reader_sees() {
        let found = placed("Die Straße, ＨＡＰＡＸ и Ｅ\u{301}cole 北京市");
        let shown: Vec<(&str, &str)> = found.iter().map(|(w, p)| (w.as_str(), *p)).collect();
        assert_eq!(
            shown,
            [
                ("die", "Die"),
                ("strasse", "Straße"),
                ("hapax", "ＨＡＰＡＸ"),
                ("и", "и"),
                ("école", "Ｅ\u{301}cole"),
                ("北京", "北京"),
                ("京市", "京市"),
            ]
        );
    }

    proptest! {
        #[test]
        fn placed_words_are_the_words_and_places_are_valid(
            text in "([A-Za-zäßИЯ漢字かなกา한\u{300}\u{345}ＡﬁⅣ①\u{A8} .,'_0-9]|\\PC){0,40}"
        ) {
            for unspaced in [Unspaced::Characters, Unspaced::Bigrams, Unspaced::Dictionary] {
                let mut segmenter = Segmenter::new(unspaced);
                let mut words = Vec::new();
                segmenter.words(&text, |w| words.push(w.to_owned()));
                let placed = segmenter.placed_words(&text);
                let again: Vec<String> = placed.iter().map(|w| w.word.clone()).collect();
                prop_assert_eq!(again, words);
                for w in placed {
                    prop_assert!(!text[w.place].is_empty());
                }
            }
        }
    }
}
