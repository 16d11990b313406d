//! Results of checking and repairing a repository.

use hapax_store::{Integrity, Repair};
use serde::{Deserialize, Serialize};

/// The result of checking a whole repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Whether there is no problem.
    pub clean: bool,
    pub pages: u64,
    pub groups: u64,
    pub events: u64,
    pub problems: u64,
    /// Descriptions of the first problems.
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
    /// Whether data is lost and may not be dropped; then nothing was changed.
    pub refused: bool,
    pub mended: u64,
    /// Descriptions of the first repairs.
    pub mended_details: Vec<String>,
    pub lost: u64,
    /// Descriptions of the first losses.
    pub lost_details: Vec<String>,
    /// The check after the repair; null if it was refused.
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
