//! Hashes many short words at once: XXH3-64 of 1 to 16 bytes.
//!
//! XXH3 has three code paths for such words, by length, which the CPU cannot predict. Words are therefore
//! grouped by length, and each path runs over its words without a branch, with vectors where the CPU has 64-bit
//! vector multiplication. Can hash the same words under several keys. Guarantees the hashes of [`word_hash`]
//! and [`keyed_word_hash`], which are used for longer words.
//!
//! Source: Collet, "XXH3", <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>.

use super::hash::{SECRET, keyed_word_hash, word_hash};
use crate::hamming::{Kernel, Lanes, Work};

/// Words per batch.
const BATCH: usize = 256;
/// Longest word in a batch, in bytes.
const LONGEST: usize = 16;

/// The seed or secret to hash words with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WordKey<'k> {
    Seed(u64),
    Secret(&'k [u8; SECRET]),
}

impl WordKey<'_> {
    #[inline]
    pub(crate) fn hash(self, word: &str) -> u64 {
        match self {
            Self::Seed(seed) => word_hash(word, seed),
            Self::Secret(secret) => keyed_word_hash(word, secret),
        }
    }

    fn flips(self) -> Flips {
        match self {
            Self::Seed(seed) => Flips::new(&DEFAULT_SECRET, seed),
            Self::Secret(secret) => {
                let first = secret.first_chunk().expect("a secret is longer");
                Flips::new(first, 0)
            }
        }
    }
}

/// The part of XXH3's own secret that short words need.
const DEFAULT_SECRET: [u8; 56] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e,
];

/// Values that the bytes of words are combined with, by word length.
#[derive(Clone, Copy, Debug)]
struct Flips {
    /// For 1 to 3 bytes.
    least: u64,
    /// For 4 to 8 bytes.
    middle: u64,
    /// For 9 to 16 bytes: for the first and the last eight.
    most: [u64; 2],
}

impl Flips {
    fn new(secret: &[u8; 56], seed: u64) -> Self {
        let words = secret.as_chunks::<8>().0;
        let pair = |at: usize| u64::from_le_bytes(words[at]) ^ u64::from_le_bytes(words[at + 1]);
        let first = u64::from_le_bytes(words[0]);
        let doubled = seed ^ u64::from((seed as u32).swap_bytes()) << 32;
        Self {
            least: u64::from(first as u32 ^ (first >> 32) as u32).wrapping_add(seed),
            middle: pair(1).wrapping_sub(doubled),
            most: [pair(3).wrapping_add(seed), pair(5).wrapping_sub(seed)],
        }
    }
}

/// A batch of words, grouped by length.
#[derive(Clone, Debug)]
struct Waiting {
    count: usize,
    /// For each word: its first eight bytes (and what follows them), the next eight, its length,
    /// its index.
    low: [u64; BATCH],
    high: [u64; BATCH],
    length: [u64; BATCH],
    place: [u32; BATCH],
}

impl Waiting {
    const NONE: Self =
        Self { count: 0, low: [0; BATCH], high: [0; BATCH], length: [0; BATCH], place: [0; BATCH] };
}

/// Buffers for batches of short words.
#[derive(Clone, Debug)]
pub(crate) struct ShortWords {
    kernel: Kernel,
    waiting: Box<[Waiting; 3]>,
    hashes: Box<[u64; BATCH]>,
}

impl Default for ShortWords {
    fn default() -> Self {
        let waiting = Box::new([Waiting::NONE; 3]);
        Self { kernel: Kernel::best(), waiting, hashes: Box::new([0; BATCH]) }
    }
}

impl ShortWords {
    /// Starts hashing consecutive words; appends the hashes under each key to the corresponding
    /// output.
    pub(crate) fn hasher<'h, const KEYS: usize>(
        &'h mut self,
        keys: [WordKey<'h>; KEYS],
        outs: [&'h mut Vec<u64>; KEYS],
    ) -> BatchHasher<'h, KEYS> {
        let flips = keys.map(WordKey::flips);
        let from = outs.each_ref().map(|out| out.len());
        BatchHasher { words: self, keys, flips, outs, from, count: 0 }
    }
}

/// Hashes words under several keys.
pub(crate) struct BatchHasher<'h, const KEYS: usize> {
    words: &'h mut ShortWords,
    keys: [WordKey<'h>; KEYS],
    flips: [Flips; KEYS],
    outs: [&'h mut Vec<u64>; KEYS],
    /// Start of the current batch in each output.
    from: [usize; KEYS],
    /// Words in the current batch.
    count: usize,
}

impl<const KEYS: usize> BatchHasher<'_, KEYS> {
    /// Adds a word given by its place in `text`.
    #[inline(always)]
    pub(crate) fn add_from(&mut self, text: &str, start: usize, length: usize) {
        let window = text.as_bytes()[start..].first_chunk::<LONGEST>();
        let Some(window) = window.filter(|_| length <= LONGEST) else {
            self.add(&text[start..start + length]);
            return;
        };
        let window = u128::from_le_bytes(*window);
        let of_length = &mut self.words.waiting[usize::from(length > 3) + usize::from(length > 8)];
        let at = of_length.count & (BATCH - 1);
        of_length.low[at] = window as u64;
        of_length.high[at] = (window >> 64) as u64;
        of_length.length[at] = length as u64;
        of_length.place[at] = self.count as u32;
        of_length.count += 1;
        self.one_more();
    }

    #[inline(never)]
    pub(crate) fn add(&mut self, word: &str) {
        for ((key, out), from) in self.keys.iter().zip(&mut self.outs).zip(self.from) {
            out.resize(from + self.count, 0);
            out.push(key.hash(word));
        }
        self.one_more();
    }

    #[inline(always)]
    fn one_more(&mut self) {
        self.count += 1;
        if self.count == BATCH {
            self.hash_batch();
        }
    }

    #[inline(never)]
    fn hash_batch(&mut self) {
        let (kernel, count) = (self.words.kernel, std::mem::take(&mut self.count));
        for ((flips, out), from) in self.flips.iter().zip(&mut self.outs).zip(&mut self.from) {
            out.resize(*from + count, 0);
            let ShortWords { waiting, hashes, .. } = &mut *self.words;
            kernel.run(HashAll { waiting, hashes, flips, out: &mut out[*from..] });
            *from = out.len();
        }
        self.words.waiting.iter_mut().for_each(|of_length| of_length.count = 0);
    }

    /// Must be called after the last word.
    pub(crate) fn finish(mut self) {
        self.hash_batch();
    }
}

