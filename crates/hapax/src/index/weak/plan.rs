//! Plans which combinations of flips to try, for one index and one bound.
//!
//! A near-duplicate within `k` bits flips a set `S` of the leading bits and at most `k - |S|` others; the
//! second factor hardly differs between pages, so its average is used. The limit is measured, because flips are
//! not independent. [`Aim::Average`] uses one minimum probability for all queries: the fewest probes for a
//! recall. [`Aim::EachQuery`] continues each query until it has covered a probability. The target is raised by
//! the sampling error at 95 %.
//!
//! Source: Sood 2011, IV.A; the condition on the bound and the limits are ours.
//!
//! ```text
//!   P(S | within k)  =  product of odds in S  *  P(at most k - |S| flips elsewhere)  /  total
//! ```

use super::calibration::{Calibration, Curve, LEVELS, SamplePair, level, steps_per_unit};
use super::combinations::{Enumeration, MOST_FLIPS, MOST_RANKS, Ranking, above};
use super::{Aim, Recall};
use crate::fingerprint::{BitSums, Fingerprint};

/// Sample pairs used for averages over pages.
const PAGES_OF_A_MEAN: usize = 200;

/// Sets less likely than this are not enumerated when measuring a calibration.
const NEGLIGIBLE: f32 = 1e-6;

/// Standard deviations for a one-sided confidence of 95 %.
const CONFIDENCE: f64 = 1.645;

/// The plan for one index, one bound and one recall.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    odds: [f32; LEVELS],
    sizes: [f32; MOST_FLIPS + 1],
    most: usize,
    limit: Limit,
    unknown: Unknown,
}

/// For queries without sums: all bits are equally likely to flip.
#[derive(Clone, Debug)]
struct Unknown {
    odds: f32,
    sizes: [f32; MOST_FLIPS + 1],
    /// All sets of a size are equally likely, so a limit on the probability would include all or
    /// none of them; such a query continues until enough is covered.
    limit: Limit,
}

/// Which sets to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    None,
    /// Those with at least this probability.
    Likelihood(f32),
    /// The most likely, until this probability is covered.
    Covered(f32),
}

/// The positions of the leading bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leading {
    /// Position in the fingerprint of each bit of the prefix.
    positions: [u8; MOST_RANKS],
    count: usize,
    /// Whether they are the most significant bits.
    at_top: bool,
}

impl Leading {
    /// From the set bits of `mask`, at most [`MOST_RANKS`].
    pub(super) fn new(mask: u64) -> Self {
        let mut positions = [0; MOST_RANKS];
        let set = (0..64u8).filter(|&bit| mask >> bit & 1 == 1);
        for (position, bit) in positions.iter_mut().zip(set) {
            *position = bit;
        }
        let at_top = mask.leading_ones() == mask.count_ones();
        Self { positions, count: mask.count_ones() as usize, at_top }
    }

    fn mask(&self) -> u64 {
        self.positions[..self.count].iter().fold(0, |mask, bit| mask | 1 << bit)
    }
}

impl Plan {
    pub(super) fn new(
        calibration: &Calibration,
        leading: &Leading,
        bound: u32,
        recall: Recall,
        aim: Aim,
    ) -> Self {
        let (pairs, curve) = calibration.within(bound);
        let bound = bound as usize;
        let elsewhere = Fingerprint::BITS as usize - leading.count;
        let share = curve.share.clamp(1e-4, 0.5);
        let mut plan = Self {
            odds: curve.odds,
            sizes: mean_sizes(&pairs, &curve, leading, bound),
            most: bound.min(leading.count),
            limit: Limit::None,
            unknown: Unknown {
                odds: (share / (1.0 - share)) as f32,
                sizes: at_most(std::iter::repeat_n(share, elsewhere), bound),
                limit: Limit::None,
            },
        };
        if recall < Recall::ALL && !pairs.is_empty() {
            plan.unknown.limit = Limit::Covered(recall.get() as f32);
            plan.limit = plan.measure(&pairs, leading, recall, aim);
        }
        plan
    }

