//! The result of an experiment, as it is stored.

use hapax_report::chart::Chart;
use serde::{Deserialize, Serialize};

use crate::bench::Size;

/// The result of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Base name of its files: the paper's key and the figure, such as `zhu-figure-4`.
    pub(crate) name: String,
    /// The table or figure, as named by the paper.
    pub(crate) figure: String,
    pub(crate) title: String,
    pub(crate) claim: String,
    /// Input of the measurement: pages, sizes, settings, in one sentence.
    pub(crate) ran_on: String,
    pub(crate) verdict: Verdict,
    /// What agrees, what differs, and why, in one sentence.
    pub(crate) sentence: String,
    pub(crate) size: Size,
    /// The printed numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) table: Option<Table>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) charts: Vec<Chart>,
    /// Other measurements; small.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub(crate) data: serde_json::Value,
}

/// Whether the measurement agrees with the paper's finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// The same direction and about the same size.
    Agrees,
    /// The same direction but not size, or only a part of the finding.
    Partly,
    /// The finding could not be reproduced.
    Differs,
    /// A model with stated inputs, not a measurement.
    Modelled,
}

impl Verdict {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Partly => "agrees in part",
            Self::Differs => "differs",
            Self::Modelled => "a model",
        }
    }
}

/// Rows of text with column names; the first column contains names, the others numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    /// Each with as many cells as columns.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}
