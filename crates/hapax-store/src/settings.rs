//! The settings of a repository.

use crate::confirm::Confirm;
use crate::error::StoreError;
use crate::frames::Frames;
use hapax::fingerprint::{MaxDistance, RecipeId};
use hapax::group::live::LiveOptions;
use hapax::group::{Rules, Scope};
use hapax::similarity::{MinSimilarity, Policy};
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum length of a market's name in bytes.
pub const LONGEST_MARKET: usize = 64;

/// Fixed when a repository is created, except the rules and markets.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The recipe of the fingerprints.
    pub recipe: RecipeId,
    /// What counts as a near-duplicate.
    pub policy: Policy,
    pub rules: Rules,
    /// Which pages may match each other.
    pub scope: Scope,
    /// How near matches of pages recorded without their texts are confirmed.
    pub confirm: Confirm,
    /// Whether pages of one host must also match in their own texts.
    pub frames: Frames,
    pub groups: LiveOptions,
    /// Named lists of rules for choosing other winners.
    pub markets: BTreeMap<String, Rules>,
}

impl Settings {
    /// The defaults of cleaning a corpus, without a scope.
    pub fn new(recipe: RecipeId) -> Self {
        Self {
            recipe,
            policy: Policy::default(),
            rules: Rules::default(),
            scope: Scope::None,
            confirm: Confirm::default(),
            frames: Frames::default(),
            groups: LiveOptions::default(),
            markets: BTreeMap::new(),
        }
    }
}

/// Settings requested by a caller. For the others, an existing repository keeps its own, and a new
/// one gets the defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// As [`Policy::within`].
    pub within: Option<MaxDistance>,
    /// As [`Policy::min_similarity`].
    pub min_similarity: Option<MinSimilarity>,
    /// As [`Settings::rules`].
    pub rules: Option<Rules>,
    /// As [`Settings::scope`].
    pub scope: Option<Scope>,
    /// As [`Settings::confirm`].
    pub confirm: Option<Confirm>,
    /// As [`Settings::frames`].
    pub frames: Option<Frames>,
}

impl Wanted {
    /// The settings for a new repository.
    pub fn made_of(&self, settings: Settings) -> Settings {
        Settings {
            policy: Policy {
                within: self.within.unwrap_or(settings.policy.within),
                min_similarity: self.min_similarity.unwrap_or(settings.policy.min_similarity),
            },
            rules: self.rules.clone().unwrap_or(settings.rules),
            scope: self.scope.clone().unwrap_or(settings.scope),
            confirm: self.confirm.unwrap_or(settings.confirm),
            frames: self.frames.unwrap_or(settings.frames),
            ..settings
        }
    }

    /// Refuses a repository with other settings than the requested ones.
    ///
    /// # Errors
    ///
    /// [`StoreError::OtherSetting`] for the first difference.
    pub fn must_be(&self, settings: &Settings, folder: &Path) -> Result<(), StoreError> {
        let similarity = |least: MinSimilarity| least.jaccard().to_string();
        let asked = [
            ("distance", self.within.map(|it| it.to_string()), settings.policy.within.to_string()),
            (
                "least similarity",
                self.min_similarity.map(similarity),
                similarity(settings.policy.min_similarity),
            ),
            ("rules", self.rules.as_ref().map(Rules::to_string), settings.rules.to_string()),
            ("scope", self.scope.as_ref().map(Scope::to_string), settings.scope.to_string()),
            ("confirmation", self.confirm.map(|it| it.to_string()), settings.confirm.to_string()),
            ("frames", self.frames.map(|it| it.to_string()), settings.frames.to_string()),
        ];
        for (setting, ours, theirs) in asked {
            if let Some(ours) = ours.filter(|ours| *ours != theirs) {
                let (ours, theirs) = match setting {
                    "rules" => (format!("`{ours}`"), format!("`{theirs}`")),
                    _ => (ours, theirs),
                };
                return Err(StoreError::OtherSetting {
                    folder: folder.to_owned(),
                    setting,
                    ours,
                    theirs,
                });
            }
        }
        Ok(())
    }
}

/// Allows letters, digits, `-`, `_` and `.`.
pub(crate) fn good_market(name: &str) -> Result<(), StoreError> {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=LONGEST_MARKET).contains(&name.len()) && name.chars().all(good) {
        return Ok(());
    }
    let name = name.chars().take(LONGEST_MARKET).collect();
    Err(StoreError::BadMarket { name, most: LONGEST_MARKET })
}
