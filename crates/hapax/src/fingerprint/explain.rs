//! Explains why two pages are near-duplicates, or why not. Slow and exact: for display, not for search.
//!
//! Makes both signatures and measures Khan's percentage of equal bits, the sketch's estimate, the exact Jaccard
//! similarity of the shingles and the cosine of the weighted features. Lists the differing bits with their
//! strength, and the places of shared and differing shingles in both texts.
//!
//! Source: Khan 2015, III.I for the percentage; Sood 2011, II.A and VII.B for the cosine.

use super::fingerprinter::{Fingerprinter, Signature};
use super::recipe::Weighting;
use super::sketch::Estimate;
use crate::features::{ShingleSize, shingles};
use crate::text::Place;
use std::collections::{BTreeMap, BTreeSet};

/// The result of comparing two pages.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub left: Signature,
    pub right: Signature,
    /// Whether both texts are equal.
    pub same_text: bool,
    /// Comparison of fingerprints and sketches; `None` if a page has no features.
    pub bits: Option<BitComparison>,
    /// |A ∩ B| / |A ∪ B| over the sketch's shingles; 1 for two empty pages with equal text.
    pub jaccard: f64,
    /// |A ∩ B| / min(|A|, |B|): near 1 when one page contains the other.
    pub containment: f64,
    /// Cosine of the weighted feature vectors behind the fingerprints.
    pub cosine: f64,
    /// Number of distinct shingles in both pages.
    pub shared: usize,
    /// Number of distinct shingles in the left page only.
    pub only_left: usize,
    /// Number of distinct shingles in the right page only.
    pub only_right: usize,
    /// The left text, split into shared and unshared passages.
    pub left_passages: Vec<Passage>,
    /// The right text, split into shared and unshared passages.
    pub right_passages: Vec<Passage>,
    /// First place of every shared shingle in both texts, in order of the left text.
    pub shared_shingles: Vec<(Place, Place)>,
}

/// Comparison of two fingerprints.
#[derive(Clone, Debug)]
pub struct BitComparison {
    pub distance: u32,
    /// 100 · (1 - distance / 64).
    pub percent: f64,
    /// The differing bits, lowest position first.
    pub differing: Vec<DifferingBit>,
    pub estimate: Estimate,
}

/// A bit in which two fingerprints differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferingBit {
    pub bit: u8,
    pub left_sum: i64,
    pub right_sum: i64,
    /// 1 for the weakest bit of the left page, 64 for the strongest.
    pub left_rank: u8,
    /// The same for the right page.
    pub right_rank: u8,
}

/// A run of words that are all in shared shingles, or all not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// From the first word's start to the last word's end.
    pub place: Place,
    /// Whether the other text has it.
    pub shared: bool,
}

/// Compares two extracted texts under the fingerprinter's recipe.
pub fn compare(by: &mut Fingerprinter, left: &str, right: &str) -> Comparison {
    let (left_signature, right_signature) = (by.extracted_text(left), by.extracted_text(right));
    let size = by.recipe().sketch_shingle;
    let left_side = Side::read(by, left, size);
    let right_side = Side::read(by, right, size);

    let shared_shingles: Vec<(Place, Place)> = left_side
        .first_places()
        .into_iter()
        .filter_map(|(hash, place)| Some((place, right_side.first.get(&hash)?.clone())))
        .collect();
    let shared = shared_shingles.len();
    let [only_left, only_right] = [&left_side, &right_side].map(|s| s.first.len() - shared);
    let same_text = left_signature.content == right_signature.content;
    let union = shared + only_left + only_right;
    let smaller = left_side.first.len().min(right_side.first.len());
    // Texts without words are similar only if they are equal.
    let without_words = f64::from(u8::from(same_text));
    let share = |of: usize| if of == 0 { without_words } else { shared as f64 / of as f64 };

    Comparison {
        same_text,
        bits: compare_bits(&left_signature, &right_signature),
        jaccard: share(union),
        containment: share(smaller),
        cosine: cosine(by, &left_side, &right_side).unwrap_or(without_words),
        shared,
        only_left,
        only_right,
        left_passages: left_side.passages(&right_side),
        right_passages: right_side.passages(&left_side),
        shared_shingles,
        left: left_signature,
        right: right_signature,
    }
}

fn compare_bits(left: &Signature, right: &Signature) -> Option<BitComparison> {
    let (l, r) = (left.comparable.as_ref()?, right.comparable.as_ref()?);
    let ranks = |order: [u8; 64]| {
        let mut ranks = [0u8; 64];
        for (rank, bit) in (1..).zip(order) {
            ranks[usize::from(bit)] = rank;
        }
        ranks
    };
    let left_ranks = ranks(l.sums.weakest_first());
    let right_ranks = ranks(r.sums.weakest_first());
    let flipped = l.fingerprint.to_bits() ^ r.fingerprint.to_bits();
    let differing = (0..64u8)
        .filter(|&bit| flipped >> bit & 1 == 1)
        .map(|bit| {
            let j = usize::from(bit);
            DifferingBit {
                bit,
                left_sum: l.sums.as_array()[j],
                right_sum: r.sums.as_array()[j],
                left_rank: left_ranks[j],
                right_rank: right_ranks[j],
            }
        })
        .collect();
    Some(BitComparison {
        distance: l.fingerprint.distance(r.fingerprint),
        percent: l.fingerprint.percent(r.fingerprint),
        differing,
        estimate: l.sketch.estimate(&r.sketch),
    })
}

