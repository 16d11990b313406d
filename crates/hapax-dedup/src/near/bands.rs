//! Proposes pairs that agree in a band of their sketches, for saturated sets.
//!
//! A sketch is cut into bands of [`BITS`] bits. Two pages of similarity J agree in a bit with probability (1 +
//! J) / 2, so J = 0.84 shares one of 42 bands with probability 0.998, J = 0.9 with 0.99999; unrelated pages
//! share a bucket once in 400,000 times. Guarantees linear work and pairs that depend on the pages alone: where
//! more than [`MANY`] pages agree, each is proposed to [`SOME`] of them. Part of the fingerprint in each entry
//! drops most chance pairs. Does not confirm. Source: Broder's and Charikar's banding of sketches, on one-bit
//! minima (Li and König 2010).

use hapax::fingerprint::{MaxDistance, Sketch};
use hapax::join::Executor;

use super::same;
use crate::pages::Pages;

/// Bytes of a sketch per band.
const BYTES: usize = 3;
/// Bits of a sketch per band.
pub(super) const BITS: u32 = 8 * BYTES as u32;
/// Up to this many pages of a bucket are all proposed to each other. A larger set of similar pages
/// would have been a dense cluster.
const MANY: usize = super::dense::DENSE;
/// In larger buckets, how many others a page is proposed to.
const SOME: usize = 16;
/// Nanoseconds of one thread to make and sort an entry, without the part that grows with the
/// logarithm of their number.
const ENTRY: f64 = 12.0;
/// Nanoseconds added per entry for every doubling of their number.
const DOUBLING: f64 = 1.2;
/// Below this probability of being proposed, bands are not used.
const LEAST_CHANCE: f64 = 0.95;

const BANDS: usize = size_of::<Sketch>() / BYTES;

/// The probability that bands propose a pair of this similarity.
pub(crate) fn chance(similarity: f64) -> f64 {
    let agree = ((1.0 + similarity) / 2.0).powi(BITS as i32);
    1.0 - (1.0 - agree).powi(BANDS as i32)
}

/// Whether bands propose nearly all pairs of at least this similarity.
pub(crate) fn suffice(similarity: f64) -> bool {
    chance(similarity) >= LEAST_CHANCE
}

pub(crate) fn count() -> usize {
    BANDS
}

/// A band of a sketch as an integer.
fn part(sketch: &Sketch, band: usize) -> u64 {
    let bytes = sketch.to_bytes();
    let at = band * BYTES;
    u64::from(bytes[at]) | u64::from(bytes[at + 1]) << 8 | u64::from(bytes[at + 2]) << 16
}

/// The 40-bit bucket key. `own` is the bucket of the page's own text in this band: similar products
/// of a shop share bands, and only those with similar own texts are worth comparing.
pub(crate) fn key(sketch: &Sketch, own: u64, band: usize) -> u64 {
    part(sketch, band) << 16 | own
}

/// Predicted nanoseconds of one thread for all bands of this many pages.
pub(super) fn nanoseconds(rows: usize) -> f64 {
    let rows = rows as f64;
    BANDS as f64 * rows * (ENTRY + DOUBLING * rows.log2())
}

/// Receives the pairs that agree in a band: candidates that may be within the distance bound, and
/// the count of others.
pub(super) trait PairSink: Send {
    fn near(&mut self, a: u32, b: u32);
    fn far(&mut self, pairs: u64);
}

/// Finds the pairs that agree in a band, in parallel, with one sink per piece of work; each pair
/// goes to one sink. Fastest if `set` is in corpus order, in which sketches are adjacent in memory.
pub(super) fn collect<S: PairSink>(
    set: &[u32],
    pages: &Pages,
    band: usize,
    within: MaxDistance,
    sink: impl Fn() -> S + Sync,
    executor: &dyn Executor,
) -> Vec<S> {
    let pieces = same::pieces(set.len(), |at| Entry::of(pages, set[at], band), Entry::key);
    executor.map(pieces, |piece| {
        let mut sink = sink();
        let mut far = 0;
        for same in piece.chunk_by(Entry::agree) {
            among(same, |a, b| match a.may_be_within(b, within) {
                true => sink.near(a.page(), b.page()),
                false => far += 1,
            });
        }
        sink.far(far);
        sink
    })
}

