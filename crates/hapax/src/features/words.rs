//! Hashes the words of a text that pass the recipe's filters.
//!
//! Filters apply in this order: drops words shorter than the minimum, drops stop words, stems the rest.
//! Allocates per word only if stemming changes it.

use super::hash::{SECRET, word_hash};
use super::short_words::{BatchHasher, ShortWords, WordKey};
use crate::text::language::{Stemming, StopWords};
use crate::text::{Confusables, Joined, Parts, PlacedWord, Segmenter, Unspaced, Visit, WordSink};
use std::borrow::Cow;
use std::sync::Arc;

/// Which words are used, and in which form.
#[derive(Clone, Debug, Default)]
pub struct WordFilter {
    /// Words with fewer characters are dropped; 0 and 1 keep all.
    pub min_chars: usize,
    /// Words on this list are dropped.
    pub stop_words: Option<Arc<StopWords>>,
    /// Replaces the remaining words by their stems.
    pub stemming: Option<Stemming>,
}

impl WordFilter {
    fn is_open(&self) -> bool {
        self.min_chars <= 1 && self.stop_words.is_none() && self.stemming.is_none()
    }

    fn keep<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        // Counts characters only if the number of bytes does not decide.
        if word.len() < self.min_chars || word.chars().count() < self.min_chars {
            return None;
        }
        if self.stop_words.as_ref().is_some_and(|list| list.contains(word)) {
            return None;
        }
        Some(match self.stemming {
            Some(stemming) => stemming.stem(word),
            None => Cow::Borrowed(word),
        })
    }
}

/// Turns texts into word hashes. Reuse it to keep its buffers.
#[derive(Debug)]
pub struct WordHasher {
    segmenter: Segmenter,
    filter: WordFilter,
    unspaced: Unspaced,
    joined: Joined,
    confusables: Confusables,
    seed: u64,
    secret: Option<Arc<[u8; SECRET]>>,
    short: ShortWords,
}

impl WordHasher {
    /// A hasher with these word rules, filters and seed.
    pub fn new(unspaced: Unspaced, filter: WordFilter, seed: u64) -> Self {
        let (joined, confusables) = (Joined::default(), Confusables::default());
        let segmenter = Segmenter::new(unspaced);
        let (secret, short) = (None, ShortWords::default());
        Self { segmenter, filter, unspaced, joined, confusables, seed, secret, short }
    }

    /// The same hasher with another rule for joined words.
    #[must_use]
    pub fn taking_joined(self, joined: Joined) -> Self {
        Self { segmenter: self.segmenter.taking_joined(joined), joined, ..self }
    }

    /// The same hasher with a secret instead of the seed.
    #[must_use]
    pub fn keyed(self, secret: Arc<[u8; SECRET]>) -> Self {
        Self { secret: Some(secret), ..self }
    }

    /// The same hasher with another rule for look-alike letters.
    #[must_use]
    pub fn taking_confusables(self, confusables: Confusables) -> Self {
        Self { segmenter: self.segmenter.taking_confusables(confusables), confusables, ..self }
    }

    /// Appends the hashes of the words of `text`, in order.
    pub fn hash_into(&mut self, text: &str, out: &mut Vec<u64>) {
        let mut parts = Parts::of(text);
        while !parts.is_done() {
            self.hash_part(&mut parts, out);
        }
    }

    /// Appends the hashes of the words of the next part of a text.
    pub(crate) fn hash_part(&mut self, parts: &mut Parts<'_>, out: &mut Vec<u64>) {
        let secret = self.secret.clone();
        let key = secret.as_deref().map_or(WordKey::Seed(self.seed), WordKey::Secret);
        self.hash_all(parts, [key], [out]);
    }

    /// As [`hash_part`](Self::hash_part), and appends those under the secret.
    pub(crate) fn hash_part_twice(
        &mut self,
        parts: &mut Parts<'_>,
        secret: &[u8; SECRET],
        out: &mut Vec<u64>,
        keyed: &mut Vec<u64>,
    ) {
        let keys = [WordKey::Seed(self.seed), WordKey::Secret(secret)];
        self.hash_all(parts, keys, [out, keyed]);
    }

