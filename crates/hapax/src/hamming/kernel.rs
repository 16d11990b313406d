//! Chooses the instruction set, once.
//!
//! A [`Kernel`] exists only if the CPU can run it, so holding one proves that its instructions exist.
//! [`Kernel::run`] enters code compiled for it; the loops of [`lanes`](super::lanes) and the given [`Work`] are
//! inlined there. On 64-bit ARM vector instructions (NEON) are part of the platform and need no detection.

use std::fmt;
use std::ops::ControlFlow;

use super::lanes::{Lanes, Narrow, Wide};
use crate::fingerprint::MaxDistance;

/// A piece of work that is compiled for the kernel it runs under.
pub trait Work {
    type Output;

    /// Runs the work. Mark the implementation `#[inline(always)]`: only inlined code is compiled
    /// for the kernel's instructions.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// An instruction set that this CPU has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Set);

/// Constructed only after detection, which the safety of [`Kernel::run`] relies on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Popcnt,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Kernel {
    /// Uses no special instructions.
    pub const PORTABLE: Self = Self(Set::Portable);

    /// The fastest kernel of this CPU. Detection takes time, so call it once and keep the result.
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self::PORTABLE)
    }

    /// Every kernel this CPU has, slowest first.
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64")),
        expect(unused_mut, reason = "other platforms add kernels")
    )]
    pub fn available() -> Vec<Self> {
        let mut sets = vec![Set::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("popcnt") {
                sets.push(Set::Popcnt);
                if is_x86_feature_detected!("avx2") {
                    sets.push(Set::Avx2);
                    if is_x86_feature_detected!("avx512f")
                        && is_x86_feature_detected!("avx512bw")
                        && is_x86_feature_detected!("avx512dq")
                        && is_x86_feature_detected!("avx512vl")
                        && is_x86_feature_detected!("avx512vpopcntdq")
                        && is_x86_feature_detected!("bmi2")
                    {
                        sets.push(Set::Avx512);
                    }
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        sets.push(Set::Neon);
        sets.into_iter().map(Self).collect()
    }

    /// The common name of the instruction set.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Set::Popcnt => "popcnt",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
            #[cfg(target_arch = "aarch64")]
            Set::Neon => "neon",
        }
    }

    /// Runs `work`, compiled for this instruction set.
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "entering code compiled for detected features")
    )]
    pub fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            Set::Portable => work.run(Narrow),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the callee needs POPCNT, and `available` makes this set only with it.
            Set::Popcnt => unsafe { x86::run_popcnt(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the callee needs AVX2 and POPCNT, and `available` makes this set only
            // with both.
            Set::Avx2 => unsafe { x86::run_avx2(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `available` makes this set only when each feature the callee names was
            // detected.
            Set::Avx512 => unsafe { x86::run_avx512(work) },
            #[cfg(target_arch = "aarch64")]
            Set::Neon => work.run(Wide),
        }
    }

    /// Calls `hit(position, distance)` for each stored fingerprint within `bound` of `query`, in
    /// order of position, until it breaks.
    pub fn visit_within(
        self,
        stored: &[u64],
        query: u64,
        bound: MaxDistance,
        hit: impl FnMut(usize, u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.run(OneAgainstAll { stored, query, bound: bound.bits(), hit })
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.name())
    }
}

struct OneAgainstAll<'a, F> {
    stored: &'a [u64],
    query: u64,
    bound: u32,
    hit: F,
}

