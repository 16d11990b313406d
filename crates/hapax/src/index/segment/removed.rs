//! The removed entries of a segment, one bit each.
//!
//! Pieces of 4 KiB are allocated when a bit in them is set and shared until they change, so a snapshot copies a
//! list of pointers and a removal one piece. The encoding is a versioned file: the removed ranks, Elias-Fano
//! coded, with the identity of their segment. Removals only grow, so the larger of two valid files is the newer
//! one.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::bits::{half_at, word_at};
use super::format::{SegmentError, check_kind};
use super::monotone::{Monotone, Shape, encode};

/// Magic of a file of removals.
const MAGIC: [u8; 8] = *b"hapaxDEL";

/// The format that is written, and the newest that can be read.
const VERSION: u32 = 1;

/// Size of the header in bytes.
const HEADER: usize = 64;

const WORDS: usize = 512;
const BITS: usize = WORDS * 64;

type Piece = [u64; WORDS];

/// A set of ranks below a segment's length.
#[derive(Clone, Debug)]
pub struct Removed {
    pieces: Vec<Option<Arc<Piece>>>,
    entries: usize,
    count: usize,
}

impl Removed {
    /// No removals from a segment of `entries` entries.
    pub fn none(entries: usize) -> Self {
        Self { pieces: vec![None; entries.div_ceil(BITS)], entries, count: 0 }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of entries of the segment, including removed ones.
    pub fn entries(&self) -> usize {
        self.entries
    }

    #[inline]
    pub fn contains(&self, rank: usize) -> bool {
        match self.pieces.get(rank / BITS) {
            Some(Some(piece)) => (piece[rank % BITS / 64] >> (rank % 64)) & 1 == 1,
            Some(None) | None => false,
        }
    }

    /// Marks an entry as removed. `false` if it already was or if the segment has no such rank.
    pub fn insert(&mut self, rank: usize) -> bool {
        if rank >= self.entries || self.contains(rank) {
            return false;
        }
        let piece = self.pieces[rank / BITS].get_or_insert_with(|| Arc::new([0; WORDS]));
        Arc::make_mut(piece)[rank % BITS / 64] |= 1 << (rank % 64);
        self.count += 1;
        true
    }

    /// The removed ranks, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.since(None)
    }

