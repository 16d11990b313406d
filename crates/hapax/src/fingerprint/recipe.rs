//! A recipe: every step from bytes to bits, as data with a name and a version.
//!
//! A recipe is identified by its name and a digest of every setting that affects the bits; comparing
//! fingerprints of two recipes is an error. Guarantees that a built-in recipe never changes under its name:
//! whatever would change a golden vector in `vectors/` gets a new name. Does not read files:
//! [`from_toml`](Recipe::from_toml) parses their text.

use super::recipe_id::RecipeId;
use super::simhash::Tie;
use crate::features::{FrequencyWeights, ShingleSize};
use crate::page::Extent;
use crate::text::language::{Stemming, StopWords, UnknownLanguage};
use crate::text::{Confusables, Joined, Unspaced};

/// Version of everything that a recipe does not spell out: text extraction, normalisation, word
/// rules, hashes. Part of every recipe's digest.
pub const PIPELINE_VERSION: u32 = 2;

/// How features are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// 1, however often the feature occurs.
    Presence,
    /// The number of occurrences.
    Count,
    /// The number of occurrences, times the rarity in a trained table.
    TfIdf,
}

/// From bytes to bits. `docs/reference/fingerprint.md` explains each field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Name and version, such as `web-2`.
    pub name: String,
    /// The whole page or the main content only.
    pub extent: Extent,
    /// How text in scripts without spaces is split into words.
    pub unspaced: Unspaced,
    /// How words with a sign inside are split.
    pub joined: Joined,
    /// How look-alike letters of other scripts are treated.
    pub confusables: Confusables,
    /// Minimum length of a word in characters; shorter words are dropped.
    pub min_word_chars: u8,
    /// ISO 639-1 code of the stop-word list.
    pub stop_words: Option<String>,
    /// Name of the stemming algorithm.
    pub stemming: Option<String>,
    /// Words per feature.
    pub shingle: ShingleSize,
    /// How features are weighted.
    pub weighting: Weighting,
    /// Seed of the word hash.
    pub seed: u64,
    /// The value of a bit whose sum is zero.
    pub tie: Tie,
    /// Words per shingle of the sketch.
    pub sketch_shingle: ShingleSize,
    /// A page with fewer features is too short for near matches.
    pub min_features: u32,
}

/// Default of [`Recipe::min_features`]: a page with fewer features is too short for near matches.
pub const MIN_FEATURES: u32 = 10;
/// Default number of words per shingle of the sketch.
pub const SKETCH_SHINGLE: u8 = 5;

/// The default recipe.
pub const DEFAULT_RECIPE: &str = "web-2";

/// The default before hidden text was left out; its fingerprints can no longer be made.
const FORMER_RECIPE: &str = "web-1";

impl Default for Recipe {
    fn default() -> Self {
        Self::built_in(DEFAULT_RECIPE).expect("the default recipe is built in")
    }
}

impl Recipe {
    /// The names of the built-in recipes, the default first.
    pub const BUILT_IN: [&'static str; 5] =
        [DEFAULT_RECIPE, "stream-words", "khan-words", "sood-tfidf", "zhu-shingles"];

    /// A built-in recipe.
    ///
    /// # Errors
    ///
    /// No built-in recipe has this name.
    pub fn built_in(name: &str) -> Result<Self, RecipeError> {
        let mut recipe = Self::base(name);
        match name {
            // Chosen by measured quality (docs/benchmarks/quality.md): word counts propose
            // candidates best; the title distinguishes pages of one template; characters give
            // Chinese and Japanese shingles a defined length, and parts do so for names with dots
            // and dashes.
            DEFAULT_RECIPE => {
                recipe.extent = Extent::Page;
                recipe.unspaced = Unspaced::Characters;
                recipe.joined = Joined::Parts;
                recipe.confusables = Confusables::Fold;
            }
            // "We compute a 64-bit simhash fingerprint by processing the bag-of-words
            // representation" (Stream).
            "stream-words" => {}
            // Words, and a 1 for sums "greater then and equal to 0" (Khan, II.A).
            "khan-words" => recipe.tie = Tie::One,
            // "Word TF-IDF after stemming (using standard porter stemming algorithm) and
            // stop-word removal" (Sood, VII.A).
            "sood-tfidf" => {
                recipe.stop_words = Some("en".to_owned());
                recipe.stemming = Some("porter".to_owned());
                recipe.weighting = Weighting::TfIdf;
            }
            // Sets of k-gram shingles (Zhu, 4.1 and 4.2); the paper names no k, five is the
            // size on which our measured sets state their Jaccard similarity.
            "zhu-shingles" => {
                recipe.shingle = recipe.sketch_shingle;
                recipe.weighting = Weighting::Presence;
            }
            FORMER_RECIPE => return Err(RecipeError::Former),
            _ => return Err(RecipeError::Unknown { given: name.to_owned() }),
        }
        Ok(recipe)
    }

    fn base(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            extent: Extent::Body,
            unspaced: Unspaced::Bigrams,
            joined: Joined::Whole,
            confusables: Confusables::Keep,
            min_word_chars: 1,
            stop_words: None,
            stemming: None,
            shingle: ShingleSize::ONE,
            weighting: Weighting::Count,
            seed: 0,
            tie: Tie::Zero,
            sketch_shingle: const { ShingleSize::new(SKETCH_SHINGLE).expect("1 to 8") },
            min_features: MIN_FEATURES,
        }
    }

