//! Stores the results of queries, so that only changed ones are processed again.
//!
//! The marks of a query depend on its text, the policy, and the facts of its results in order; all of this is
//! hashed to a [`Digest`]. If the digest is unchanged, the marks are taken from the ledger, as indexes in the
//! same list of results. Guarantees the outcome of a run without a ledger. Refuses a ledger that is damaged or
//! has another version.
//!
//! ```text
//!   magic, number of queries, then for each query:
//!     length of text, text, digest (16 bytes), number of lists of marks,
//!     for each list, that of the policy first: number of marks,
//!       for each mark: index, winner's index, distance, similarity
//!   BLAKE3 of everything before          all numbers little-endian
//! ```

use std::collections::BTreeMap;

use hapax::fingerprint::MaxDistance;

use crate::engine::DocumentId;
use crate::policy::{Policy, QueryLimits};

use super::{Mark, Outcome, Ranked};

/// A hash of everything that the marks of a query depend on.
pub type Digest = [u8; 16];

const MAGIC: &[u8; 8] = b"HPXLEDG1";
const CHECKSUM: usize = 32;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    entries: BTreeMap<String, (Digest, Vec<Vec<Known>>)>,
}

/// A mark, by indexes in the results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    places: (u32, u32),
    distance: u8,
    similarity: f32,
}

/// A ledger cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Another format or version.
    #[error("this is not a ledger of this version; --from-scratch processes all queries again")]
    Foreign,
    /// Its checksum is wrong.
    #[error("the ledger is damaged; --from-scratch processes all queries again")]
    Damaged,
}

impl Known {
    pub(super) fn mark(self, results: &[DocumentId], query: u64, within: u8) -> Mark {
        let Self { places, distance, similarity } = self;
        // Equal digests imply lists of equal length.
        let at = |place: u32| results.get(place as usize).copied().unwrap_or(DocumentId(0));
        let (document, winner) = (at(places.0), at(places.1));
        Mark { document, winner, query, places, distance, similarity, within }
    }
}

impl Ledger {
    /// From a run with [`JobOptions::remember`](super::JobOptions::remember).
    pub fn of(queries: &[Ranked], outcome: &Outcome) -> Self {
        let known = |mark: &Mark| Known {
            places: mark.places,
            distance: mark.distance,
            similarity: mark.similarity,
        };
        let entries = queries.iter().zip(&outcome.queries).filter_map(|(query, found)| {
            let lists = std::iter::once(&found.marks).chain(&found.sweep);
            let lists = lists.map(|marks| marks.iter().map(known).collect()).collect();
            Some((query.query.text.clone(), (found.digest?, lists)))
        });
        Self { entries: entries.collect() }
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The marks of a query for the policy and for each other bound; `None` if its digest changed.
    pub(super) fn marks(&self, query: &str, digest: &Digest) -> Option<(&[Known], &[Vec<Known>])> {
        let (known, lists) = self.entries.get(query)?;
        let (marks, sweep) = lists.split_first()?;
        (known == digest).then_some((marks, sweep))
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend((self.entries.len() as u32).to_le_bytes());
        for (text, (digest, lists)) in &self.entries {
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text.as_bytes());
            out.extend(digest);
            out.extend((lists.len() as u32).to_le_bytes());
            for marks in lists {
                out.extend((marks.len() as u32).to_le_bytes());
                for mark in marks {
                    out.extend(mark.places.0.to_le_bytes());
                    out.extend(mark.places.1.to_le_bytes());
                    out.push(mark.distance);
                    out.extend(mark.similarity.to_le_bytes());
                }
            }
        }
        let checksum = blake3::hash(&out);
        out.extend(checksum.as_bytes());
        out
    }

    /// Decodes a file.
    ///
    /// # Errors
    ///
    /// It has another format, or is damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LedgerError> {
        let body = bytes.strip_prefix(MAGIC).ok_or(LedgerError::Foreign)?;
        let split = body.len().checked_sub(CHECKSUM).ok_or(LedgerError::Damaged)?;
        let (body, checksum) = body.split_at(split);
        if blake3::hash(&bytes[..bytes.len() - CHECKSUM]).as_bytes() != checksum {
            return Err(LedgerError::Damaged);
        }
        let mut rest = Rest(body);
        let mut entries = BTreeMap::new();
        for _ in 0..rest.number()? {
            let length = rest.number()? as usize;
            let text = std::str::from_utf8(rest.take(length)?).map_err(|_| LedgerError::Damaged)?;
            let digest: Digest = rest.array()?;
            let mut lists = Vec::new();
            for _ in 0..rest.number()? {
                let marks = (0..rest.number()?).map(|_| rest.known());
                lists.push(marks.collect::<Result<Vec<Known>, LedgerError>>()?);
            }
            entries.insert(text.to_owned(), (digest, lists));
        }
        Ok(Self { entries })
    }
}

/// The unread bytes of a file.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], LedgerError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(LedgerError::Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], LedgerError> {
        self.take(N)?.try_into().map_err(|_| LedgerError::Damaged)
    }

    fn known(&mut self) -> Result<Known, LedgerError> {
        let places = (self.number()?, self.number()?);
        let [distance] = self.array()?;
        Ok(Known { places, distance, similarity: f32::from_le_bytes(self.array()?) })
    }

    fn number(&mut self) -> Result<u32, LedgerError> {
        Ok(u32::from_le_bytes(self.array()?))
    }
}

pub(super) fn digest(
    recipe: &str,
    query: &str,
    limits: &QueryLimits,
    policy: &Policy,
    sweep: &[MaxDistance],
    results: u64,
    documents: impl Iterator<Item = u64>,
) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("hapax-search: what a query's marks depend on");
    for text in [recipe, query, &policy.shared_terms()] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let QueryLimits { within, results: most, remove } = limits;
    for number in [u64::from(within.bits()), *most, u64::from(*remove), results] {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(&(sweep.len() as u64).to_le_bytes());
    sweep.iter().for_each(|bound| _ = hasher.update(&bound.bits().to_le_bytes()));
    for document in documents {
        hasher.update(&document.to_le_bytes());
    }
    let mut digest = Digest::default();
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let known = Known { places: (3, 1), distance: 2, similarity: 0.9 };
        let entry = |digest: u8, lists: Vec<Vec<Known>>| ([digest; 16], lists);
        let lists = vec![vec![known; 3], Vec::new(), vec![known]];
        let entries = [("tea", entry(1, lists)), ("été", entry(2, vec![Vec::new()]))];
        Ledger { entries: entries.map(|(text, entry)| (text.to_owned(), entry)).into() }
    }

    #[test]
    fn a_ledger_is_read_as_it_was_written_and_damage_is_found() {
        let bytes = ledger().to_bytes();
        assert_eq!(Ledger::from_bytes(&bytes).unwrap(), ledger());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Ledger::from_bytes(&damaged).is_err(), "byte {at}");
            assert!(Ledger::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn marks_are_known_only_while_nothing_changed() {
        let ledger = ledger();
        let (marks, sweep) = ledger.marks("tea", &[1; 16]).unwrap();
        assert_eq!((marks.len(), sweep.len()), (3, 2));
        assert_eq!(ledger.marks("tea", &[2; 16]), None);
        assert_eq!(ledger.marks("coffee", &[1; 16]), None);
    }
}