    /// The ranks removed since `earlier`, an older copy. Skips pieces still shared with it.
    pub(crate) fn since<'a>(
        &'a self,
        earlier: Option<&'a Self>,
    ) -> impl Iterator<Item = usize> + Clone + 'a {
        self.pieces.iter().enumerate().flat_map(move |(number, piece)| {
            let old = earlier.and_then(|earlier| earlier.pieces[number].as_ref());
            let piece = match (piece, old) {
                (Some(new), Some(old)) if Arc::ptr_eq(new, old) => None,
                (piece, _) => piece.as_ref(),
            };
            piece.into_iter().flat_map(move |piece| {
                piece.iter().enumerate().flat_map(move |(at, &word)| {
                    let fresh = word & !old.map_or(0, |old| old[at]);
                    ones(fresh).map(move |bit| number * BITS + at * 64 + bit)
                })
            })
        })
    }

    /// Encodes the removals from the segment with this [`identity`](super::SegmentView::identity).
    pub fn to_bytes(&self, segment: u64) -> Vec<u8> {
        let largest = self.iter().last().unwrap_or(0) as u64;
        let shape = Shape { count: self.count as u64, largest };
        let mut body = Vec::new();
        encode(&mut body, shape, self.iter().map(|rank| rank as u64));
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&0u32.to_le_bytes());
        for word in [segment, self.entries as u64, shape.count, largest, xxh3_64(&body)] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Decodes what [`to_bytes`](Self::to_bytes) wrote for the segment with this identity.
    ///
    /// # Errors
    ///
    /// [`SegmentError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8], segment: u64) -> Result<Self, SegmentError> {
        check_kind(bytes, "a list of removals", MAGIC, VERSION, HEADER)?;
        let wrong = |part| SegmentError::Content { part };
        let stored = word_at(bytes, 16);
        if stored != segment {
            return Err(SegmentError::OtherSegment { stored, asked: segment });
        }
        let (entries, count) = (word_at(bytes, 24), word_at(bytes, 32));
        let shape = Shape { count, largest: word_at(bytes, 40) };
        let beyond = entries > u64::from(u32::MAX) || count > entries;
        if half_at(bytes, 12) != 0 || beyond || (count > 0 && shape.largest >= entries) {
            return Err(wrong("the header of the removals"));
        }
        let body = &bytes[HEADER..];
        let expected = shape.bytes().ok_or(wrong("the header of the removals"))?;
        if body.len() as u64 != expected {
            let (found, expected) = (bytes.len() as u64, HEADER as u64 + expected);
            return Err(SegmentError::Length { found, expected });
        }
        if xxh3_64(body) != word_at(bytes, 48) {
            let offset = HEADER as u64;
            return Err(SegmentError::Checksum { part: "the removals", offset });
        }
        let ranks = Monotone::new(body, shape).ok_or(wrong("the removals"))?;
        if !ranks.check() {
            return Err(wrong("the removals"));
        }
        let mut removed = Self::none(entries as usize);
        for rank in ranks.iter() {
            if !removed.insert(rank as usize) {
                return Err(wrong("the removals"));
            }
        }
        Ok(removed)
    }

    /// Heap memory in bytes, including pieces shared with other copies.
    pub fn memory_bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<Option<Arc<Piece>>>()
            + self.pieces.iter().flatten().count() * (size_of::<Piece>() + 2 * size_of::<usize>())
    }
}

/// The positions of the set bits, ascending.
fn ones(mut word: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_copy_does_not_change(
            before in vec(0usize..100_000, 0..60),
            after in vec(0usize..100_000, 0..60),
        ) {
            let mut removed = Removed::none(100_000);
            let mut model = BTreeSet::new();
            for &rank in &before {
                prop_assert_eq!(removed.insert(rank), model.insert(rank));
            }
            let (copy, seen) = (removed.clone(), model.clone());
            for &rank in &after {
                prop_assert_eq!(removed.insert(rank), model.insert(rank));
            }
            prop_assert_eq!(copy.iter().collect::<BTreeSet<_>>(), seen.clone());
            prop_assert_eq!(copy.count(), seen.len());
            let fresh: BTreeSet<usize> = removed.since(Some(&copy)).collect();
            prop_assert_eq!(fresh, &model - &seen);

            let bytes = removed.to_bytes(7);
            let back = Removed::from_bytes(&bytes, 7).unwrap();
            prop_assert!(back.iter().eq(model.iter().copied()));
            prop_assert_eq!(
                Removed::from_bytes(&bytes, 8).unwrap_err(),
                SegmentError::OtherSegment { stored: 7, asked: 8 }
            );
        }

        #[test]
        fn damaged_removals_are_refused(
            ranks in vec(0usize..5000, 0..200),
            at: prop::sample::Index,
            cut: prop::sample::Index,
        ) {
            let mut removed = Removed::none(5000);
            ranks.iter().for_each(|&rank| _ = removed.insert(rank));
            let mut bytes = removed.to_bytes(1);
            prop_assert!(Removed::from_bytes(&bytes[..cut.index(bytes.len())], 1).is_err());
            let bit = at.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Removed::from_bytes(&bytes, 1).is_err());
        }
    }

    #[test]
    fn a_rank_beyond_the_segment_is_not_removed() {
        let mut removed = Removed::none(10);
        assert!(!removed.insert(10));
        assert!(removed.insert(9) && removed.contains(9) && !removed.contains(40_000));
        assert_eq!(removed.count(), 1);
    }
}
