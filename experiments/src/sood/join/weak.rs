//! Chooses the flips to probe: those of weak bits, learned from sampled pairs.
//!
//! A query comes with its weakest bits, weakest first, as written by `hapax fingerprint`. A [`WeakModel`] learns odds
//! for each rank, a factor for each number of flipped leading bits, and the minimum likelihood that reaches the
//! requested share of the *other half* of the pairs; a query probes every set with at least that likelihood. Reaches
//! the requested share on pairs like the sample's; [`WeakModel::learn`] refuses a sample that is too small or cannot
//! reach it. Needs no sums. Source: Sood 2011, IV.A and IV.B, V.B. Odds by rank, the factors and the limit are ours.

use hapax::fingerprint::MaxDistance;
use hapax::index::Recall;

use super::probe::Flips;

/// Number of weak bits considered per query.
pub(crate) const WEAKEST: usize = 32;

/// Positions of the weakest bits, weakest first.
pub(crate) type WeakOrder = [u8; WEAKEST];

/// Minimum number of pairs to learn from.
pub(crate) const FEWEST_PAIRS: usize = 200;

/// Maximum number of flips in a set.
const MOST_FLIPS: usize = 8;

/// Candidates for the number of leading bits. A larger directory would not pay.
const LEADING: std::ops::RangeInclusive<u32> = 4..=26;

/// Number of pairs on which probes are counted.
const COUNTED: usize = 400;

/// Nanoseconds per probe: to make and sort it, and to read it again in each pass.
const MAKE: f64 = 25.0;
const READ: f64 = 0.4;

/// Nanoseconds per bucket in each pass, and per stored fingerprint and 16 words there.
const BUCKET: f64 = 0.5;
const STORED: f64 = 6.0;
const WORDS: f64 = 0.06;

/// A near pair with the weak bits of its query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SamplePair {
    /// The weak bits of the query.
    pub(crate) order: WeakOrder,
    /// The bits in which the other fingerprint differs.
    pub(crate) flips: u64,
}

/// Amount of work, for choosing the number of leading bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) queries: u64,
    pub(crate) stored: u64,
    /// Number of passes over the range of fingerprints: the number of sorted runs.
    pub(crate) passes: u64,
}

/// The learned model; see the module header.
#[derive(Clone, Debug)]
pub(crate) struct WeakModel {
    leading: u32,
    most: usize,
    odds: [f32; WEAKEST],
    sizes: [f32; MOST_FLIPS + 1],
    /// Minimum likelihood of a probed set.
    limit: f32,
    probes: f64,
}

impl WeakModel {
    /// Learns from pairs, without those of equal fingerprints and those beyond the bound. `None` if
    /// fewer than [`FEWEST_PAIRS`] remain or the recall cannot be reached.
    pub(crate) fn learn(
        pairs: &[SamplePair],
        bound: MaxDistance,
        recall: Recall,
        load: Load,
    ) -> Option<Self> {
        let within: Vec<SamplePair> = pairs
            .iter()
            .copied()
            .filter(|pair| pair.flips != 0 && bound.admits(pair.flips.count_ones()))
            .collect();
        if within.len() < FEWEST_PAIRS {
            return None;
        }
        // Pairs of one query are adjacent, so the halves share at most one query.
        let (one, other) = within.split_at(within.len() / 2);
        let odds = odds_by_rank(one);
        let models = LEADING.filter_map(|leading| {
            let most = (bound.bits() as usize).min(MOST_FLIPS).min(leading as usize);
            let mut model =
                Self { leading, most, odds, sizes: [0.0; MOST_FLIPS + 1], limit: 0.0, probes: 0.0 };
            model.sizes = model.factors(one);
            model.limit = model.limit(other, recall)?;
            model.probes = model.mean_probes(other);
            Some(model)
        });
        models.min_by(|a, b| a.nanoseconds(load).total_cmp(&b.nanoseconds(load)))
    }

