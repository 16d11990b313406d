//! Recipes as TOML: what a user writes, turned into a [`Recipe`] or refused.
//!
//! Every field but the name may be left out and then is that of `base`, a built-in recipe,
//! or of the default one. An unknown field is an error: a misspelt setting must not silently
//! make other fingerprints.

use super::recipe::{DEFAULT_RECIPE, Recipe, RecipeError, Weighting};
use super::simhash::Tie;
use crate::features::ShingleSize;
use crate::page::Extent;
use crate::text::{Confusables, Joined, Unspaced};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RecipeFile {
    name: String,
    base: Option<String>,
    extent: Option<ExtentName>,
    unspaced: Option<UnspacedName>,
    joined: Option<JoinedName>,
    confusables: Option<ConfusablesName>,
    min_word_chars: Option<u8>,
    stop_words: Option<String>,
    stemming: Option<String>,
    shingle: Option<u8>,
    weight: Option<WeightName>,
    seed: Option<u64>,
    tie: Option<TieName>,
    sketch_shingle: Option<u8>,
    min_features: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ExtentName {
    Body,
    Page,
    MainContent,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum UnspacedName {
    Characters,
    Bigrams,
    Dictionary,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum JoinedName {
    Whole,
    Parts,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ConfusablesName {
    Keep,
    Fold,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WeightName {
    Presence,
    Count,
    TfIdf,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TieName {
    Zero,
    One,
}

/// How a recipe file switches off a list that its base has.
const NONE: &str = "none";

impl Recipe {
    /// Reads a recipe file's text.
    ///
    /// # Errors
    ///
    /// It is not TOML, has unknown fields, values out of range, an unknown language or base,
    /// or takes the name of a built-in recipe.
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
        if let Some(extent) = file.extent {
            recipe.extent = match extent {
                ExtentName::Body => Extent::Body,
                ExtentName::Page => Extent::Page,
                ExtentName::MainContent => Extent::MainContent,
            };
        }
        if let Some(unspaced) = file.unspaced {
            recipe.unspaced = match unspaced {
                UnspacedName::Characters => Unspaced::Characters,
                UnspacedName::Bigrams => Unspaced::Bigrams,
                UnspacedName::Dictionary => Unspaced::Dictionary,
            };
        }
        if let Some(joined) = file.joined {
            recipe.joined = match joined {
                JoinedName::Whole => Joined::Whole,
                JoinedName::Parts => Joined::Parts,
            };
        }
        if let Some(confusables) = file.confusables {
            recipe.confusables = match confusables {
                ConfusablesName::Keep => Confusables::Keep,
                ConfusablesName::Fold => Confusables::Fold,
            };
        }
        if let Some(weight) = file.weight {
            recipe.weighting = match weight {
                WeightName::Presence => Weighting::Presence,
                WeightName::Count => Weighting::Count,
                WeightName::TfIdf => Weighting::TfIdf,
            };
        }
        if let Some(tie) = file.tie {
            recipe.tie = match tie {
                TieName::Zero => Tie::Zero,
                TieName::One => Tie::One,
            };
        }
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