    fn measure(&self, pairs: &[SamplePair], leading: &Leading, recall: Recall, aim: Aim) -> Limit {
        let mut ranking = self.empty_ranking();
        let mut enumeration = Enumeration::default();
        // How deep a search must go to find each pair; larger is deeper.
        let depths: Vec<f32> = pairs
            .iter()
            .map(|pair| {
                self.rank_by(|bit| u32::from(pair.strengths[bit]), leading, &mut ranking);
                let total = ranking.total();
                let flips = pair.flips & leading.mask();
                let levels = pair.strengths.iter().enumerate();
                let flipped = levels.filter(|(bit, _)| flips >> bit & 1 == 1);
                let odds = flipped.map(|(_, &level)| self.odds[usize::from(level)]);
                let weight = odds.product::<f32>() * self.sizes[flips.count_ones() as usize];
                match aim {
                    Aim::Average => -weight / total,
                    Aim::EachQuery => {
                        let least = weight.max(NEGLIGIBLE * total);
                        let covered = above(&ranking, least, &mut enumeration);
                        // The probability covered before it is reached.
                        (covered - weight).max(0.0) / total
                    }
                }
            })
            .collect();
        let mut sorted = depths.clone();
        sorted.sort_by(f32::total_cmp);
        let depth = |share: f64| {
            let inside = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len());
            sorted[inside - 1]
        };
        let share = recall.get();
        let spread = spread_of_pages(pairs, &depths, depth(share), share);
        let depth = depth((share + CONFIDENCE * spread).min(1.0));
        // A small safety margin, because the same weight may be computed in another order.
        match aim {
            Aim::Average => Limit::Likelihood(-depth * 0.9999),
            Aim::EachQuery => Limit::Covered((depth * 1.0001).clamp(1e-6, 0.999_999)),
        }
    }

    /// A ranking to fill with [`rank`](Self::rank).
    pub(super) fn empty_ranking(&self) -> Ranking {
        Ranking {
            odds: [0.0; MOST_RANKS],
            bits: [0; MOST_RANKS],
            ranks: 0,
            sizes: self.sizes,
            most: self.most,
        }
    }

    /// Ranks the leading bits of a query and returns its limit.
    #[inline(always)]
    pub(super) fn rank(
        &self,
        sums: Option<&BitSums>,
        leading: &Leading,
        ranking: &mut Ranking,
    ) -> Limit {
        if let Some(sums) = sums {
            let unit = steps_per_unit(sums);
            if unit > 0.0 {
                let level = |bit: usize| level(sums.as_array()[bit], unit);
                self.rank_by(level, leading, ranking);
                return self.limit;
            }
        }
        ranking.ranks = leading.count;
        ranking.sizes = self.unknown.sizes;
        for rank in 0..leading.count {
            ranking.odds[rank] = self.unknown.odds;
            ranking.bits[rank] = 1 << rank;
        }
        self.unknown.limit
    }

    /// `level` returns the strength of a bit in steps.
    #[inline(always)]
    fn rank_by(&self, level: impl Fn(usize) -> u32, leading: &Leading, ranking: &mut Ranking) {
        ranking.ranks = leading.count;
        ranking.sizes = self.sizes;
        if !leading.at_top {
            let level = |i: usize| level(usize::from(leading.positions[i]));
            if leading.count <= 16 {
                self.rank_levels(std::array::from_fn::<_, 16, _>(level), 0, ranking);
            } else {
                self.rank_levels(std::array::from_fn::<_, MOST_RANKS, _>(level), 0, ranking);
            }
        } else if leading.count <= 16 {
            let levels = std::array::from_fn::<_, 16, _>(|i| level(48 + i));
            self.rank_levels(levels, 16 - leading.count, ranking);
        } else {
            let levels = std::array::from_fn::<_, MOST_RANKS, _>(|i| level(32 + i));
            self.rank_levels(levels, MOST_RANKS - leading.count, ranking);
        }
    }

    /// The leading bits' levels begin at `start` of `levels`. Arrays of a fixed size are
    /// vectorized, even if only partly used.
    #[inline(always)]
    fn rank_levels<const N: usize>(&self, levels: [u32; N], start: usize, ranking: &mut Ranking) {
        let used = start..start + ranking.ranks;
        // The strength above the position, so that all keys differ.
        let keys: [u32; N] = std::array::from_fn(|i| {
            if used.contains(&i) { levels[i] << 8 | i as u32 } else { u32::MAX }
        });
        // The rank of a key is the number of smaller keys.
        let mut ranks = [0u32; N];
        for smaller in keys {
            for (rank, &key) in ranks.iter_mut().zip(&keys) {
                *rank += u32::from(smaller < key);
            }
        }
        for (&key, &rank) in keys[used.clone()].iter().zip(&ranks[used]) {
            let rank = rank as usize % MOST_RANKS;
            ranking.odds[rank] = self.odds[(key >> 8) as usize % LEVELS];
            ranking.bits[rank] = (1 << (key % 32)) >> start;
        }
    }

    /// Average number of probes for the pages of the sample, or some value above `most`.
    pub(super) fn probes(&self, pairs: &[SamplePair], leading: &Leading, most: f64) -> f64 {
        let Limit::Likelihood(limit) = self.limit else {
            return all_sets(leading.count, self.most);
        };
        let mut ranking = self.empty_ranking();
        let mut enumeration = Enumeration::default();
        let pages = pairs.len().min(PAGES_OF_A_MEAN);
        let mut probes = 0u64;
        for pair in &pairs[..pages] {
            self.rank_by(|bit| u32::from(pair.strengths[bit]), leading, &mut ranking);
            above(&ranking, limit * ranking.total(), &mut enumeration);
            probes += enumeration.len() as u64;
            if probes as f64 > most * pages as f64 {
                break;
            }
        }
        probes as f64 / pages.max(1) as f64
    }
}

