//! Gathers scattered bits of a fingerprint into a small key.
//!
//! A key is a few runs of neighbouring bits, so gathering takes a shift and a mask per run, or the CPU's `pext`
//! where that is fast; both give the same result:
//!
//! ```text
//!   value   0 1 1 0 1 0 0 1
//!   mask    0 0 1 1 0 0 1 1
//!   gathered    1 0     0 1   ->  1001
//! ```

/// A selection of bit positions, which can be packed in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitGather {
    mask: u64,
    runs: Vec<Run>,
}

/// Neighbouring bits of the mask, which are shifted down by `shift` to `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    shift: u32,
    target: u64,
}

impl BitGather {
    /// Selects the set bits of `mask`.
    pub fn new(mask: u64) -> Self {
        let mut runs = Vec::new();
        let mut left = mask;
        let mut filled = 0;
        while left != 0 {
            let start = left.trailing_zeros();
            let length = (left >> start).trailing_ones();
            let ones = u64::MAX >> (u64::BITS - length);
            runs.push(Run { shift: start - filled, target: ones << filled });
            left &= !(ones << start);
            filled += length;
        }
        Self { mask, runs }
    }

    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// Number of selected bits.
    pub fn bits(&self) -> u32 {
        self.mask.count_ones()
    }

    /// The selected bits of `value`, packed at the low end in the same order.
    #[inline(always)]
    pub fn apply(&self, value: u64) -> u64 {
        self.runs.iter().fold(0, |key, run| key | ((value >> run.shift) & run.target))
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::BitGather;

    fn bit_by_bit(value: u64, mask: u64) -> u64 {
        let selected = (0..64).filter(|j| (mask >> j) & 1 == 1);
        selected.enumerate().fold(0, |key, (place, j)| key | (((value >> j) & 1) << place))
    }

    proptest! {
        #[test]
        fn gathering_by_runs_equals_gathering_bit_by_bit(value: u64, mask: u64) {
            prop_assert_eq!(BitGather::new(mask).apply(value), bit_by_bit(value, mask));
        }
    }

    #[test]
    fn all_bits_and_no_bits_are_legal_masks() {
        assert_eq!(BitGather::new(u64::MAX).apply(7), 7);
        assert_eq!(BitGather::new(0).apply(7), 0);
    }
}
