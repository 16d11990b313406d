//! Classifies 64 bytes of text, a bit each.
//!
//! Words end at unpredictable positions, so a loop over single bytes or words mostly waits for mispredicted
//! branches. Here all bytes of a block are tested at once, and its words are runs of ones.

use crate::hamming::leading::first_bits;

/// Bytes per block.
pub(super) const BLOCK: usize = 64;

/// Bit `i` of each mask classifies byte `i`. A byte beyond ASCII is in `wide` only, other signs are
/// in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Lower-case ASCII letters and digits.
    pub(super) plain: u64,
    /// ASCII white space, including U+000B.
    pub(super) space: u64,
    pub(super) wide: u64,
    pub(super) underscore: u64,
}

impl Block {
    #[inline(always)]
    pub(super) fn of(bytes: &[u8; BLOCK]) -> Self {
        Self {
            plain: bits(bytes, |byte| byte.wrapping_sub(b'a') < 26 || byte.wrapping_sub(b'0') < 10),
            space: bits(bytes, |byte| byte == b' ' || byte.wrapping_sub(b'\t') < 5),
            wide: first_bits(bytes),
            underscore: bits(bytes, |byte| byte == b'_'),
        }
    }
}

/// The bytes that pass a test. A plain loop without early exit, so that the compiler can vectorize
/// it.
#[inline(always)]
fn bits(bytes: &[u8; BLOCK], test: impl Fn(u8) -> bool) -> u64 {
    let mut passed = [0; BLOCK];
    for (passed, &byte) in passed.iter_mut().zip(bytes) {
        *passed = if test(byte) { u8::MAX } else { 0 };
    }
    first_bits(&passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn byte_by_byte(bytes: &[u8; BLOCK]) -> Block {
        let bits = |test: fn(u8) -> bool| {
            bytes.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(test(*byte)))
        };
        Block {
            plain: bits(|b| b.is_ascii_lowercase() || b.is_ascii_digit()),
            space: bits(|b| b.is_ascii_whitespace() || b == 0x0B),
            wide: bits(|b| !b.is_ascii()),
            underscore: bits(|b| b == b'_'),
        }
    }

    #[test]
    fn every_byte_is_what_it_is_at_every_place() {
        for byte in 0..=u8::MAX {
            for at in 0..BLOCK {
                let mut bytes = [b'x'; BLOCK];
                bytes[at] = byte;
                assert_eq!(Block::of(&bytes), byte_by_byte(&bytes), "{byte} at {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn blocks_are_what_their_bytes_are(bytes in prop::array::uniform32(any::<[u8; 2]>())) {
            let bytes: [u8; BLOCK] = bytes.as_flattened().try_into().unwrap();
            prop_assert_eq!(Block::of(&bytes), byte_by_byte(&bytes));
        }
    }
}