/// A page in a band: the key in the high 40 bits, then the page, then as many bits of the
/// fingerprint as fit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const BELOW: u32 = u128::BITS - 40;
    /// Number of fingerprint bits in an entry.
    const KNOWN: u32 = Self::BELOW - u32::BITS;

    fn of(pages: &Pages, page: u32, band: usize) -> Self {
        let key = key(pages.sketch(page), pages.own_bucket(page, band), band);
        let known = pages.fingerprint(page).to_bits() & ((1 << Self::KNOWN) - 1);
        Self(u128::from(key) << Self::BELOW | u128::from(page) << Self::KNOWN | u128::from(known))
    }

    fn key(&self) -> u64 {
        (self.0 >> Self::BELOW) as u64
    }

    fn page(self) -> u32 {
        (self.0 >> Self::KNOWN) as u32
    }

    fn agree(&self, other: &Self) -> bool {
        (self.0 ^ other.0) >> Self::BELOW == 0
    }

    /// Whether the fingerprints may be within the bound, collect by the bits in the entries.
    fn may_be_within(self, other: Self, bound: MaxDistance) -> bool {
        let differing = (self.0 ^ other.0) as u64 & ((1 << Self::KNOWN) - 1);
        differing.count_ones() <= bound.bits()
    }
}

/// Reports pairs of pages that share a bucket, given in corpus order.
pub(crate) fn among<T: Copy>(same: &[T], mut take: impl FnMut(T, T)) {
    let ahead = if same.len() > MANY { SOME } else { MANY };
    for (at, &a) in same.iter().enumerate() {
        let others = &same[at + 1..same.len().min(at + 1 + ahead)];
        others.iter().for_each(|&b| take(a, b));
    }
}

#[cfg(test)]
mod tests {
    use hapax::fingerprint::{ContentHash, Fingerprint};
    use hapax::group::ScopeKey;

    use super::*;
    use crate::pages::{NewPage, Status};

    /// Reports pairs of pages that agree in a band, including those beyond any bound.
    fn candidates(set: &[u32], pages: &Pages, band: usize, mut take: impl FnMut(u32, u32)) {
        let mut entries: Vec<Entry> =
            set.iter().map(|&page| Entry::of(pages, page, band)).collect();
        entries.sort_unstable();
        for same in entries.chunk_by(Entry::agree) {
            among(same, |a, b| take(a.page(), b.page()));
        }
    }

    fn noise(seed: u64) -> u64 {
        let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ mixed >> 32
    }

    fn push(pages: &mut Pages, page: u32, sketch: Sketch) {
        pages.push(&NewPage {
            id: page.to_string(),
            url: String::new(),
            canonical: None,
            content: ContentHash::of(&page.to_string()),
            status: Status::Comparable,
            fingerprint: Fingerprint::from_bits(0),
            sketch,
            short: None,
            score: None,
            fetched: None,
            words: 100,
            scope: ScopeKey::ALL,
            alone: false,
        });
    }

    /// Pages in pairs; the sketches of each pair differ in `differing` of 1,024 bits.
    fn in_pairs(count: u32, differing: u64) -> Pages {
        let mut pages = Pages::default();
        for page in 0..count {
            let mut bytes = [0u8; size_of::<Sketch>()];
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = (noise(u64::from(page / 2) * 1000 + at as u64) >> 17) as u8;
            }
            if page % 2 == 1 {
                let mut flipped = std::collections::BTreeSet::new();
                let mut seed = u64::from(page) << 20;
                while (flipped.len() as u64) < differing {
                    seed += 1;
                    flipped.insert((noise(seed) >> 11) % 1024);
                }
                for bit in flipped {
                    bytes[bit as usize / 8] ^= 1 << (bit % 8);
                }
            }
            push(&mut pages, page, Sketch::from_bytes(&bytes));
        }
        pages
    }

    fn found(pages: &Pages) -> Vec<(u32, u32)> {
        let set: Vec<u32> = (0..pages.len() as u32).collect();
        let mut pairs = Vec::new();
        for band in 0..count() {
            candidates(&set, pages, band, |a, b| pairs.push((a, b)));
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    #[test]
    fn nearly_all_pairs_at_the_threshold_are_proposed_and_hardly_any_other() {
        // J = 0.84: 8 % of the bits differ.
        let pages = in_pairs(4000, 82);
        let pairs = found(&pages);
        let true_ones = pairs.iter().filter(|(a, b)| a / 2 == b / 2).count();
        assert!(true_ones >= 1985, "{true_ones} of 2000");
        assert!(pairs.len() - true_ones < 100, "{} by chance", pairs.len() - true_ones);
        assert!(pairs.iter().all(|(a, b)| a < b));
    }

    #[test]
    fn the_chance_of_being_proposed_is_as_stated() {
        assert!((chance(0.84) - 0.998).abs() < 0.001, "{}", chance(0.84));
        assert!(chance(0.9) > 0.9999 && chance(0.0) < 1.0 / 390_000.0);
        assert!(suffice(0.84) && suffice(0.8) && !suffice(0.5));
    }

    #[test]
    fn many_pages_with_one_sketch_are_not_all_compared() {
        let one = in_pairs(1, 0);
        let sketch = *one.sketch(0);
        let mut pages = Pages::default();
        for page in 0..2000u32 {
            push(&mut pages, page, sketch);
        }
        assert!(found(&pages).len() <= 2000 * SOME);
    }
}
