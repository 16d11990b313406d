//! Inputs without libFuzzer: deterministic small changes of seeds.
//!
//! A number determines everything, so a failure can be reproduced from the target's name and the number. The changes
//! are libFuzzer's simple ones: bits, bytes, dictionary pieces, and ranges that are deleted, duplicated, or copied
//! from another seed.

/// A random number generator; [SplitMix64](https://prng.di.unimi.it/splitmix64.c).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `count`; zero if `count` is zero.
    pub const fn below(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.next() % count as u64) as usize }
    }
}

/// Maximum length of a mutated input.
pub const LONGEST: usize = 8 << 10;

/// Mutated input number `round` of these seeds.
pub fn mutated(seeds: &[Vec<u8>], pieces: &[&str], round: u64) -> Vec<u8> {
    let mut random = Random::new(round);
    let Some(seed) = seeds.get(random.below(seeds.len())) else { return Vec::new() };
    let mut bytes = seed.clone();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let length = random.below(24).min(bytes.len() - at);
        match random.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 => drop(bytes.drain(at..at + length)),
            3 => bytes.extend_from_within(at..at + length),
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                let to = (from + random.below(60)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            5 => bytes.truncate(at.max(1)),
            6 => {
                let piece = bytes[at..at + length].to_vec();
                (0..random.below(12)).for_each(|_| drop(bytes.splice(at..at, piece.clone())));
            }
            7 => {
                let number = random.next() as usize % 12;
                let text = ["0", "-1", "255", "65536", "4294967296", "18446744073709551615"];
                let raw = [0u8, 0xff, 0x7f, 0x80, b'\n', b' '];
                match number {
                    n @ 0..6 => drop(bytes.splice(at..at, text[n].bytes())),
                    n => bytes.insert(at, raw[n - 6]),
                }
            }
            _ => {
                let piece = pieces.get(random.below(pieces.len())).copied().unwrap_or_default();
                bytes.splice(at..at, piece.bytes());
            }
        }
    }
    bytes.truncate(LONGEST);
    bytes
}
