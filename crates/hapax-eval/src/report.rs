//! The results of an evaluation as data: `--json` writes them, and the page shows them.
//!
//! Programs read the field names, so they change only with a note in the changelog. Positions of documents are for
//! display and are not written. Does not measure anything.

use serde::Serialize;

use crate::curves::{Curve, Distances, Rung};
use crate::metrics::Score;
use crate::metrics::counts::PairScores;
use crate::metrics::groups::GroupScores;

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub inputs: Vec<String>,
    pub documents: u64,
    /// What is known about them.
    pub truth: TruthSummary,
    /// One for each recipe, distance and similarity, and for each other program.
    pub runs: Vec<Run>,
}

impl Report {
    /// Why precision and F1 are not known, where they are not.
    pub fn not_known(&self) -> Option<&'static str> {
        self.runs.iter().find_map(|run| run.pairs?.not_known)
    }
}

/// Truth in numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TruthSummary {
    /// Its file; none for labels that the crawl brings with it.
    pub file: Option<String>,
    /// Pairs of duplicates.
    pub duplicates: u64,
    /// Pairs of others.
    pub others: u64,
    /// Pairs whose label says neither.
    pub unjudged: u64,
    /// Groups of two or more.
    pub groups: Option<u64>,
    /// Entries that name no document.
    pub missing: u64,
    /// Labels that the caller gave a meaning and no pair has.
    pub unmatched_labels: Vec<String>,
    /// Labels that pairs have.
    pub labels: Vec<String>,
    /// Pairs have exact similarities.
    pub graded: bool,
    /// Graded pairs from here up are duplicates.
    pub alike: f64,
}

/// The scores of one answer.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The recipe, or the other program.
    pub name: String,
    /// Bits that may differ.
    pub within: Option<u32>,
    /// Least similarity.
    pub min_similarity: Option<f64>,
    pub documents: u64,
    /// Documents that go.
    pub removed: u64,
    pub exact_copies: u64,
    /// Groups of two or more.
    pub groups: u64,
    /// Documents in the largest.
    pub largest_group: u64,
    /// Share of pairs of members that the bounds would not have taken.
    pub beyond_bound: Option<f64>,
    /// Right and wrong about known pairs; found means in one group.
    pub pairs: Option<PairScores>,
    /// Of known duplicates, the share of pairs that do not both stay: what cleaning is for. A pair can
    /// be resolved without being in one group, when one of the two went for the sake of a third.
    pub resolved: Score,
    /// Right and wrong about groups.
    pub group_scores: Option<GroupScores>,
    pub labels: Vec<LabelRow>,
    /// How alike removed documents and those that stay really are.
    pub removed_pairs: Option<RemovedScores>,
    /// By exact similarity.
    pub ladder: Vec<Rung>,
    /// What other bounds would have said.
    pub curves: Vec<Curve>,
    /// How far pairs are apart.
    pub distances: Option<Distances>,
    /// The worst errors.
    pub worst: Vec<WrongPair>,
}

impl Run {
    pub fn title(&self) -> String {
        match (self.within, self.min_similarity) {
            (Some(within), Some(least)) => format!("{}, within {within}, from {least}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// Pairs with one label.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LabelRow {
    pub label: String,
    /// Does it mean duplicates?
    pub duplicate: Option<bool>,
    pub pairs: u64,
    /// Of these, in one group.
    pub together: u64,
}

/// Exact similarity of removed documents and those that stay instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RemovedScores {
    /// Pairs that were looked at.
    pub pairs: u64,
    /// Pairs left out: one of the two has fewer than ten runs of five words.
    pub too_short: u64,
    /// Share at 0.8 or above.
    pub from_80: Score,
    /// Share at 0.9 or above.
    pub from_90: Score,
    /// Pairs below 0.5.
    pub below_half: u64,
    /// The least similarity of any pair.
    pub least: f64,
}

impl Default for RemovedScores {
    fn default() -> Self {
        Self {
            pairs: 0,
            too_short: 0,
            from_80: Score::default(),
            from_90: Score::default(),
            below_half: 0,
            least: 1.0,
        }
    }
}

/// A wrong answer about a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WrongPair {
    pub a: String,
    pub b: String,
    /// Their positions in the corpus.
    #[serde(skip)]
    pub positions: (u32, u32),
    /// Taken for duplicates; otherwise not found.
    pub merged: bool,
    /// What truth says.
    pub label: String,
    /// Exact similarity, where it is known.
    pub jaccard: Option<f64>,
    /// It is that of the whole pages, measured here; otherwise what truth says.
    pub reference: bool,
    /// Bits between the fingerprints.
    pub distance: Option<u8>,
    /// Estimated similarity.
    pub similarity: Option<f32>,
}
