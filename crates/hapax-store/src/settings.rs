//! What a repository is made with, and keeps.

use crate::error::StoreError;
use hapax::fingerprint::RecipeId;
use hapax::group::live::LiveOptions;
use hapax::group::{Rules, Scope};
use hapax::similarity::Policy;
use std::collections::BTreeMap;

/// The longest name of a market, in bytes.
pub const LONGEST_MARKET: usize = 64;

/// Decided when a repository is created. Only the rules can change later, and the markets.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Which recipe made the fingerprints.
    pub recipe: RecipeId,
    /// What counts as a near-duplicate.
    pub policy: Policy,
    /// Which copy stays.
    pub rules: Rules,
    /// Who is compared with whom.
    pub scope: Scope,
    /// How groups behave.
    pub groups: LiveOptions,
    /// Named lists of rules: other choices of copies from the same groups.
    pub markets: BTreeMap<String, Rules>,
}

impl Settings {
    /// The defaults, as a corpus is cleaned; no scope.
    pub fn new(recipe: RecipeId) -> Self {
        Self {
            recipe,
            policy: Policy::default(),
            rules: Rules::default(),
            scope: Scope::None,
            groups: LiveOptions::default(),
            markets: BTreeMap::new(),
        }
    }
}

/// Letters, digits, `-`, `_` and `.`.
pub(crate) fn good_market(name: &str) -> Result<(), StoreError> {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=LONGEST_MARKET).contains(&name.len()) && name.chars().all(good) {
        return Ok(());
    }
    let name = name.chars().take(LONGEST_MARKET).collect();
    Err(StoreError::BadMarket { name, most: LONGEST_MARKET })
}
