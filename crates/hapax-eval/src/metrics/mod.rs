//! Numbers that say how right a prediction is, and how sure one can be of them.
//!
//! [`counts`] is about pairs, [`groups`] about partitions, [`bootstrap`] about intervals.

pub mod bootstrap;
pub mod counts;
pub mod groups;

use serde::Serialize;

/// A measured share, with the interval that holds it 95 times in 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    pub high: f64,
    /// How many things it is a share of.
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
