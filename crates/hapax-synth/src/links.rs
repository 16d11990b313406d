//! Who links to whom.
//!
//! A page has log-normal(1.9, 1.1) links (median 7, at most 1,000). Targets are drawn by Zipf
//! with exponent 0.85 over all pages in a scrambled order, so in-degrees follow a power law
//! with exponent 1 + 1/0.85 = 2.18. An exact copy has the links of its original.
//!
//! Links to itself and repeated links are dropped; the rest are in ascending order. What it
//! does not know: hosts and topics. On the real web most links stay on the host.

use crate::rng::{Purpose, Rng};
use crate::stable_math::log_normal;
use crate::web::Web;

/// A link in the text has at least this many words for itself; the others have no words.
pub(crate) const WORDS_PER_LINK: usize = 3;

impl Web {
    /// The pages this page links to: distinct, ascending.
    pub fn links(&self, index: u64) -> Vec<u64> {
        let mut out = Vec::new();
        self.links_into(index, &mut out);
        out
    }

    /// Like [`links`](Self::links), into memory that is used again.
    pub fn links_into(&self, index: u64, out: &mut Vec<u64>) {
        self.links_of(self.looks_like(index, &self.identity(index)), out);
    }

    /// The links of a page that is no exact copy.
    pub(crate) fn links_of(&self, index: u64, out: &mut Vec<u64>) {
        let mut rng = Rng::keyed(self.options.seed, Purpose::Links, index, 0);
        let degree = log_normal(&mut rng, 1.9, 1.1, 0, 1_000);
        out.clear();
        out.extend((0..degree).map(|_| self.popular.apply(self.popularity.draw(&mut rng))));
        out.retain(|&target| target != index);
        out.sort_unstable();
        out.dedup();
    }
}
