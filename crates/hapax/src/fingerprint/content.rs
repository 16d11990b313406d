//! The hash that identifies exact duplicates.
//!
//! 128 bits of BLAKE3 over the extracted text: two pages with the same hash show the same words in the same
//! order with the same punctuation. Unlike fingerprints, it has no chance collisions and no known way to forge
//! one. For a page with very few words, title and addresses count, too, so "see" followed by another address is
//! another page.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "text")]
use crate::page::{Extent, Page};

/// Pages with at most this many words are exact copies only if their titles and the addresses in
/// their texts are equal, too.
pub const FEW_WORDS: u32 = 5;

/// Equal for exact duplicates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 16]);

impl ContentHash {
    /// The hash of an extracted text.
    pub fn of(text: &str) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
        Self(bytes)
    }

    /// The hash of a page with few words, which covers more than the text. `None` for a page with
    /// enough words; its hash is that of its text.
    #[cfg(feature = "text")]
    pub(super) fn of_few_words(page: &Page, extent: Extent, words: u32) -> Option<Self> {
        // For the whole page, the title is part of the text if the recipe includes it.
        let cut_out = extent == Extent::MainContent;
        let title = page.title.as_deref().filter(|_| cut_out).unwrap_or_default();
        let nothing_more = title.is_empty() && page.addresses.is_empty();
        if nothing_more || page.text.is_empty() || words > FEW_WORDS {
            return None;
        }
        // Recipes may drop words that a reader sees.
        let shown = page.text.split(' ').filter(|it| it.contains(char::is_alphanumeric));
        if shown.count() > FEW_WORDS as usize {
            return None;
        }
        // White space is folded, so texts contain no line breaks.
        Some(Self::of(&[&page.text, title, &page.addresses].join("\n")))
    }

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

/// The text is not a content hash.
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
        // BLAKE3 of the empty input, from its published test vectors.
        assert_eq!(ContentHash::of("").to_string(), "af1349b9f5f9a1a6a0404dea36dcc949");
    }
}