/// The standard deviation of the share found at `depth` between samples. Pairs of one page must be
/// adjacent.
fn spread_of_pages(pairs: &[SamplePair], depths: &[f32], depth: f32, share: f64) -> f64 {
    let mut squares = 0.0;
    let mut at = 0;
    for page in pairs.chunk_by(|a, b| a.strengths == b.strengths) {
        let found = depths[at..at + page.len()].iter().filter(|&&one| one <= depth).count();
        squares += (found as f64 - share * page.len() as f64).powi(2);
        at += page.len();
    }
    squares.sqrt() / pairs.len().max(1) as f64
}

/// Nanoseconds of the steps of a search: finding a set, sorting it by part and looking up its
/// bucket; and comparing a fingerprint. Measured in large batches on a Zen 4 server (without
/// matches): 21.6 probes with 2,948 fingerprints took 650, 71.7 with 9,629 took 2,000.
const PROBE: f64 = 20.0;
const COMPARISON: f64 = 0.06;

/// Average bucket size below which a larger directory does not justify its memory.
const LEAST_BUCKET: usize = 8;

/// The leading bits with the fastest search of these rows: Sood's equation 6.16 without the binary
/// search, with the bits that near-duplicates flip least in front.
pub(super) fn choose_leading(
    calibration: &Calibration,
    stored: &EvenSample,
    bound: u32,
    recall: Recall,
    prefix_bits: Option<u32>,
) -> u64 {
    let rows = stored.rows;
    let order = stored.even_first(calibration.least_flipped(bound));
    let mask = |bits: u32| order[..bits as usize].iter().fold(0, |mask, bit| mask | 1 << bit);
    if let Some(bits) = prefix_bits {
        return mask(bits);
    }
    let most = (rows / LEAST_BUCKET).max(1).ilog2().min(24);
    let (pairs, _) = calibration.within(bound);
    let mut best = (0, rows as f64 * COMPARISON);
    for bits in 1..=most {
        let leading = Leading::new(mask(bits));
        let plan = Plan::new(calibration, &leading, bound, recall, Aim::Average);
        let cost_of_a_probe = PROBE + rows as f64 / (1u64 << bits) as f64 * COMPARISON;
        let probes = plan.probes(&pairs, &leading, best.1 / cost_of_a_probe);
        let cost = probes * cost_of_a_probe;
        if cost < best.1 {
            best = (bits, cost);
        } else if probes * PROBE > best.1 {
            break;
        }
    }
    mask(best.0)
}

