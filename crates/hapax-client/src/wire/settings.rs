//! The settings of a repository and its service, and statistics.

use hapax_store::{Settings, Stats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The winner rules of the repository, and of its markets by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesShown {
    /// The repository's rules, most important first.
    pub rules: String,
    pub markets: BTreeMap<String, String>,
}

/// The settings of a repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepositorySettings {
    pub recipe: RecipeNamed,
    /// Maximum distance of near-duplicates in bits.
    pub within: u32,
    /// Minimum similarity of near-duplicates.
    pub min_similarity: f64,
    /// The rules, most important first.
    pub rules: String,
    pub markets: BTreeMap<String, String>,
    /// Which pages may match each other.
    pub scope: String,
    /// How near matches of pages sent without their texts are confirmed.
    pub confirm: String,
    /// Whether own texts of pages of one host are compared, too: `on` or `off`.
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

/// The settings of a service and its repository, as far as programs need them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SettingsShown {
    /// The version of the service.
    pub version: String,
    #[serde(flatten)]
    pub repository: RepositorySettings,
    /// Maximum number of rows per answer.
    pub rows: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipeNamed {
    /// `name:digest`.
    pub id: String,
}

/// Statistics of a repository, as far as programs need them.
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
