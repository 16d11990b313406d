//! Learns in how many documents a feature occurs, in bounded memory.
//!
//! A count-min table of [`ROWS`] rows of `2^width` counters: a document adds one in every row for each of its
//! distinct features, and the frequency of a feature is the minimum of its counters. It is never too low; it is
//! too high by about (features of all documents) / 2^width, which affects only the rarest words. Tables of
//! parts of a corpus can be added. A weight is sixteen times log2((N + 1) / (df + 1)), rounded down, at least
//! 1, in integers, so it is the same on every machine.
//!
//! Source: Cormode and Muthukrishnan 2005 for the table; Sood 2011, VII.A for TF-IDF weights.

use super::hash::scramble;

/// Rows of the table.
pub const ROWS: usize = 3;
/// Default width: 2^20 counters per row, 12 MiB in total.
pub const DEFAULT_WIDTH: u8 = 20;
/// Fractional bits of a weight: a weight of 16 means that the feature halves the set of documents.
const WEIGHT_FRACTION_BITS: u32 = 4;

const MAGIC: &[u8; 8] = b"hapaxdf\0";
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 8 + 1 + 1 + 8 + 8;
const CHECKSUM_BYTES: usize = 32;

/// Why bytes are not a usable frequency table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrequencyError {
    /// The bytes do not begin like a table.
    #[error("not a document-frequency table; `hapax train` makes one")]
    NotATable,
    /// Written by a later release.
    #[error(
        "frequency table format {found} is newer than {VERSION}, the last one this build reads"
    )]
    TooNew { found: u8 },
    /// The bytes contradict their checksum or are truncated.
    #[error("frequency table is damaged ({what}); train it again")]
    Damaged { what: &'static str },
    /// The table counts other features than the recipe produces.
    #[error(
        "frequency table was trained for features {found:016x}, the recipe makes {wanted:016x}; \
         train one with this recipe"
    )]
    OtherFeatures {
        /// Key of the features in the table.
        found: u64,
        /// Key of the recipe's features.
        wanted: u64,
    },
    /// The width is out of range.
    #[error("a frequency table of 2^{given} counters a row is not supported: 10 to 28")]
    Width { given: u8 },
}

/// A frequency table being trained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequencies {
    /// Which features are counted; see `Recipe::features_key`.
    features_key: u64,
    width: u8,
    documents: u64,
    counters: Vec<u32>,
}

impl Frequencies {
    /// An empty table of `2^width` counters per row for features with this key.
    ///
    /// # Errors
    ///
    /// `width` is not 10 to 28.
    pub fn new(features_key: u64, width: u8) -> Result<Self, FrequencyError> {
        if !(10..=28).contains(&width) {
            return Err(FrequencyError::Width { given: width });
        }
        Ok(Self { features_key, width, documents: 0, counters: vec![0; ROWS << width] })
    }

    /// Counts one document. Sorts `features` in place and removes repeats.
    pub fn add_document(&mut self, features: &mut Vec<u64>) {
        features.sort_unstable();
        features.dedup();
        self.documents += 1;
        for &feature in features.iter() {
            for cell in cells(feature, self.width) {
                self.counters[cell] = self.counters[cell].saturating_add(1);
            }
        }
    }

