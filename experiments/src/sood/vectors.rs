//! The thesis's documents: weighted words, and the fingerprints made from them.
//!
//! Real pages use the recipe `sood-tfidf` (Porter stemming, no stop words, TF-IDF with document frequencies of the
//! set itself); a synthetic web gives its bags weighted by frequency and rarity. Words are numbered, and an inverted
//! index gives all cosines of a document.

use std::sync::Arc;

use anyhow::{Result, ensure};
use hapax::features::frequency::{DEFAULT_WIDTH, Frequencies};
use hapax::fingerprint::simhash::{Tally, Tie, cut};
use hapax::fingerprint::{BitSums, FeatureReader, Fingerprinter, Recipe};
use hapax::page::{Body, Document, Hints, PageError};
use hapax_synth::{Web, Weighting};

use crate::real::RealSet;
use crate::synthetic::Maker;

pub(super) struct Vectors {
    pub(super) name: String,
    pub(super) synthetic: bool,
    /// Numbers and weights of each document's words.
    pub(super) documents: Vec<Vec<(u32, f32)>>,
    pub(super) bits: Vec<u64>,
    pub(super) sums: Vec<BitSums>,
    /// Documents with the same number have the same original; empty for real pages.
    families: Vec<u64>,
    lengths: Vec<f32>,
    /// Documents with word `w`, and its weight there: `having[starts[w]..starts[w + 1]]`.
    starts: Vec<usize>,
    having: Vec<(u32, f32)>,
}

impl Vectors {
    pub(super) fn of_real(set: &RealSet) -> Result<Self> {
        let recipe = Recipe::built_in("sood-tfidf")?;
        let mut reader = FeatureReader::new(recipe.clone())?;
        let mut frequencies = Frequencies::new(recipe.features_key(), DEFAULT_WIDTH)?;
        let mut all = Vec::new();
        let mut pages = Vec::new();
        for page in &set.pages {
            // Skips data files with an HTML name.
            let known = Document {
                content_type: utf8().content_type,
                ..Document::new(Body::Bytes(page.html.as_bytes()))
            };
            let mut features = match reader.document(&known) {
                Err(PageError::Unsupported { .. }) => continue,
                read => read?.1.clone(),
            };
            pages.push(page);
            features.sort_unstable();
            let counted: Vec<(u64, u32)> =
                features.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect();
            frequencies.add_document(&mut features);
            all.push(counted);
        }
        let weights = Arc::new(frequencies.weights());
        for (word, count) in all.iter_mut().flatten() {
            *count *= weights.weight(*word);
        }
        let made = Self::new(set.name.clone(), all, Vec::new());
        // The result must equal that of the engine's own pipeline.
        let mut by = Fingerprinter::new(recipe, Some(weights))?;
        for (page, &bits) in pages.iter().zip(&made.bits).take(20) {
            let comparable = by.page(page.html.as_bytes(), &utf8())?.comparable;
            let same = comparable.is_none_or(|it| it.fingerprint.to_bits() == bits);
            ensure!(same, "the vector of {} is not what its fingerprint was made of", page.url);
        }
        Ok(made)
    }

    pub(super) fn of_web(web: &Web) -> Self {
        let mut maker = Maker::default();
        let weighting = Weighting::FrequencyRarity;
        let all = (0..web.len()).map(|page| maker.bag(web, page, weighting).to_vec()).collect();
        let families = (0..web.len()).map(|page| web.truth(page).family).collect();
        Self::new("synthetic web".to_owned(), all, families)
    }

