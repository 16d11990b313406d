//! Reads and writes recipes as TOML.
//!
//! Every field except the name is optional; missing fields are taken from `base`, a built-in recipe, or else
//! from the default recipe. An unknown field is an error, because a misspelt setting must not silently change
//! fingerprints.

use super::recipe::{DEFAULT_RECIPE, Recipe, RecipeError, Weighting};
use super::simhash::Tie;
use crate::features::ShingleSize;
use crate::page::Extent;
use crate::text::{Confusables, Joined, Unspaced};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RecipeFile {
    name: String,
    base: Option<String>,
    extent: Option<Extent>,
    unspaced: Option<Unspaced>,
    joined: Option<Joined>,
    confusables: Option<Confusables>,
    min_word_chars: Option<u8>,
    stop_words: Option<String>,
    stemming: Option<String>,
    shingle: Option<u8>,
    weight: Option<Weighting>,
    seed: Option<u64>,
    tie: Option<Tie>,
    sketch_shingle: Option<u8>,
    min_features: Option<u32>,
}

/// Switches off a list that the base recipe has.
const NONE: &str = "none";

impl Recipe {
    /// Parses a recipe file.
    ///
    /// # Errors
    ///
    /// The text is not TOML, has unknown fields, values out of range, or an unknown language or
    /// base, or takes the name of a built-in recipe.
    pub fn from_toml(text: &str) -> Result<Self, RecipeError> {
        let file: RecipeFile = toml::from_str(text)
            .map_err(|e| RecipeError::File { reason: e.to_string().trim_end().to_owned() })?;
        if Self::BUILT_IN.contains(&file.name.as_str()) {
            return Err(RecipeError::File {
                reason: format!("`{}` is built in and cannot be redefined", file.name),
            });
        }
        let mut recipe = Self::built_in(file.base.as_deref().unwrap_or(DEFAULT_RECIPE))?;
        recipe.name = file.name;
        recipe.extent = file.extent.unwrap_or(recipe.extent);
        recipe.unspaced = file.unspaced.unwrap_or(recipe.unspaced);
        recipe.joined = file.joined.unwrap_or(recipe.joined);
        recipe.confusables = file.confusables.unwrap_or(recipe.confusables);
        recipe.weighting = file.weight.unwrap_or(recipe.weighting);
        recipe.tie = file.tie.unwrap_or(recipe.tie);
        if let Some(words) = file.shingle {
            recipe.shingle = shingle("shingle", words)?;
        }
        if let Some(words) = file.sketch_shingle {
            recipe.sketch_shingle = shingle("sketch-shingle", words)?;
        }
        if let Some(code) = file.stop_words {
            recipe.stop_words = (code != NONE).then_some(code);
        }
        if let Some(name) = file.stemming {
            recipe.stemming = (name != NONE).then_some(name);
        }
        recipe.min_word_chars = file.min_word_chars.unwrap_or(recipe.min_word_chars);
        recipe.seed = file.seed.unwrap_or(recipe.seed);
        recipe.min_features = file.min_features.unwrap_or(recipe.min_features);
        recipe.validate()?;
        Ok(recipe)
    }

    /// Writes the settings as a recipe file, with comments on allowed values. Give a built-in
    /// recipe a new name before loading it again.
    pub fn to_toml(&self) -> String {
        let rename = match Self::BUILT_IN.contains(&self.name.as_str()) {
            true => "  # built in: a file needs another name",
            false => "",
        };
        format!(
            "name = \"{}\"{rename}\n\
             extent = {}  # page (title and body), body or main-content\n\
             unspaced = {}  # Chinese, Japanese, Thai ...: characters, bigrams or dictionary\n\
             joined = {}  # snake_case, can't, 3.14: one word (whole) or several (parts)\n\
             confusables = {}  # Latin, Cyrillic and Greek letters that look alike: keep or fold\n\
             min-word-chars = {}\n\
             stop-words = \"{}\"  # a language code or none\n\
             stemming = \"{}\"  # an algorithm or none\n\
             shingle = {}  # words in a feature, 1 to 8\n\
             weight = {}  # presence, count or tf-idf\n\
             seed = {}\n\
             tie = {}  # the bit where the sum is zero: zero or one\n\
             sketch-shingle = {}  # words in a shingle of the sketch, 1 to 8\n\
             min-features = {}  # fewer flag a page as too short to compare\n",
            self.name,
            word(self.extent),
            word(self.unspaced),
            word(self.joined),
            word(self.confusables),
            self.min_word_chars,
            self.stop_words.as_deref().unwrap_or(NONE),
            self.stemming.as_deref().unwrap_or(NONE),
            self.shingle.words(),
            word(self.weighting),
            self.seed,
            word(self.tie),
            self.sketch_shingle.words(),
            self.min_features,
        )
    }
}

/// The spelling of a setting in a file, in quotes.
fn word(setting: impl Serialize) -> String {
    toml::Value::try_from(setting).map(|value| value.to_string()).unwrap_or_default()
}

fn shingle(field: &'static str, words: u8) -> Result<ShingleSize, RecipeError> {
    ShingleSize::new(words).ok_or(RecipeError::Range {
        field,
        given: u64::from(words),
        range: "1 to 8 words",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Recipe::from_toml(text).unwrap_err().to_string()
    }

    #[test]
    fn a_file_changes_what_it_names_and_nothing_else() {
        let recipe =
            Recipe::from_toml("name = 'news-1'\nshingle = 3\nweight = 'presence'").unwrap();
        let mut expected = Recipe::built_in(DEFAULT_RECIPE).unwrap();
        expected.name = "news-1".to_owned();
        expected.shingle = ShingleSize::new(3).unwrap();
        expected.weighting = Weighting::Presence;
        assert_eq!(recipe, expected);
    }

    #[test]
    fn a_base_is_taken_over_and_can_be_switched_off_in_parts() {
        let recipe =
            Recipe::from_toml("name = 'x'\nbase = 'sood-tfidf'\nstop-words = 'none'").unwrap();
        assert_eq!(recipe.stop_words, None);
        assert_eq!(recipe.stemming.as_deref(), Some("porter"));
    }

    #[test]
    fn a_written_recipe_is_read_as_the_same_recipe() {
        for name in Recipe::BUILT_IN {
            let mut recipe = Recipe::built_in(name).unwrap();
            assert!(refused(&recipe.to_toml()).contains("built in"));
            recipe.name = "mine".to_owned();
            assert_eq!(Recipe::from_toml(&recipe.to_toml()).unwrap(), recipe);
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refused("name = 'x'\nshingel = 3").contains("shingel"));
        assert!(refused("name = 'x'\nshingle = 9").contains("shingle = 9 is out of range"));
        assert!(refused("name = 'x'\nweight = 'heavy'").contains("heavy"));
        assert!(refused("name = 'x'\nstop-words = 'xx'").contains("`xx`"));
        assert!(refused("name = 'x'\nbase = 'y'").contains("`y`"));
        assert!(refused("name = 'web-2'").contains("built in"));
        assert!(refused("name = 'a b'").contains("cannot name"));
        assert!(refused("shingle = 1").contains("name"));
        assert!(refused("\u{0}").contains("recipe file"));
    }
}
