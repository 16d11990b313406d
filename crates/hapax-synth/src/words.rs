//! A stream of word ranks with topics, phrases and sentences.
//!
//! A topic's words are scattered over the ranks 500 to 60,499, so topics overlap. A [`Token`] is a word with its form
//! (paragraph or sentence start, pause, part of an advertisement), so an edit moves the form together with the word.
//! Does not spell. Known limit: words are drawn independently, so n-grams repeat less often than in real text.
//
// - 28 % of a family's words come from the 3,000 words of its topic (exponent 1.0).
// - Of the others, 86 % come from the 5,000 most frequent words (exponent 0.95), the rest from the
//   2,000,000 ranks after them (exponent 1.6). The frequencies are about equal where the two join.
// - 2 % of the draws are a whole phrase of 4 to 9 words, one of 200,000 shared by all families
//   (popularity exponent 0.8).

use crate::rng::{Purpose, Rng, key, mix};
use crate::zipf::Mixture;

/// Size of the common part of the vocabulary.
const COMMON: u32 = 5_000;
/// Size of its tail.
const TAIL: u32 = 2_000_000;
/// Number of ranks, from 0.
pub(crate) const VOCABULARY: u32 = COMMON + TAIL;

/// Number of topics.
pub(crate) const TOPICS: u64 = 1_000;
const TOPIC_WORDS: u64 = 3_000;
const TOPIC_RANKS: std::ops::Range<u64> = 500..60_500;
const PHRASES: u64 = 200_000;
const ADVERTISEMENTS: u64 = 5_000;

const TOPIC_SHARE: f64 = 0.28;
const COMMON_SHARE: f64 = 0.86;
const PHRASE_SHARE: f64 = 0.02;

/// A word in a text: its rank and form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u32);

impl Token {
    const RANK: u32 = (1 << 24) - 1;
    pub(crate) const PARAGRAPH: u32 = 1 << 31;
    pub(crate) const SENTENCE: u32 = 1 << 30;
    pub(crate) const PAUSE: u32 = 1 << 29;
    pub(crate) const ADVERTISEMENT: u32 = 1 << 28;

    #[inline]
    pub(crate) const fn new(rank: u32, form: u32) -> Self {
        Self(rank | form)
    }

    #[inline]
    pub(crate) const fn rank(self) -> u32 {
        self.0 & Self::RANK
    }

    #[inline]
    pub(crate) const fn has(self, form: u32) -> bool {
        self.0 & form != 0
    }

    #[inline]
    pub(crate) const fn with(self, form: u32) -> Self {
        Self(self.0 | form)
    }

    /// Another word with the same form.
    #[inline]
    pub(crate) const fn replaced(self, rank: u32) -> Self {
        Self(self.0 & !Self::RANK | rank)
    }
}

/// Distributions of words, and the shared phrases.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    seed: u64,
    general: Mixture,
    topical: Mixture,
    running: Mixture,
}

// Components of the mixtures, numbered such that each mixture is a prefix of the next.
const COMMON_LAW: u32 = 0;
const TAIL_LAW: u32 = 1;
const TOPIC_LAW: u32 = 2;
const PHRASE_LAW: u32 = 3;

impl Words {
    pub(crate) fn new(seed: u64) -> Self {
        let (common, all) = (u64::from(COMMON), u64::from(VOCABULARY));
        let laws = |topic: f64, phrase: f64| {
            let word = 1.0 - phrase;
            let general = word * (1.0 - topic);
            [
                (general * COMMON_SHARE, 0..common, 0.95),
                (general * (1.0 - COMMON_SHARE), common..all, 1.6),
                (word * topic, 0..TOPIC_WORDS, 1.0),
                (phrase, 0..PHRASES, 0.8),
            ]
        };
        Self {
            seed,
            general: Mixture::new(&laws(0.0, 0.0)[..2]),
            topical: Mixture::new(&laws(TOPIC_SHARE, 0.0)[..3]),
            running: Mixture::new(&laws(TOPIC_SHARE, PHRASE_SHARE)),
        }
    }

    /// A word of general language.
    #[inline]
    pub(crate) fn general(&self, rng: &mut Rng) -> u32 {
        self.general.draw(rng).1 as u32
    }

    /// A word of a text about `topic`.
    #[inline]
    pub(crate) fn topical(&self, topic: u64, rng: &mut Rng) -> u32 {
        match self.topical.draw(rng) {
            (COMMON_LAW | TAIL_LAW, rank) => rank as u32,
            (_, word) => topic_word(self.topic_key(topic), word),
        }
    }

