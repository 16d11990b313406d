//! Encodes entries as a segment.
//!
//! The bytes depend only on the entries, the encoding and the recipe, so the same content gives the same file
//! on every machine.

use super::bits::pack;
use super::format::{
    Encoding, HEADER, Header, LONGEST_RECIPE, MOST_DIRECTORY_BITS, SegmentError, pad,
};
use super::monotone;
use crate::index::collection::Collection;

/// Target number of fingerprints per bucket of a plain segment's directory.
const BUCKET: usize = 16;

/// Encodes a collection whose ids are ranks among `ids`.
pub(super) fn write(
    ranked: &Collection,
    ids: impl Iterator<Item = u64> + Clone,
    largest_id: u64,
    recipe: &str,
    encoding: Encoding,
) -> Result<Vec<u8>, SegmentError> {
    if recipe.len() > LONGEST_RECIPE {
        return Err(SegmentError::LongRecipe { bytes: recipe.len(), most: LONGEST_RECIPE });
    }
    let fingerprints = ranked.fingerprints();
    let header = Header {
        encoding,
        entries: ranked.len() as u64,
        rows: fingerprints.len() as u64,
        largest_fingerprint: fingerprints.last().copied().unwrap_or(0),
        largest_id,
        recipe_bytes: recipe.len() as u32,
        directory_bits: match encoding {
            Encoding::Plain => directory_bits(fingerprints.len()),
            Encoding::Compressed => 0,
        },
    };
    let length = header.layout().map_or(0, |layout| layout.checksums.end);
    let mut bytes = Vec::with_capacity(length);
    bytes.resize(HEADER, 0);
    bytes.extend_from_slice(recipe.as_bytes());
    pad(&mut bytes);
    match encoding {
        Encoding::Plain => {
            bytes.extend(fingerprints.iter().flat_map(|fingerprint| fingerprint.to_le_bytes()));
            write_directory(&mut bytes, fingerprints, header.directory_bits);
        }
        Encoding::Compressed => {
            let shape = header.fingerprint_shape();
            monotone::encode(&mut bytes, shape, fingerprints.iter().copied());
        }
    }
    pad(&mut bytes);
    if header.rows < header.entries {
        let ends = (0..fingerprints.len()).scan(0, |end, row| {
            *end += ranked.ids(row).count() as u64;
            Some(*end)
        });
        monotone::encode(&mut bytes, header.start_shape(), std::iter::once(0).chain(ends));
    }
    let ranks = (0..fingerprints.len()).flat_map(|row| ranked.ids(row));
    pack(&mut bytes, header.rank_width(), ranks);
    monotone::encode(&mut bytes, header.id_shape(), ids);
    header.seal(&mut bytes);
    debug_assert_eq!(bytes.len(), length);
    Ok(bytes)
}

fn directory_bits(rows: usize) -> u32 {
    (rows / BUCKET).max(1).ilog2().min(MOST_DIRECTORY_BITS)
}

fn write_directory(bytes: &mut Vec<u8>, fingerprints: &[u64], bits: u32) {
    let mut row = 0;
    for prefix in 0..=1u64 << bits {
        let below = |fingerprint: &u64| fingerprint.checked_shr(64 - bits).unwrap_or(0) < prefix;
        while fingerprints.get(row).is_some_and(below) {
            row += 1;
        }
        bytes.extend_from_slice(&(row as u32).to_le_bytes());
    }
}
