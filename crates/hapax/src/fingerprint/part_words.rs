//! Hashes of the words of a text that is read in parts, and the shingles they make.
//!
//! A shingle may begin in one part and end in the next, so the last words of a part are carried over. All
//! shingles together are those of the whole text, in order.

use crate::features::hash::MAX_SHINGLE;
use crate::features::{ShingleSize, shingles_by};
use crate::hamming::Kernel;

/// Words that are carried over: one more than a shingle needs shows that there were enough for one.
const CARRIED: usize = MAX_SHINGLE as usize;
/// Buffers up to this many numbers (512 KiB) are kept.
const KEPT: usize = 1 << 16;

/// The words of a part, after the last ones of the parts before.
#[derive(Debug, Default)]
pub(super) struct PartWords {
    hashes: Vec<u64>,
    carried: usize,
}

impl PartWords {
    /// Starts a text.
    pub(super) fn clear(&mut self) {
        self.hashes.clear();
        self.carried = 0;
    }

    /// Starts the next part. Its words are appended to what is returned.
    pub(super) fn next_part(&mut self) -> &mut Vec<u64> {
        self.carried = self.hashes.len().min(CARRIED);
        self.hashes.drain(..self.hashes.len() - self.carried);
        give_back(&mut self.hashes);
        &mut self.hashes
    }

    /// The words of the part.
    pub(super) fn words(&self) -> &[u64] {
        &self.hashes[self.carried..]
    }

    /// Writes the shingles that end in this part to `out`. A text that is shorter than a shingle is
    /// one shingle, which ends in the `last` part.
    pub(super) fn shingles(
        &self,
        kernel: Kernel,
        size: ShingleSize,
        last: bool,
        out: &mut Vec<u64>,
    ) {
        out.clear();
        give_back(out);
        let words = &self.hashes[self.carried.saturating_sub(size.words() - 1)..];
        let first = self.carried < size.words();
        if words.len() >= size.words() || (first && last) {
            shingles_by(kernel, words, size, out);
        }
    }
}

/// Frees a buffer if it is large: few texts need such, but each thread would keep one.
pub(super) fn give_back(buffer: &mut Vec<u64>) {
    if buffer.capacity() > KEPT.max(buffer.len()) {
        buffer.shrink_to(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::shingles;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shingles_of_parts_are_those_of_the_whole(
            parts in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..12), 1..8),
            size in 1..=MAX_SHINGLE,
        ) {
            let size = ShingleSize::new(size).unwrap();
            let (mut all, mut expected, mut out) = (Vec::new(), Vec::new(), Vec::new());
            shingles(&parts.concat(), size, &mut expected);
            let mut words = PartWords::default();
            for (at, part) in parts.iter().enumerate() {
                words.next_part().extend_from_slice(part);
                prop_assert_eq!(words.words(), &part[..]);
                words.shingles(Kernel::PORTABLE, size, at + 1 == parts.len(), &mut out);
                all.extend_from_slice(&out);
            }
            prop_assert_eq!(all, expected);
        }
    }
}