    fn new(name: String, all: Vec<Vec<(u64, u32)>>, families: Vec<u64>) -> Self {
        let mut words: Vec<u64> = all.iter().flatten().map(|it| it.0).collect();
        words.sort_unstable();
        words.dedup();
        let number = |word: u64| words.partition_point(|&it| it < word) as u32;
        let (mut documents, mut bits, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        for document in &all {
            let mut tally = Tally::default();
            document.iter().for_each(|&(hash, weight)| tally.add(hash, weight));
            bits.push(cut(&tally.sums(), Tie::Zero).to_bits());
            sums.push(tally.sums());
            let mut numbered: Vec<(u32, f32)> =
                document.iter().map(|&(word, weight)| (number(word), weight as f32)).collect();
            numbered.sort_unstable_by_key(|it| it.0);
            documents.push(numbered);
        }
        let length =
            |of: &Vec<(u32, f32)>| of.iter().map(|it| it.1 * it.1).sum::<f32>().sqrt().max(1e-9);
        let lengths = documents.iter().map(length).collect();
        let mut starts = vec![0; words.len() + 1];
        documents.iter().flatten().for_each(|it| starts[it.0 as usize + 1] += 1);
        (0..words.len()).for_each(|at| starts[at + 1] += starts[at]);
        let mut having = vec![(0, 0.0); starts[words.len()]];
        let mut next = starts.clone();
        for (document, of) in (0..).zip(&documents) {
            for &(word, weight) in of {
                having[next[word as usize]] = (document, weight);
                next[word as usize] += 1;
            }
        }
        let synthetic = !families.is_empty();
        Self { name, synthetic, documents, bits, sums, families, lengths, starts, having }
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Bytes of the vectors: 8 for the hash and 4 for the weight of each word.
    pub(super) fn bytes(&self, documents: usize) -> usize {
        self.documents[..documents].iter().map(|it| it.len() * 12).sum()
    }

    /// Merges the sorted words of both documents, in linear time.
    pub(super) fn cosine(&self, a: usize, b: usize) -> f32 {
        let (mut one, mut other) = (self.documents[a].as_slice(), self.documents[b].as_slice());
        let mut product = 0.0;
        while let (Some(x), Some(y)) = (one.first(), other.first()) {
            if x.0 == y.0 {
                product += x.1 * y.1;
            }
            one = if x.0 <= y.0 { &one[1..] } else { one };
            other = if y.0 <= x.0 { &other[1..] } else { other };
        }
        product / (self.lengths[a] * self.lengths[b])
    }

    /// The cosines of one document with the first `documents` ones.
    pub(super) fn cosines(&self, one: usize, documents: usize) -> Vec<f32> {
        let mut products = vec![0f32; documents];
        for &(word, weight) in &self.documents[one] {
            let having = &self.having[self.starts[word as usize]..self.starts[word as usize + 1]];
            // Lists are in the order of documents.
            let until = having.partition_point(|it| (it.0 as usize) < documents);
            for &(other, there) in &having[..until] {
                products[other as usize] += weight * there;
            }
        }
        let length = self.lengths[one];
        products.iter().zip(&self.lengths).map(|(it, other)| it / (length * other)).collect()
    }

    /// Near-duplicates: pairs with at least this cosine but different words, lower number first, at
    /// most `each` per document. Considers only copies of one original in a synthetic web, because
    /// all other pairs would take long and contain few.
    pub(super) fn near(&self, least: f32, each: usize, rows: usize) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        let differ = |a: usize, b: usize| self.documents[a] != self.documents[b];
        if self.synthetic {
            let mut order: Vec<usize> = (0..self.len()).collect();
            order.sort_by_key(|&page| (self.families[page], page));
            for family in order.chunk_by(|&a, &b| self.families[a] == self.families[b]) {
                for (at, &a) in family.iter().enumerate() {
                    let others = family[at + 1..].iter().take(each * 2);
                    let near = others.filter(|&&b| self.cosine(a, b) >= least && differ(a, b));
                    pairs.extend(near.take(each).map(|&b| (a, b)));
                }
            }
            return pairs;
        }
        for a in crate::real::sampled(self.len(), rows) {
            let cosines = self.cosines(a, self.len());
            let near = (a + 1..self.len()).filter(|&b| cosines[b] >= least && differ(a, b));
            pairs.extend(near.take(each).map(|b| (a, b)));
        }
        pairs
    }
}

/// Pages are already decoded.
fn utf8() -> Hints<'static> {
    Hints { content_type: Some("text/html; charset=utf-8"), url: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_synth::WebOptions;

    #[test]
    fn both_computations_of_a_cosine_agree() {
        let all = Vectors::of_web(&Web::new(WebOptions::new(9, 300)));
        for one in [0, 7, 299] {
            let cosines = all.cosines(one, 250);
            assert_eq!(cosines.len(), 250);
            for (other, cosine) in cosines.into_iter().enumerate() {
                assert!((cosine - all.cosine(one, other)).abs() < 1e-4);
            }
        }
        assert!((all.cosine(5, 5) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn near_pairs_are_similar_but_not_equal() {
        let all = Vectors::of_web(&Web::new(WebOptions::new(9, 2000)));
        let pairs = all.near(0.9, 3, 0);
        assert!(pairs.len() > 50, "{}", pairs.len());
        for (a, b) in pairs {
            assert!(a < b && all.cosine(a, b) >= 0.9 && all.documents[a] != all.documents[b]);
        }
    }
}
