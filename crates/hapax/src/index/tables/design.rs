//! Designs: which bits select a bucket.
//!
//! A key is a set of bit positions and a radius; a search reads every bucket whose key differs in at most
//! `radius` bits. All designs are *groups of blocks*: split the 64 bits into groups with tolerances `t[i]` such
//! that the sum of `t[i] + 1` is `k + 1`, so some group has at most its tolerance of flips; split it into `m`
//! blocks and use every choice of `c` blocks as a key, with the radius of `fewest_flips`. Mixtures are often
//! best: for `k = 3`, six keys of 21 bits replace the ten of classic designs.
//!
//! Source: one group, `c = m - k`: Manku, Jain and Das Sarma 2007; groups of one block: Norouzi, Punjani and
//! Fleet 2012.
//!
//! ```text
//!   k = 3, two halves, three blocks each: one half has at most one flip,
//!   so two of its three blocks have none
//!
//!            A    |   B    |   C    ||   D    |   E    |   F
//!   key 0  =======  =======
//!   key 1  =======           =======
//!   key 2           =======  =======
//!   key 3                             =======  =======
//!   key 4                             =======           =======
//!   key 5                                      =======  =======
//! ```

use crate::fingerprint::{Fingerprint, MaxDistance};
use crate::index::collection::BuildError;

/// Bit positions that select a bucket, and how many of them may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub mask: u64,
    /// Maximum number of these that a match may have flipped.
    pub radius: u32,
}

/// Keys that together find every match within a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    bound: MaxDistance,
    keys: Vec<Key>,
}

/// A group: its tolerance, its blocks, and the number of blocks per key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Maximum number of flips that it must handle.
    pub tolerance: u32,
    /// Number of blocks it is split into.
    pub blocks: u32,
    /// Number of blocks per key.
    pub taken: u32,
}

impl Design {
    /// The widest supported bound.
    pub const WIDEST: u32 = 16;

    /// Maximum number of tables.
    pub const MOST_TABLES: usize = 1024;

    /// Classic tables: `blocks` blocks, every choice of `blocks - k` as a key, no radius.
    ///
    /// # Errors
    ///
    /// [`BuildError::Blocks`] unless there are more blocks than `k`, at most 64, and at most
    /// [`MOST_TABLES`](Self::MOST_TABLES) keys.
    pub fn blocks(blocks: u32, bound: MaxDistance) -> Result<Self, BuildError> {
        let k = check_bound(bound)?;
        let refused = |need| Err(BuildError::Blocks { blocks, bound: k, need });
        if blocks <= k {
            return refused("there must be more blocks than bits of the bound");
        }
        if blocks > Fingerprint::BITS {
            return refused("a fingerprint has 64 bits to cut");
        }
        if choose(blocks, k) > Self::MOST_TABLES as u64 {
            return refused("it would take more than 1024 tables");
        }
        Ok(Self::groups(bound, &[Group { tolerance: k, blocks, taken: blocks - k }]))
    }

    /// Multi-index hashing: each block is a key, with the radius that `k` requires.
    ///
    /// # Errors
    ///
    /// [`BuildError::Blocks`] unless there are 1 to `k + 1` blocks.
    pub fn multi_index(blocks: u32, bound: MaxDistance) -> Result<Self, BuildError> {
        let k = check_bound(bound)?;
        if blocks == 0 || blocks > k + 1 {
            let need = "one block at least, and no more than one above the bound";
            return Err(BuildError::Blocks { blocks, bound: k, need });
        }
        let groups: Vec<Group> = (0..blocks)
            .map(|i| (k + 1) / blocks + u32::from(i < (k + 1) % blocks) - 1)
            .map(|tolerance| Group { tolerance, blocks: 1, taken: 1 })
            .collect();
        Ok(Self::groups(bound, &groups))
    }

    /// The tolerances must add up as in the module header; all callers in this crate compute them
    /// so.
    pub(super) fn groups(bound: MaxDistance, groups: &[Group]) -> Self {
        let covered: u32 = groups.iter().map(|group| group.tolerance + 1).sum();
        assert!(covered > bound.bits(), "tolerances must cover the bound");
        let mut keys = Vec::new();
        for (group, bits) in groups.iter().zip(split(u64::MAX, groups.len() as u32)) {
            let blocks = split(bits, group.blocks);
            let radius = fewest_flips(group.tolerance, group.blocks, group.taken);
            for chosen in combinations(group.blocks, group.taken) {
                let blocks = blocks.iter().enumerate().filter(|(i, _)| (chosen >> i) & 1 == 1);
                let mask = blocks.fold(0, |mask, (_, block)| mask | block);
                keys.push(Key { mask, radius });
            }
        }
        Self { bound, keys }
    }

    /// The bound within which it is exact.
    pub fn bound(&self) -> MaxDistance {
        self.bound
    }

    /// One table is built for each.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }
}

fn check_bound(bound: MaxDistance) -> Result<u32, BuildError> {
    let asked = bound.bits();
    if asked > Design::WIDEST {
        return Err(BuildError::BoundOutOfRange { asked, most: Design::WIDEST });
    }
    Ok(asked)
}

/// The maximum number of flips in the `taken` least flipped of `blocks` blocks, if `flips` are
/// distributed over all blocks. An even distribution is the worst case.
pub(super) fn fewest_flips(flips: u32, blocks: u32, taken: u32) -> u32 {
    let (each, more) = (flips / blocks, flips % blocks);
    taken * each + taken.saturating_sub(blocks - more)
}

/// `n` over `k`, saturating.
pub(in crate::index) fn choose(n: u32, k: u32) -> u64 {
    (0..u64::from(k.min(n.saturating_sub(k))))
        .fold(1, |product: u64, i| product.saturating_mul(u64::from(n) - i) / (i + 1))
}

