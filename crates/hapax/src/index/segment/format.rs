//! The layout of a segment's bytes, and its errors. `docs/internals/format.md` specifies every byte.
//!
//! A header of 80 bytes, the body (recipe, fingerprints, directory, starts, ranks, ids), and a checksum for
//! each 64 KiB of the body. All offsets follow from a few numbers of the header, whose checksum covers the
//! checksum of the checksums, so any flipped bit is detected. Guarantees that no length from a file is used
//! before it is compared with the actual length.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::bits::{half_at, packed_bytes, width_of, word_at};
use super::monotone::Shape;

/// The first bytes of a segment.
pub(super) const MAGIC: [u8; 8] = *b"hapaxSEG";

/// The format that is written, and the newest that can be read; the first one.
pub(super) const VERSION: u32 = 1;

/// Size of the header in bytes.
pub(super) const HEADER: usize = 80;

/// Bytes of the body per checksum.
pub(super) const BLOCK: usize = 64 << 10;

/// Maximum length of a recipe's name in bytes.
pub(super) const LONGEST_RECIPE: usize = 4096;

/// Maximum prefix of a directory in bits: 2^28 + 1 entries.
pub(super) const MOST_DIRECTORY_BITS: u32 = 28;

/// How the fingerprints are encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Eight bytes each, and a directory. Fast to search.
    #[default]
    Plain,
    /// Elias-Fano: about `66 - log2(n)` bits each, including the directory. Smaller, slower.
    Compressed,
}

/// Bytes are not a segment, or not a usable one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// Another kind of file, or the first bytes are damaged.
    #[error("not {what}: it does not begin with {}", String::from_utf8_lossy(.magic))]
    Foreign {
        what: &'static str,
        /// The expected first bytes.
        magic: [u8; 8],
    },
    /// Written by a later release.
    #[error("format {found} is newer than {newest}, the last one this build reads")]
    TooNew {
        found: u32,
        /// The newest version that can be read.
        newest: u32,
    },
    /// The bytes are truncated or too long.
    #[error("{found} bytes where {expected} were written; the file is cut or was added to")]
    Length {
        /// Actual length in bytes.
        found: u64,
        /// Expected length in bytes.
        expected: u64,
    },
    /// The bytes contradict their checksum.
    #[error("{part} at byte {offset} fails its checksum; rebuild the segment from the store")]
    Checksum {
        part: &'static str,
        /// Offset of the part.
        offset: u64,
    },
    /// The checksums are right but the content is invalid: written by a faulty or malicious
    /// program.
    #[error("{part} is not what a writer writes; rebuild the segment from the store")]
    Content { part: &'static str },
    /// The fingerprints were made by another recipe.
    #[error("made with recipe {stored}, {asked} was asked for; rebuild it with {asked}")]
    Recipe { stored: String, asked: String },
    /// The recipe's name is too long.
    #[error("the recipe's id is {bytes} bytes long, a segment has room for {most}")]
    LongRecipe { bytes: usize, most: usize },
    /// The removals belong to another segment.
    #[error("removals of segment {stored:016x}, not of {asked:016x}")]
    OtherSegment {
        /// The segment they belong to.
        stored: u64,
        /// The segment they were given for.
        asked: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) encoding: Encoding,
    pub(super) entries: u64,
    pub(super) rows: u64,
    pub(super) largest_fingerprint: u64,
    pub(super) largest_id: u64,
    pub(super) recipe_bytes: u32,
    pub(super) directory_bits: u32,
}

/// The ranges of the parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) header: Header,
    pub(super) recipe: Range<usize>,
    pub(super) fingerprints: Range<usize>,
    pub(super) directory: Range<usize>,
    pub(super) starts: Range<usize>,
    pub(super) ranks: Range<usize>,
    pub(super) ids: Range<usize>,
    pub(super) checksums: Range<usize>,
}

impl Header {
    pub(super) fn fingerprint_shape(&self) -> Shape {
        Shape { count: self.rows, largest: self.largest_fingerprint }
    }

    pub(super) fn start_shape(&self) -> Shape {
        Shape { count: self.rows + 1, largest: self.entries }
    }

    pub(super) fn id_shape(&self) -> Shape {
        Shape { count: self.entries, largest: self.largest_id }
    }

    pub(super) fn rank_width(&self) -> u32 {
        width_of(self.entries.saturating_sub(1))
    }

    /// The ranges of all parts; `None` if the numbers of the header are impossible.
    pub(super) fn layout(&self) -> Option<Layout> {
        let most = u64::from(u32::MAX);
        let sound = self.entries <= most
            && self.rows <= self.entries
            && (self.rows == 0) == (self.entries == 0)
            && self.recipe_bytes as usize <= LONGEST_RECIPE
            && match self.encoding {
                Encoding::Plain => self.directory_bits <= MOST_DIRECTORY_BITS,
                Encoding::Compressed => self.directory_bits == 0,
            };
        if !sound {
            return None;
        }
        let mut end = HEADER as u64;
        let mut part = |bytes: u64| -> Option<Range<usize>> {
            let start = end;
            end = end.checked_add(bytes)?;
            let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
            end = end.checked_next_multiple_of(8)?;
            Some(range)
        };
        let recipe = part(u64::from(self.recipe_bytes))?;
        let (fingerprints, directory) = match self.encoding {
            Encoding::Plain => (part(self.rows * 8)?, part(((1 << self.directory_bits) + 1) * 4)?),
            Encoding::Compressed => (part(self.fingerprint_shape().bytes()?)?, part(0)?),
        };
        let starts = part(if self.rows < self.entries { self.start_shape().bytes()? } else { 0 })?;
        let ranks = part(packed_bytes(self.entries, self.rank_width())?)?;
        let ids = part(self.id_shape().bytes()?)?;
        let body = (ids.end - HEADER) as u64;
        let checksums = part(body.div_ceil(BLOCK as u64) * 8)?;
        let header = *self;
        Some(Layout { header, recipe, fingerprints, directory, starts, ranks, ids, checksums })
    }