/// The words and shingles of one text with their places.
struct Side {
    words: Vec<u64>,
    places: Vec<Place>,
    shingles: Vec<u64>,
    /// Words per shingle: the recipe's number, or all words if there are fewer.
    width: usize,
    first: BTreeMap<u64, Place>,
}

impl Side {
    fn read(by: &mut Fingerprinter, text: &str, size: ShingleSize) -> Self {
        let (places, words): (Vec<Place>, Vec<u64>) =
            by.word_hasher().placed(text).into_iter().map(|(w, hash)| (w.place, hash)).unzip();
        let mut hashes = Vec::new();
        shingles(&words, size, &mut hashes);
        let width = size.words().min(words.len());
        let mut first = BTreeMap::new();
        for (i, &hash) in hashes.iter().enumerate() {
            first.entry(hash).or_insert_with(|| places[i].start..places[i + width - 1].end);
        }
        Self { words, places, shingles: hashes, width, first }
    }

    /// The first place of each distinct shingle, in text order.
    fn first_places(&self) -> Vec<(u64, Place)> {
        let mut seen = BTreeSet::new();
        self.shingles
            .iter()
            .filter(|&&hash| seen.insert(hash))
            .filter_map(|hash| Some((*hash, self.first.get(hash)?.clone())))
            .collect()
    }

    /// A word is shared if a shared shingle covers it.
    fn passages(&self, other: &Self) -> Vec<Passage> {
        let mut shared_until = 0;
        let mut passages: Vec<Passage> = Vec::new();
        for (i, place) in self.places.iter().enumerate() {
            if self.shingles.get(i).is_some_and(|hash| other.first.contains_key(hash)) {
                shared_until = i + self.width;
            }
            let shared = i < shared_until;
            match passages.last_mut() {
                Some(last) if last.shared == shared => last.place.end = place.end,
                _ => passages.push(Passage { place: place.clone(), shared }),
            }
        }
        passages
    }
}

/// Cosine of the feature vectors; `None` if a text has no features.
fn cosine(by: &Fingerprinter, left: &Side, right: &Side) -> Option<f64> {
    let recipe = by.recipe();
    let vector = |side: &Side| {
        let mut features = Vec::new();
        shingles(&side.words, recipe.shingle, &mut features);
        let mut weights: BTreeMap<u64, f64> = BTreeMap::new();
        for feature in features {
            let weight = by.weights().map_or(1, |table| table.weight(feature));
            let sum = weights.entry(feature).or_default();
            match recipe.weighting {
                Weighting::Presence => *sum = 1.0,
                Weighting::Count | Weighting::TfIdf => *sum += f64::from(weight),
            }
        }
        weights
    };
    let (a, b) = (vector(left), vector(right));
    let norm = |v: &BTreeMap<u64, f64>| v.values().map(|w| w * w).sum::<f64>().sqrt();
    let dot: f64 = a.iter().filter_map(|(f, w)| Some(w * b.get(f)?)).sum();
    let norms = norm(&a) * norm(&b);
    (norms > 0.0).then(|| (dot / norms).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::recipe::Recipe;
    use super::*;

    const LEFT: &str = "The quick brown fox jumps over the lazy dog and runs away";
    const RIGHT: &str = "The quick brown fox jumps over the lazy cat and runs away";

    fn compared(left: &str, right: &str) -> Comparison {
        let recipe = Recipe::from_toml("name = 'three'\nsketch-shingle = 3").unwrap();
        compare(&mut Fingerprinter::new(recipe, None).unwrap(), left, right)
    }

    #[test]
    fn one_changed_word_breaks_the_shingles_that_cover_it() {
        let c = compared(LEFT, RIGHT);
        assert_eq!((c.shared, c.only_left, c.only_right), (7, 3, 3));
        assert!((c.jaccard - 7.0 / 13.0).abs() < 1e-12);
        assert!((c.containment - 0.7).abs() < 1e-12);
        // Twelve words, "the" twice: norm² is 14 on both sides, eleven occurrences agree.
        assert!((c.cosine - 13.0 / 14.0).abs() < 1e-12);
    }

    #[test]
    fn passages_mark_what_only_one_text_has() {
        let c = compared(LEFT, RIGHT);
        let shown: Vec<(&str, bool)> =
            c.left_passages.iter().map(|p| (&LEFT[p.place.clone()], p.shared)).collect();
        assert_eq!(
            shown,
            [
                ("The quick brown fox jumps over the lazy", true),
                ("dog", false),
                ("and runs away", true)
            ]
        );
        let (l, r) = c.shared_shingles[0].clone();
        assert_eq!((&LEFT[l], &RIGHT[r]), ("The quick brown", "The quick brown"));
    }

    #[test]
    fn differing_bits_agree_with_the_distance_and_carry_opposite_signs() {
        let bits = compared(LEFT, RIGHT).bits.unwrap();
        assert_eq!(bits.differing.len(), bits.distance as usize);
        assert!(bits.distance > 0);
        for d in bits.differing {
            assert_ne!(d.left_sum > 0, d.right_sum > 0, "{d:?}");
        }
    }

    #[test]
    fn equal_texts_have_similarity_one_and_an_empty_text_matches_nothing() {
        let same = compared(LEFT, LEFT);
        assert!(same.same_text);
        assert_eq!((same.jaccard, same.cosine, same.only_left), (1.0, 1.0, 0));
        let empty = compared("", LEFT);
        assert!(empty.bits.is_none());
        assert_eq!((empty.jaccard, empty.cosine), (0.0, 0.0));
        assert_eq!(compared("", "").jaccard, 1.0);
    }
}