    /// Predicted time on one thread.
    pub(crate) fn nanoseconds(&self, load: Load) -> f64 {
        let (queries, stored, passes) =
            (load.queries as f64, load.stored as f64, load.passes.max(1) as f64);
        let probes = queries * self.probes;
        let buckets = (1u64 << self.leading) as f64;
        probes * (MAKE + READ * passes)
            + passes * buckets * BUCKET
            + stored * (STORED + probes / buckets * WORDS)
    }

    /// The leading weak bits of a query: descending odds, and the bit of the prefix.
    #[inline(always)]
    fn rank(
        &self,
        order: &WeakOrder,
        odds: &mut [f32; WEAKEST],
        bits: &mut [u32; WEAKEST],
    ) -> usize {
        let below = 64 - self.leading;
        let mut count = 0;
        for (&position, &here) in order.iter().zip(&self.odds) {
            let position = u32::from(position);
            odds[count] = here;
            bits[count] = 1u32.checked_shl(position.wrapping_sub(below)).unwrap_or(0);
            count += usize::from(position >= below && position < 64);
            // One place is always free for the next candidate.
            count = count.min(WEAKEST - 1);
        }
        count
    }

    /// The weight of all sets.
    #[inline(always)]
    fn total(&self, odds: &[f32]) -> f32 {
        let by_size = symmetric(odds, self.most);
        by_size.iter().zip(&self.sizes).map(|(sets, factor)| sets * factor).sum()
    }

    /// For each number of flips: observed pairs divided by the sets expected without a factor.
    fn factors(&self, pairs: &[SamplePair]) -> [f32; MOST_FLIPS + 1] {
        let mut seen = [0f64; MOST_FLIPS + 1];
        let mut expected = [0f64; MOST_FLIPS + 1];
        let (mut odds, mut bits) = ([0.0; WEAKEST], [0; WEAKEST]);
        for pair in pairs {
            let flips = (pair.flips >> (64 - self.leading)).count_ones() as usize;
            seen[flips.min(MOST_FLIPS)] += 1.0;
            let count = self.rank(&pair.order, &mut odds, &mut bits);
            for (expected, sets) in expected.iter_mut().zip(symmetric(&odds[..count], self.most)) {
                *expected += f64::from(sets);
            }
        }
        let mut factors = [0f32; MOST_FLIPS + 1];
        for size in 0..=self.most {
            let ratio = seen[size].max(0.5) / expected[size].max(1e-9);
            // A larger set must never weigh more than a subset of it.
            factors[size] =
                if size == 0 { 1.0 } else { (ratio * expected[0] / seen[0].max(0.5)) as f32 };
            if size > 0 {
                factors[size] = factors[size].min(factors[size - 1]);
            }
        }
        factors
    }

    /// The likelihood that the requested share of the pairs reaches, with a margin because of the
    /// sample.
    fn limit(&self, pairs: &[SamplePair], recall: Recall) -> Option<f32> {
        let (mut odds, mut bits) = ([0.0; WEAKEST], [0; WEAKEST]);
        let mut likelihoods: Vec<f32> = pairs
            .iter()
            .map(|pair| {
                let count = self.rank(&pair.order, &mut odds, &mut bits);
                let flips = (pair.flips >> (64 - self.leading)) as u32;
                let size = flips.count_ones() as usize;
                let ranked = (0..count).filter(|&rank| bits[rank] & flips != 0);
                let (product, known) =
                    ranked.fold((1.0, 0), |(product, n), rank| (product * odds[rank], n + 1));
                let reachable = known == size && size <= self.most;
                let factor = self.sizes[size.min(MOST_FLIPS)];
                if reachable { product * factor / self.total(&odds[..count]) } else { 0.0 }
            })
            .collect();
        likelihoods.sort_by(f32::total_cmp);
        let count = likelihoods.len();
        let spread = 2.0 * (recall.get() * (1.0 - recall.get()) / count as f64).sqrt();
        let inside = (count as f64 * (recall.get() + spread).min(1.0)).ceil() as usize;
        let limit = likelihoods[count - inside.clamp(1, count)] * 0.999;
        (limit > 0.0).then_some(limit)
    }

