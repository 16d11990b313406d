//! What a repository and its service were set up with, and how much there is.

use hapax_store::{Settings, Stats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which copies stay: the rules of the repository, and of its markets by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesShown {
    /// The repository's rules, most important first.
    pub rules: String,
    pub markets: BTreeMap<String, String>,
}

/// What a repository was set up with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepositorySettings {
    pub recipe: RecipeNamed,
    /// Bits in which fingerprints of near-duplicates may differ.
    pub within: u32,
    /// How alike their texts must be.
    pub min_similarity: f64,
    /// The rules, most important first.
    pub rules: String,
    pub markets: BTreeMap<String, String>,
    /// Within what pages are compared.
    pub scope: String,
    /// What confirms near matches of pages that were sent without their texts.
    pub confirm: String,
    /// Whether pages of one host are compared beyond its frame, too: `on` or `off`.
    pub frames: String,
}

impl From<Settings> for RepositorySettings {
    fn from(settings: Settings) -> Self {
        let markets = settings.markets.into_iter();
        Self {
            recipe: RecipeNamed { id: settings.recipe.to_string() },
            within: settings.policy.within.bits(),
            min_similarity: settings.policy.min_similarity.jaccard(),
            rules: settings.rules.to_string(),
            markets: markets.map(|(name, rules)| (name, rules.to_string())).collect(),
            scope: settings.scope.to_string(),
            confirm: settings.confirm.to_string(),
            frames: settings.frames.to_string(),
        }
    }
}

/// What a service and its repository were set up with: the part that programs ask for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SettingsShown {
    /// Of the service.
    pub version: String,
    #[serde(flatten)]
    pub repository: RepositorySettings,
    /// The most rows of one answer.
    pub rows: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipeNamed {
    /// `name:digest`.
    pub id: String,
}

/// How much there is: the part that programs ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in `hapax_store::Stats`")]
pub struct StatsShown {
    pub pages: u64,
    pub pages_with_content: u64,
    pub groups: u64,
    pub events: u64,
    pub commits: u64,
    pub index_bytes: u64,
    pub file_bytes: u64,
}

impl From<Stats> for StatsShown {
    fn from(stats: Stats) -> Self {
        Self {
            pages: stats.pages,
            pages_with_content: stats.with_content,
            groups: stats.groups,
            events: stats.last_event,
            commits: stats.commits,
            index_bytes: stats.index_bytes,
            file_bytes: stats.file_bytes,
        }
    }
}
