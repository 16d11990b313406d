//! What a mapping uses of a page: its language, its words, its shingles.
//!
//! Words and shingles are those of a recipe, so a mapping uses what is compared later. Takes extracted text, no
//! markup.

use super::language::Languages;
use hapax::features::{ShingleSize, WordHasher, shingles};
use hapax::fingerprint::fingerprinter::word_hasher;
use hapax::fingerprint::{Recipe, RecipeError};

/// The properties of a page that a mapping uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageFeatures {
    /// ISO 639-1; empty if unknown.
    pub language: &'static str,
    /// Hashes of its words in text order.
    pub words: Vec<u64>,
    /// Hashes of its shingles, distinct and ascending.
    pub shingles: Vec<u64>,
}

/// Computes features by one recipe. Clone it for another thread.
#[derive(Clone, Debug)]
pub struct FeatureMaker {
    words: WordHasher,
    shingle: ShingleSize,
    languages: Languages,
}

impl FeatureMaker {
    /// Uses the words of a recipe and the shingles of its sketch. The similarity of pages is the
    /// Jaccard similarity of these shingles.
    ///
    /// # Errors
    ///
    /// The recipe is invalid.
    pub fn new(recipe: &Recipe) -> Result<Self, RecipeError> {
        recipe.validate()?;
        Ok(Self {
            words: word_hasher(recipe)?,
            shingle: recipe.sketch_shingle,
            languages: Languages::of(recipe),
        })
    }

    pub fn features(&mut self, text: &str) -> PageFeatures {
        let mut page = PageFeatures::default();
        self.words.hash_into(text, &mut page.words);
        shingles(&page.words, self.shingle, &mut page.shingles);
        page.shingles.sort_unstable();
        page.shingles.dedup();
        page.language = self.languages.guess(&page.words);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_text_order_and_shingles_are_distinct() {
        let recipe = Recipe::built_in("zhu-shingles").unwrap();
        let mut maker = FeatureMaker::new(&recipe).unwrap();
        let text = "It was the best of times, it was the worst of times. ";
        let once = maker.features(text);
        assert_eq!((once.words.len(), once.shingles.len(), once.language), (12, 8, "en"));
        assert_eq!(once.words[0], once.words[6]);
        // Repeating the text adds only the four shingles across the border, and one of them exists
        // already.
        let twice = maker.features(&text.repeat(2));
        assert_eq!((twice.words.len(), twice.shingles.len()), (24, 11));
        assert!(twice.shingles.windows(2).all(|two| two[0] < two[1]));
        assert_eq!(maker.features(""), PageFeatures::default());
    }
}
