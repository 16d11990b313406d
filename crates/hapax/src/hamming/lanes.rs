//! The loops over stored words, written once and compiled for each instruction set.
//!
//! Equivalent to `stored.iter().enumerate().filter(|(_, s)| (*s ^ query).count_ones() <= bound)`. `Narrow`
//! processes one word at a time, which is fastest with a scalar population count. `Wide` first checks without
//! branches whether *any* of 64 words (then of 16) is near, and looks closer only then; matches are rare.
//! Measured on a Zen 4 core, in million words per second inside the cache: scalar 2,100, AVX2 3,500 to 3,800,
//! AVX-512 12,500. Handwritten intrinsics reached 13,600, too little to justify another file.

use std::ops::{BitXor, ControlFlow};

use super::gather::BitGather;
use super::vacant::Vacant;

/// A stored word that can be compared: `u32` (a part of a fingerprint) or `u64` (all of it).
pub trait Word: Copy + BitXor<Output = Self> {
    /// Number of set bits.
    fn ones(self) -> u32;
}

impl Word for u32 {
    #[inline(always)]
    fn ones(self) -> u32 {
        self.count_ones()
    }
}

impl Word for u64 {
    #[inline(always)]
    fn ones(self) -> u32 {
        self.count_ones()
    }
}

/// Operations that a [`Work`](super::Work) may use, for the instruction set it runs under.
///
/// The methods are inlined into the caller, so a whole search loop is compiled for the instruction
/// set, not only its innermost step.
pub trait Lanes: Copy {
    /// Whether there is a 64-bit vector multiplication: then many independent multiplications beat
    /// a few dependent ones.
    const MULTIPLIES: bool;

    /// Calls `hit(position, distance)` for each word within `bound` bits of `query`, in order of
    /// position, until it breaks.
    fn within<W: Word>(
        self,
        stored: &[W],
        query: W,
        bound: u32,
        hit: impl FnMut(usize, u32) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Bit `i` is set if `stored[i]` is within `bound` bits of `query`. No branch depends on the
    /// data, which suits short buckets of unpredictable length.
    fn within_16(self, stored: &[u32; 16], query: u32, bound: u32) -> u16;

    /// The bits of `value` that `gather` selects, packed at the low end.
    fn gather(self, gather: &BitGather, value: u64) -> u64;

    /// Writes the products of `values` and `multiplier` that would go to a vacant bin to `out`, in
    /// order, and returns their number. `out` must be longer than `values` by [`SLACK`]; its
    /// contents beyond the result are undefined.
    fn to_vacant(self, vacant: &Vacant, values: &[u64], multiplier: u64, out: &mut [u64]) -> usize;
}

/// How much longer than its input an output must be, so that whole registers can be written.
pub const SLACK: usize = 8;

/// Processes one word at a time.
#[derive(Clone, Copy)]
pub(super) struct Narrow;

impl Lanes for Narrow {
    const MULTIPLIES: bool = false;

    #[inline(always)]
    fn within<W: Word>(
        self,
        stored: &[W],
        query: W,
        bound: u32,
        hit: impl FnMut(usize, u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        one_by_one(stored, 0, query, bound, hit)
    }

    #[inline(always)]
    fn within_16(self, stored: &[u32; 16], query: u32, bound: u32) -> u16 {
        mask_of_16(stored, query, bound)
    }

    #[inline(always)]
    fn gather(self, gather: &BitGather, value: u64) -> u64 {
        gather.apply(value)
    }

    #[inline(always)]
    fn to_vacant(self, vacant: &Vacant, values: &[u64], multiplier: u64, out: &mut [u64]) -> usize {
        vacant.one_by_one(values, multiplier, out)
    }
}

/// Tests blocks of words first; for vector instructions.
#[derive(Clone, Copy)]
pub(super) struct Wide;

impl Lanes for Wide {
    const MULTIPLIES: bool = false;

    #[inline(always)]
    fn within<W: Word>(
        self,
        stored: &[W],
        query: W,
        bound: u32,
        mut hit: impl FnMut(usize, u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (blocks, rest) = stored.as_chunks::<64>();
        for (number, block) in blocks.iter().enumerate() {
            if any_within(block, query, bound) {
                one_by_one(block, number * 64, query, bound, &mut hit)?;
            }
        }
        let offset = stored.len() - rest.len();
        let (blocks, tail) = rest.as_chunks::<16>();
        for (number, block) in blocks.iter().enumerate() {
            if any_within(block, query, bound) {
                one_by_one(block, offset + number * 16, query, bound, &mut hit)?;
            }
        }
        one_by_one(tail, stored.len() - tail.len(), query, bound, hit)
    }

    #[inline(always)]
    fn within_16(self, stored: &[u32; 16], query: u32, bound: u32) -> u16 {
        mask_of_16(stored, query, bound)
    }

    #[inline(always)]
    fn gather(self, gather: &BitGather, value: u64) -> u64 {
        gather.apply(value)
    }

    #[inline(always)]
    fn to_vacant(self, vacant: &Vacant, values: &[u64], multiplier: u64, out: &mut [u64]) -> usize {
        vacant.one_by_one(values, multiplier, out)
    }
}

#[inline(always)]
fn mask_of_16(stored: &[u32; 16], query: u32, bound: u32) -> u16 {
    let mut mask = 0;
    for (i, &word) in stored.iter().enumerate() {
        mask |= u16::from((word ^ query).count_ones() <= bound) << i;
    }
    mask
}

/// Without early exit, so that the compiler can use vectors.
#[inline(always)]
fn any_within<W: Word, const N: usize>(block: &[W; N], query: W, bound: u32) -> bool {
    let mut any = false;
    for &word in block {
        any |= (word ^ query).ones() <= bound;
    }
    any
}

#[inline(always)]
fn one_by_one<W: Word>(
    stored: &[W],
    offset: usize,
    query: W,
    bound: u32,
    mut hit: impl FnMut(usize, u32) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for (position, &word) in stored.iter().enumerate() {
        let distance = (word ^ query).ones();
        if distance <= bound {
            hit(offset + position, distance)?;
        }
    }
    ControlFlow::Continue(())
}