    fn mean_probes(&self, pairs: &[SamplePair]) -> f64 {
        let mut flips = Vec::new();
        let counted = &pairs[..pairs.len().min(COUNTED)];
        counted.iter().for_each(|pair| self.flips_of(&pair.order, &mut flips));
        flips.len() as f64 / counted.len().max(1) as f64
    }

    /// Appends every set with at least the minimum likelihood, and always the empty one.
    pub(crate) fn flips_of(&self, order: &WeakOrder, flips: &mut Vec<u32>) {
        let (mut odds, mut bits) = ([0.0; WEAKEST], [0; WEAKEST]);
        let count = self.rank(order, &mut odds, &mut bits);
        let least = self.limit * self.total(&odds[..count]);
        flips.push(0);
        let empty = Set { flips: 0, product: 1.0, size: 0, next: 0 };
        self.extend(&odds[..count], &bits, empty, least, flips);
    }

    /// Odds descend, so the first bit that makes a set too unlikely ends the search.
    fn extend(
        &self,
        odds: &[f32],
        bits: &[u32; WEAKEST],
        set: Set,
        least: f32,
        flips: &mut Vec<u32>,
    ) {
        let size = set.size + 1;
        if size > self.most {
            return;
        }
        for rank in set.next..odds.len() {
            let product = set.product * odds[rank];
            if product * self.sizes[size] < least {
                break;
            }
            let larger = Set { flips: set.flips | bits[rank], product, size, next: rank + 1 };
            flips.push(larger.flips);
            self.extend(odds, bits, larger, least, flips);
        }
    }
}

/// A set of flips, and the position where it may be extended.
#[derive(Clone, Copy)]
struct Set {
    flips: u32,
    product: f32,
    size: usize,
    next: usize,
}

/// The flips of a batch with known weak bits.
pub(crate) struct WeakFlips<'a> {
    pub(crate) model: &'a WeakModel,
    /// The weak bits of each query.
    pub(crate) orders: &'a [WeakOrder],
}

impl Flips for WeakFlips<'_> {
    fn leading_bits(&self) -> u32 {
        self.model.leading
    }

    fn of(&self, query: usize, flips: &mut Vec<u32>) {
        self.model.flips_of(&self.orders[query], flips);
    }
}

/// For each size, the sum over all sets of the product of their odds.
#[inline(always)]
fn symmetric(odds: &[f32], most: usize) -> [f32; MOST_FLIPS + 1] {
    let mut by_size = [0f32; MOST_FLIPS + 1];
    by_size[0] = 1.0;
    for &odds in odds {
        for size in (1..=most).rev() {
            by_size[size] += by_size[size - 1] * odds;
        }
    }
    by_size
}

