//! Random fingerprints with planted neighbours: input for an index, at memory speed.
//!
//! A share of the rows are copies that differ from a parent in 1 to `max_flips` bits, all numbers equally likely. The
//! parent is at `founders * u^3` for uniform `u`, so a few have hundreds of copies; 10 % and three flips of 200,000
//! rows make about 15,950 groups, the largest of about 325. Parents are never copies, so members are at most `2 *
//! max_flips` apart. The same on every platform. Easier than the web: founders are uniform and every bit is equally
//! likely to flip; for SimHash sums see [`Web::bag`](crate::Web::bag).

use crate::permutation::Permutation;
use crate::rng::{Purpose, Rng, key};

/// Fingerprints and their parents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    pub fingerprints: Vec<u64>,
    /// The row that each row was copied from; a row's own number if it is no copy.
    pub parents: Vec<u32>,
}

impl Planted {
    /// Number of groups with more than one row, and size of the largest.
    pub fn groups(&self) -> (u64, u64) {
        let mut sizes = vec![0u32; self.parents.len()];
        self.parents.iter().for_each(|&parent| sizes[parent as usize] += 1);
        let several = sizes.iter().filter(|&&size| size > 1).count();
        (several as u64, u64::from(sizes.into_iter().max().unwrap_or(0)))
    }

    /// The planted pairs: copy, parent, and number of flipped bits.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        (0u32..).zip(&self.parents).filter(|&(row, &parent)| row != parent).map(|(row, &parent)| {
            let [a, b] = [row, parent].map(|row| self.fingerprints[row as usize]);
            (row, parent, (a ^ b).count_ones())
        })
    }
}

/// Makes `n` fingerprints, of which `share` are `1..=max_flips` bits from another one.
///
/// # Panics
///
/// Panics if `n` is above 2^32, `share` is not in `0.0..1.0`, or `max_flips` is not in `1..=64`.
pub fn planted(seed: u64, n: u64, share: f64, max_flips: u32) -> Planted {
    assert!(n <= 1 << 32, "{n} rows, more than 2^32");
    assert!((0.0..1.0).contains(&share), "a share of {share}, which is not in 0.0..1.0");
    assert!((1..=64).contains(&max_flips), "{max_flips} flips, not within 1 to 64");
    let copies = (n as f64 * share) as u64;
    let founders = n - copies;
    // Row `place(k)` is founder `k`, or copy `k - founders`.
    let place = Permutation::new(n, key(seed, Purpose::Planted, 0, 0));
    let mut fingerprints = vec![0; n as usize];
    let mut parents = vec![0; n as usize];
    for founder in 0..founders {
        let row = place.apply(founder);
        fingerprints[row as usize] = key(seed, Purpose::Planted, 1, founder);
        parents[row as usize] = row as u32;
    }
    for copy in founders..n {
        let mut rng = Rng::keyed(seed, Purpose::Planted, 2, copy);
        let u = rng.unit();
        let parent = place.apply((founders as f64 * (u * u * u)) as u64);
        let row = place.apply(copy);
        let flips = distinct_bits(rng.between(1, u64::from(max_flips)) as u32, &mut rng);
        fingerprints[row as usize] = fingerprints[parent as usize] ^ flips;
        parents[row as usize] = parent as u32;
    }
    Planted { fingerprints, parents }
}

/// A value with exactly `count` bits set.
fn distinct_bits(count: u32, rng: &mut Rng) -> u64 {
    let mut bits = 0u64;
    while bits.count_ones() < count {
        bits |= 1 << rng.below(64);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_near_their_parent_and_parents_are_never_copies() {
        for max_flips in [1, 3, 8] {
            let set = planted(5, 20_000, 0.1, max_flips);
            let mut seen = vec![0u32; max_flips as usize + 1];
            for (row, parent, distance) in set.pairs() {
                assert_ne!(row, parent);
                assert_eq!(set.parents[parent as usize], parent);
                seen[distance as usize] += 1;
            }
            assert_eq!(seen[0], 0);
            assert_eq!(seen.iter().sum::<u32>(), 2_000);
            let even = 2_000 / max_flips;
            assert!(seen[1..].iter().all(|n| n.abs_diff(even) < even / 3), "{seen:?}");
        }
    }

    #[test]
    fn groups_are_as_skewed_as_stated() {
        let (groups, largest) = planted(1, 200_000, 0.1, 3).groups();
        assert!((15_800..16_100).contains(&groups), "{groups}");
        assert!((280..380).contains(&largest), "{largest}");
    }

    #[test]
    fn rows_that_were_not_planted_are_far_apart() {
        let set = planted(2, 1_500, 0.1, 3);
        for a in 0..set.fingerprints.len() {
            for b in 0..a {
                if set.parents[a] != set.parents[b] {
                    let distance = (set.fingerprints[a] ^ set.fingerprints[b]).count_ones();
                    assert!(distance > 6, "rows {a} and {b} are {distance} apart by chance");
                }
            }
        }
    }
}
