//! Fingerprints of documents.
//!
//! Pages are those of a synthetic web, as bags of words weighted by frequency and rarity; 29 % are edited copies.
//! Queries are evenly spaced pages and the others are stored, as in the thesis. Stored fingerprints beyond the
//! documents are random numbers: they cost a search as much as documents and are near nothing. Making ten million
//! documents takes minutes, so they can be kept in a folder; runs with the same total share them for any number of
//! queries.

use std::fs;
use std::path::Path;

use anyhow::Context;
use hapax::fingerprint::simhash::{Tally, Tie, cut};
use hapax::join::Executor;
use hapax_synth::{Scratch, Web, WebOptions, Weighting};

use crate::threads::Threads;

const SEED: u64 = 1;

/// Pages per task.
const BLOCK: usize = 1 << 14;

pub(crate) struct Documents {
    pub(crate) queries: Vec<u64>,
    /// Number `i` is document `i` of the file.
    pub(crate) stored: Vec<u64>,
    /// How many of the stored fingerprints are documents.
    pub(crate) documents: usize,
}

impl Documents {
    pub(crate) fn new(
        queries: usize,
        stored: usize,
        documents: usize,
        keep: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let documents = documents.min(stored);
        let total = queries + documents;
        let web = Web::new(WebOptions::new(SEED, total as u64));
        // All queries are among the first five sevenths.
        let every = ((total * 5 / 7).max(queries) / queries.max(1)).max(1);
        let file = keep.map(|folder| folder.join(format!("web-{SEED}-{total}.u64")));
        let all = match file.as_deref().and_then(|file| kept(file, total)) {
            Some(kept) => kept,
            None => make(&web),
        };
        if let Some(file) = file.filter(|file| !file.exists()) {
            let bytes: Vec<u8> = all.iter().flat_map(|bits| bits.to_le_bytes()).collect();
            fs::write(file, bytes).context("cannot keep documents")?;
        }
        let asks = |page: usize| page.is_multiple_of(every) && page / every < queries;
        let of = |asking: bool| {
            let pages = all.iter().enumerate().filter(move |&(page, _)| asks(page) == asking);
            pages.map(|(_, &bits)| bits)
        };
        let asking: Vec<u64> = of(true).collect();
        let mut rest: Vec<u64> = of(false).collect();
        let documents = rest.len();
        let mut state = SEED;
        rest.extend((documents..stored).map(|_| noise(&mut state)));
        Ok(Self { queries: asking, stored: rest, documents })
    }
}

fn kept(file: &Path, total: usize) -> Option<Vec<u64>> {
    let bytes = fs::read(file).ok()?;
    let words: Vec<u64> =
        bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
    (words.len() == total).then_some(words)
}

fn make(web: &Web) -> Vec<u64> {
    let total = web.len() as usize;
    let blocks = (0..total.div_ceil(BLOCK)).collect();
    let threads: &dyn Executor = &Threads::new(2);
    let made = threads.map(blocks, |block: usize| {
        let mut scratch = Scratch::default();
        let mut bag = Vec::new();
        let mut all = Vec::with_capacity(BLOCK);
        for page in block * BLOCK..((block + 1) * BLOCK).min(total) {
            web.bag(page as u64, Weighting::FrequencyRarity, &mut scratch, &mut bag);
            let mut tally = Tally::default();
            bag.iter().for_each(|&(hash, weight)| tally.add(hash, weight));
            all.push(cut(&tally.sums(), Tie::Zero).to_bits());
        }
        all
    });
    made.concat()
}

/// Random numbers, the same in every run (SplitMix).
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
