//! Fingerprints of documents, with the weak bits of those that ask.
//!
//! Pages are those of a synthetic web, as bags of words weighted by frequency and rarity; 29 % are
//! edited copies. Every so manieth page asks and the others are stored, as in the thesis. What is
//! stored beyond the documents is random numbers: they cost a search what documents would and are
//! near nothing. Making documents takes minutes for ten million, so they can be kept in a folder;
//! runs with as many pages in all share them, whatever number of them asks.

use std::fs;
use std::path::Path;

use anyhow::Context;
use hapax::fingerprint::simhash::{Tally, Tie, cut};
use hapax::join::Executor;
use hapax::join::matching::WeakOrder;
use hapax::join::matching::weak::WEAKEST;
use hapax_synth::{Scratch, Web, WebOptions, Weighting};

use crate::threads::Threads;

const SEED: u64 = 1;

/// Pages made by one task.
const BLOCK: usize = 1 << 14;

pub(crate) struct Documents {
    web: Web,
    every: usize,
    pub(crate) queries: Vec<u64>,
    pub(crate) orders: Vec<WeakOrder>,
    /// Number `i` is document `i` of the file.
    pub(crate) stored: Vec<u64>,
    /// How many of the stored ones are documents.
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
        // Weak bits are made of these first pages only, and so all that ask are among them.
        let weak = (total * 5 / 7).max(queries);
        let every = (weak / queries.max(1)).max(1);
        let (all, orders) = match keep.and_then(|folder| kept(folder, total, weak)) {
            Some(kept) => kept,
            None => make(&web, weak),
        };
        if let Some(folder) = keep
            && !files(folder, total, weak)[0].exists()
        {
            let [pages, weak] = files(folder, total, weak);
            let bytes: Vec<u8> = all.iter().flat_map(|bits| bits.to_le_bytes()).collect();
            fs::write(weak, orders.as_flattened()).context("cannot keep documents")?;
            fs::write(pages, bytes).context("cannot keep documents")?;
        }
        let orders = orders.into_iter().step_by(every).take(queries).collect();
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
        Ok(Self { web, every, queries: asking, orders, stored: rest, documents })
    }

    /// Were these made from the same original?
    pub(crate) fn are_copies(&self, query: usize, stored: usize) -> bool {
        if stored >= self.documents {
            return false;
        }
        let asking = query * self.every;
        // Among each `every` pages the first asks, as long as there are queries.
        let page = match self.every {
            1 => self.queries.len() + stored,
            every => {
                let before = (stored / (every - 1) + 1).min(self.queries.len());
                stored + before
            }
        };
        self.web.truth(asking as u64).family == self.web.truth(page as u64).family
    }
}

fn files(folder: &Path, total: usize, weak: usize) -> [std::path::PathBuf; 2] {
    ["u64", "weak"].map(|ending| folder.join(format!("web-{SEED}-{total}-{weak}.{ending}")))
}

fn kept(folder: &Path, total: usize, weak: usize) -> Option<(Vec<u64>, Vec<WeakOrder>)> {
    let [pages, bits] = files(folder, total, weak).map(|path| fs::read(path).ok());
    let (pages, bits) = (pages?, bits?);
    let words: Vec<u64> =
        pages.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
    let orders = bits.as_chunks::<WEAKEST>().0.to_vec();
    (words.len() == total && orders.len() == weak).then_some((words, orders))
}

fn make(web: &Web, weak: usize) -> (Vec<u64>, Vec<WeakOrder>) {
    let total = web.len() as usize;
    let blocks = (0..total.div_ceil(BLOCK)).collect();
    let made = Threads::new(2).map(blocks, |block: usize| {
        let mut scratch = Scratch::default();
        let mut bag = Vec::new();
        let (mut all, mut orders) = (Vec::with_capacity(BLOCK), Vec::new());
        for page in block * BLOCK..((block + 1) * BLOCK).min(total) {
            web.bag(page as u64, Weighting::FrequencyRarity, &mut scratch, &mut bag);
            let mut tally = Tally::default();
            bag.iter().for_each(|&(hash, weight)| tally.add(hash, weight));
            let sums = tally.sums();
            all.push(cut(&sums, Tie::Zero).to_bits());
            if page < weak {
                let weakest = sums.weakest_first();
                orders.push(std::array::from_fn::<u8, WEAKEST, _>(|rank| weakest[rank]));
            }
        }
        (all, orders)
    });
    let (all, orders): (Vec<Vec<u64>>, Vec<Vec<WeakOrder>>) = made.into_iter().unzip();
    (all.concat(), orders.concat())
}

/// Random numbers, the same each time (SplitMix).
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
