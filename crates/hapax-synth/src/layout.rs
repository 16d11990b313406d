//! Assigns pages to families, in shuffled blocks of 65,536 pages.
//!
//! Inside a block families occupy consecutive slots, and a keyed permutation gives each page its slot. A family's
//! number is the page number of its first slot, so no table is needed. It has copies with a given probability, then
//! Zipf(2,000, exponent 2.6) of them; the last family of a block is cut. Memory is one bit per page, computed on
//! first use; results do not depend on it.
//!
//! ```text
//!   slots     0   1   2   3   4   5   6   7  ...      a set bit starts a family
//!   starts    1   1   0   0   1   1   1   0
//!   family    0   1   1   1   4   5   6   6
//!   copy      0   0   1   2   0   0   0   1           copy 0 is the original
//! ```

use std::sync::OnceLock;

use crate::permutation::Permutation;
use crate::rng::{Purpose, Rng, key};
use crate::zipf::Zipf;

pub const BLOCK: u64 = 65_536;
/// Zipf distribution of the number of copies, in families that have copies.
const MOST_COPIES: u64 = 2_000;
const COPIES_EXPONENT: f64 = 2.6;

/// Average number of copies in families that have copies (about 1.8).
pub(crate) fn mean_copies() -> f64 {
    let weight = |k: u64, s: f64| crate::stable_math::pow(k as f64, -s);
    let total: f64 = (1..=MOST_COPIES).map(|k| weight(k, COPIES_EXPONENT)).sum();
    (1..=MOST_COPIES).map(|k| weight(k, COPIES_EXPONENT - 1.0)).sum::<f64>() / total
}

/// The family and copy number of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) family: u64,
    pub(crate) copy: u32,
}

#[derive(Debug)]
pub(crate) struct Layout {
    seed: u64,
    pages: u64,
    with_copies: f64,
    copies: Zipf,
    blocks: Box<[OnceLock<Box<[u64]>>]>,
}

impl Layout {
    pub(crate) fn new(seed: u64, pages: u64, with_copies: f64) -> Self {
        let blocks = (0..pages.div_ceil(BLOCK)).map(|_| OnceLock::new()).collect();
        let copies = Zipf::new(MOST_COPIES, COPIES_EXPONENT);
        Self { seed, pages, with_copies, copies, blocks }
    }

    pub(crate) fn place(&self, page: u64) -> Place {
        let block = page / BLOCK;
        let slot = self.shuffle(block).apply(page % BLOCK);
        let starts = self.starts(block);
        let mut word = (slot / 64) as usize;
        // Slot 0 always starts a family, so the loop ends.
        let mut bits = starts[word] & (u64::MAX >> (63 - slot % 64));
        while bits == 0 {
            word -= 1;
            bits = starts[word];
        }
        let start = word as u64 * 64 + u64::from(63 - bits.leading_zeros());
        Place { family: block * BLOCK + start, copy: (slot - start) as u32 }
    }

    /// Number of pages of a family. `family` must be the number of one.
    pub(crate) fn size(&self, family: u64) -> u32 {
        let block = family / BLOCK;
        let start = family % BLOCK;
        let starts = self.starts(block);
        let length = self.length(block);
        let next = (start + 1..length)
            .find(|slot| starts[(slot / 64) as usize] >> (slot % 64) & 1 == 1)
            .unwrap_or(length);
        (next - start) as u32
    }

    /// The page with this family and copy number; inverse of [`place`](Self::place).
    pub(crate) fn page(&self, place: Place) -> u64 {
        let block = place.family / BLOCK;
        let slot = place.family % BLOCK + u64::from(place.copy);
        block * BLOCK + self.shuffle(block).invert(slot)
    }

    fn length(&self, block: u64) -> u64 {
        (self.pages - block * BLOCK).min(BLOCK)
    }

    fn shuffle(&self, block: u64) -> Permutation {
        Permutation::new(self.length(block), key(self.seed, Purpose::Shuffle, block, 0))
    }

    fn starts(&self, block: u64) -> &[u64] {
        self.blocks[block as usize].get_or_init(|| {
            let length = self.length(block);
            let mut rng = Rng::keyed(self.seed, Purpose::Layout, block, 0);
            let mut starts = vec![0u64; length.div_ceil(64) as usize].into_boxed_slice();
            let mut slot = 0;
            while slot < length {
                starts[(slot / 64) as usize] |= 1 << (slot % 64);
                slot += 1;
                if rng.chance(self.with_copies) {
                    slot += 1 + self.copies.draw(&mut rng);
                }
            }
            starts
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_partition_the_pages() {
        for pages in [1, 2, 100, 5_000, BLOCK, BLOCK + 777] {
            let layout = Layout::new(9, pages, 0.2);
            let mut members = 0u64;
            for page in 0..pages {
                let place = layout.place(page);
                assert_eq!(layout.page(place), page);
                let size = layout.size(place.family);
                assert!(place.copy < size);
                if place.copy == 0 {
                    members += u64::from(size);
                    for copy in 0..size {
                        let member = layout.page(Place { copy, ..place });
                        assert!(member < pages);
                        assert_eq!(layout.place(member), Place { copy, ..place });
                    }
                }
            }
            assert_eq!(members, pages);
        }
    }

    #[test]
    fn a_fifth_of_the_families_have_copies_and_a_quarter_of_the_pages_are_copies() {
        let layout = Layout::new(3, BLOCK, 0.2);
        let (mut families, mut single, mut copies) = (0u32, 0u32, 0u32);
        for page in 0..BLOCK {
            let place = layout.place(page);
            if place.copy == 0 {
                families += 1;
                single += u32::from(layout.size(place.family) == 1);
            } else {
                copies += 1;
            }
        }
        let single = f64::from(single) / f64::from(families);
        let copies = f64::from(copies) / BLOCK as f64;
        assert!((0.79..0.81).contains(&single), "{single}");
        assert!((0.23..0.29).contains(&copies), "{copies}");
    }

    #[test]
    fn the_members_of_a_family_are_scattered_over_the_block() {
        let layout = Layout::new(3, BLOCK, 0.2);
        let close = (1..BLOCK)
            .filter(|&page| layout.place(page).family == layout.place(page - 1).family)
            .count();
        assert!(close < 20, "{close} neighbours of one family");
    }
}
