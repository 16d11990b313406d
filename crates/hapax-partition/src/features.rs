//! What a mapping needs to know of a page: its language, its words, its shingles.
//!
//! Words and shingles are those of a recipe, so a mapping uses what will be compared. Does not handle markup: texts
//! come in extracted.

use super::language::Languages;
use hapax::features::{ShingleSize, WordHasher, shingles};
use hapax::fingerprint::fingerprinter::word_hasher;
use hapax::fingerprint::{Recipe, RecipeError};

/// A page as a mapping sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageFeatures {
    /// ISO 639-1, or empty.
    pub language: &'static str,
    /// Hashes of its words in their order.
    pub words: Vec<u64>,
    /// Its shingles: distinct, ascending.
    pub shingles: Vec<u64>,
}

/// Makes features by one recipe. Clone it for another thread.
#[derive(Clone, Debug)]
pub struct FeatureMaker {
    words: WordHasher,
    shingle: ShingleSize,
    languages: Languages,
}

impl FeatureMaker {
    /// By the words of a recipe and the shingles of its sketch, whose Jaccard similarity is meant
    /// wherever pages are called alike.
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
    fn a_page_has_its_words_in_order_and_its_shingles_once() {
        let recipe = Recipe::built_in("zhu-shingles").unwrap();
        let mut maker = FeatureMaker::new(&recipe).unwrap();
        let text = "It was the best of times, it was the worst of times. ";
        let once = maker.features(text);
        assert_eq!((once.words.len(), once.shingles.len(), once.language), (12, 8, "en"));
        assert_eq!(once.words[0], once.words[6]);
        // The second time adds only shingles that go over the end of the first, and one of these
        // four is there already.
        let twice = maker.features(&text.repeat(2));
        assert_eq!((twice.words.len(), twice.shingles.len()), (24, 11));
        assert!(twice.shingles.windows(2).all(|two| two[0] < two[1]));
        assert_eq!(maker.features(""), PageFeatures::default());
    }
}
