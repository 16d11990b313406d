//! What an experiment found, as it is kept.

use hapax_report::chart::Chart;
use serde::{Deserialize, Serialize};

use crate::bench::Size;

/// The result of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of its files: the paper's key and the figure, such as `zhu-figure-4`.
    pub name: String,
    /// Which table or figure of the paper, in the paper's words.
    pub figure: String,
    pub title: String,
    pub claim: String,
    /// What it was measured on here: pages, sizes, settings, one sentence.
    pub ran_on: String,
    pub verdict: Verdict,
    /// What agrees, what differs, and why: one sentence.
    pub sentence: String,
    /// Minutes or an hour.
    pub size: Size,
    /// The numbers that people read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Table>,
    /// The numbers as pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<Chart>,
    /// Whatever else was measured; kept small.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub data: serde_json::Value,
}

/// Whether a paper's finding was found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The direction and about the size.
    Agrees,
    /// The direction, not the size; or a part of it.
    Partly,
    /// Not found again.
    Differs,
    /// A model with stated inputs, not a measurement.
    Modelled,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Partly => "agrees in part",
            Self::Differs => "differs",
            Self::Modelled => "a model",
        }
    }
}

/// Rows of text under their names; the first column is a name, the others are numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub columns: Vec<String>,
    /// As many cells in each as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}
