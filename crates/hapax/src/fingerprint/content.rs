//! The hash by which exact duplicates are known.
//!
//! 128 bits of BLAKE3 over the extracted text: two pages with the same hash show a reader
//! the same words in the same order with the same punctuation. Unlike a fingerprint it
//! cannot be met by chance or, as far as anyone knows, on purpose.

use std::fmt;
use std::str::FromStr;

/// What exact duplicates share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 16]);

impl ContentHash {
    /// The hash of a extracted text.
    pub fn of(text: &str) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
        Self(bytes)
    }

    /// The hash with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

/// Thirty-two hexadecimal digits.
impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

/// Why a string is not a content hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a content hash: 32 hexadecimal digits are needed")]
pub struct ParseContentHashError;

impl FromStr for ContentHash {
    type Err = ParseContentHashError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        if s.len() != 32 || !s.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(ParseContentHashError);
        }
        u128::from_str_radix(s, 16)
            .map(|v| Self(v.to_be_bytes()))
            .map_err(|_| ParseContentHashError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_and_read_as_hexadecimal() {
        let hash = ContentHash::of("hapax legomenon");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!("zz".parse::<ContentHash>(), Err(ParseContentHashError));
        // BLAKE3 of nothing, from its published test vectors.
        assert_eq!(ContentHash::of("").to_string(), "af1349b9f5f9a1a6a0404dea36dcc949");
    }
}
