//! Creates texts with another text's public signature: the attack that keyed confirmation prevents.
//!
//! Written from `docs/reference/fingerprint.md` alone, for recipes with seed 0, one-word features weighted by count
//! and sketches of five-word shingles. Repeatedly appends the random word whose shingle sets the wanted bit in one
//! more bin of the sketch and whose hash moves the 64 sums most towards the wanted bits, until both match the
//! victim's. The two texts share no words. Supports words of 4 to 8 ASCII letters only.

use std::collections::BTreeSet;

use crate::rng::{Rng, mix};

const BINS: usize = 1024;
const BASE: u64 = 0x9E37_79B9_7F4A_7C17;
const VALUE: u64 = (1 << 48) - 1;
/// Maximum number of candidate words per appended word.
const TRIES: usize = 4096;
/// Number of words with a gain that are compared by their effect on the sums.
const CHOICE: usize = 12;
/// Wanted distance of each sum from zero.
const MARGIN: i32 = 6;
/// Gives up on longer texts.
const MOST_WORDS: usize = 6000;

#[derive(Clone, Debug)]
pub struct Forgery {
    pub text: String,
    pub words: usize,
    /// Bins of the sketch that differ from the victim's.
    pub wrong_bins: usize,
    /// Bits of the fingerprint that differ from the victim's.
    pub wrong_bits: u32,
}

/// Creates a text with this fingerprint and sketch that shares no word with `victim`. Without
/// `words`, continues until both match; with `words`, makes a text of that length that matches as
/// well as possible.
pub fn forge(
    fingerprint: u64,
    sketch: &[u8; BINS / 8],
    victim: &str,
    words: Option<usize>,
    seed: u64,
) -> Forgery {
    let avoided: BTreeSet<String> =
        victim.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
    let mut forger = Forger::new(fingerprint, sketch, words, seed);
    let most = words.unwrap_or(MOST_WORDS);
    while forger.words.len() < most && (words.is_some() || !forger.done()) {
        let word = forger.choose(&avoided);
        forger.take(word);
    }
    forger.finish()
}

struct Forger {
    rng: Rng,
    wanted_bits: u64,
    wanted_bins: Vec<bool>,
    /// Rounds that are considered; 1 for a text long enough to fill every bin in the first round.
    rounds: u64,
    /// Minimum value of each bin with its round in the high bits; `None` if empty.
    bins: Vec<Option<u64>>,
    right_bins: usize,
    /// Distance of each sum from zero, positive on the wanted side.
    sums: [i32; 64],
    words: Vec<String>,
    hashes: Vec<u64>,
}