    /// Adds the counts of another table of the same shape.
    ///
    /// # Errors
    ///
    /// The tables count other features or have different widths.
    pub fn merge(&mut self, other: &Self) -> Result<(), FrequencyError> {
        if other.features_key != self.features_key {
            return Err(FrequencyError::OtherFeatures {
                found: other.features_key,
                wanted: self.features_key,
            });
        }
        if other.width != self.width {
            return Err(FrequencyError::Width { given: other.width });
        }
        self.documents += other.documents;
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters) {
            *mine = mine.saturating_add(*theirs);
        }
        Ok(())
    }

    /// Number of documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Key of the features that are counted.
    pub fn features_key(&self) -> u64 {
        self.features_key
    }

    /// Number of documents with the feature: exact or too high, never too low.
    pub fn frequency(&self, feature: u64) -> u32 {
        cells(feature, self.width).map(|cell| self.counters[cell]).into_iter().min().unwrap_or(0)
    }

    /// The weights of all features, for lookup.
    pub fn weights(&self) -> FrequencyWeights {
        let bytes = self.to_bytes();
        let mut digest = [0; 8];
        digest.copy_from_slice(&bytes[bytes.len() - CHECKSUM_BYTES..][..8]);
        FrequencyWeights {
            features_key: self.features_key,
            width: self.width,
            digest: u64::from_le_bytes(digest),
            weights: self.counters.iter().map(|&df| weight(self.documents, df)).collect(),
        }
    }

    /// Encodes the table as in a file; see `docs/reference/fingerprint.md`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + self.counters.len() / 2 + CHECKSUM_BYTES);
        out.extend_from_slice(MAGIC);
        out.push(VERSION);
        out.push(self.width);
        out.extend_from_slice(&self.features_key.to_le_bytes());
        out.extend_from_slice(&self.documents.to_le_bytes());
        let mut at = 0;
        while at < self.counters.len() {
            let zeros = self.counters[at..].iter().take_while(|&&c| c == 0).count();
            if zeros > 0 {
                out.push(0);
                push_varint(&mut out, zeros as u64);
                at += zeros;
            } else {
                push_varint(&mut out, u64::from(self.counters[at]));
                at += 1;
            }
        }
        let checksum = blake3::hash(&out);
        out.extend_from_slice(checksum.as_bytes());
        out
    }

    /// Decodes what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    ///
    /// The bytes are not a table, of a later version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FrequencyError> {
        let damaged = |what| FrequencyError::Damaged { what };
        if bytes.get(..MAGIC.len()) != Some(MAGIC) {
            return Err(FrequencyError::NotATable);
        }
        match bytes.get(MAGIC.len()) {
            Some(&VERSION) => {}
            Some(&found) if found > VERSION => return Err(FrequencyError::TooNew { found }),
            _ => return Err(damaged("no version")),
        }
        if bytes.len() < HEADER_BYTES + CHECKSUM_BYTES {
            return Err(damaged("cut short"));
        }
        let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        if blake3::hash(body).as_bytes() != checksum {
            return Err(damaged("its checksum does not fit"));
        }
        let word = |at: usize| {
            body.get(at..at + 8)
                .and_then(|b| b.try_into().ok())
                .map(u64::from_le_bytes)
                .ok_or(damaged("cut short"))
        };
        let mut table = Self::new(word(10)?, body[9])?;
        table.documents = word(18)?;
        let mut rest = &body[HEADER_BYTES..];
        let mut at = 0;
        while at < table.counters.len() {
            let value = take_varint(&mut rest).ok_or(damaged("too few counters"))?;
            if value == 0 {
                let zeros = take_varint(&mut rest).ok_or(damaged("too few counters"))?;
                let left = table.counters.len() - at;
                let zeros = usize::try_from(zeros).ok().filter(|&z| z >= 1 && z <= left);
                at += zeros.ok_or(damaged("a run of zeros that does not fit"))?;
            } else {
                table.counters[at] =
                    u32::try_from(value).map_err(|_| damaged("a counter beyond 32 bits"))?;
                at += 1;
            }
        }
        if rest.is_empty() { Ok(table) } else { Err(damaged("too many counters")) }
    }
}

/// The weight of each feature according to a table.
#[derive(Clone, PartialEq, Eq)]
pub struct FrequencyWeights {
    features_key: u64,
    width: u8,
    digest: u64,
    weights: Vec<u16>,
}

impl FrequencyWeights {
    /// The weight of a feature, at least 1.
    #[inline]
    pub fn weight(&self, feature: u64) -> u32 {
        // The minimum count has the maximum weight.
        let heaviest = cells(feature, self.width).map(|cell| self.weights[cell]);
        u32::from(heaviest.into_iter().max().unwrap_or(1))
    }

    /// Key of the features that are weighted.
    pub fn features_key(&self) -> u64 {
        self.features_key
    }

    /// A digest of the table, part of a recipe's identity.
    pub fn digest(&self) -> u64 {
        self.digest
    }
}

impl std::fmt::Debug for FrequencyWeights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FrequencyWeights(2^{}, {:016x})", self.width, self.digest)
    }
}

