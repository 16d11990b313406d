//! A fingerprint, a distance bound, and the strength of each bit.
//!
//! A fingerprint is 64 bits in which similar texts differ little. A bound is inclusive. A bit is the sign of a
//! sum; a sum close to zero is a *weak* bit, likely to flip after a small edit. Bit `j` is `(value >> j) & 1`
//! and belongs to sum `j`.
//!
//! Source: Charikar 2002 for SimHash; Sood 2011, chapters II.A and IV.A for the sums.

use std::fmt;
use std::str::FromStr;

/// A 64-bit SimHash fingerprint of a document.
///
/// Similar texts differ in few bits. Fingerprints are comparable only if they were made by the same
/// recipe, and have no other meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Fingerprint(u64);

impl Fingerprint {
    pub const BITS: u32 = u64::BITS;

    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Number of differing bits, `0..=64`.
    #[inline]
    pub const fn distance(self, other: Self) -> u32 {
        (self.0 ^ other.0).count_ones()
    }

    /// Khan's percentage: the share of equal bits, `0.0..=100.0`.
    pub fn percent(self, other: Self) -> f64 {
        100.0 * (1.0 - f64::from(self.distance(other)) / f64::from(Self::BITS))
    }
}

/// Sixteen hexadecimal digits, in every file and display.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// The text is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a fingerprint: 16 hexadecimal digits are needed")]
pub struct ParseFingerprintError {
    /// The text, cut to a readable length.
    pub given: String,
}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let all_hex = s.len() == 16 && s.bytes().all(|b| b.is_ascii_hexdigit());
        match u64::from_str_radix(s, 16) {
            Ok(bits) if all_hex => Ok(Self(bits)),
            _ => Err(ParseFingerprintError { given: s.chars().take(40).collect() }),
        }
    }
}

/// Maximum distance of a match in bits.
///
/// The bound is inclusive:
///
/// ```
/// # use hapax::fingerprint::MaxDistance;
/// let three = MaxDistance::new(3).unwrap();
/// assert!(three.admits(3));
/// assert!(!three.admits(4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MaxDistance(u8);

impl MaxDistance {
    /// `None` if `bits` is larger than 64.
    pub const fn new(bits: u8) -> Option<Self> {
        if bits as u32 <= Fingerprint::BITS { Some(Self(bits)) } else { None }
    }

    /// The bound in bits.
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// Whether a distance is within the bound.
    #[inline]
    pub const fn admits(self, distance: u32) -> bool {
        distance <= self.0 as u32
    }
}

impl fmt::Display for MaxDistance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The weighted sum behind each bit: Sood's vector `W`.
///
/// The sign of a sum is the bit, its size the confidence. Sums are integers, so they are the same
/// on every machine and do not depend on the order of the features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitSums([i64; 64]);

impl BitSums {
    /// Sum `j` belongs to bit `j`.
    pub const fn new(sums: [i64; 64]) -> Self {
        Self(sums)
    }

    /// The sums, bit 0 first.
    pub const fn as_array(&self) -> &[i64; 64] {
        &self.0
    }

    /// All bit positions, weakest (sum closest to zero) first, ties by position.
    pub fn weakest_first(&self) -> [u8; 64] {
        let mut order: [u8; 64] = std::array::from_fn(|j| j as u8);
        order.sort_by_key(|&j| (self.0[usize::from(j)].unsigned_abs(), j));
        order
    }

    /// The largest absolute sum, at least 1. Sums are measured relative to it where only
    /// proportions matter.
    pub fn largest(&self) -> u64 {
        self.0.iter().map(|s| s.unsigned_abs()).max().unwrap_or(0).max(1)
    }
}
