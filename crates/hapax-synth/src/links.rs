//! Links between pages.
//!
//! A page has log-normal(1.9, 1.1) links (median 7, at most 1,000). Targets follow a Zipf distribution with exponent
//! 0.85 over all pages in a scrambled order, so in-degrees follow a power law with exponent 1 + 1/0.85 = 2.18. An
//! exact copy has the links of its original. Links to the page itself and repeated links are dropped; the rest are
//! ascending. Ignores hosts and topics; on the real web most links stay on the host.

use crate::rng::{Purpose, Rng};
use crate::stable_math::log_normal;
use crate::web::Web;

/// A link in the text has at least this many words; links beyond that have no text.
pub(crate) const WORDS_PER_LINK: usize = 3;

impl Web {
    /// The link targets of a page, distinct and ascending.
    pub fn links(&self, index: u64) -> Vec<u64> {
        let mut out = Vec::new();
        self.links_into(index, &mut out);
        out
    }

    /// Like [`links`](Self::links), but reuses memory.
    pub fn links_into(&self, index: u64, out: &mut Vec<u64>) {
        self.links_of(self.looks_like(index, &self.identity(index)), out);
    }

    /// The links of a page that is not an exact copy.
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