/// Fingerprints of an even selection of rows, and the number of rows.
#[derive(Debug, Default)]
pub(super) struct EvenSample {
    rows: usize,
    /// Every `2^shift`th row.
    fingerprints: Vec<u64>,
    shift: u32,
}

/// Maximum number of rows in a sample.
const MOST_SAMPLED: usize = 20_000;

/// Minimum number of rows to call a bit uneven.
const LEAST_SAMPLED: usize = 1000;

impl EvenSample {
    pub(super) fn add(&mut self, fingerprint: u64) {
        if self.rows.is_multiple_of(1 << self.shift) {
            self.fingerprints.push(fingerprint);
            if self.fingerprints.len() > MOST_SAMPLED {
                let mut number = 0;
                self.fingerprints.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.shift += 1;
            }
        }
        self.rows += 1;
    }

    /// Moves bits that are nearly constant to the end: they would leave many buckets empty and
    /// others dense.
    fn even_first(&self, mut order: [u8; 64]) -> [u8; 64] {
        let sample = &self.fingerprints;
        let uneven = |bit: u8| {
            let ones: u64 = sample.iter().map(|fingerprint| fingerprint >> bit & 1).sum();
            let share = ones as f64 / sample.len().max(1) as f64;
            sample.len() >= LEAST_SAMPLED && !(0.3..=0.7).contains(&share)
        };
        order.sort_by_key(|&bit| uneven(bit));
        order
    }
}

/// Number of sets of at most `most` out of `of`.
fn all_sets(of: usize, most: usize) -> f64 {
    let mut sets = 1.0;
    let mut total = 1.0;
    for size in 1..=most.min(of) {
        sets *= (of - size + 1) as f64 / size as f64;
        total += sets;
    }
    total
}

/// `P(at most bound - i flips elsewhere)` for each `i`, relative to that for 0, averaged.
fn mean_sizes(
    pairs: &[SamplePair],
    curve: &Curve,
    leading: &Leading,
    bound: usize,
) -> [f32; MOST_FLIPS + 1] {
    let mask = leading.mask();
    let elsewhere = |pair: &SamplePair| {
        let levels = (0..64).filter(|bit| mask >> bit & 1 == 0).map(|bit| pair.strengths[bit]);
        let odds = levels.map(|level| f64::from(curve.odds[usize::from(level)]));
        at_most(odds.map(|odds| odds / (1.0 + odds)), bound)
    };
    let pages = &pairs[..pairs.len().min(PAGES_OF_A_MEAN)];
    let mut mean = [0f32; MOST_FLIPS + 1];
    for pair in pages {
        for (mean, one) in mean.iter_mut().zip(elsewhere(pair)) {
            *mean += one / pages.len() as f32;
        }
    }
    if pages.is_empty() {
        mean[..=bound].fill(1.0);
    }
    mean
}