    /// Appends `count` words about `topic`, in sentences and paragraphs.
    pub(crate) fn compose(&self, topic: u64, count: usize, rng: &mut Rng, out: &mut Vec<Token>) {
        let end = out.len() + count;
        out.reserve(count);
        let topic = self.topic_key(topic);
        let mut shape = Shape::new();
        while out.len() < end {
            let rank = match self.running.draw(rng) {
                (PHRASE_LAW, phrase) => {
                    let mut words = Rng::keyed(self.seed, Purpose::Phrase, phrase, 0);
                    for _ in 0..words.between(4, 9).min((end - out.len()) as u64) {
                        let rank = self.general(&mut words);
                        out.push(Token::new(rank, shape.next(rng)));
                    }
                    continue;
                }
                (TOPIC_LAW, word) => topic_word(topic, word),
                (_, rank) => rank as u32,
            };
            out.push(Token::new(rank, shape.next(rng)));
        }
    }

    fn topic_key(&self, topic: u64) -> u64 {
        key(self.seed, Purpose::Topic, topic, 0)
    }

    /// Appends one of the shared advertisements, cut to `count` words.
    pub(crate) fn advertise(&self, count: usize, rng: &mut Rng, out: &mut Vec<Token>) {
        let which = rng.below(ADVERTISEMENTS);
        let mut own = Rng::keyed(self.seed, Purpose::Advertisement, which, 0);
        for index in 0..count {
            let form = match index {
                0 => Token::PARAGRAPH | Token::SENTENCE | Token::ADVERTISEMENT,
                _ => Token::ADVERTISEMENT,
            };
            out.push(Token::new(self.general(&mut own), form));
        }
    }
}

/// The rank of a topic's word.
#[inline]
fn topic_word(topic_key: u64, word: u64) -> u32 {
    let place = mix(topic_key.wrapping_add(word.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let spread = TOPIC_RANKS.end - TOPIC_RANKS.start;
    (TOPIC_RANKS.start + (((place >> 32) * spread) >> 32)) as u32
}

/// Generates the starts of sentences and paragraphs.
struct Shape {
    words_left: u64,
    sentences_left: u64,
    pause_in: u64,
}

impl Shape {
    fn new() -> Self {
        Self { words_left: 0, sentences_left: 0, pause_in: u64::MAX }
    }

    /// The form of the next word.
    #[inline]
    fn next(&mut self, rng: &mut Rng) -> u32 {
        let mut form = 0;
        if self.words_left == 0 {
            form = Token::SENTENCE;
            if self.sentences_left == 0 {
                form |= Token::PARAGRAPH;
                self.sentences_left = rng.between(3, 8);
            }
            self.sentences_left -= 1;
            self.words_left = rng.between(6, 20);
            // A pause at or after the last word is ignored.
            self.pause_in = rng.between(3, 20);
        }
        self.words_left -= 1;
        self.pause_in -= 1;
        if self.pause_in == 0 {
            self.pause_in = u64::MAX;
            if self.words_left > 0 {
                form |= Token::PAUSE;
            }
        }
        form
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_requested_length_and_starts_a_paragraph() {
        let words = Words::new(1);
        for count in [0, 1, 3, 20, 777] {
            let mut text = Vec::new();
            words.compose(7, count, &mut Rng::new(count as u64), &mut text);
            assert_eq!(text.len(), count);
            assert!(text.iter().all(|t| t.rank() < VOCABULARY));
            if let Some(first) = text.first() {
                assert!(first.has(Token::PARAGRAPH) && first.has(Token::SENTENCE));
            }
        }
    }

    #[test]
    fn common_words_are_frequent_and_topics_are_visible() {
        let words = Words::new(1);
        let mut text = Vec::new();
        words.compose(7, 100_000, &mut Rng::new(1), &mut text);
        let mut counts = vec![0u32; VOCABULARY as usize];
        text.iter().for_each(|t| counts[t.rank() as usize] += 1);
        let common: u32 = counts[..COMMON as usize].iter().sum();
        // 0.86 of the words outside of the topic, and topic words among the common ranks.
        assert!((60_000..75_000).contains(&common), "{common}");
        // The share of a topic's first word is 0.28 / 8.58.
        let loudest = *counts[500..60_500].iter().max().unwrap_or(&0);
        assert!((2_500..3_800).contains(&loudest), "{loudest}");
        // Neighbouring decades of a Zipf distribution have about the same weight.
        let decade = |from: usize, to: usize| f64::from(counts[from..to].iter().sum::<u32>());
        let ratio = decade(9, 99) / decade(99, 999);
        assert!((0.7..1.3).contains(&ratio), "{ratio}");
    }
}
