//! What the ids of an index are called: a file beside it, `FILE.names`.
//!
//! ```text
//!    0  "hapaxNAM"
//!    8  version, 4 bytes: 1
//!   12  zero, 4 bytes
//!   16  identity of the index the names belong to
//!   24  count of names
//!   32  bytes of text
//!   40  checksum of the body (XXH3-64)
//!   48  checksum of these 48 bytes
//!   56  body: where each name ends in the text, 8 bytes each; then the text
//! ```
//!
//! Numbers are little-endian and 8 bytes unless said. Name `i` belongs to id `i`. Promise: any
//! bytes give names or an error; a flipped bit, a lost tail and the names of another index are
//! errors. `docs/near.md` specifies the file.

use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"hapaxNAM";
const VERSION: u32 = 1;
const HEADER: usize = 56;

/// Names over the bytes of a file.
pub(super) struct Names {
    bytes: Vec<u8>,
    count: usize,
}

/// The bytes of a file.
pub(super) fn encode<'a>(identity: u64, names: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let (mut ends, mut text) = (Vec::new(), Vec::new());
    let mut count = 0u64;
    for name in names {
        text.extend_from_slice(name);
        ends.extend_from_slice(&(text.len() as u64).to_le_bytes());
        count += 1;
    }
    let text_bytes = text.len() as u64;
    let mut body = ends;
    body.append(&mut text);
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    for word in [identity, count, text_bytes, xxh3_64(&body)] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
    bytes.append(&mut body);
    bytes
}

/// Is this a file of names, of whatever version?
pub(super) fn is_names(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl Names {
    /// Checks everything.
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    pub(super) fn open(bytes: Vec<u8>, identity: u64) -> Result<Self, String> {
        if !is_names(&bytes) {
            return Err("not a file of names: it does not begin with hapaxNAM".to_owned());
        }
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return Err(format!("{} bytes are less than the header; it is cut", bytes.len()));
        };
        let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        if version > VERSION {
            return Err(format!(
                "format {version} is newer than {VERSION}, the last one this build reads"
            ));
        }
        let word = |at: usize| word_at(header, at);
        if version == 0 || word(48) != xxh3_64(&header[..48]) || header[12..16] != [0; 4] {
            return Err("the header fails its checksum; build the index again".to_owned());
        }
        if word(16) != identity {
            return Err("the names belong to another index; build this one again".to_owned());
        }
        let (count, text) = (word(24), word(32));
        let expected = count.checked_mul(8).and_then(|ends| ends.checked_add(text));
        let found = (bytes.len() - HEADER) as u64;
        if expected != Some(found) {
            return Err(format!("{} bytes are too few or too many; it is cut", bytes.len()));
        }
        let body = &bytes[HEADER..];
        if word(40) != xxh3_64(body) {
            return Err("the names fail their checksum; build the index again".to_owned());
        }
        // No more than the bytes there are, so it is a `usize`.
        let count = count as usize;
        let ends = (0..count).map(|number| word_at(body, number * 8));
        if !ends.clone().is_sorted() || ends.max().unwrap_or(0) != text {
            return Err("the names are not what a writer writes; build the index again".to_owned());
        }
        Ok(Self { bytes, count })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The name of an id, if it has one.
    pub(super) fn get(&self, id: u64) -> Option<&[u8]> {
        let number = usize::try_from(id).ok().filter(|&number| number < self.count)?;
        let body = &self.bytes[HEADER..];
        let start = if number == 0 { 0 } else { word_at(body, (number - 1) * 8) };
        let text = &body[self.count * 8..];
        text.get(start as usize..word_at(body, number * 8) as usize)
    }
}

/// The 8 bytes at a place that is known to be inside.
fn word_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_come_back(names in vec(vec(any::<u8>(), 0..9), 0..20), identity: u64) {
            let bytes = encode(identity, names.iter().map(Vec::as_slice));
            let read = Names::open(bytes, identity).unwrap();
            prop_assert_eq!(read.len(), names.len());
            for (id, name) in (0..).zip(&names) {
                prop_assert_eq!(read.get(id), Some(name.as_slice()));
            }
            prop_assert_eq!(read.get(names.len() as u64), None);
        }

        #[test]
        fn a_flipped_bit_or_a_lost_tail_is_found(
            names in vec(vec(any::<u8>(), 0..9), 0..20),
            at: prop::sample::Index,
        ) {
            let bytes = encode(7, names.iter().map(Vec::as_slice));
            let bit = at.index(bytes.len() * 8);
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Names::open(flipped, 7).is_err());
            prop_assert!(Names::open(bytes[..at.index(bytes.len())].to_vec(), 7).is_err());
            prop_assert!(Names::open(bytes, 8).is_err());
        }

        #[test]
        fn no_bytes_are_too_wild(tail in vec(any::<u8>(), 0..200)) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&VERSION.to_le_bytes());
            bytes.extend_from_slice(&tail);
            let _ = Names::open(bytes, 0);
        }
    }

    #[test]
    fn a_header_that_lies_about_its_lengths_is_refused() {
        for (count, text) in [(u64::MAX, 0), (1, u64::MAX), (u64::MAX / 8 + 1, 0), (2, 3)] {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&VERSION.to_le_bytes());
            bytes.extend_from_slice(&[0; 4]);
            for word in [0, count, text, xxh3_64(b"")] {
                bytes.extend_from_slice(&word.to_le_bytes());
            }
            bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
            assert!(Names::open(bytes, 0).is_err());
        }
    }
}
