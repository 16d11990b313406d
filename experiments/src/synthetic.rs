//! Fingerprints of a synthetic web's documents, and the sums of those that ask.
//!
//! A document is a bag of words (`hapax_synth::Web::bag`), fingerprinted by the engine. Every so
//! manieth asks and the others are stored, as in the thesis. Collections that are to be larger than
//! the web are filled up with random numbers: they cost a search what other documents would, and
//! are near nothing.

use hapax::fingerprint::BitSums;
use hapax::fingerprint::simhash::{Tally, Tie, cut};
use hapax_synth::{Rng, Scratch, Web, Weighting};
use rayon::prelude::*;

/// Pages made by one task.
const BLOCK: u64 = 4096;

/// The working memory of one thread.
#[derive(Default)]
pub struct Maker {
    scratch: Scratch,
    bag: Vec<(u64, u32)>,
}

impl Maker {
    /// What the bits of a page are cut from.
    pub fn sums(&mut self, web: &Web, page: u64, weighting: Weighting) -> BitSums {
        web.bag(page, weighting, &mut self.scratch, &mut self.bag);
        let mut tally = Tally::default();
        for &(hash, weight) in &self.bag {
            tally.add(hash, weight);
        }
        tally.sums()
    }

    /// The words of a page with their weights.
    pub fn bag(&mut self, web: &Web, page: u64, weighting: Weighting) -> &[(u64, u32)] {
        web.bag(page, weighting, &mut self.scratch, &mut self.bag);
        &self.bag
    }
}

/// The fingerprints of all pages, in order, on all threads.
pub fn fingerprints(web: &Web, weighting: Weighting) -> Vec<u64> {
    let blocks: Vec<Vec<u64>> = (0..web.len().div_ceil(BLOCK))
        .into_par_iter()
        .map_init(Maker::default, |maker, block| {
            let pages = block * BLOCK..((block + 1) * BLOCK).min(web.len());
            pages.map(|page| cut(&maker.sums(web, page, weighting), Tie::Zero).to_bits()).collect()
        })
        .collect();
    blocks.concat()
}

/// Stored documents and others that ask.
pub struct Asked {
    /// Number `i` has id `i`. In the order of the web, so that the first so many are a smaller web.
    pub stored: Vec<u64>,
    /// Fingerprints that ask.
    pub asking: Vec<u64>,
    /// What they were cut from.
    pub sums: Vec<BitSums>,
}

impl Asked {
    /// Of a web of `documents + queries` pages.
    pub fn new(seed: u64, documents: usize, queries: usize) -> Self {
        let total = (documents + queries) as u64;
        let web = Web::new(hapax_synth::WebOptions::new(seed, total));
        let weighting = Weighting::FrequencyRarity;
        let all = fingerprints(&web, weighting);
        let every = (all.len() / queries.max(1)).max(1);
        let asks = |page: usize| page.is_multiple_of(every) && page / every < queries;
        let (asking, stored): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|&it| asks(it));
        let sums: Vec<BitSums> = asking
            .par_iter()
            .map_init(Maker::default, |maker, &page| maker.sums(&web, page as u64, weighting))
            .collect();
        let of = |pages: Vec<usize>| pages.into_iter().map(|page| all[page]).collect();
        Self { stored: of(stored), asking: of(asking), sums }
    }
}

/// So many random fingerprints.
pub fn noise(seed: u64, count: usize) -> Vec<u64> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| rng.bits()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_ask_are_not_stored_and_their_bits_are_those_of_their_sums() {
        let asked = Asked::new(3, 900, 100);
        assert_eq!((asked.stored.len(), asked.asking.len(), asked.sums.len()), (900, 100, 100));
        for (bits, sums) in asked.asking.iter().zip(&asked.sums) {
            assert_eq!(cut(sums, Tie::Zero).to_bits(), *bits);
        }
    }
}
