//! Guesses the language of a page from the hashes of its words. A mapping splits by language first.
//!
//! The language is the one with the largest share of stop words; a word on several lists counts in part for each.
//! Pages with too few stop words have no language. Ignores declarations in the markup, because copies declare
//! different languages while the words of near-duplicates are almost the same.
//!
//! Source: Zhu et al. 2012, 4.1 (without a method).

use hapax::features::hash::word_hash;
use hapax::fingerprint::Recipe;
use hapax::text::language::{LANGUAGES, StopWords};

/// The code of pages without a known language.
pub const NO_LANGUAGE: &str = "";
/// The minimum share of words that are stop words of the language.
const LEAST_SHARE: f64 = 0.08;

#[derive(Clone, Debug)]
pub struct Languages {
    /// Hashes of stop words, ascending, each with a bit per language that lists it.
    words: Vec<(u64, u64)>,
}

impl Languages {
    /// Uses words as hashed by a recipe.
    pub fn of(recipe: &Recipe) -> Self {
        let mut words: Vec<(u64, u64)> = Vec::new();
        // Without stop words, or with stems, no word matches a list.
        if recipe.stop_words.is_none() && recipe.stemming.is_none() {
            for (number, language) in LANGUAGES.iter().enumerate() {
                let list = StopWords::for_language(language.code).ok();
                let hashes = list.iter().flat_map(StopWords::words);
                words.extend(hashes.map(|word| (word_hash(word, recipe.seed), 1 << number)));
            }
        }
        words.sort_unstable();
        words.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 |= next.1;
            }
            same
        });
        Self { words }
    }

    /// The ISO 639-1 code of the language of these words, or [`NO_LANGUAGE`].
    pub fn guess(&self, words: &[u64]) -> &'static str {
        let mut found = [0f64; LANGUAGES.len()];
        for word in words {
            let Ok(at) = self.words.binary_search_by_key(word, |&(hash, _)| hash) else { continue };
            let mut languages = self.words[at].1;
            let part = 1.0 / f64::from(languages.count_ones());
            while languages != 0 {
                found[languages.trailing_zeros() as usize] += part;
                languages &= languages - 1;
            }
        }
        let most = (0..found.len()).rev().max_by(|&a, &b| found[a].total_cmp(&found[b]));
        match most {
            Some(at) if found[at] >= LEAST_SHARE * words.len().max(1) as f64 => LANGUAGES[at].code,
            Some(_) | None => NO_LANGUAGE,
        }
    }
}

const _: () = assert!(LANGUAGES.len() <= 64, "a bit for each language");

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(recipe: &str, text: &str) -> &'static str {
        let recipe = Recipe::built_in(recipe).unwrap();
        let words: Vec<u64> =
            text.split_whitespace().map(|word| word_hash(word, recipe.seed)).collect();
        Languages::of(&recipe).guess(&words)
    }

    #[test]
    fn the_language_is_that_of_most_stop_words() {
        let recipe = "web-2";
        assert_eq!(guess(recipe, "the cat and the dog are not in the house of my brother"), "en");
        assert_eq!(guess(recipe, "der hund und die katze sind nicht in dem haus von mir"), "de");
        assert_eq!(guess(recipe, "le chat et le chien ne sont pas dans la maison de mon"), "fr");
        assert_eq!(guess(recipe, "zxcv qwerty asdf 12345"), NO_LANGUAGE);
        assert_eq!(guess(recipe, ""), NO_LANGUAGE);
    }

    #[test]
    fn a_recipe_without_stop_words_has_no_languages() {
        assert_eq!(guess("sood-tfidf", "the cat and the dog are in the house"), NO_LANGUAGE);
    }
}