/// Hashes a batch under one key.
struct HashAll<'a> {
    waiting: &'a [Waiting; 3],
    hashes: &'a mut [u64; BATCH],
    flips: &'a Flips,
    out: &'a mut [u64],
}

impl Work for HashAll<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) {
        let Self { waiting: [least, middle, most], hashes, flips, out } = self;
        hash_each(least, hashes, out, |low, _, length| of_least(low, length, flips.least));
        hash_each(middle, hashes, out, |low, _, length| of_middle(low, length, flips.middle));
        hash_each(most, hashes, out, |low, high, length| of_most([low, high], length, flips.most));
    }
}

#[inline(always)]
fn hash_each(
    words: &Waiting,
    hashes: &mut [u64; BATCH],
    out: &mut [u64],
    hash: impl Fn(u64, u64, u64) -> u64,
) {
    let count = words.count.min(BATCH);
    let parts = words.low[..count].iter().zip(&words.high[..count]).zip(&words.length[..count]);
    for (slot, ((low, high), length)) in hashes[..count].iter_mut().zip(parts) {
        *slot = hash(*low, *high, *length);
    }
    for (hash, place) in hashes[..count].iter().zip(&words.place[..count]) {
        out[*place as usize] = *hash;
    }
}

/// Hashes words of 1 to 3 bytes.
#[inline(always)]
fn of_least(low: u64, length: u64, flip: u64) -> u64 {
    let byte = |at: u64| low >> (8 * at) & 0xFF;
    let combined = byte(0) << 16 | byte(length / 2) << 24 | byte(length - 1) | length << 8;
    let mut hash = combined ^ flip;
    hash = (hash ^ hash >> 33).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    hash = (hash ^ hash >> 29).wrapping_mul(0x1656_67B1_9E37_79F9);
    hash ^ hash >> 32
}

/// Hashes words of 4 to 8 bytes.
#[inline(always)]
fn of_middle(low: u64, length: u64, flip: u64) -> u64 {
    const FACTOR: u64 = 0x9FB2_1C65_1E98_DF25;
    let last = low >> (8 * (length - 4)) & 0xFFFF_FFFF;
    let mut hash = (low << 32 | last) ^ flip;
    hash ^= hash.rotate_left(49) ^ hash.rotate_left(24);
    hash = hash.wrapping_mul(FACTOR);
    hash = (hash ^ (hash >> 35).wrapping_add(length)).wrapping_mul(FACTOR);
    hash ^ hash >> 28
}

/// Hashes words of 9 to 16 bytes.
#[inline(always)]
fn of_most([low, high]: [u64; 2], length: u64, flips: [u64; 2]) -> u64 {
    let last = ((u128::from(high) << 64 | u128::from(low)) >> (8 * (length - 8))) as u64;
    let [low, high] = [low ^ flips[0], last ^ flips[1]];
    let product = u128::from(low) * u128::from(high);
    let mut hash = length
        .wrapping_add(low.swap_bytes())
        .wrapping_add(high)
        .wrapping_add(product as u64 ^ (product >> 64) as u64);
    hash = (hash ^ hash >> 37).wrapping_mul(0x1656_6791_9E37_79F9);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn batches_give_the_hash_of_each_word(
            words in prop::collection::vec("[a-z0-9]{1,16}|[a-zé]{17,20}", 0..700),
            seed: u64,
            secret in prop::collection::vec(any::<u8>(), SECRET),
        ) {
            let secret: [u8; SECRET] = secret.try_into().unwrap();
            let keys = [WordKey::Seed(seed), WordKey::Seed(0), WordKey::Secret(&secret)];
            for kernel in Kernel::available() {
                let mut outs = [const { Vec::new() }; 3];
                let mut short = ShortWords { kernel, ..ShortWords::default() };
                let mut hasher = short.hasher(keys, outs.each_mut());
                for (at, word) in words.iter().enumerate() {
                    match at % 9 {
                        0 => hasher.add(word),
                        1 => hasher.add_from(word, 0, word.len()),
                        _ => hasher.add_from(&format!("x{word} and what follows"), 1, word.len()),
                    }
                }
                hasher.finish();
                for (key, out) in keys.iter().zip(&outs) {
                    let expected: Vec<u64> = words.iter().map(|word| key.hash(word)).collect();
                    prop_assert_eq!(out, &expected, "{:?} {:?}", kernel, key);
                }
            }
        }
    }
}
