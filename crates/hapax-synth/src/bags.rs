//! Documents as weighted features without text: input for SimHash at the scale of an index.
//!
//! A bag contains the distinct words of a page's edited content, each with a 64-bit hash and an integer weight; its
//! truth is the page's. 10^8 bags take one core about twenty minutes, less with a shorter [`Length`](crate::Length).
//! Frequencies, lengths, overlaps and edits are those of the pages. Omitted: the host's frame and noise, word order,
//! and shingles. The rarity weight imitates IDF by rank: 1 for the most frequent word to 21 for the rarest.

use crate::rng::mix;
use crate::web::{Scratch, Web};

/// The weight of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighting {
    Presence,
    /// Number of occurrences.
    Frequency,
    /// Number of occurrences times rarity: 1 + floor(log2(rank + 1)).
    #[default]
    FrequencyRarity,
}

impl Web {
    /// Fills `out` with hash and weight of the distinct words of a page's content, most frequent
    /// words of the language first.
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

/// The hash of a word, the same in every web.
fn feature(rank: u64, language: u64) -> u64 {
    // Mixed twice, because inputs differ in few low bits only.
    mix(mix(rank << 3 | language).wrapping_add(0x9e37_79b9_7f4a_7c15))
}
