//! The frame of one host, counted over its pages, and what is remembered of a page's own text.
//!
//! Of a host with more than [`SAMPLE`] pages, about that many are counted, chosen by their content, so memory for a
//! host is bounded. Pages of one text count once. The answer depends on the set of pages alone, if pages of one text
//! have the same pieces; by chance two texts of a sample share 32 bits, and then the first that comes counts.

use std::collections::BTreeSet;

use hapax::fingerprint::ContentHash;
use hapax::frame::{OwnText, Piece, on_many_pages};
use hapax::group::{PageFacts, Scope, ScopeFacts};

/// Pages of a host that are counted, about.
const SAMPLE: u64 = 1024;
/// Bytes of a packed piece.
pub(crate) const PIECE: usize = 5;

/// What a page says beyond the frame of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// Equal for pages of one host; 0 where no frame is known.
    pub(crate) host: u32,
    pub(crate) text: OwnText,
}

impl Own {
    pub(crate) const BYTES: usize = 4 + OwnText::BYTES;

    /// Are both pages of one host, and do their own texts differ?
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.host != 0 && self.host == other.host && self.text.differs_from(&other.text)
    }

    /// The key of its bucket in a pass; 0 where the whole page decides.
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

    /// `None` when these are not as many bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (host, text) = bytes.split_first_chunk()?;
        let text = OwnText::from_bytes(text.try_into().ok()?);
        Some(Self { host: u32::from_le_bytes(*host), text })
    }
}

/// Pages of a host, while they are counted.
#[derive(Debug, Default)]
pub(crate) struct HostPages {
    texts: BTreeSet<u32>,
    /// Of all texts.
    hashes: Vec<u32>,
}

impl HostPages {
    /// Is a page with this [text](text_key) counted, if its host has so many pages?
    pub(crate) const fn is_sampled(text: u32, pages: u32) -> bool {
        (text as u64 * pages as u64) >> 32 < SAMPLE
    }

    /// A page with this text and these [packed](packed) pieces.
    pub(crate) fn add(&mut self, text: u32, pieces: &[u8]) {
        if self.texts.insert(text) {
            self.hashes.extend(unpacked(pieces).map(|piece| piece.hash));
        }
    }

    /// The pieces that stand on as many pages as `least` says, ascending.
    pub(crate) fn frame(self, least: fn(u32) -> Option<u32>) -> Vec<u32> {
        let least = least(self.texts.len() as u32);
        least.map_or_else(Vec::new, |least| on_many_pages(self.hashes, least))
    }
}

/// One number for each host; 0 without one.
pub(crate) fn host_key(url: &str) -> u32 {
    if PageFacts::at(url).host().is_empty() {
        return 0;
    }
    (Scope::Host.key(&ScopeFacts { url, ..ScopeFacts::default() }).0 as u32).max(1)
}

/// Equal for equal texts.
pub(crate) fn text_key(content: ContentHash) -> u32 {
    let [a, b, c, d, ..] = content.to_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Pieces as they wait and as files have them: hash and number of words of each.
pub(crate) fn packed(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(pieces.len() * PIECE);
    for piece in pieces {
        let [a, b, c, d] = piece.hash.to_le_bytes();
        bytes.extend_from_slice(&[a, b, c, d, piece.words]);
    }
    bytes
}

/// What [`packed`] made.
pub(crate) fn unpacked(bytes: &[u8]) -> impl Iterator<Item = Piece> {
    let piece = |&[a, b, c, d, words]: &[u8; PIECE]| Piece {
        hash: u32::from_le_bytes([a, b, c, d]),
        words,
    };
    bytes.as_chunks::<PIECE>().0.iter().map(piece)
}
