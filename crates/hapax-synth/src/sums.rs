//! SimHash sums of documents and of edited copies, without the documents.
//!
//! The 64 sums of a long document are normally distributed, and an edit adds a normally distributed change to each,
//! so a bit with a sum near zero flips first. The size of edits is a fiftieth to a half of the sums', log-uniform:
//! copies are 0 to about 10 bits from their original. Founders are uniform in all bits, so there are no chance
//! matches; for documents with topics see [`Web::bag`](crate::Web::bag). The same on every platform.

use crate::rng::{Purpose, Rng};
use crate::stable_math::{log_uniform, normal};

/// Standard deviation of a sum.
const SIZE: f64 = 10_000.0;

/// The smallest and the largest edit, as shares of `SIZE`.
const EDITS: [f64; 2] = [0.02, 0.5];

/// The sums of a family's member: 0 is the original, others are edited copies of it.
pub fn family_sums(seed: u64, family: u64, member: u64) -> [i64; 64] {
    let mut original = Rng::keyed(seed, Purpose::Sums, family, 0);
    let sums: [f64; 64] = std::array::from_fn(|_| normal(&mut original) * SIZE);
    if member == 0 {
        return sums.map(|sum| sum as i64);
    }
    let mut edit = Rng::keyed(seed, Purpose::Sums, family, member);
    let size = log_uniform(&mut edit, EDITS[0], EDITS[1]) * SIZE;
    sums.map(|sum| (sum + normal(&mut edit) * size) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(sums: &[i64; 64]) -> u64 {
        (0..64).fold(0, |bits, j| bits | u64::from(sums[j] > 0) << j)
    }

    #[test]
    fn copies_are_near_their_original_and_families_are_not() {
        let (mut near, mut flipped, mut weak) = (0, 0, 0);
        for family in 0..1000 {
            let sums = family_sums(1, family, 0);
            let flips = cut(&sums) ^ cut(&family_sums(1, family, 1));
            near += u32::from(flips.count_ones() <= 6);
            flipped += flips.count_ones();
            let is_weak = |j: &usize| flips >> j & 1 == 1 && sums[*j].abs() < SIZE as i64 / 2;
            weak += (0..64).filter(is_weak).count() as u32;
            let other = cut(&family_sums(1, family + 1, 0));
            assert!((cut(&sums) ^ other).count_ones() > 6);
        }
        assert!((700..950).contains(&near), "{near}");
        assert!(weak * 10 > flipped * 9, "{weak} of {flipped}");
    }

    #[test]
    fn values_never_change() {
        let sums = [0, 1].map(|member| family_sums(7, 3, member)[..3].to_vec());
        assert_eq!(sums, [[-16_061, 11_023, -15_674], [-16_952, 9_615, -16_376]]);
    }
}
