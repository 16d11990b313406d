//! Finds all near pairs among very many distinct fingerprints that share a key.
//!
//! A *dense cluster*, such as the pages of a template, makes a bucket quadratic. Its differing bits are split
//! into `k + 1` blocks that serve as new keys; records that agree on a block are compared, or split again.
//! Guarantees each pair within the bound once, without pairs that agree on all bits of a mask in `differ`. A
//! cluster that cannot be split is compared completely; it has about as many pairs as comparisons.
//!
//! Idea: Manku, Jain and Das Sarma, 2007, section 3.1 ("a recursive application of the scheme").
//!
//! ```text
//!   dense cluster, k = 1      1010 0110 ....    differing bits in blocks: A, B
//!     agrees on A  -> groups, compared or cut again
//!     agrees on B  -> the same, for pairs that differ on A
//! ```

use super::bucket::{GROUP, STEP, compare};
use crate::hamming::{BitGather, Lanes};

/// In groups smaller than this, using more bits of a block does not pay.
const SMALL: usize = 16;

/// Maximum number of bits of a block in use.
const MOST_BITS: u32 = 12;

/// Some records of a part, and the masks on which a pair must differ to be new.
struct Group {
    members: Vec<u32>,
    differ: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Dense {
    /// Larger groups are split.
    pub(super) most: usize,
    pub(super) bound: u32,
}

impl Dense {
    /// Calls `near` once for each pair of members that is within the bound and differs on every
    /// mask, smaller index first; possibly also for pairs beyond the bound.
    #[inline(always)]
    pub(super) fn pairs<L: Lanes>(
        self,
        lanes: L,
        fingerprints: &[u64],
        members: &[u32],
        differ: Vec<u64>,
        mut near: impl FnMut(u32, u32),
    ) {
        let mut groups = vec![Group { members: members.to_vec(), differ }];
        let mut words: Vec<u64> = Vec::new();
        while let Some(Group { members, differ }) = groups.pop() {
            let varying = varying(fingerprints, &members);
            if members.len() < 2 || differ.iter().any(|mask| varying & mask == 0) {
                continue;
            }
            if members.len() > self.most
                && let Some(blocks) = self.cut(fingerprints, &members, varying)
            {
                split(lanes, fingerprints, &members, &differ, &blocks, &mut groups);
                continue;
            }
            words.clear();
            words.extend(members.iter().map(|&member| fingerprints[member as usize]));
            words.resize(members.len() + GROUP + STEP, 0);
            let all = [members.len() as u32];
            compare(lanes, &words, &members, &all, usize::MAX, self.bound, |a, b| {
                let flips = fingerprints[a as usize] ^ fingerprints[b as usize];
                if differ.iter().all(|mask| flips & mask != 0) {
                    near(a, b);
                }
            });
        }
    }

    /// Masks such that any pair within the bound agrees on one of them; `None` if this would take
    /// more than half of the comparisons of comparing all pairs.
    fn cut(self, fingerprints: &[u64], members: &[u32], varying: u64) -> Option<Vec<u64>> {
        let blocks = self.bound + 1;
        let bits = (members.len() / SMALL).max(2).ilog2().min(MOST_BITS);
        // Distributes bits round-robin over the blocks, because neighbouring bits often correlate.
        let mut masks = vec![0u64; blocks as usize];
        let positions = (0..u64::BITS).filter(|bit| varying >> bit & 1 == 1);
        for (block, bit) in (0..blocks).cycle().zip(positions) {
            let mask = &mut masks[block as usize];
            if mask.count_ones() < bits {
                *mask |= 1 << bit;
            }
        }
        let mut comparisons = 0u64;
        let mut counts = Vec::new();
        for &mask in &masks {
            let gather = BitGather::new(mask);
            counts.clear();
            counts.resize(1 << gather.bits(), 0u64);
            for &member in members {
                counts[gather.apply(fingerprints[member as usize]) as usize] += 1;
            }
            comparisons += counts.iter().map(|count| count * count).sum::<u64>();
        }
        let everything = members.len() as u64 * members.len() as u64;
        (comparisons < everything / 2).then_some(masks)
    }
}

/// The bits in which the fingerprints are not all equal.
fn varying(fingerprints: &[u64], members: &[u32]) -> u64 {
    let Some(&first) = members.first() else { return 0 };
    let first = fingerprints[first as usize];
    members.iter().fold(0, |bits, &member| bits | (fingerprints[member as usize] ^ first))
}

/// The groups that agree on a block; pairs of a later block must differ on the earlier ones.
#[inline(always)]
fn split<L: Lanes>(
    lanes: L,
    fingerprints: &[u64],
    members: &[u32],
    differ: &[u64],
    blocks: &[u64],
    groups: &mut Vec<Group>,
) {
    let mut differ = differ.to_vec();
    for &block in blocks {
        let gather = BitGather::new(block);
        let value = |member: u32| lanes.gather(&gather, fingerprints[member as usize]) as usize;
        let mut starts = vec![0u32; (1 << gather.bits()) + 1];
        for &member in members {
            starts[value(member) + 1] += 1;
        }
        for value in 1..starts.len() {
            starts[value] += starts[value - 1];
        }
        let mut next = starts.clone();
        let mut placed = vec![0u32; members.len()];
        for &member in members {
            let place = &mut next[value(member)];
            placed[*place as usize] = member;
            *place += 1;
        }
        for ends in starts.windows(2) {
            let members = &placed[ends[0] as usize..ends[1] as usize];
            if members.len() > 1 {
                groups.push(Group { members: members.to_vec(), differ: differ.clone() });
            }
        }
        differ.push(block);
    }
}