/// The feature's counter in each row.
#[inline]
fn cells(feature: u64, width: u8) -> [usize; ROWS] {
    // Features are hashes, but with a poor seed from the caller rows must still be independent.
    let mixed = scramble(feature);
    let other = scramble(mixed);
    let mask = (1u64 << width) - 1;
    let row = |r: usize, bits: u64| (r << width) + (bits & mask) as usize;
    [row(0, mixed), row(1, mixed >> 32), row(2, other)]
}

/// Sixteen times log2((documents + 1) / (df + 1)), rounded down, at least 1.
fn weight(documents: u64, df: u32) -> u16 {
    let surprise = log2_q16(documents.saturating_add(1))
        .saturating_sub(log2_q16(u64::from(df) + 1))
        >> (16 - WEIGHT_FRACTION_BITS);
    surprise.clamp(1, u32::from(u16::MAX)) as u16
}

/// log2 of a positive integer with 16 fractional bits, rounded down, by repeated squaring.
fn log2_q16(x: u64) -> u32 {
    let whole = x.ilog2();
    // 1.0 <= mantissa < 2.0 with 63 fractional bits.
    let mut mantissa = x << (63 - whole);
    let mut result = whole;
    for _ in 0..16 {
        let square = u128::from(mantissa) * u128::from(mantissa);
        let above_two = (square >> 127) as u32;
        mantissa = (square >> (63 + above_two)) as u64;
        result = result << 1 | above_two;
    }
    result
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn trained(documents: &[Vec<u64>]) -> Frequencies {
        let mut table = Frequencies::new(9, 10).unwrap();
        for d in documents {
            table.add_document(&mut d.clone());
        }
        table
    }

    fn collection() -> impl Strategy<Value = Vec<Vec<u64>>> {
        proptest::collection::vec(proptest::collection::vec(0u64..200, 0..30), 0..40)
    }

    #[test]
    fn weights_follow_the_logarithm() {
        assert_eq!(weight(1023, 0), 160);
        assert_eq!(weight(1023, 1), 144);
        assert_eq!(weight(1023, 1023), 1);
        assert_eq!(weight(0, 0), 1);
        for (n, df) in [(1_000_000, 17u32), (99, 3), (u64::MAX / 2, 1)] {
            let exact = 16.0 * (((n + 1) as f64).log2() - (f64::from(df) + 1.0).log2());
            assert!((f64::from(weight(n, df)) - exact.floor()).abs() <= 1.0, "{n} {df}");
        }
    }

    #[test]
    fn damaged_foreign_and_newer_bytes_are_refused() {
        let good = trained(&[vec![1, 2, 3]]).to_bytes();
        assert_eq!(Frequencies::from_bytes(b"PK\x03\x04"), Err(FrequencyError::NotATable));
        let mut newer = good.clone();
        newer[8] = 2;
        assert_eq!(Frequencies::from_bytes(&newer), Err(FrequencyError::TooNew { found: 2 }));
        for at in 9..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(Frequencies::from_bytes(&bad).is_err(), "flipped bit at {at}");
            assert!(Frequencies::from_bytes(&good[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_table_for_other_features_is_not_merged() {
        let mut a = Frequencies::new(1, 10).unwrap();
        let b = Frequencies::new(2, 10).unwrap();
        assert!(matches!(a.merge(&b), Err(FrequencyError::OtherFeatures { .. })));
        assert_eq!(Frequencies::new(1, 40), Err(FrequencyError::Width { given: 40 }));
    }

    proptest! {
        #[test]
        fn a_frequency_is_never_too_low(docs in collection()) {
            let table = trained(&docs);
            let mut exact: BTreeMap<u64, u32> = BTreeMap::new();
            for d in &docs {
                for f in d.iter().collect::<BTreeSet<_>>() {
                    *exact.entry(*f).or_default() += 1;
                }
            }
            for (f, n) in exact {
                prop_assert!(table.frequency(f) >= n);
            }
        }

        #[test]
        fn parts_in_any_order_add_up_to_the_whole(docs in collection(), at in 0usize..40) {
            let (a, b) = docs.split_at(at.min(docs.len()));
            let mut merged = trained(b);
            merged.merge(&trained(a)).unwrap();
            prop_assert_eq!(&merged, &trained(&docs));
            let read = Frequencies::from_bytes(&merged.to_bytes()).unwrap();
            prop_assert_eq!(read, merged);
        }
    }
}