impl<F: FnMut(usize, u32) -> ControlFlow<()>> Work for OneAgainstAll<'_, F> {
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> ControlFlow<()> {
        lanes.within(self.stored, self.query, self.bound, self.hit)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_cvtsi32_si128, _mm512_cmple_epu32_mask, _mm512_loadu_epi32, _mm512_loadu_epi64,
        _mm512_mask_test_epi64_mask, _mm512_maskz_compress_epi64, _mm512_mullo_epi64,
        _mm512_permutex2var_epi64, _mm512_popcnt_epi32, _mm512_rorv_epi64, _mm512_set1_epi32,
        _mm512_set1_epi64, _mm512_srl_epi64, _mm512_srli_epi64, _mm512_storeu_epi64,
        _mm512_xor_si512, _pext_u64,
    };
    use std::ops::ControlFlow;

    use super::{Lanes, Narrow, Wide, Work};
    use crate::hamming::gather::BitGather;
    use crate::hamming::lanes::{SLACK, Word};
    use crate::hamming::vacant::Vacant;

    #[target_feature(enable = "popcnt")]
    pub(super) fn run_popcnt<W: Work>(work: W) -> W::Output {
        work.run(Narrow)
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn run_avx2<W: Work>(work: W) -> W::Output {
        work.run(Wide)
    }

    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi2,popcnt"
    )]
    pub(super) fn run_avx512<W: Work>(work: W) -> W::Output {
        work.run(WideWithPext)
    }

    /// Every CPU with AVX-512 VPOPCNTDQ has a fast `pext`; some with only AVX2 do not. Constructed
    /// only by `run_avx512`, which proves that BMI2 exists.
    #[derive(Clone, Copy)]
    struct WideWithPext;

    impl Lanes for WideWithPext {
        const MULTIPLIES: bool = true;

        #[inline(always)]
        fn within<W: Word>(
            self,
            stored: &[W],
            query: W,
            bound: u32,
            hit: impl FnMut(usize, u32) -> ControlFlow<()>,
        ) -> ControlFlow<()> {
            Wide.within(stored, query, bound, hit)
        }

        #[inline(always)]
        #[expect(unsafe_code, reason = "intrinsics behind detected features")]
        fn within_16(self, stored: &[u32; 16], query: u32, bound: u32) -> u16 {
            // SAFETY: needs AVX512F and VPOPCNTDQ. A `WideWithPext` exists only below `run_avx512`.
            // The load reads the 64 bytes of the array and does not require alignment.
            unsafe {
                let words = _mm512_loadu_epi32(stored.as_ptr().cast());
                let differing = _mm512_xor_si512(words, _mm512_set1_epi32(query as i32));
                let distances = _mm512_popcnt_epi32(differing);
                _mm512_cmple_epu32_mask(distances, _mm512_set1_epi32(bound as i32))
            }
        }

        #[inline(always)]
        #[expect(unsafe_code, reason = "an intrinsic behind a detected feature")]
        fn gather(self, gather: &BitGather, value: u64) -> u64 {
            // SAFETY: needs BMI2. A `WideWithPext` exists only below `run_avx512`.
            unsafe { _pext_u64(value, gather.mask()) }
        }

        #[inline(always)]
        #[expect(unsafe_code, reason = "intrinsics behind detected features")]
        fn to_vacant(
            self,
            vacant: &Vacant,
            values: &[u64],
            multiplier: u64,
            out: &mut [u64],
        ) -> usize {
            let (bits, to_bin) = vacant.bits();
            let (blocks, rest) = values.as_chunks::<SLACK>();
            let mut last = [0; SLACK];
            last[..rest.len()].copy_from_slice(rest);
            let all = blocks.iter().map(|block| (block, u8::MAX));
            let mut found = 0;
            for (block, there) in all.chain([(&last, (1 << rest.len()) - 1)]) {
                let out: &mut [u64; SLACK] = match out[found..].first_chunk_mut() {
                    Some(out) => out,
                    None => return found,
                };
                // SAFETY: needs AVX512F and AVX512DQ. A `WideWithPext` exists only below
                // `run_avx512`. Every load and the store move the 64 bytes of 8 words of an array,
                // and do not require alignment.
                found += unsafe {
                    let low = _mm512_loadu_epi64(bits.as_ptr().cast());
                    let high = _mm512_loadu_epi64(bits[8..].as_ptr().cast());
                    let values = _mm512_loadu_epi64(block.as_ptr().cast());
                    let products = _mm512_mullo_epi64(values, _mm512_set1_epi64(multiplier as i64));
                    let bins = _mm512_srl_epi64(products, _mm_cvtsi32_si128(to_bin as i32));
                    // The leading bits of a bin select the word, the others the bit: a rotation is
                    // modulo 64.
                    let words = _mm512_permutex2var_epi64(low, _mm512_srli_epi64(bins, 6), high);
                    let bit_first = _mm512_rorv_epi64(words, bins);
                    let hits = _mm512_mask_test_epi64_mask(there, bit_first, _mm512_set1_epi64(1));
                    let packed = _mm512_maskz_compress_epi64(hits, products);
                    _mm512_storeu_epi64(out.as_mut_ptr().cast(), packed);
                    hits.count_ones() as usize
                };
            }
            found
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::hamming::BitGather;

    /// Words around one centre; uniform ones would be 32 bits apart and never match.
    fn around_a_centre() -> impl Strategy<Value = (u64, Vec<u64>)> {
        any::<u64>().prop_flat_map(|centre| {
            let near = vec(0..64u32, 0..24)
                .prop_map(move |flips| flips.into_iter().fold(centre, |b, j| b ^ (1 << j)));
            (Just(centre), vec(near, 0..300))
        })
    }

    fn plain(stored: &[u64], query: u64, bound: u32) -> Vec<(usize, u32)> {
        let distances = stored.iter().map(|s| (s ^ query).count_ones());
        distances.enumerate().filter(|&(_, distance)| distance <= bound).collect()
    }

    struct Gather<'a>(&'a BitGather, u64);

    impl Work for Gather<'_> {
        type Output = u64;
        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> u64 {
            lanes.gather(self.0, self.1)
        }
    }

    struct Sixteen<'a>(&'a [u32; 16], u32, u32);

    impl Work for Sixteen<'_> {
        type Output = u16;
        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> u16 {
            lanes.within_16(self.0, self.1, self.2)
        }
    }

    struct Halves<'a>(&'a [u32], u32, u32);

    impl Work for Halves<'_> {
        type Output = Vec<usize>;
        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> Vec<usize> {
            let mut found = Vec::new();
            let _ = lanes.within(self.0, self.1, self.2, |position, _| {
                found.push(position);
                ControlFlow::Continue(())
            });
            found
        }
    }

    proptest! {
        #[test]
        fn every_kernel_finds_what_the_plain_loop_finds(
            (query, stored) in around_a_centre(),
            bits in 0u8..=64,
        ) {
            let bound = MaxDistance::new(bits).unwrap();
            let expected = plain(&stored, query, u32::from(bits));
            for kernel in Kernel::available() {
                let mut found = Vec::new();
                let _ = kernel.visit_within(&stored, query, bound, |position, distance| {
                    found.push((position, distance));
                    ControlFlow::Continue(())
                });
                prop_assert_eq!(&found, &expected, "{:?}", kernel);
            }
        }

        #[test]
        fn every_kernel_stops_when_asked(
            (query, stored) in around_a_centre(),
            stop_after in 1usize..5,
        ) {
            let bound = MaxDistance::new(12).unwrap();
            let expected = plain(&stored, query, 12).len().min(stop_after);
            for kernel in Kernel::available() {
                let mut calls = 0;
                let _ = kernel.visit_within(&stored, query, bound, |_, _| {
                    calls += 1;
                    if calls == stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                prop_assert_eq!(calls, expected, "{:?}", kernel);
            }
        }

        #[test]
        fn every_kernel_compares_half_words((query, stored) in around_a_centre(), bound in 0u32..20) {
            let halves: Vec<u32> = stored.iter().map(|&s| s as u32).collect();
            let near = |half: &u32| (half ^ query as u32).count_ones() <= bound;
            let expected: Vec<usize> =
                halves.iter().enumerate().filter(|(_, h)| near(h)).map(|(i, _)| i).collect();
            for kernel in Kernel::available() {
                let found = kernel.run(Halves(&halves, query as u32, bound));
                prop_assert_eq!(&found, &expected, "{:?}", kernel);
            }
        }

        #[test]
        fn every_kernel_compares_sixteen_half_words_at_once(
            query: u32,
            flips in prop::array::uniform16(vec(0..32u32, 0..12)),
            bound in 0u32..=32,
        ) {
            let stored = flips.map(|flips| flips.into_iter().fold(query, |half, j| half ^ (1 << j)));
            let near = |i: &usize| (stored[*i] ^ query).count_ones() <= bound;
            let expected = (0..16).filter(near).fold(0u16, |mask, i| mask | 1 << i);
            for kernel in Kernel::available() {
                let found = kernel.run(Sixteen(&stored, query, bound));
                prop_assert_eq!(found, expected, "{:?}", kernel);
            }
        }

        #[test]
        fn every_kernel_gathers_the_same_bits(value: u64, mask: u64) {
            let gather = BitGather::new(mask);
            for kernel in Kernel::available() {
                prop_assert_eq!(kernel.run(Gather(&gather, value)), gather.apply(value));
            }
        }
    }

    #[test]
    fn the_best_kernel_is_the_last_available_one() {
        assert_eq!(Kernel::available().last(), Some(&Kernel::best()));
        assert_eq!(Kernel::available().first(), Some(&Kernel::PORTABLE));
    }
}
