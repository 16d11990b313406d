//! Fingerprints of a synthetic web's documents, with the sums of the queries.
//!
//! A document is a bag of words (`hapax_synth::Web::bag`), fingerprinted by the engine. Queries are evenly spaced
//! pages and the others are stored, as in the thesis. Collections larger than the web are filled up with random
//! numbers: they cost a search as much as other documents, and are near nothing.

use hapax::fingerprint::BitSums;
use hapax::fingerprint::simhash::{Tally, Tie, cut};
use hapax_synth::{Rng, Scratch, Web, Weighting};
use rayon::prelude::*;

/// Pages per task.
const BLOCK: u64 = 4096;

/// Buffers of one thread.
#[derive(Default)]
pub(crate) struct Maker {
    scratch: Scratch,
    bag: Vec<(u64, u32)>,
}

impl Maker {
    /// The sums of a page's bits.
    pub(crate) fn sums(&mut self, web: &Web, page: u64, weighting: Weighting) -> BitSums {
        web.bag(page, weighting, &mut self.scratch, &mut self.bag);
        let mut tally = Tally::default();
        for &(hash, weight) in &self.bag {
            tally.add(hash, weight);
        }
        tally.sums()
    }

    /// The words of a page with their weights.
    pub(crate) fn bag(&mut self, web: &Web, page: u64, weighting: Weighting) -> &[(u64, u32)] {
        web.bag(page, weighting, &mut self.scratch, &mut self.bag);
        &self.bag
    }
}

/// The fingerprints of all pages in order, computed on all threads.
pub(crate) fn fingerprints(web: &Web, weighting: Weighting) -> Vec<u64> {
    let blocks: Vec<Vec<u64>> = (0..web.len().div_ceil(BLOCK))
        .into_par_iter()
        .map_init(Maker::default, |maker, block| {
            let pages = block * BLOCK..((block + 1) * BLOCK).min(web.len());
            pages.map(|page| cut(&maker.sums(web, page, weighting), Tie::Zero).to_bits()).collect()
        })
        .collect();
    blocks.concat()
}

/// Stored documents and queries.
pub(crate) struct DocumentSet {
    /// Number `i` has id `i`. In the order of the web, so that a prefix is a smaller web.
    pub(crate) stored: Vec<u64>,
    /// Fingerprints of the queries.
    pub(crate) queries: Vec<u64>,
    /// Sums of the queries.
    pub(crate) sums: Vec<BitSums>,
}

impl DocumentSet {
    /// From a web of `documents + queries` pages.
    pub(crate) fn new(seed: u64, documents: usize, queries: usize) -> Self {
        let total = (documents + queries) as u64;
        let web = Web::new(hapax_synth::WebOptions::new(seed, total));
        let weighting = Weighting::FrequencyRarity;
        let all = fingerprints(&web, weighting);
        let every = (all.len() / queries.max(1)).max(1);
        let is_query = |page: usize| page.is_multiple_of(every) && page / every < queries;
        let (query_pages, stored): (Vec<usize>, Vec<usize>) =
            (0..all.len()).partition(|&it| is_query(it));
        let sums: Vec<BitSums> = query_pages
            .par_iter()
            .map_init(Maker::default, |maker, &page| maker.sums(&web, page as u64, weighting))
            .collect();
        let of = |pages: Vec<usize>| pages.into_iter().map(|page| all[page]).collect();
        Self { stored: of(stored), queries: of(query_pages), sums }
    }
}

/// Random fingerprints.
pub(crate) fn noise(seed: u64, count: usize) -> Vec<u64> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| rng.bits()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_not_stored_and_their_bits_agree_with_their_sums() {
        let set = DocumentSet::new(3, 900, 100);
        assert_eq!((set.stored.len(), set.queries.len(), set.sums.len()), (900, 100, 100));
        for (bits, sums) in set.queries.iter().zip(&set.sums) {
            assert_eq!(cut(sums, Tie::Zero).to_bits(), *bits);
        }
    }
}
