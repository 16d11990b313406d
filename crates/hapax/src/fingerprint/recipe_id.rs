//! The label of fingerprints: the recipe's name and a digest of all its settings.
//!
//! Fingerprints with different labels are refused, not compared.

use std::fmt;
use std::str::FromStr;

/// Identifies the recipe of a fingerprint: a name for people and a digest of all settings.
///
/// Written `name:digest`, the digest as sixteen hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecipeId {
    name: String,
    digest: u64,
}

impl RecipeId {
    #[cfg(feature = "text")]
    pub(super) fn new(name: &str, digest: u64) -> Self {
        Self { name: name.to_owned(), digest }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks that fingerprints of `other` are comparable with ours.
    ///
    /// # Errors
    ///
    /// The recipes differ.
    pub fn must_be(&self, other: &Self) -> Result<(), RecipeMismatch> {
        if self == other {
            Ok(())
        } else {
            Err(RecipeMismatch { ours: self.clone(), theirs: other.clone() })
        }
    }
}

impl fmt::Display for RecipeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:016x}", self.name, self.digest)
    }
}

impl FromStr for RecipeId {
    type Err = ParseRecipeIdError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let parsed = s.rsplit_once(':').and_then(|(name, digits)| {
            let digest = u64::from_str_radix(digits, 16).ok()?;
            (digits.len() == 16 && !name.is_empty()).then(|| Self { name: name.to_owned(), digest })
        });
        parsed.ok_or_else(|| ParseRecipeIdError { given: s.chars().take(80).collect() })
    }
}

/// An attempt to compare fingerprints of two recipes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "fingerprints of recipe {ours} and of recipe {theirs} cannot be compared; make both with one \
     recipe"
)]
pub struct RecipeMismatch {
    pub ours: RecipeId,
    pub theirs: RecipeId,
}

/// The text is not a recipe id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a recipe id: NAME:16-hexadecimal-digits")]
pub struct ParseRecipeIdError {
    pub given: String,
}
