//! Random operations on the repository.
//!
//! The clock of the pages is a random walk that sometimes jumps years ahead or back; it determines when pages are
//! fetched and expire.

use crate::line::{FAMILIES, MEMBERS, PLACES};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Operation {
    Seen {
        page: u32,
        place: Option<u32>,
        fetched: u64,
    },
    /// One commit in the library; any number of commits over HTTP.
    Batch {
        pages: Vec<(u32, u32)>,
        fetched: u64,
    },
    Redirect {
        from: u32,
        to: u32,
        fetched: u64,
    },
    Forget {
        page: u32,
    },
    Score {
        page: u32,
        score: Option<u32>,
    },
    Expire {
        before: u64,
    },
}

/// A random number generator: SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) const fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    pub(crate) const fn page(&mut self) -> u32 {
        self.below((FAMILIES * MEMBERS) as u64) as u32
    }

    const fn place(&mut self) -> u32 {
        self.below(PLACES as u64) as u32
    }
}

#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) random: Random,
    now: u64,
    pub(crate) jumps: u64,
}

const YEAR: u64 = 31_557_600;

impl Script {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), now: 40 * YEAR, jumps: 0 }
    }

    fn clock(&mut self) -> u64 {
        self.now += self.random.below(1000);
        if self.random.below(40) == 0 {
            self.jumps += 1;
            self.now = match self.random.below(3) {
                0 => self.now.saturating_sub(10 * YEAR),
                1 => self.now + 10 * YEAR,
                _ => 40 * YEAR,
            };
        }
        self.now
    }

    pub(crate) fn next(&mut self) -> Operation {
        let fetched = self.clock();
        let random = &mut self.random;
        match random.below(40) {
            0..18 => Operation::Seen { page: random.page(), place: Some(random.place()), fetched },
            18..20 => Operation::Seen { page: random.page(), place: None, fetched },
            20..26 => {
                let (from, to) = (random.page(), random.page());
                // A page cannot redirect to itself.
                let to = if from == to { (to + 1) % (FAMILIES * MEMBERS) } else { to };
                Operation::Redirect { from, to, fetched }
            }
            26..30 => Operation::Forget { page: random.page() },
            30..34 => {
                let score = (random.below(5) > 0).then(|| random.below(4) as u32);
                Operation::Score { page: random.page(), score }
            }
            34..39 => {
                let count = 1 + random.below(6);
                let pages = (0..count).map(|_| (random.page(), random.place())).collect();
                Operation::Batch { pages, fetched }
            }
            _ => Operation::Expire { before: fetched.saturating_sub(random.below(200_000)) },
        }
    }
}