    fn hash_all<const KEYS: usize>(
        &mut self,
        parts: &mut Parts<'_>,
        keys: [WordKey<'_>; KEYS],
        outs: [&mut Vec<u64>; KEYS],
    ) {
        let Self { segmenter, filter, short, .. } = self;
        let mut hasher = short.hasher(keys, outs);
        if filter.is_open() {
            segmenter.part_to(parts, &mut hasher);
        } else {
            let mut visit = Visit(|word: &str| {
                if let Some(kept) = filter.keep(word) {
                    hasher.add(&kept);
                }
            });
            segmenter.part_to(parts, &mut visit);
        }
        hasher.finish();
    }

    /// The words with their hashes and places; slower than [`hash_into`](Self::hash_into).
    pub fn placed(&mut self, text: &str) -> Vec<(PlacedWord, u64)> {
        let mut words = self.segmenter.placed_words(text);
        words.retain_mut(|w| match self.filter.keep(&w.word).map(Cow::into_owned) {
            Some(kept) => {
                w.word = kept;
                true
            }
            None => false,
        });
        words
            .into_iter()
            .map(|w| {
                let hash = word_hash(&w.word, self.seed);
                (w, hash)
            })
            .collect()
    }
}

impl<const KEYS: usize> WordSink for BatchHasher<'_, KEYS> {
    #[inline(always)]
    fn plain(&mut self, text: &str, start: usize, length: usize) {
        self.add_from(text, start, length);
    }

    #[inline(always)]
    fn word(&mut self, word: &str) {
        self.add(word);
    }
}

impl Clone for WordHasher {
    /// Copies the settings, not the buffers.
    fn clone(&self) -> Self {
        let plain = Self::new(self.unspaced, self.filter.clone(), self.seed)
            .taking_joined(self.joined)
            .taking_confusables(self.confusables);
        Self { secret: self.secret.clone(), ..plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(filter: WordFilter, text: &str) -> Vec<u64> {
        let mut out = Vec::new();
        WordHasher::new(Unspaced::Bigrams, filter, 7).hash_into(text, &mut out);
        out
    }

    fn of(words: &[&str]) -> Vec<u64> {
        words.iter().map(|w| word_hash(w, 7)).collect()
    }

    #[test]
    fn without_filters_every_word_counts() {
        assert_eq!(
            hashes(WordFilter::default(), "A rose is a rose"),
            of(&["a", "rose", "is", "a", "rose"])
        );
    }

    #[test]
    fn short_words_are_measured_in_characters() {
        let filter = WordFilter { min_chars: 3, ..WordFilter::default() };
        assert_eq!(hashes(filter, "ab abc äö äöü"), of(&["abc", "äöü"]));
    }

    #[test]
    fn stop_words_go_before_stemming() {
        let filter = WordFilter {
            min_chars: 0,
            stop_words: Some(Arc::new(StopWords::for_language("en").unwrap())),
            stemming: Some(Stemming::named("porter").unwrap()),
        };
        assert_eq!(hashes(filter, "The connections of the networks"), of(&["connect", "network"]));
    }

    #[test]
    fn both_hashes_at_once_are_those_of_each() {
        let secret = Arc::new([7; SECRET]);
        for min_chars in [0, 3] {
            let filter = WordFilter { min_chars, ..WordFilter::default() };
            let mut hasher = WordHasher::new(Unspaced::Bigrams, filter, 7);
            let text = "I saw 北京市, a Straße and a somewhat longer word than sixteen letters";
            let [mut plain, mut keyed, mut one, mut other] = [const { Vec::new() }; 4];
            let mut parts = Parts::of(text);
            hasher.hash_part_twice(&mut parts, &secret, &mut plain, &mut keyed);
            assert!(parts.is_done());
            hasher.hash_into(text, &mut one);
            hasher.keyed(Arc::clone(&secret)).hash_into(text, &mut other);
            assert_eq!((plain, keyed), (one, other));
        }
    }

    #[test]
    fn placed_words_have_the_same_hashes() {
        let filter = WordFilter { min_chars: 2, ..WordFilter::default() };
        let text = "I saw 北京市, a Straße";
        let mut hasher = WordHasher::new(Unspaced::Bigrams, filter, 7);
        let mut plain = Vec::new();
        hasher.hash_into(text, &mut plain);
        let placed: Vec<u64> = hasher.placed(text).into_iter().map(|(_, h)| h).collect();
        assert_eq!(plain, placed);
        assert_eq!(plain.len(), 4);
    }
}
