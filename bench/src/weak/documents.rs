//! Fingerprints of documents, with the sums of the queries.
//!
//! Pages are those of a synthetic web, as bags of words weighted by frequency and rarity; 29 % are edited copies.
//! Queries are evenly spaced pages and the others are stored, as in the thesis. Making ten million takes minutes, so
//! the fingerprints are kept in a file for the next run.

use std::fs;
use std::path::Path;

use anyhow::Context;
use hapax::fingerprint::simhash::{Tally, Tie, cut};
use hapax::fingerprint::{BitSums, Fingerprint};
use hapax::index::{Entry, Query};
use hapax_synth::{Scratch, Web, WebOptions, Weighting};
use rayon::prelude::*;

use crate::near::planted::SplitMix;

pub(crate) struct Documents {
    /// Entry `i` has id `i`.
    pub(crate) stored: Vec<Fingerprint>,
    pub(crate) queries: Vec<Fingerprint>,
    pub(crate) sums: Vec<BitSums>,
    /// Documents with the same number have the same original.
    stored_families: Vec<u64>,
    query_families: Vec<u64>,
    /// How many of the stored ones are random numbers.
    pub(crate) padding: usize,
}

/// Pages per task of a thread.
const BLOCK: u64 = 4096;

impl Documents {
    /// `pages` stored fingerprints, of which those beyond `documents` are random numbers, and
    /// `queries`. Random numbers cost a search as much as documents and are near nothing.
    pub(crate) fn new(
        seed: u64,
        pages: usize,
        documents: usize,
        queries: usize,
    ) -> anyhow::Result<Self> {
        let documents = documents.min(pages);
        let total = (documents + queries) as u64;
        let web = Web::new(WebOptions::new(seed, total));
        let all = fingerprints(&web, seed)?;
        let every = (all.len() / queries.max(1)).max(1);
        let is_query = |page: usize| page.is_multiple_of(every) && page / every < queries;
        let numbered = || all.iter().enumerate();
        let fingerprints: Vec<Fingerprint> =
            numbered().filter(|&(page, _)| is_query(page)).map(|(_, &f)| f).collect();
        let mut stored: Vec<Fingerprint> =
            numbered().filter(|&(page, _)| !is_query(page)).map(|(_, &f)| f).collect();
        let padding = pages - stored.len().min(pages);
        let mut random = SplitMix(seed);
        stored.extend((0..padding).map(|_| Fingerprint::from_bits(random.next())));
        let sums = query_sums(&web, seed, fingerprints.len(), every)?;
        let families = kept(&format!("families-{seed}-{total}.u64"), total, || {
            (0..total).into_par_iter().map(|page| web.truth(page).family).collect()
        })?;
        let families_of = |queries: bool| {
            let pages = families.iter().enumerate().filter(|&(page, _)| is_query(page) == queries);
            pages.map(|(_, &family)| family).collect()
        };
        let (stored_families, query_families) = (families_of(false), families_of(true));
        Ok(Self { stored, queries: fingerprints, sums, stored_families, query_families, padding })
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.stored.iter().zip(0..).map(|(&fingerprint, id)| Entry { fingerprint, id })
    }

    pub(crate) fn query(&self, number: usize) -> Query<'_> {
        Query { fingerprint: self.queries[number], sums: Some(&self.sums[number]) }
    }

    /// Whether these have the same original.
    pub(crate) fn are_copies(&self, query: usize, stored: u64) -> bool {
        self.stored_families.get(stored as usize) == Some(&self.query_families[query])
    }
}

#[derive(Default)]
struct Maker {
    scratch: Scratch,
    bag: Vec<(u64, u32)>,
}

impl Maker {
    fn sums(&mut self, web: &Web, page: u64) -> BitSums {
        web.bag(page, Weighting::FrequencyRarity, &mut self.scratch, &mut self.bag);
        let mut tally = Tally::default();
        for &(hash, weight) in &self.bag {
            tally.add(hash, weight);
        }
        tally.sums()
    }
}

/// Fingerprints of all pages, from a file if it exists.
fn fingerprints(web: &Web, seed: u64) -> anyhow::Result<Vec<Fingerprint>> {
    let words = kept(&format!("web-{seed}-{}.u64", web.len()), web.len(), || {
        eprintln!("making {} documents", web.len());
        let blocks: Vec<Vec<u64>> = (0..web.len().div_ceil(BLOCK))
            .into_par_iter()
            .map_init(Maker::default, |maker, block| {
                let pages = block * BLOCK..((block + 1) * BLOCK).min(web.len());
                pages.map(|page| cut(&maker.sums(web, page), Tie::Zero).to_bits()).collect()
            })
            .collect();
        blocks.into_iter().flatten().collect()
    })?;
    Ok(words.into_iter().map(Fingerprint::from_bits).collect())
}

/// Sums of each `every`th page, from a file if it exists.
fn query_sums(web: &Web, seed: u64, queries: usize, every: usize) -> anyhow::Result<Vec<BitSums>> {
    let name = format!("sums-{seed}-{}-{queries}.u64", web.len());
    let words = kept(&name, queries as u64 * 64, || {
        let of = |maker: &mut Maker, query| maker.sums(web, (query * every) as u64);
        let sums: Vec<BitSums> =
            (0..queries).into_par_iter().map_init(Maker::default, of).collect();
        sums.iter().flat_map(|sums| sums.as_array().map(i64::cast_unsigned)).collect()
    })?;
    let sums = words.as_chunks::<64>().0.iter();
    Ok(sums.map(|sums| BitSums::new(sums.map(u64::cast_signed))).collect())
}

/// Reads this many words from a file, or makes and writes them.
fn kept(name: &str, words: u64, make: impl FnOnce() -> Vec<u64>) -> anyhow::Result<Vec<u64>> {
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let path = out.join(name);
    if let Ok(bytes) = fs::read(&path)
        && bytes.len() as u64 == words * 8
    {
        return Ok(bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect());
    }
    let made = make();
    let bytes: Vec<u8> = made.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(made)
}