/// `P(at most bound - i flips)`, relative to `P(at most bound)`; 0 for `i` above the bound.
fn at_most(probabilities: impl Iterator<Item = f64>, bound: usize) -> [f32; MOST_FLIPS + 1] {
    // exactly[i]: the probability of exactly i flips so far.
    let mut exactly = [0f64; MOST_FLIPS + 1];
    exactly[0] = 1.0;
    for q in probabilities {
        for i in (0..=bound).rev() {
            let one_more = if i > 0 { exactly[i - 1] * q } else { 0.0 };
            exactly[i] = exactly[i] * (1.0 - q) + one_more;
        }
    }
    let sum = |most: usize| exactly[..=most].iter().sum::<f64>();
    let all = sum(bound);
    std::array::from_fn(|i| if i <= bound { (sum(bound - i) / all) as f32 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_agrees_with_the_binomial_distribution() {
        let even = at_most(std::iter::repeat_n(0.5, 4), 2);
        // 1, 4 and 6 sixteenths have 0, 1 and 2 flips.
        for (share, expected) in even.iter().zip([1.0, 5.0 / 11.0, 1.0 / 11.0, 0.0]) {
            assert!((share - expected).abs() < 1e-6);
        }
    }

    /// The `count` most significant bits.
    fn top_bits(count: u32) -> u64 {
        u64::MAX << (u64::BITS - count)
    }

    /// Evenly spread fingerprints in which these bits are always set.
    fn sample_of(rows: u64, set: u64) -> EvenSample {
        let mut sample = EvenSample::default();
        (0..rows).for_each(|i| sample.add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) | set));
        sample
    }

    #[test]
    fn constant_bits_do_not_lead() {
        let stored = sample_of(2000, 0xff00_0000_0000_0000);
        let recall = Recall::new(0.95).unwrap();
        let calibration = Calibration::default();
        let mask = choose_leading(&calibration, &stored, 3, recall, Some(12));
        assert_eq!(mask, 0x00ff_f000_0000_0000);
    }

    #[test]
    fn weakest_bits_rank_first_and_ties_go_by_position() {
        let leading = Leading::new(top_bits(6));
        let plan = Plan::new(&Calibration::default(), &leading, 3, Recall::ALL, Aim::Average);
        let mut sums = [1000i64; 64];
        sums[58..].copy_from_slice(&[-50, 10, 50, -3, 0, 900]);
        let mut ranking = plan.empty_ranking();
        plan.rank(Some(&BitSums::new(sums)), &leading, &mut ranking);
        let bits: Vec<u32> = ranking.bits[..6].iter().map(|bit| bit.trailing_zeros()).collect();
        assert_eq!(bits, [3, 4, 1, 0, 2, 5]);
        assert!(ranking.odds[..6].windows(2).all(|pair| pair[0] >= pair[1]));
    }

    #[test]
    fn equal_sums_are_treated_like_no_sums() {
        let leading = Leading::new(top_bits(9));
        let recall = Recall::new(0.9).unwrap();
        let plan = Plan::new(&Calibration::default(), &leading, 3, recall, Aim::Average);
        let mut ranking = plan.empty_ranking();
        let zero = BitSums::new([0; 64]);
        assert_eq!(plan.rank(None, &leading, &mut ranking), Limit::Covered(0.9));
        assert_eq!(plan.rank(Some(&zero), &leading, &mut ranking), Limit::Covered(0.9));
        assert!(ranking.odds[..9].windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn more_recall_takes_more_probes_and_more_pages_longer_prefixes() {
        let calibration = Calibration::default();
        let leading = Leading::new(top_bits(16));
        let (pairs, _) = calibration.within(6);
        let probes = |recall| {
            let recall = Recall::new(recall).unwrap();
            let plan = Plan::new(&calibration, &leading, 6, recall, Aim::Average);
            plan.probes(&pairs, &leading, f64::INFINITY)
        };
        let [few, more, all] = [0.9, 0.99, 1.0].map(probes);
        assert!(1.0 <= few && few < more && more < all && all == 14_893.0, "{few} {more} {all}");
        let recall = Recall::new(0.95).unwrap();
        let bits = [1 << 10, 1 << 16, 1 << 22].map(|rows: u64| {
            choose_leading(&calibration, &sample_of(rows, 0), 3, recall, None).count_ones()
        });
        assert!(bits[0] < bits[1] && bits[1] < bits[2], "{bits:?}");
    }
}
