//! The results of an evaluation as data, for `--json` and the HTML page.
//!
//! Programs read the field names, so they change only with a note in the changelog. Positions of documents are for
//! display and not written. Does not measure anything.

use serde::Serialize;

use crate::curves::{Curve, Distances, Rung};
use crate::metrics::Score;
use crate::metrics::counts::PairScores;
use crate::metrics::groups::GroupScores;

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub inputs: Vec<String>,
    pub documents: u64,
    pub truth: TruthSummary,
    /// One per recipe, distance and similarity, and one per other program.
    pub runs: Vec<Run>,
}

impl Report {
    /// Why precision and F1 are unknown; `None` if they are known.
    pub fn not_known(&self) -> Option<&'static str> {
        self.runs.iter().find_map(|run| run.pairs?.not_known)
    }
}

/// Counts of the truth.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TruthSummary {
    /// Its file; `None` for labels that the crawl contains.
    pub file: Option<String>,
    pub duplicates: u64,
    /// Pairs that are not duplicates.
    pub others: u64,
    /// Pairs whose label has neither meaning.
    pub ignored: u64,
    /// Groups of two or more documents.
    pub groups: Option<u64>,
    /// Entries with an id that is not in the corpus.
    pub missing: u64,
    /// Labels that the caller gave a meaning, but that no pair has.
    pub unmatched_labels: Vec<String>,
    /// Labels that occur in pairs.
    pub labels: Vec<String>,
    /// Whether pairs have exact similarities.
    pub graded: bool,
    /// Graded pairs with at least this similarity are duplicates.
    pub alike: f64,
}

/// The scores of one prediction.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The name of the recipe or of the other program.
    pub name: String,
    /// Maximum distance in bits; `None` for another program.
    pub within: Option<u32>,
    /// `None` for another program.
    pub min_similarity: Option<f64>,
    pub documents: u64,
    /// Removed documents.
    pub removed: u64,
    pub exact_copies: u64,
    /// Groups of two or more documents.
    pub groups: u64,
    /// Documents in the largest group.
    pub largest_group: u64,
    /// Share of pairs of group members outside the bounds; `None` for another program.
    pub beyond_bound: Option<f64>,
    /// Scores of known pairs; a pair is found if its documents are in one group.
    pub pairs: Option<PairScores>,
    /// Share of known pairs of duplicates of which at most one document is kept, which is the
    /// purpose of cleaning. A pair can be resolved without being in one group, if one of the two
    /// was removed for a third.
    pub resolved: Score,
    pub group_scores: Option<GroupScores>,
    pub labels: Vec<LabelRow>,
    /// Exact similarity of removed documents and their representatives.
    pub removed_pairs: Option<RemovedScores>,
    /// Recall by exact similarity.
    pub ladder: Vec<Rung>,
    /// Scores that other bounds would have had.
    pub curves: Vec<Curve>,
    /// Distances of known pairs.
    pub distances: Option<Distances>,
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
    /// Whether the label means duplicates; `None` if unknown.
    pub duplicate: Option<bool>,
    pub pairs: u64,
    /// Number of these in one group.
    pub together: u64,
}

/// Exact similarity of removed documents and their representatives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RemovedScores {
    /// Measured pairs.
    pub pairs: u64,
    /// Pairs left out because one document has fewer than ten runs of five words.
    pub too_short: u64,
    /// Share of pairs with similarity 0.8 or more.
    pub from_80: Score,
    /// Share of pairs with similarity 0.9 or more.
    pub from_90: Score,
    /// Pairs with similarity below 0.5.
    pub below_half: u64,
    /// The lowest similarity of any pair.
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

/// A wrong prediction about a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WrongPair {
    pub a: String,
    pub b: String,
    /// Their positions in the corpus.
    #[serde(skip)]
    pub positions: (u32, u32),
    /// Whether it was predicted to be a duplicate; otherwise it was not found.
    pub merged: bool,
    /// The label in the truth, or `removed`.
    pub label: String,
    /// Exact similarity; `None` if unknown.
    pub jaccard: Option<f64>,
    /// Whether `jaccard` was measured here on whole pages; otherwise the truth states it.
    pub reference: bool,
    /// Distance of the fingerprints in bits; `None` if a document is too short to be compared.
    pub distance: Option<u8>,
    /// Estimated similarity; `None` if a document is too short to be compared.
    pub similarity: Option<f32>,
}
