//! Uniform fingerprints with planted near-duplicates, the same for the same seed.

use hapax::fingerprint::Fingerprint;
use hapax::index::Entry;

/// Fingerprints, and queries of which a tenth have a known neighbour.
pub(crate) struct Planted {
    /// Fingerprint `i` has id `i`.
    pub(crate) stored: Vec<Fingerprint>,
    pub(crate) queries: Vec<Fingerprint>,
    /// For each planted query: its number, the id of its neighbour, their distance.
    pub(crate) truth: Vec<(usize, u64, u32)>,
}

/// One query in `SHARE` is planted.
const SHARE: usize = 10;

impl Planted {
    /// Planted queries are stored fingerprints with 1 to `within` bits flipped (0 if that is 0).
    pub(crate) fn new(seed: u64, pages: usize, queries: usize, within: u32) -> Self {
        let mut random = SplitMix(seed);
        let stored: Vec<Fingerprint> =
            (0..pages).map(|_| Fingerprint::from_bits(random.next())).collect();
        let mut truth = Vec::new();
        let queries = (0..queries)
            .map(|number| {
                if number % SHARE != 0 || pages == 0 {
                    return Fingerprint::from_bits(random.next());
                }
                let id = random.below(pages as u64);
                let flips = if within == 0 { 0 } else { 1 + random.below(u64::from(within)) };
                let mut changed = 0u64;
                while changed.count_ones() < flips as u32 {
                    changed |= 1 << random.below(64);
                }
                truth.push((number, id, flips as u32));
                Fingerprint::from_bits(stored[id as usize].to_bits() ^ changed)
            })
            .collect();
        Self { stored, queries, truth }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.stored.iter().zip(0..).map(|(&fingerprint, id)| Entry { fingerprint, id })
    }
}

/// Generator of Steele, Lea and Flood; small and fast.
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below `limit`, with negligible bias for limits far below 2^64.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}