/// How often each rank was flipped; descending, at most even odds.
fn odds_by_rank(pairs: &[SamplePair]) -> [f32; WEAKEST] {
    let mut flipped = [0f64; WEAKEST];
    for pair in pairs {
        for (flipped, &position) in flipped.iter_mut().zip(&pair.order) {
            *flipped += (pair.flips.checked_shr(position.into()).unwrap_or(0) & 1) as f64;
        }
    }
    // Pools ascending neighbours until the sequence descends.
    let mut pools: Vec<(f64, f64)> = Vec::new();
    for count in flipped {
        let mut pool = (count + 0.5, pairs.len() as f64 + 1.0);
        while let Some(&(sum, all)) = pools.last()
            && sum / all < pool.0 / pool.1
        {
            pools.pop();
            pool = (pool.0 + sum, pool.1 + all);
        }
        pools.push(pool);
    }
    let each = pairs.len() as f64 + 1.0;
    let shares = pools
        .iter()
        .flat_map(|&(sum, all)| std::iter::repeat_n(sum / all, (all / each).round() as usize));
    let mut odds = [0f32; WEAKEST];
    for (odds, share) in odds.iter_mut().zip(shares) {
        let share = share.min(0.5);
        *odds = (share / (1.0 - share)) as f32;
    }
    odds
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Deterministic noise.
    fn noise(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 29)
    }

    /// Pairs whose flips become rarer with the rank: rank `r` is flipped once in `8 + r * r / 2`.
    fn pairs(count: usize, seed: u64) -> Vec<SamplePair> {
        let mut state = seed;
        let mut pairs = Vec::new();
        while pairs.len() < count {
            let mut positions: Vec<u8> = (0..64).collect();
            positions.sort_by_cached_key(|_| noise(&mut state));
            let order: WeakOrder = std::array::from_fn(|rank| positions[rank]);
            let flips = (0..WEAKEST as u64).fold(0, |flips, rank| {
                let hit = noise(&mut state).is_multiple_of(8 + rank * rank / 2);
                flips | u64::from(hit) << order[rank as usize]
            });
            if flips != 0 && flips.count_ones() <= 3 {
                pairs.push(SamplePair { order, flips });
            }
        }
        pairs
    }

    const LOAD: Load = Load { queries: 1 << 20, stored: 1 << 22, passes: 2 };

    fn three() -> MaxDistance {
        MaxDistance::new(3).unwrap()
    }

    #[test]
    fn the_requested_share_of_other_pairs_is_found_with_few_probes() {
        for asked in [0.8, 0.95, 0.98] {
            let recall = Recall::new(asked).unwrap();
            let model = WeakModel::learn(&pairs(8000, 1), three(), recall, LOAD).unwrap();
            let mut found = 0;
            let mut probes = 0;
            let others = pairs(8000, 2);
            for pair in &others {
                let mut flips = Vec::new();
                model.flips_of(&pair.order, &mut flips);
                probes += flips.len();
                found +=
                    usize::from(flips.contains(&((pair.flips >> (64 - model.leading)) as u32)));
            }
            let share = found as f64 / others.len() as f64;
            assert!(share >= asked - 0.005, "{share} of {asked}");
            assert!(probes < 60 * others.len(), "{probes}");
        }
    }

    #[test]
    fn too_few_pairs_and_flips_of_strong_bits_are_refused() {
        let recall = Recall::new(0.9).unwrap();
        assert!(WeakModel::learn(&pairs(100, 1), three(), recall, LOAD).is_none());
        let strong: Vec<SamplePair> = (0..1000)
            .map(|_| SamplePair { order: std::array::from_fn(|rank| rank as u8), flips: 7 << 61 })
            .collect();
        let model = WeakModel::learn(&strong, three(), recall, LOAD);
        assert!(model.is_none(), "{model:?}");
    }

    proptest! {
        #[test]
        fn the_flips_of_a_query_are_those_at_least_as_likely_as_the_limit(seed: u64) {
            let recall = Recall::new(0.9).unwrap();
            let model = WeakModel::learn(&pairs(600, 3), three(), recall, LOAD).unwrap();
            let order = pairs(1, seed)[0].order;
            let mut given = Vec::new();
            model.flips_of(&order, &mut given);
            let (mut odds, mut bits) = ([0.0; WEAKEST], [0; WEAKEST]);
            let count = model.rank(&order, &mut odds, &mut bits);
            let least = model.limit * model.total(&odds[..count]);
            let mut expected = vec![0];
            for set in 1u64..1 << count.min(14) {
                let ranks = (0..count).filter(|rank| set >> rank & 1 == 1);
                let size = ranks.clone().count();
                let product = ranks.clone().fold(1.0, |product, rank| product * odds[rank]);
                if size <= model.most && product * model.sizes[size] >= least {
                    expected.push(ranks.fold(0, |flips, rank| flips | bits[rank]));
                }
            }
            given.sort_unstable();
            expected.sort_unstable();
            prop_assume!(count <= 14);
            prop_assert_eq!(given, expected);
        }
    }
}
