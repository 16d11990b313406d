//! Ways to compute minima of a set, before any bits are cut off.
//!
//! Two sets agree in a minimum with probability J, or nearly. A sketch keeps the low bits of a minimum; a value
//! copied from another bin is hashed once more with the bin's number, so that errors of different bins are
//! independent.

use hapax::features::hash::scramble;
use hapax::fingerprint::sketch;

/// Distance between the inputs of neighbouring hash functions.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Minima {
    /// One hash function for every minimum (Broder 1997): the reference for error.
    Classic,
    /// One hash function; an empty bin copies the next filled one (Shrivastava and Li 2014).
    Rotation,
    /// One hash function; an empty bin copies a random filled one (Shrivastava 2017).
    Optimal,
    /// Fast similarity sketching, as in the engine (Dahlgaard, Knudsen, Thorup 2017).
    Fast,
    /// The same with a full 64-bit finalizer for every round's hash, and no shortcuts.
    FastFullMixing,
}

impl Minima {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic MinHash",
            Self::Rotation => "one permutation, rotation",
            Self::Optimal => "one permutation, optimal",
            Self::Fast => "fast similarity",
            Self::FastFullMixing => "fast similarity, full mixing",
        }
    }

    /// `bins` minima of a non-empty set; `bins` is a power of two.
    pub(crate) fn of(self, set: &[u64], bins: usize) -> Vec<u64> {
        match self {
            Self::Classic => self.hashes(set, bins),
            Self::Rotation => rotation(set, bins),
            Self::Optimal => optimal(set, bins),
            Self::Fast => {
                let mut minima = vec![0; bins];
                sketch::minima(set, &mut minima);
                minima
            }
            Self::FastFullMixing => fast_full_mixing(set, bins),
        }
    }

    /// The minima of `count` independent hashes over the set; any `count` is valid.
    pub(crate) fn hashes(self, set: &[u64], count: usize) -> Vec<u64> {
        let mut least = vec![u64::MAX; count];
        for &s in set {
            for (i, least) in least.iter_mut().enumerate() {
                *least = (*least).min(rehash(s, i as u64));
            }
        }
        least
    }
}

fn rehash(s: u64, number: u64) -> u64 {
    scramble(s.wrapping_add(number.wrapping_mul(STEP)))
}

/// The minimum hash of each bin; `None` for empty bins.
fn one_permutation(set: &[u64], bins: usize) -> Vec<Option<u64>> {
    let shift = 64 - bins.trailing_zeros();
    let mut least: Vec<Option<u64>> = vec![None; bins];
    for &s in set {
        let bin = &mut least[(s >> shift) as usize];
        *bin = Some(bin.map_or(s, |min| min.min(s)));
    }
    least
}

fn rotation(set: &[u64], bins: usize) -> Vec<u64> {
    let least = one_permutation(set, bins);
    let mut copied = 0;
    let mut out = vec![0; bins];
    // Two rounds backwards: the first one finds the value that wraps around.
    for i in (0..2 * bins).rev().map(|i| i % bins) {
        copied = least[i].unwrap_or(copied);
        out[i] = rehash(copied, i as u64);
    }
    out
}

fn optimal(set: &[u64], bins: usize) -> Vec<u64> {
    let least = one_permutation(set, bins);
    let probe = |i: usize, attempt: u64| {
        let at = scramble((i as u64) << 32 | attempt) as usize & (bins - 1);
        least[at]
    };
    (0..bins)
        .map(|i| {
            let copied = least[i].or_else(|| (1..).find_map(|attempt| probe(i, attempt)));
            rehash(copied.unwrap_or(0), i as u64)
        })
        .collect()
}

fn fast_full_mixing(set: &[u64], bins: usize) -> Vec<u64> {
    let shift = 64 - bins.trailing_zeros();
    let mut least: Vec<Option<(u64, u64)>> = vec![None; bins];
    for round in 0..bins as u64 {
        for &s in set {
            let hash = rehash(s, round);
            let new = (round, hash << 16);
            let bin = &mut least[(hash >> shift) as usize];
            *bin = Some(bin.map_or(new, |old| old.min(new)));
        }
        if least.iter().all(Option::is_some) {
            break;
        }
    }
    let last_resort =
        |i: usize| set.iter().map(|&s| rehash(s, (bins + i) as u64) << 16).min().unwrap_or(0);
    (0..bins).map(|i| least[i].map_or_else(|| last_resort(i), |(_, value)| value) >> 16).collect()
}
