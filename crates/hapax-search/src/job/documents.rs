//! Facts of documents, read once for all queries.
//!
//! Names and addresses are in dictionaries that are fast to read in order and slow to search, so they are read
//! for many documents at a time, in order, and cached.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::engine::{DocumentFacts, DocumentId, Engine};

/// The facts read so far.
#[derive(Debug, Default)]
pub(super) struct Documents {
    known: BTreeMap<DocumentId, Known>,
}

#[derive(Debug)]
struct Known {
    facts: DocumentFacts,
    /// Digest of the facts and the fingerprint; 0 if not needed.
    digest: u64,
}

impl Documents {
    /// Reads missing facts on all threads of the pool; returns the time summed over threads.
    pub(super) fn load<E: Engine>(
        &mut self,
        engine: &E,
        ids: impl Iterator<Item = DocumentId>,
        digests: bool,
    ) -> Result<Duration, E::Error> {
        let started = Instant::now();
        let mut unknown: Vec<DocumentId> = ids.filter(|id| !self.known.contains_key(id)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        let threads = rayon::current_num_threads().max(1);
        let piece = unknown.len().div_ceil(threads).max(1);
        let read: Vec<Vec<Known>> = unknown
            .par_chunks(piece)
            .map(|ids| {
                let facts = engine.facts(ids)?;
                if !digests {
                    return Ok(facts.into_iter().map(|facts| Known { facts, digest: 0 }).collect());
                }
                let fingerprints = engine.fingerprints(ids)?;
                let known = facts.into_iter().zip(fingerprints).map(|(facts, fingerprint)| {
                    let digest = hash(&facts, fingerprint.map(|it| it.to_bits()));
                    Known { facts, digest }
                });
                Ok(known.collect())
            })
            .collect::<Result<_, E::Error>>()?;
        self.known.extend(unknown.into_iter().zip(read.into_iter().flatten()));
        Ok(started.elapsed() * threads as u32)
    }

    /// The facts of a loaded document.
    pub(super) fn facts(&self, id: DocumentId) -> Option<&DocumentFacts> {
        self.known.get(&id).map(|known| &known.facts)
    }

    /// A hash of everything known about a document.
    pub(super) fn digest(&self, id: DocumentId) -> u64 {
        self.known.get(&id).map_or(0, |known| known.digest)
    }
}

fn hash(facts: &DocumentFacts, fingerprint: Option<u64>) -> u64 {
    let DocumentFacts { name, url, sketch, score, words, fetched } = facts;
    let mut bytes = Vec::with_capacity(name.len() + url.len() + 200);
    for text in [name, url] {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    let optional = |value: Option<u64>, bytes: &mut Vec<u8>| {
        bytes.push(u8::from(value.is_some()));
        bytes.extend(value.unwrap_or(0).to_le_bytes());
    };
    optional(fingerprint, &mut bytes);
    optional(score.map(f64::to_bits), &mut bytes);
    optional(*fetched, &mut bytes);
    bytes.extend(words.to_le_bytes());
    if let Some(sketch) = sketch {
        bytes.extend(sketch.to_bytes());
    }
    xxhash_rust::xxh3::xxh3_64(&bytes)
}
