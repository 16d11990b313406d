//! What a repository is made with, and keeps.

use hapax::fingerprint::{MaxDistance, RecipeId};
use hapax::group::live::LiveOptions;
use hapax::group::{Rules, Scope};

/// Decided when a repository is created. Only the rules can change later.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Which recipe made the fingerprints.
    pub recipe: RecipeId,
    /// Fingerprints at most this far apart are candidates.
    pub within: MaxDistance,
    /// Candidates whose sketches agree in at least this share match.
    pub min_similarity: f64,
    /// Which copy stays.
    pub rules: Rules,
    /// Who is compared with whom.
    pub scope: Scope,
    /// How groups behave.
    pub groups: LiveOptions,
}

impl Settings {
    /// Within 6 bits, confirmed by 80 percent of the shingles, default rules, no scope.
    pub fn new(recipe: RecipeId) -> Self {
        let within = const { MaxDistance::new(6).unwrap() };
        Self {
            recipe,
            within,
            min_similarity: 0.8,
            rules: Rules::default(),
            scope: Scope::None,
            groups: LiveOptions::default(),
        }
    }
}
