//! The types of requests and answers: one schema for every front end.
//!
//! The service, its client, `hapax --json` and the Python package answer with these types; engine types are
//! converted here and may change without changing the schema. In every answer a time is RFC 3339 in UTC,
//! `similarity` the estimated Jaccard similarity of two texts (0 to 1), `distance` the number of differing bits
//! of two fingerprints; fingerprints and hashes are hexadecimal. The components of `openapi.json` publish the
//! schema.

mod compared;
mod group;
mod input;
mod integrity;
mod page;
mod settings;
mod verdict;

use serde::{Deserialize, Serialize};

pub use compared::{Bit, Compared, Exact};
pub use group::{Event, Group, GroupDetail, GroupStatuses};
pub use input::{PageInput, ReadySignature};
pub use integrity::{Checked, Repaired};
pub use page::{Page, PageDetail, state_name};
pub use settings::{RecipeNamed, RepositorySettings, RulesShown, SettingsShown, StatsShown};
pub use verdict::{
    Alike, Because, MATCHES, Match, Nearest, VERDICTS, Verdict, tier_name, verdict_name,
};

/// Some rows, and where to continue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rows<T> {
    pub rows: Vec<T>,
    /// Pass this as `after` to get the next rows; null at the end.
    pub next: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesInput {
    /// Separated by commas, most important first.
    pub rules: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    pub pages: u64,
}

/// The result of promoting a repository to primary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promoted {
    pub role: String,
    /// The new epoch.
    pub epoch: String,
    /// The last commit before it.
    pub commit: u64,
    /// The last event before it.
    pub event: u64,
    /// The age of the oldest write that may be lost; `None` if it was not a standby.
    pub behind_seconds: Option<f64>,
}

/// The result of deleting pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    pub pages: u64,
    pub unknown: Vec<String>,
}
