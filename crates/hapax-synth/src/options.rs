//! Options of a synthetic web.
//!
//! The defaults were calibrated against a real crawl. Every share is a probability; creating the web panics if a
//! value is out of range.

use crate::edit::EditMix;
use crate::language::LanguageMix;
use crate::layout::mean_copies;

/// Start from [`WebOptions::new`] and change fields.
#[derive(Clone, Debug, PartialEq)]
pub struct WebOptions {
    pub seed: u64,
    /// Number of pages. Hosts, link targets and the last block depend on it, so a smaller web is
    /// not the beginning of a larger one.
    pub pages: u64,
    /// Probability that a family has copies; the default is 0.24. Then about 29 % of the pages are
    /// copies, 28 % have another page at jaccard5 0.8 or more and 21 % at 0.9, as in the calibrated
    /// web. See also [`with_copy_share`](Self::with_copy_share).
    pub families_with_copies: f64,
    pub edits: EditMix,
    pub languages: LanguageMix,
    /// Content length of originals.
    pub length: Length,
    /// Number of different queries in the log; a tenth of the pages by default.
    pub queries: u64,
}

/// Distribution of text lengths in words: log-normal, cut at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// Mean of the logarithm.
    pub mu: f64,
    /// Standard deviation of the logarithm.
    pub sigma: f64,
    /// The shortest text, at least 1.
    pub least: u32,
    pub most: u32,
}

/// Median 190 words, mean 470, 20 to 20,000.
impl Default for Length {
    fn default() -> Self {
        Self { mu: 5.25, sigma: 1.35, least: 20, most: 20_000 }
    }
}

impl WebOptions {
    /// The calibrated web with this number of pages.
    pub fn new(seed: u64, pages: u64) -> Self {
        Self {
            seed,
            pages,
            families_with_copies: 0.24,
            edits: EditMix::default(),
            languages: LanguageMix::default(),
            length: Length::default(),
            queries: (pages / 10).max(1),
        }
    }

    /// Sets [`families_with_copies`](Self::families_with_copies) such that about this share of all
    /// pages are copies of an original. The distribution of family sizes limits the share to about
    /// 0.63, where every family has copies.
    pub fn with_copy_share(mut self, share: f64) -> Self {
        let share = share.clamp(0.0, 0.99);
        self.families_with_copies = (share / (mean_copies() * (1.0 - share))).min(1.0);
        self
    }

    pub(crate) fn check(&self) {
        let probability = self.families_with_copies;
        assert!(
            (0.0..=1.0).contains(&probability),
            "families_with_copies is {probability}, which is no probability"
        );
        assert!(self.edits.weights().iter().any(|&w| w > 0), "the edit mix has no weight");
        assert!(self.languages.weights().iter().any(|&w| w > 0), "the language mix has no weight");
        let Length { mu, sigma, least, most } = self.length;
        assert!(
            (1..=most).contains(&least) && most <= 1_000_000,
            "lengths from {least} to {most}: not within 1 to 1,000,000 in this order"
        );
        assert!(
            (0.0..=20.0).contains(&mu) && (0.0..=5.0).contains(&sigma),
            "log-normal length with mu {mu} and sigma {sigma}: not within 0..=20 and 0..=5"
        );
        assert!(self.queries > 0, "a query log without a query");
    }
}
