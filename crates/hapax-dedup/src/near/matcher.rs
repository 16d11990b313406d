//! Decides whether two pages are near-duplicates.
//!
//! Pages of one host whose frame was learned must have similar own texts, too. Where own texts alone decide,
//! pages with a short own text are compared as whole pages.

use std::sync::atomic::{AtomicU64, Ordering};

use hapax::fingerprint::MaxDistance;
use hapax::group::NearPair;
use hapax::similarity::{LEAST_SHORT_BOUND, Policy};

use crate::options::{Confirm, Frames, Options};
use crate::pages::Pages;

/// The result of comparing a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PairMatch {
    Alike(NearPair),
    /// Near by fingerprint, but refuted by sketches, own texts, or keyed sketches.
    NotAlike(NearPair),
    Far,
}

/// Compares pairs and counts the comparisons.
#[derive(Debug)]
pub(crate) struct Matcher<'p> {
    pages: &'p Pages,
    policy: Policy,
    /// The policy for pairs of which one is signed as a whole page, where own texts have other
    /// bounds.
    whole: Option<Policy>,
    confirm: Confirm,
    /// Whether keyed sketches are left out, because they would refute true matches, and both texts are read.
    texts_decide: bool,
    compared: AtomicU64,
}

impl<'p> Matcher<'p> {
    pub(crate) fn new(pages: &'p Pages, options: &Options) -> Self {
        let (policy, confirm) = (options.policy, options.confirm);
        let extent = options.fingerprinter.recipe().extent;
        let whole = (options.frames == Frames::Own).then(|| Policy::for_extent(extent));
        // From this bound up, they refute nearly no true match and save the reading.
        let texts_decide =
            confirm == Confirm::Exact && policy.min_similarity.jaccard() < LEAST_SHORT_BOUND;
        Self { pages, policy, whole, confirm, texts_decide, compared: AtomicU64::new(0) }
    }

    fn policy(&self, a: u32, b: u32) -> &Policy {
        match &self.whole {
            Some(whole) if !(self.pages.is_alone(a) && self.pages.is_alone(b)) => whole,
            _ => &self.policy,
        }
    }

    /// The pair if it is near and confirmed; `None` otherwise. Both pages must be
    /// [`Comparable`](crate::Status::Comparable).
    pub(crate) fn confirm(&self, a: u32, b: u32) -> Option<NearPair> {
        self.count(1);
        match self.compare(a, b) {
            PairMatch::Alike(pair) => Some(pair),
            PairMatch::NotAlike(_) | PairMatch::Far => None,
        }
    }

    /// Adds to the count of comparisons. Callers that compare many pairs count locally and add
    /// once, because threads that write one counter slow each other down.
    pub(crate) fn count(&self, compared: u64) {
        self.compared.fetch_add(compared, Ordering::Relaxed);
    }

    /// Compares without counting.
    pub(crate) fn compare(&self, a: u32, b: u32) -> PairMatch {
        let [one, other] = [a, b].map(|page| self.pages.evidence(page));
        let policy = self.policy(a, b);
        let Some(likeness) = policy.compare_candidate(&one, &other) else {
            return PairMatch::Far;
        };
        let pair = NearPair { a, b, distance: likeness.distance, similarity: likeness.similarity };
        let stands = likeness.matches()
            && !self.pages.own_texts_differ(a, b)
            && (self.texts_decide
                || self.confirm.stands(policy, [(self.pages, a), (self.pages, b)]));
        if stands { PairMatch::Alike(pair) } else { PairMatch::NotAlike(pair) }
    }

    /// The largest distance of a match.
    pub(crate) fn within(&self) -> MaxDistance {
        self.policy.within
    }

    /// The largest distance of a match under any policy in use.
    pub(crate) fn widest(&self) -> MaxDistance {
        self.whole.as_ref().map_or(self.policy.within, |it| it.within.max(self.policy.within))
    }

    /// The minimum similarity of a match.
    pub(crate) fn least(&self) -> f64 {
        self.policy.min_similarity.jaccard()
    }

    /// Number of comparisons so far.
    pub(crate) fn compared(&self) -> u64 {
        self.compared.load(Ordering::Relaxed)
    }
}
