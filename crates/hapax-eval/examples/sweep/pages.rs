//! A set of pages with their features, sketches, and the truth about pairs.
//!
//! Compares every pair of fingerprints, so it misses nothing and is slow. Pairs that the truth does not list are
//! below 0.5; pages that are too short for it are not scored.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use hapax::features::{Frequencies, FrequencyWeights};
use hapax::fingerprint::{FeatureReader, Fingerprinter, Recipe, Sketch, Tally, Tie, simhash};
use hapax::page::{Body, Document, Hints};
use hapax::similarity::{DEFAULT_MIN_SIMILARITY, DEFAULT_WITHIN};
use hapax_corpus::{ReadOptions, Source};
use hapax_eval::Truth;

/// Log2 of the counters of a table: enough for the words of a set.
const WIDTH: u8 = 20;
/// Log2 of the counters of one host's table.
const HOST_WIDTH: u8 = 15;
/// The truth contains no pages with fewer words.
const FEWEST_WORDS: u32 = 14;

/// The weighting of words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weights {
    Counts,
    Presence,
    /// Rarity in the same set.
    OwnRarity,
    /// Rarity in the other sets.
    OthersRarity,
    /// Rarity on the page's host.
    HostRarity,
}

impl Weights {
    pub(crate) const ALL: [Self; 5] =
        [Self::Counts, Self::Presence, Self::OwnRarity, Self::OthersRarity, Self::HostRarity];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Counts => "counts",
            Self::Presence => "every word once",
            Self::OwnRarity => "TF-IDF of the set",
            Self::OthersRarity => "TF-IDF of other sets",
            Self::HostRarity => "TF-IDF of each host",
        }
    }
}

/// Word frequencies for the weights.
pub(crate) struct Tables {
    own: FrequencyWeights,
    others: FrequencyWeights,
    hosts: BTreeMap<String, FrequencyWeights>,
}

impl Tables {
    pub(crate) fn of(set: &Set, others: &[&Set]) -> Result<Self> {
        let mut own = Frequencies::new(0, WIDTH)?;
        let mut hosts: BTreeMap<&str, Frequencies> = BTreeMap::new();
        for page in &set.pages {
            own.add_document(&mut page.features.clone());
            let host = match hosts.get_mut(page.host.as_str()) {
                Some(host) => host,
                None => hosts.entry(&page.host).or_insert(Frequencies::new(0, HOST_WIDTH)?),
            };
            host.add_document(&mut page.features.clone());
        }
        let mut elsewhere = Frequencies::new(0, WIDTH)?;
        for page in others.iter().flat_map(|set| &set.pages) {
            elsewhere.add_document(&mut page.features.clone());
        }
        let hosts = hosts.iter().map(|(host, it)| ((*host).to_owned(), it.weights())).collect();
        Ok(Self { own: own.weights(), others: elsewhere.weights(), hosts })
    }
}

struct Page {
    host: String,
    features: Vec<u64>,
    fingerprint: u64,
    words: u32,
    sketch: Sketch,
}

/// Pages with different texts.
pub(crate) struct Set {
    pub(crate) name: String,
    pages: Vec<Page>,
    ids: BTreeMap<String, u32>,
    /// Pairs with exact similarity 0.5 or more, and that similarity.
    pub(crate) truth: Vec<(u32, u32, f32)>,
    known: BTreeMap<(u32, u32), f32>,
    /// Pairs within the default distance.
    pub(crate) candidates: Vec<(u32, u32)>,
    /// Candidates confirmed by sketches.
    pub(crate) confirmed: Vec<(u32, u32)>,
}

impl Set {
    pub(crate) fn read(data: &Path, name: &str, recipe: &Recipe) -> Result<Self> {
        let mut by = Fingerprinter::new(recipe.clone(), None)?;
        let mut features = FeatureReader::new(recipe.clone())?;
        let documents = data.join(name).join("docs.jsonl.zst").display().to_string();
        let source = Source::open(&[documents], ReadOptions::default())?;
        let (mut pages, mut ids): (Vec<Page>, BTreeMap<String, u32>) = Default::default();
        let mut texts = BTreeMap::new();
        for mut batch in source.batches() {
            for document in batch.documents() {
                let document = document?;
                let bytes = document.body.content.as_bytes();
                // Skips what the job would not take for a page either.
                let Ok(signature) = by.page(bytes, &Hints::default()) else { continue };
                let Some(comparable) = signature.comparable else { continue };
                let first = *texts.entry(signature.content).or_insert(pages.len() as u32);
                if first as usize == pages.len() {
                    let url = document.url.as_deref().unwrap_or_default();
                    let host = url.split('/').nth(2).unwrap_or_default().to_owned();
                    pages.push(Page {
                        host,
                        features: features.document(&Document::new(Body::Bytes(bytes)))?.1.clone(),
                        fingerprint: comparable.fingerprint.to_bits(),
                        words: signature.words,
                        sketch: comparable.sketch,
                    });
                    ids.insert(document.id.to_string(), first);
                }
            }
        }
        let mut set = Self {
            name: name.to_owned(),
            pages,
            ids,
            truth: Vec::new(),
            known: BTreeMap::new(),
            candidates: Vec::new(),
            confirmed: Vec::new(),
        };
        let truth = data.join(name).join("refpairs.tsv.zst");
        if truth.exists() {
            set.learn(&Truth::read(&truth, None)?)?;
        }
        Ok(set)
    }

