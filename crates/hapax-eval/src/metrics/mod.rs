//! Scores of a prediction and their confidence intervals.
//!
//! [`counts`] is about pairs, [`groups`] about partitions, [`bootstrap`] about intervals.

pub mod bootstrap;
pub mod counts;
pub mod groups;

use serde::Serialize;

/// A measured score with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    /// Number of scored items.
    pub of: u64,
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.of == 0 {
            return f.write_str("-");
        }
        write!(f, "{:.4} [{:.4}, {:.4}]", self.value, self.low, self.high)
    }
}
