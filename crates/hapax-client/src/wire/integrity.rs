//! Whether a repository is sound, and what a repair did.

use hapax_store::{Integrity, Repair};
use serde::{Deserialize, Serialize};

/// What a check of a whole repository found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// There is no problem.
    pub clean: bool,
    pub pages: u64,
    pub groups: u64,
    pub events: u64,
    pub problems: u64,
    /// The first problems, in words.
    pub details: Vec<String>,
}

impl From<&Integrity> for Checked {
    fn from(found: &Integrity) -> Self {
        let Integrity { pages, groups, events, problems, ref details, .. } = *found;
        Self { clean: found.is_clean(), pages, groups, events, problems, details: details.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repaired {
    /// Something is lost and was not to be forgotten: nothing was changed.
    pub refused: bool,
    pub mended: u64,
    /// The first that were mended, in words.
    pub mended_details: Vec<String>,
    pub lost: u64,
    /// The first that are lost, in words.
    pub lost_details: Vec<String>,
    /// The check after the repair; none when it was refused.
    pub check: Option<Checked>,
}

impl From<&Repair> for Repaired {
    fn from(repair: &Repair) -> Self {
        Self {
            refused: repair.is_refused(),
            mended: repair.mended.count,
            mended_details: repair.mended.details.clone(),
            lost: repair.lost.count,
            lost_details: repair.lost.details.clone(),
            check: repair.check.as_ref().map(Checked::from),
        }
    }
}
