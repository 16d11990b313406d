//! Stores integers in as many bits as they need.
//!
//! A column of values of equal width, back to back. A value may straddle two words; reading takes two loads
//! from neighbouring words, nearly always in one cache line.

use crate::hamming::memory::{filled, prefetch};

/// A fixed number of integers of `width` bits each.
#[derive(Clone, Debug)]
pub struct PackedInts {
    /// One word longer than needed, so that a read can always load two.
    words: Vec<u64>,
    width: u32,
    len: usize,
}

impl PackedInts {
    /// `len` zeros, each wide enough for `largest`.
    pub fn zeros(len: usize, largest: u64) -> Self {
        let width = width(largest);
        let words = (len * width as usize).div_ceil(64) + 1;
        Self { words: filled(words, 0), width, len }
    }

    /// Predicted heap bytes of `len` values up to `largest`.
    pub(super) fn predicted_bytes(len: u64, largest: u64) -> u64 {
        let bits = u128::from(len) * u128::from(width(largest));
        (bits.div_ceil(64) as u64 + 1) * size_of::<u64>() as u64
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub fn get(&self, index: usize) -> u64 {
        debug_assert!(index < self.len);
        let bit = index * self.width as usize;
        let (word, shift) = (bit / 64, bit % 64);
        let low = self.words[word] >> shift;
        // Shifts by up to 64 in two steps, so that nothing comes from the next word at shift 0.
        let high = (self.words[word + 1] << 1) << (63 - shift);
        (low | high) & self.mask()
    }

    /// Sets the value at `index`, which must still be zero.
    #[inline(always)]
    pub fn put(&mut self, index: usize, value: u64) {
        debug_assert!(index < self.len && value & !self.mask() == 0);
        let bit = index * self.width as usize;
        let (word, shift) = (bit / 64, bit % 64);
        self.words[word] |= value << shift;
        self.words[word + 1] |= (value >> 1) >> (63 - shift);
    }

    /// Requests the cache line of the value at `index`.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        prefetch(&self.words, index * self.width as usize / 64);
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    #[inline(always)]
    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

/// Number of bits for values up to `largest`.
fn width(largest: u64) -> u32 {
    (u64::BITS - largest.leading_zeros()).max(1)
}

impl FromIterator<u64> for PackedInts {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let values: Vec<u64> = values.into_iter().collect();
        let mut packed = Self::zeros(values.len(), values.iter().copied().max().unwrap_or(0));
        for (index, &value) in values.iter().enumerate() {
            packed.put(index, value);
        }
        packed
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::PackedInts;

    proptest! {
        #[test]
        fn stored_values_are_read_back(width in 0u32..=64, values in vec(any::<u64>(), 0..200)) {
            let values: Vec<u64> =
                values.into_iter().map(|v| v.checked_shr(64 - width).unwrap_or(0)).collect();
            let packed: PackedInts = values.iter().copied().collect();
            let back: Vec<u64> = (0..packed.len()).map(|i| packed.get(i)).collect();
            prop_assert_eq!(back, values);
        }
    }

    #[test]
    fn a_column_takes_the_bits_of_its_widest_value() {
        let packed: PackedInts = (0..1 << 13).collect();
        assert_eq!(packed.memory_bytes(), (13 << 13) / 8 + 8);
    }
}
