//! Maps words to dimensions.
//!
//! A word's hash selects its sub-dictionary. Words that are common in a sample are placed one by one, so that all
//! dimensions get about the same number of occurrences: with hashes alone, the dimension of "the" is longer than the
//! others.
//!
//! Source: Zhu et al. 2012, 4.1; the balanced choice is ours.

use super::PartitionError;

/// More than three dimensions improve little (Zhu et al. 2012, 6.1).
pub const MOST_DIMENSIONS: usize = 4;

/// Number of common words that are placed one by one. They make up more than half of all
/// occurrences, and are few enough to be stored.
pub const PLACED: usize = 2048;

/// Number of word occurrences in each sub-dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LengthVector {
    lengths: [u32; MOST_DIMENSIONS],
    dimensions: u8,
}

impl LengthVector {
    ///
    /// # Errors
    ///
    /// There are no lengths, or more than [`MOST_DIMENSIONS`].
    pub fn new(lengths: &[u32]) -> Result<Self, PartitionError> {
        let dimensions = checked(lengths.len())?;
        let mut all = [0; MOST_DIMENSIONS];
        all[..lengths.len()].copy_from_slice(lengths);
        Ok(Self { lengths: all, dimensions })
    }

    pub fn lengths(&self) -> &[u32] {
        &self.lengths[..usize::from(self.dimensions)]
    }

    /// Number of all words.
    pub fn total(&self) -> u64 {
        self.lengths().iter().map(|&length| u64::from(length)).sum()
    }
}

/// Maps each word to its dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dictionary {
    dimensions: u8,
    /// Hashes and dimensions of individually placed words.
    placed: Vec<(u64, u8)>,
}

impl Dictionary {
    /// Places all words by their hashes.
    ///
    /// # Errors
    ///
    /// `dimensions` is not in 1 to [`MOST_DIMENSIONS`].
    pub fn by_hash(dimensions: usize) -> Result<Self, PartitionError> {
        Ok(Self { dimensions: checked(dimensions)?, placed: Vec::new() })
    }

    /// Places the most frequent words of a sample such that dimensions get equally many
    /// occurrences, and all others by their hashes. `counts` are words with their number of
    /// occurrences; every word occurs once.
    ///
    /// # Errors
    ///
    /// `dimensions` is not in 1 to [`MOST_DIMENSIONS`].
    pub fn balanced(
        dimensions: usize,
        counts: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<Self, PartitionError> {
        let mut dictionary = Self::by_hash(dimensions)?;
        let mut counts: Vec<(u64, u64)> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|&(word, count)| (std::cmp::Reverse(count), word));
        let rare = counts.split_off(counts.len().min(PLACED));
        // The dimensions of rare words are fixed; the common ones balance them.
        let mut loads = [0u64; MOST_DIMENSIONS];
        for (word, count) in rare {
            loads[usize::from(dictionary.dimension(word))] += count;
        }
        for (word, count) in counts {
            let lightest = (0..dimensions).min_by_key(|&at| loads[at]).unwrap_or(0);
            loads[lightest] += count;
            dictionary.placed.push((word, lightest as u8));
        }
        dictionary.placed.sort_unstable();
        Ok(dictionary)
    }

    /// Restores a dictionary from the placed words of each dimension.
    ///
    /// # Errors
    ///
    /// The number of dimensions is not in 1 to [`MOST_DIMENSIONS`], or a word is placed twice.
    pub fn from_placed(words: &[Vec<u64>]) -> Result<Self, PartitionError> {
        let mut dictionary = Self::by_hash(words.len())?;
        for (dimension, words) in words.iter().enumerate() {
            dictionary.placed.extend(words.iter().map(|&word| (word, dimension as u8)));
        }
        dictionary.placed.sort_unstable();
        match dictionary.placed.windows(2).find(|two| two[0].0 == two[1].0) {
            Some(two) => Err(PartitionError::PlacedTwice { word: two[0].0 }),
            None => Ok(dictionary),
        }
    }

    /// The individually placed words of each dimension.
    pub fn placed(&self) -> Vec<Vec<u64>> {
        let mut words = vec![Vec::new(); self.dimensions()];
        for &(word, dimension) in &self.placed {
            words[usize::from(dimension)].push(word);
        }
        words
    }

    pub fn dimensions(&self) -> usize {
        usize::from(self.dimensions)
    }

    pub fn dimension(&self, word: u64) -> u8 {
        match self.placed.binary_search_by_key(&word, |&(placed, _)| placed) {
            Ok(at) => self.placed[at].1,
            // The upper half of the product: uniform over dimensions, without division.
            Err(_) => ((u128::from(word) * u128::from(self.dimensions)) >> 64) as u8,
        }
    }

    /// The lengths of a page from the hashes of its words, including repetitions.
    pub fn lengths(&self, words: &[u64]) -> LengthVector {
        let mut lengths = [0u32; MOST_DIMENSIONS];
        for &word in words {
            let length = &mut lengths[usize::from(self.dimension(word))];
            *length = length.saturating_add(1);
        }
        LengthVector { lengths, dimensions: self.dimensions }
    }
}

fn checked(dimensions: usize) -> Result<u8, PartitionError> {
    match dimensions {
        1..=MOST_DIMENSIONS => Ok(dimensions as u8),
        given => Err(PartitionError::Dimensions { given }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_word_counts_in_exactly_one_dimension(
            words in vec(any::<u64>(), 0..100),
            dimensions in 1usize..=MOST_DIMENSIONS,
        ) {
            let counts = words.iter().take(10).map(|&word| (word, 3));
            let balanced = Dictionary::balanced(dimensions, counts).unwrap();
            for dictionary in [Dictionary::by_hash(dimensions).unwrap(), balanced] {
                let lengths = dictionary.lengths(&words);
                prop_assert_eq!(lengths.lengths().len(), dimensions);
                prop_assert_eq!(lengths.total(), words.len() as u64);
            }
        }
    }

    #[test]
    fn common_words_are_spread_so_that_dimensions_are_equally_long() {
        // Zipf: the n-th word occurs 10,000 / n times.
        let word = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let counts: Vec<(u64, u64)> = (1..1000).map(|n| (word(n), 10_000 / n)).collect();
        let loads = |dictionary: &Dictionary| {
            let mut loads = [0u64; 3];
            for &(word, count) in &counts {
                loads[usize::from(dictionary.dimension(word))] += count;
            }
            loads
        };
        let balanced = loads(&Dictionary::balanced(3, counts.clone()).unwrap());
        let spread = |loads: [u64; 3]| loads.iter().max().unwrap() - loads.iter().min().unwrap();
        assert!(spread(balanced) <= 10, "{balanced:?}");
        assert!(spread(loads(&Dictionary::by_hash(3).unwrap())) > 1000);
    }

    #[test]
    fn zero_or_too_many_dimensions_are_refused() {
        for given in [0, MOST_DIMENSIONS + 1] {
            assert_eq!(Dictionary::by_hash(given), Err(PartitionError::Dimensions { given }));
        }
        assert!(LengthVector::new(&[]).is_err());
    }
}