    /// A digest of the settings that decide which features are made, without weights. A frequency
    /// table is tied to it.
    pub fn features_key(&self) -> u64 {
        digest(&format!(
            "features pipeline={PIPELINE_VERSION} extent={:?} {}",
            self.extent,
            self.word_settings()
        ))
    }

    /// The identity of fingerprints made by this recipe with these weights.
    pub fn id(&self, weights: Option<&FrequencyWeights>) -> RecipeId {
        let table = weights.map_or(0, FrequencyWeights::digest);
        let settings = format!(
            "recipe pipeline={PIPELINE_VERSION} extent={:?} {} weighting={:?} tie={:?} \
             sketch-shingle={} table={table:016x}",
            self.extent,
            self.word_settings(),
            self.weighting,
            self.tie,
            self.sketch_shingle.words(),
        );
        RecipeId::new(&self.name, digest(&settings))
    }

    fn word_settings(&self) -> String {
        format!(
            "unspaced={:?} joined={:?} confusables={:?} min-word-chars={} stop-words={} stemming={} \
             shingle={} seed={:016x}",
            self.unspaced,
            self.joined,
            self.confusables,
            self.min_word_chars,
            self.stop_words.as_deref().unwrap_or("-"),
            self.stemming.as_deref().unwrap_or("-"),
            self.shingle.words(),
            self.seed,
        )
    }

    /// Checks values that the types do not restrict.
    ///
    /// # Errors
    ///
    /// A name, number or language is out of range.
    pub fn validate(&self) -> Result<(), RecipeError> {
        let clean = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(clean) {
            return Err(RecipeError::Name { given: self.name.chars().take(80).collect() });
        }
        if let Some(code) = &self.stop_words {
            StopWords::for_language(code)?;
        }
        if let Some(name) = &self.stemming {
            Stemming::named(name)?;
        }
        Ok(())
    }
}

fn digest(settings: &str) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&blake3::hash(settings.as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// A recipe cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// No built-in recipe has this name.
    #[error(
        "no recipe is called `{given}`; built in are {}; a path to a .toml file works too",
        Recipe::BUILT_IN.join(", ")
    )]
    Unknown { given: String },
    #[error(
        "recipe {FORMER_RECIPE} was replaced by {DEFAULT_RECIPE}, whose fingerprints differ; build the \
         repository, index or result again from its pages"
    )]
    Former,
    /// The name has characters that files or headers cannot hold.
    #[error("`{given}` cannot name a recipe: 1 to 64 letters, digits, `-`, `_` or `.`")]
    Name { given: String },
    /// The file is not valid TOML or has unknown fields.
    #[error("recipe file: {reason}")]
    File { reason: String },
    /// A number is out of range.
    #[error("recipe file: {field} = {given} is out of range: {range}")]
    Range { field: &'static str, given: u64, range: &'static str },
    #[error(transparent)]
    Language(#[from] UnknownLanguage),
    /// A TF-IDF recipe needs a trained table.
    #[error(
        "recipe {recipe} weighs words by a frequency table and none was given; `hapax train` makes one"
    )]
    NeedsTable { recipe: String },
    /// The recipe has no use for a table.
    #[error(
        "recipe {recipe} does not use a frequency table; leave it out or use weight = \"tf-idf\""
    )]
    NeedsNoTable { recipe: String },
    /// The table does not fit the recipe.
    #[error(transparent)]
    Table(#[from] crate::features::FrequencyError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_built_in_recipe_is_valid_and_has_its_own_identity() {
        let ids: BTreeSet<String> = Recipe::BUILT_IN
            .iter()
            .map(|name| {
                let recipe = Recipe::built_in(name).unwrap();
                recipe.validate().unwrap();
                recipe.id(None).to_string()
            })
            .collect();
        assert_eq!(ids.len(), Recipe::BUILT_IN.len());
    }

    #[test]
    fn every_setting_that_decides_bits_changes_the_identity() {
        let base = Recipe::built_in(DEFAULT_RECIPE).unwrap();
        let changes: [fn(&mut Recipe); 12] = [
            |r| r.extent = Extent::Body,
            |r| r.unspaced = Unspaced::Bigrams,
            |r| r.joined = Joined::Whole,
            |r| r.confusables = Confusables::Keep,
            |r| r.min_word_chars = 3,
            |r| r.stop_words = Some("en".into()),
            |r| r.stemming = Some("english".into()),
            |r| r.shingle = ShingleSize::new(3).unwrap(),
            |r| r.weighting = Weighting::Presence,
            |r| r.seed = 1,
            |r| r.tie = Tie::One,
            |r| r.sketch_shingle = ShingleSize::ONE,
        ];
        for change in changes {
            let mut other = base.clone();
            change(&mut other);
            assert!(base.id(None).must_be(&other.id(None)).is_err(), "{other:?}");
        }
    }

    #[test]
    fn identities_are_written_and_read() {
        let id = Recipe::built_in("zhu-shingles").unwrap().id(None);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("web-2".parse::<RecipeId>().is_err());
        assert!("web-2:12".parse::<RecipeId>().is_err());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = Recipe::built_in("web-99").unwrap_err().to_string();
        assert!(error.contains("`web-99`") && error.contains("sood-tfidf"), "{error}");
        let error = Recipe::built_in("web-1").unwrap_err().to_string();
        assert!(
            error.contains("web-1 was replaced by web-2") && error.contains("again"),
            "{error}"
        );
    }
}