impl Forger {
    fn new(fingerprint: u64, sketch: &[u8; BINS / 8], words: Option<usize>, seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            wanted_bits: fingerprint,
            wanted_bins: (0..BINS).map(|i| sketch[i / 8] >> (i % 8) & 1 == 1).collect(),
            // With this number of rounds, few shingles fill every bin.
            rounds: words.map_or(1, |words| 1 + (10 * BINS / words.max(1)) as u64),
            bins: vec![None; BINS],
            right_bins: 0,
            sums: [0; 64],
            words: Vec::new(),
            hashes: Vec::new(),
        }
    }

    fn done(&self) -> bool {
        self.right_bins == BINS && self.sums.iter().all(|&sum| sum > 0)
    }

    /// The shingle that ends with this word; `None` before the fifth word.
    fn shingle(&self, hash: u64) -> Option<u64> {
        let from = self.hashes.len().checked_sub(4)?;
        let step = |sum: u64, &it: &u64| sum.wrapping_mul(BASE).wrapping_add(it);
        let before = self.hashes[from..].iter().fold(0u64, step);
        Some(mix(before.wrapping_mul(BASE).wrapping_add(hash)))
    }

    /// The bins that a shingle would change, with the new value of each.
    fn changes(&self, shingle: u64) -> impl Iterator<Item = (usize, u64)> {
        let hash = move |round: u64| {
            let product = shingle.wrapping_mul(mix(round) | 1);
            if round == 0 { shingle } else { product ^ product >> 32 }
        };
        let place = move |round| ((hash(round) >> 54) as usize, round << 48 | hash(round) & VALUE);
        let new = |&(bin, value): &(usize, u64)| self.bins[bin].is_none_or(|least| value < least);
        (0..self.rounds).map(place).filter(new)
    }

    fn is_right(&self, bin: usize, value: u64) -> bool {
        (value & 1 == 1) == self.wanted_bins[bin]
    }

    /// Improvement of the sketch in bins. A wrong value must be beaten later, so it is worse than
    /// an empty bin.
    fn gain(&self, shingle: u64) -> i32 {
        let worth = |bin: usize, value: Option<u64>| match value {
            Some(value) => 2 * i32::from(self.is_right(bin, value)) - 1,
            None => 0,
        };
        let gains = self
            .changes(shingle)
            .map(|(bin, value)| worth(bin, Some(value)) - worth(bin, self.bins[bin]));
        gains.sum()
    }

    /// Movement towards the wanted bits of the sums that are not far enough.
    fn push(&self, hash: u64) -> i32 {
        let agrees = !(hash ^ self.wanted_bits);
        let need = |(bit, &sum): (usize, &i32)| {
            let weight = (MARGIN - sum).max(0);
            if agrees >> bit & 1 == 1 { weight } else { -weight }
        };
        self.sums.iter().enumerate().map(need).sum()
    }

    fn choose(&mut self, avoided: &BTreeSet<String>) -> (String, u64) {
        let filling = self.rounds > 1 || self.right_bins < BINS;
        let mut best: Option<(i32, i32, String, u64)> = None;
        let mut found = 0;
        let tries = TRIES / if self.rounds > 1 { 8 } else { 1 };
        for _ in 0..tries {
            let word = self.word();
            if avoided.contains(&word) {
                continue;
            }
            let hash = word_hash(word.as_bytes());
            let gain = self.shingle(hash).map_or(0, |shingle| self.gain(shingle));
            let push = self.push(hash);
            // If every word changes many bins, gain and push are added.
            let rank = if self.rounds > 1 { (8 * gain + push / 8, 0) } else { (gain, push) };
            if best.as_ref().is_none_or(|it| rank > (it.0, it.1)) {
                best = Some((rank.0, rank.1, word, hash));
            }
            let enough = gain > 0 || !filling && gain == 0 && push > 0;
            found += usize::from(self.rounds == 1 && enough);
            if found >= CHOICE {
                break;
            }
        }
        best.map_or_else(|| (String::from("never"), word_hash(b"never")), |it| (it.2, it.3))
    }

    fn take(&mut self, (word, hash): (String, u64)) {
        if let Some(shingle) = self.shingle(hash) {
            let changed: Vec<(usize, u64)> = self.changes(shingle).collect();
            for (bin, value) in changed {
                // Two rounds may select the same bin.
                if self.bins[bin].is_none_or(|least| value < least) {
                    let was = self.bins[bin].is_some_and(|least| self.is_right(bin, least));
                    self.right_bins += usize::from(self.is_right(bin, value));
                    self.right_bins -= usize::from(was);
                    self.bins[bin] = Some(value);
                }
            }
        }
        for (bit, sum) in self.sums.iter_mut().enumerate() {
            *sum += if (hash ^ self.wanted_bits) >> bit & 1 == 0 { 1 } else { -1 };
        }
        self.words.push(word);
        self.hashes.push(hash);
    }

    fn word(&mut self) -> String {
        let mut word = String::with_capacity(8);
        for _ in 0..2 + self.rng.below(3) {
            let consonant = b"bcdfghjklmnprstvwz"[self.rng.below(18) as usize];
            let vowel = b"aeiou"[self.rng.below(5) as usize];
            word.push(char::from(consonant));
            word.push(char::from(vowel));
        }
        word
    }

    fn finish(self) -> Forgery {
        Forgery {
            words: self.words.len(),
            wrong_bins: BINS - self.right_bins,
            wrong_bits: self.sums.iter().filter(|&&sum| sum <= 0).count() as u32,
            text: self.words.join(" "),
        }
    }
}

/// XXH3-64 with seed 0 for inputs of 4 to 8 bytes.
fn word_hash(word: &[u8]) -> u64 {
    const FLIP: u64 = 0x1CAD_21F7_2C81_017C ^ 0xDB97_9083_E96D_D4DE;
    const PRIME: u64 = 0x9FB2_1C65_1E98_DF25;
    let four = |from: usize| {
        let bytes = [0, 1, 2, 3].map(|i| word.get(from + i).copied().unwrap_or_default());
        u64::from(u32::from_le_bytes(bytes))
    };
    let mut hash = (four(word.len() - 4) + (four(0) << 32)) ^ FLIP;
    hash ^= hash.rotate_left(49) ^ hash.rotate_left(24);
    hash = hash.wrapping_mul(PRIME);
    hash ^= (hash >> 35) + word.len() as u64;
    hash = hash.wrapping_mul(PRIME);
    hash ^ hash >> 28
}
