//! Are these two pages near-duplicates?
//!
//! Pages of one host whose frame was learned must be alike in their own texts, too. Where own texts alone decide, pages
//! with too little of it are compared as whole pages are elsewhere.

use std::sync::atomic::{AtomicU64, Ordering};

use hapax::fingerprint::MaxDistance;
use hapax::group::NearPair;
use hapax::similarity::Policy;

use crate::options::{Confirm, Frames, Options};
use crate::pages::Pages;

/// What is thought of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PairMatch {
    /// Near and confirmed.
    Alike(NearPair),
    /// Near, but sketches or own texts do not confirm it, or sketches under the key contradict.
    NotAlike(NearPair),
    Far,
}

/// Decides on pairs, and counts how often it was asked.
#[derive(Debug)]
pub(crate) struct Matcher<'p> {
    pages: &'p Pages,
    policy: Policy,
    /// For pairs that are not both signed by their own texts, where those have other bounds.
    whole: Option<Policy>,
    confirm: Confirm,
    compared: AtomicU64,
}

impl<'p> Matcher<'p> {
    pub(crate) fn new(pages: &'p Pages, options: &Options) -> Self {
        let (policy, confirm) = (options.policy, options.confirm);
        let extent = options.fingerprinter.recipe().extent;
        let whole = (options.frames == Frames::Own).then(|| Policy::for_extent(extent));
        Self { pages, policy, whole, confirm, compared: AtomicU64::new(0) }
    }

    fn policy(&self, a: u32, b: u32) -> &Policy {
        match &self.whole {
            Some(whole) if !(self.pages.is_alone(a) && self.pages.is_alone(b)) => whole,
            _ => &self.policy,
        }
    }

    /// The pair, if the fingerprints are near and the sketches confirm it. Both pages must be
    /// [`Comparable`](crate::Status::Comparable).
    pub(crate) fn confirm(&self, a: u32, b: u32) -> Option<NearPair> {
        self.count(1);
        match self.compare(a, b) {
            PairMatch::Alike(pair) => Some(pair),
            PairMatch::NotAlike(_) | PairMatch::Far => None,
        }
    }

    /// Counts pairs that were looked at. Whoever compares many counts them himself: a number that all threads
    /// write to makes them wait for each other.
    pub(crate) fn count(&self, compared: u64) {
        self.compared.fetch_add(compared, Ordering::Relaxed);
    }

    /// What fingerprints and sketches say; not counted.
    pub(crate) fn compare(&self, a: u32, b: u32) -> PairMatch {
        let [one, other] = [a, b].map(|page| self.pages.evidence(page));
        let policy = self.policy(a, b);
        let Some(likeness) = policy.compare_candidate(&one, &other) else {
            return PairMatch::Far;
        };
        let pair = NearPair { a, b, distance: likeness.distance, similarity: likeness.similarity };
        let stands = likeness.matches()
            && !self.pages.own_texts_differ(a, b)
            && self.confirm.stands(policy, [(self.pages, a), (self.pages, b)]);
        if stands { PairMatch::Alike(pair) } else { PairMatch::NotAlike(pair) }
    }

    /// The largest distance of a pair.
    pub(crate) fn within(&self) -> MaxDistance {
        self.policy.within
    }

    /// The largest distance of a pair, whatever it is compared by.
    pub(crate) fn widest(&self) -> MaxDistance {
        self.whole.as_ref().map_or(self.policy.within, |it| it.within.max(self.policy.within))
    }

    /// The least similarity of a pair.
    pub(crate) fn least(&self) -> f64 {
        self.policy.min_similarity.jaccard()
    }

    /// How many pairs were looked at so far.
    pub(crate) fn compared(&self) -> u64 {
        self.compared.load(Ordering::Relaxed)
    }
}