/// Splits the set bits of `mask` into `parts` runs of nearly equal size, high bits and larger runs
/// first.
fn split(mask: u64, parts: u32) -> Vec<u64> {
    let positions: Vec<u32> = (0..u64::BITS).rev().filter(|j| (mask >> j) & 1 == 1).collect();
    let (each, more) = (positions.len() / parts as usize, positions.len() % parts as usize);
    let mut left = positions.as_slice();
    (0..parts as usize)
        .map(|part| {
            let (run, rest) = left.split_at(each + usize::from(part < more));
            left = rest;
            run.iter().fold(0, |bits, j| bits | (1 << j))
        })
        .collect()
}

/// All sets of `taken` out of `of` things, as bit masks, in lexicographic order.
fn combinations(of: u32, taken: u32) -> Vec<u64> {
    let mut sets: Vec<u64> = Flips::of_weight(of, taken).collect();
    sets.sort_unstable();
    sets
}

/// Bit patterns of `bits` bits with at most `radius` set: no bit first, then one, and so on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flips {
    /// Patterns below `1 << bits` are in range.
    bits: u32,
    radius: u32,
    weight: u32,
    next: u64,
}

impl Flips {
    #[inline(always)]
    pub(super) fn within(bits: u32, radius: u32) -> Self {
        debug_assert!(bits < u64::BITS);
        Self { bits, radius: radius.min(bits), weight: 0, next: 0 }
    }

    /// Only the patterns with exactly `weight` bits set.
    fn of_weight(bits: u32, weight: u32) -> impl Iterator<Item = u64> {
        let all = if bits == u64::BITS {
            // Only one such pattern is ever needed: all blocks of one bit.
            Self { bits: 63, radius: 0, weight: 0, next: u64::MAX >> (64 - weight) }
        } else {
            let next = if weight == 0 { 0 } else { u64::MAX >> (64 - weight) };
            Self { bits, radius: weight, weight, next }
        };
        all.take_while(move |pattern| pattern.count_ones() == weight)
    }
}

impl Iterator for Flips {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if self.weight > self.radius {
            return None;
        }
        let pattern = self.next;
        let lowest = pattern & pattern.wrapping_neg();
        let carried = pattern.wrapping_add(lowest);
        // The next larger number with as many ones (Gosper): moves the top bit of the lowest run up
        // and the rest of this run to the bottom.
        let shift = (pattern.trailing_zeros() + 2) & 63;
        let following = carried | ((pattern ^ carried) >> shift);
        if pattern == 0 || following >> self.bits != 0 {
            self.weight += 1;
            self.next = (1 << self.weight) - 1;
        } else {
            self.next = following;
        }
        Some(pattern)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bound(bits: u32) -> MaxDistance {
        MaxDistance::new(bits as u8).unwrap()
    }

    fn covers(design: &Design, flips: u64) -> bool {
        design.keys().iter().any(|key| (flips & key.mask).count_ones() <= key.radius)
    }

    #[test]
    fn the_classic_designs_have_their_table_counts() {
        let sizes = |design: Design| design.keys().iter().map(|k| k.mask.count_ones()).collect();
        let of = |blocks| -> Vec<u32> { sizes(Design::blocks(blocks, bound(3)).unwrap()) };
        assert_eq!(of(4), [16; 4]);
        assert_eq!(of(5), [26, 26, 26, 26, 26, 26, 25, 25, 25, 25]);
        assert_eq!(of(6).len(), 20);
    }

    #[test]
    fn each_flip_pattern_occurs_once_lightest_first() {
        for bits in 0..10 {
            for radius in 0..=bits + 1 {
                let found: Vec<u64> = Flips::within(bits, radius).collect();
                let mut expected: Vec<u64> =
                    (0..1u64 << bits).filter(|p| p.count_ones() <= radius).collect();
                expected.sort_by_key(|p| (p.count_ones(), *p));
                assert_eq!(found, expected, "{bits} bits within {radius}");
            }
        }
    }

    #[test]
    fn impossible_designs_are_refused() {
        assert!(Design::blocks(3, bound(3)).is_err());
        assert!(Design::blocks(65, bound(3)).is_err());
        assert!(Design::blocks(32, bound(16)).is_err());
        assert!(Design::multi_index(0, bound(3)).is_err());
        assert!(Design::multi_index(5, bound(3)).is_err());
        let refused = Design::multi_index(1, bound(17));
        assert_eq!(refused, Err(BuildError::BoundOutOfRange { asked: 17, most: 16 }));
    }

    proptest! {
        #[test]
        fn a_design_covers_all_flips_within_the_bound(
            k in 0u32..=16,
            positions in proptest::collection::vec(0u32..64, 16),
            blocks in 1u32..=20,
        ) {
            let flips = positions.iter().take(k as usize).fold(0, |f, j| f | (1u64 << j));
            for design in [
                Design::blocks(blocks, bound(k)),
                Design::multi_index(blocks, bound(k)),
            ].into_iter().flatten() {
                prop_assert!(covers(&design, flips), "{design:?}");
            }
        }

        #[test]
        fn the_least_flipped_blocks_have_at_most_the_computed_flips(
            counts in proptest::collection::vec(0u32..5, 1..8),
            taken in any::<prop::sample::Index>(),
        ) {
            let taken = taken.index(counts.len()) + 1;
            let mut sorted = counts.clone();
            sorted.sort_unstable();
            let fewest: u32 = sorted.iter().take(taken).sum();
            let flips = counts.iter().sum();
            prop_assert!(fewest <= fewest_flips(flips, counts.len() as u32, taken as u32));
        }
    }
}
