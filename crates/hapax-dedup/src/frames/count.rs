//! Counts the frame of one host over its pages; the compact form of a page's own text.
//!
//! Of a host with more than [`SAMPLE`] pages, counts a sample of about that size, chosen by content, so memory
//! per host is bounded. Pages with the same text count once. The result depends on the set of pages only,
//! provided equal texts have equal pieces. If two texts of a sample collide in their 32-bit key, the first one
//! read counts.

use std::collections::BTreeSet;

use hapax::fingerprint::ContentHash;
use hapax::frame::{OwnText, Piece, on_many_pages};
use hapax::group::{PageFacts, Scope, ScopeFacts};

/// Approximate number of pages counted per host.
const SAMPLE: u64 = 1024;
/// Size of a packed piece in bytes.
pub(crate) const PIECE: usize = 5;

/// The own text of a page, beyond the frame of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// Key of the host; 0 if the host has no frame.
    pub(crate) host: u32,
    pub(crate) text: OwnText,
}

impl Own {
    pub(crate) const BYTES: usize = 4 + OwnText::BYTES;

    /// Whether both pages are of one host and have different own texts.
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.host != 0 && self.host == other.host && self.text.differs_from(&other.text)
    }

    /// The key of its bucket in a pass; 0 if the host has no frame.
    pub(crate) fn bucket(&self, pass: usize) -> u64 {
        if self.host == 0 { 0 } else { u64::from(self.text.bucket(pass)) }
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (host, text) = bytes.split_at_mut(4);
        host.copy_from_slice(&self.host.to_le_bytes());
        text.copy_from_slice(&self.text.to_bytes());
        bytes
    }

    /// `None` unless there are exactly [`Self::BYTES`] bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (host, text) = bytes.split_first_chunk()?;
        let text = OwnText::from_bytes(text.try_into().ok()?);
        Some(Self { host: u32::from_le_bytes(*host), text })
    }
}

/// The pages of a host during counting.
#[derive(Debug, Default)]
pub(crate) struct HostPages {
    texts: BTreeSet<u32>,
    /// The piece hashes of all texts.
    hashes: Vec<u32>,
}

impl HostPages {
    /// Whether a page with this [text](text_key) is in the sample of a host with `pages` pages.
    pub(crate) const fn is_sampled(text: u32, pages: u32) -> bool {
        (text as u64 * pages as u64) >> 32 < SAMPLE
    }

    /// Adds a page by the key of its text and its [packed](packed) pieces.
    pub(crate) fn add(&mut self, text: u32, pieces: &[u8]) {
        if self.texts.insert(text) {
            self.hashes.extend(unpacked(pieces).map(|piece| piece.hash));
        }
    }

    /// The pieces that occur on at least `least(pages)` pages, ascending.
    pub(crate) fn frame(self, least: fn(u32) -> Option<u32>) -> Vec<u32> {
        let least = least(self.texts.len() as u32);
        least.map_or_else(Vec::new, |least| on_many_pages(self.hashes, least))
    }
}

/// The key of the host of an address; 0 without a host.
pub(crate) fn host_key(url: &str) -> u32 {
    if PageFacts::at(url).host().is_empty() {
        return 0;
    }
    (Scope::Host.key(&ScopeFacts { url, ..ScopeFacts::default() }).0 as u32).max(1)
}

/// A key that is equal for equal texts.
pub(crate) fn text_key(content: ContentHash) -> u32 {
    let [a, b, c, d, ..] = content.to_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Encodes pieces: hash and number of words of each.
pub(crate) fn packed(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(pieces.len() * PIECE);
    for piece in pieces {
        let [a, b, c, d] = piece.hash.to_le_bytes();
        bytes.extend_from_slice(&[a, b, c, d, piece.words]);
    }
    bytes
}

/// Decodes what [`packed`] wrote.
pub(crate) fn unpacked(bytes: &[u8]) -> impl Iterator<Item = Piece> {
    let piece = |&[a, b, c, d, words]: &[u8; PIECE]| Piece {
        hash: u32::from_le_bytes([a, b, c, d]),
        words,
    };
    bytes.as_chunks::<PIECE>().0.iter().map(piece)
}