    /// Adds the header and the checksums to a finished body that starts at [`HEADER`].
    pub(super) fn seal(&self, bytes: &mut Vec<u8>) {
        let sums: Vec<u8> =
            bytes[HEADER..].chunks(BLOCK).flat_map(|block| xxh3_64(block).to_le_bytes()).collect();
        bytes.extend_from_slice(&sums);
        let encoding: u32 = match self.encoding {
            Encoding::Plain => 0,
            Encoding::Compressed => 1,
        };
        let length = bytes.len() as u64;
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&encoding.to_le_bytes());
        for word in [self.entries, self.rows, self.largest_fingerprint, self.largest_id] {
            header.extend_from_slice(&word.to_le_bytes());
        }
        header.extend_from_slice(&self.recipe_bytes.to_le_bytes());
        header.extend_from_slice(&self.directory_bits.to_le_bytes());
        header.extend_from_slice(&length.to_le_bytes());
        header.extend_from_slice(&xxh3_64(&sums).to_le_bytes());
        header.extend_from_slice(&xxh3_64(&header).to_le_bytes());
        bytes[..HEADER].copy_from_slice(&header);
    }
}

/// Checks the magic, then the version.
pub(super) fn check_kind(
    bytes: &[u8],
    what: &'static str,
    magic: [u8; 8],
    newest: u32,
    header: usize,
) -> Result<(), SegmentError> {
    if !bytes.starts_with(&magic) {
        return Err(SegmentError::Foreign { what, magic });
    }
    if bytes.len() < header {
        return Err(SegmentError::Length { found: bytes.len() as u64, expected: header as u64 });
    }
    let found = half_at(bytes, 8);
    if found > newest {
        return Err(SegmentError::TooNew { found, newest });
    }
    // Version 0 never existed, so such a header is damaged.
    let sealed = word_at(bytes, header - 8);
    if found == 0 || sealed != xxh3_64(&bytes[..header - 8]) {
        return Err(SegmentError::Checksum { part: "the header", offset: 0 });
    }
    Ok(())
}

impl Layout {
    /// Checks header, length and every checksum.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, SegmentError> {
        check_kind(bytes, "a segment", MAGIC, VERSION, HEADER)?;
        let header = Header {
            encoding: match half_at(bytes, 12) {
                0 => Encoding::Plain,
                1 => Encoding::Compressed,
                _ => return Err(SegmentError::Content { part: "the encoding" }),
            },
            entries: word_at(bytes, 16),
            rows: word_at(bytes, 24),
            largest_fingerprint: word_at(bytes, 32),
            largest_id: word_at(bytes, 40),
            recipe_bytes: half_at(bytes, 48),
            directory_bits: half_at(bytes, 52),
        };
        let layout = header.layout().ok_or(SegmentError::Content { part: "the header" })?;
        let expected = layout.checksums.end as u64;
        if word_at(bytes, 56) != expected {
            return Err(SegmentError::Content { part: "the length in the header" });
        }
        if bytes.len() as u64 != expected {
            return Err(SegmentError::Length { found: bytes.len() as u64, expected });
        }
        let sums = &bytes[layout.checksums.clone()];
        if xxh3_64(sums) != word_at(bytes, 64) {
            let offset = layout.checksums.start as u64;
            return Err(SegmentError::Checksum { part: "the list of checksums", offset });
        }
        let body = &bytes[HEADER..layout.checksums.start];
        for (number, block) in body.chunks(BLOCK).enumerate() {
            if xxh3_64(block) != word_at(sums, number * 8) {
                let offset = (HEADER + number * BLOCK) as u64;
                return Err(SegmentError::Checksum { part: "a block", offset });
            }
        }
        layout.check_padding(bytes)?;
        Ok(layout)
    }

    /// Checks that all padding is zero, so that equal content has equal bytes.
    fn check_padding(&self, bytes: &[u8]) -> Result<(), SegmentError> {
        let parts = [
            &self.recipe,
            &self.fingerprints,
            &self.directory,
            &self.starts,
            &self.ranks,
            &self.ids,
            &self.checksums,
        ];
        let clean = parts
            .windows(2)
            .all(|pair| bytes[pair[0].end..pair[1].start].iter().all(|&byte| byte == 0));
        if clean { Ok(()) } else { Err(SegmentError::Content { part: "the padding" }) }
    }
}

/// Pads to a multiple of eight bytes.
pub(super) fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_header_is_too_wild_for_a_layout(
            compressed: bool,
            entries: u64,
            rows: u64,
            shift in 0u32..64,
            largest_fingerprint: u64,
            largest_id: u64,
            recipe_bytes in 0u32..5000,
            directory_bits in 0u32..40,
        ) {
            let encoding = if compressed { Encoding::Compressed } else { Encoding::Plain };
            let (entries, rows) = (entries >> shift, rows >> shift);
            let header = Header {
                encoding, entries, rows, largest_fingerprint, largest_id, recipe_bytes,
                directory_bits,
            };
            if let Some(layout) = header.layout() {
                prop_assert!(layout.recipe.start == HEADER);
                prop_assert!(layout.checksums.end.is_multiple_of(8));
            }
        }
    }
}
