//! Documents as weighted features without text: input for SimHash at the scale of an index.
//!
//! A bag holds the distinct words of a page's content, edited as the page is, with a 64-bit hash and an integer
//! weight each; truth is the page's. 10^8 bags take about twenty minutes of one core, less with a shorter
//! [`Length`](crate::Length). Frequencies, lengths, overlaps and edits are those of the pages. Left out: the host's
//! frame and noise, the order of words, and shingles. The rarity weight imitates IDF by rank: 1 for the commonest
//! word to 21 for the rarest.

use crate::rng::mix;
use crate::web::{Scratch, Web};

/// How much a word of a bag counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighting {
    /// 1 for every word.
    Presence,
    /// How often it occurs.
    Frequency,
    /// How often it occurs times how rare it is: 1 + floor(log2(rank + 1)).
    #[default]
    FrequencyRarity,
}

impl Web {
    /// Fills `out` with the distinct words of a page's content: hash and weight, the
    /// commonest word of the language first.
    pub fn bag(
        &self,
        index: u64,
        weighting: Weighting,
        scratch: &mut Scratch,
        out: &mut Vec<(u64, u32)>,
    ) {
        let identity = self.identity(index);
        self.write_content(&identity, scratch);
        let Scratch { text, ranks, .. } = scratch;
        ranks.clear();
        ranks.extend(text.iter().map(|token| token.rank()));
        ranks.sort_unstable();
        out.clear();
        let language = identity.family.language as u64;
        for run in ranks.chunk_by(|a, b| a == b) {
            let (rank, frequency) = (run[0], run.len() as u32);
            let weight = match weighting {
                Weighting::Presence => 1,
                Weighting::Frequency => frequency,
                Weighting::FrequencyRarity => frequency * (1 + (rank + 1).ilog2()),
            };
            out.push((feature(u64::from(rank), language), weight));
        }
    }
}

/// The hash of a word: the same in every web.
fn feature(rank: u64, language: u64) -> u64 {
    // Twice, because the inputs differ in few low bits only.
    mix(mix(rank << 3 | language).wrapping_add(0x9e37_79b9_7f4a_7c15))
}