    fn learn(&mut self, truth: &Truth) -> Result<()> {
        let Truth::Graded(pairs) = truth else {
            anyhow::bail!("{}: refpairs.tsv.zst has no similarities", self.name);
        };
        for pair in pairs {
            if let (Some(&a), Some(&b)) = (self.ids.get(&pair.a), self.ids.get(&pair.b)) {
                self.truth.push((a, b, pair.jaccard as f32));
                self.known.insert((a.min(b), a.max(b)), pair.jaccard as f32);
            }
        }
        let fingerprints: Vec<u64> = self.pages.iter().map(|it| it.fingerprint).collect();
        self.candidates = self.near(&fingerprints, u32::from(DEFAULT_WITHIN));
        let least = DEFAULT_MIN_SIMILARITY;
        let alike = |&&(a, b): &&(u32, u32)| self.similarity(a, b) >= least;
        self.confirmed = self.candidates.iter().filter(alike).copied().collect();
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    pub(crate) fn words(&self, page: u32) -> u32 {
        self.pages[page as usize].words
    }

    pub(crate) fn host(&self, page: u32) -> &str {
        &self.pages[page as usize].host
    }

    pub(crate) fn similarity(&self, a: u32, b: u32) -> f64 {
        let [a, b] = [a, b].map(|it| &self.pages[it as usize].sketch);
        a.estimate(b).jaccard
    }

    /// Exact similarity of a pair; 0 below 0.5.
    pub(crate) fn exact(&self, a: u32, b: u32) -> f32 {
        self.known.get(&(a.min(b), a.max(b))).copied().unwrap_or(0.0)
    }

    /// Whether the truth covers a page.
    pub(crate) fn is_covered(&self, page: u32) -> bool {
        self.words(page) >= FEWEST_WORDS
    }

    pub(crate) fn fingerprints(&self, weights: Weights, tables: &Tables) -> Vec<u64> {
        let of = |page: &Page| {
            let mut features = page.features.clone();
            let mut tally = Tally::default();
            if matches!(weights, Weights::Presence) {
                features.sort_unstable();
                features.dedup();
            }
            let table = match weights {
                Weights::Counts | Weights::Presence => None,
                Weights::OwnRarity => Some(&tables.own),
                Weights::OthersRarity => Some(&tables.others),
                Weights::HostRarity => tables.hosts.get(&page.host),
            };
            for feature in features {
                tally.add(feature, table.map_or(1, |it| it.weight(feature)));
            }
            simhash::cut(&tally.sums(), Tie::Zero).to_bits()
        };
        self.pages.iter().map(of).collect()
    }

    /// All pairs within a distance, by comparing every pair.
    pub(crate) fn near(&self, fingerprints: &[u64], within: u32) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for (a, one) in fingerprints.iter().enumerate() {
            for (b, other) in fingerprints.iter().enumerate().skip(a + 1) {
                if (one ^ other).count_ones() <= within {
                    pairs.push((a as u32, b as u32));
                }
            }
        }
        pairs
    }

    /// Recall of pairs at 0.9 or more among `predicted`, and the share of `predicted` at 0.8 or more, for
    /// pairs of this kind.
    pub(crate) fn scores(
        &self,
        predicted: &[(u32, u32)],
        kind: impl Fn(u32, u32) -> bool,
    ) -> (Share, Share) {
        let sorted: std::collections::BTreeSet<(u32, u32)> = predicted.iter().copied().collect();
        let (mut recall, mut precision) = (Share::default(), Share::default());
        for &(a, b, _) in self.truth.iter().filter(|it| it.2 >= 0.9 && kind(it.0, it.1)) {
            recall.add(sorted.contains(&(a.min(b), a.max(b))));
        }
        let covered =
            |&&(a, b): &&(u32, u32)| self.is_covered(a) && self.is_covered(b) && kind(a, b);
        for &(a, b) in predicted.iter().filter(covered) {
            precision.add(self.exact(a, b) >= 0.8);
        }
        (recall, precision)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    some: u64,
    pub(crate) of: u64,
}

impl Share {
    pub(crate) fn add(&mut self, it: bool) {
        self.some += u64::from(it);
        self.of += 1;
    }

    pub(crate) fn value(&self) -> Option<f64> {
        (self.of > 0).then(|| self.some as f64 / self.of as f64)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            Some(value) => f.pad(&format!("{value:.4} of {}", self.of)),
            None => f.pad("-"),
        }
    }
}

/// Labelled pairs of a set, each with whether it is the same page.
pub(crate) fn labels(data: &Path, name: &str, set: &Set) -> Result<Vec<(u32, u32, bool)>> {
    let truth = Truth::read(&data.join(name).join("pairs.tsv.zst"), None)?;
    let Truth::Pairs(pairs) = truth else {
        anyhow::bail!("{name}: pairs.tsv.zst has no labels");
    };
    let found = pairs.iter().filter_map(|pair| {
        let (a, b) = (*set.ids.get(&pair.a)?, *set.ids.get(&pair.b)?);
        Some((a, b, pair.label.starts_with("same")))
    });
    let found: Vec<_> = found.collect();
    found.first().context("no pair names two documents")?;
    Ok(found)
}
