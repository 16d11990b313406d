//! Measures weak bits: documents among random numbers, with recall measured on their copies.
//!
//! Up to a million of the stored fingerprints come from documents, and so do all queries; the others are random
//! numbers, which cost a search as much as documents and are near nothing. So an exact search among the documents
//! alone finds all copies of a query, which is the truth for recall at every size. One query in ten calibrates and is
//! not measured.

use anyhow::{Context, ensure};
use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::index::{
    Calibration, Collection, Entry, HammingIndex, Match, Query, Recall, TableOptions, Tables,
    WeakBits, WeakOptions,
};

use crate::measure::{Row, best_cpu};
use crate::near::planted::SplitMix;
use crate::weak::documents::Documents;

/// Number of stored fingerprints that come from documents.
const DOCUMENTS: usize = 1 << 20;

/// Allowed shortfall of measured recall: the copies of a page flip similar bits, so that thousands
/// of pairs are equivalent to some hundred independent ones in the smaller sets.
const TOLERANCE: f64 = 0.04;

/// Documents, and which of them are queries.
pub(super) struct QueryDocuments {
    documents: Documents,
    sample: Vec<usize>,
    numbers: Vec<usize>,
    share: f64,
}

/// Calibration and truth for one bound.
pub(super) struct Known {
    bound: MaxDistance,
    calibration: Calibration,
    /// Copies of each query document: its position, and the copy with a different fingerprint.
    copies: Vec<(usize, Match)>,
}

impl QueryDocuments {
    /// Makes this many queries; `share` is the recall to reach.
    pub(super) fn new(queries: usize, share: f64) -> anyhow::Result<Self> {
        let documents = Documents::new(1, DOCUMENTS, DOCUMENTS, queries)?;
        let (sample, numbers) =
            (0..documents.queries.len()).partition(|number| number.is_multiple_of(10));
        Ok(Self { documents, sample, numbers, share })
    }

    fn queries(&self, numbers: &[usize]) -> Vec<Query<'_>> {
        numbers.iter().map(|&number| self.documents.query(number)).collect()
    }

    /// Calibrates the flip curve, and finds the copies.
    pub(super) fn learn(&self, bound: MaxDistance) -> anyhow::Result<Known> {
        let documents = &self.documents;
        let pages = Collection::new(documents.entries())?;
        let among = Tables::build(pages, TableOptions::within(bound))?;
        let near = among.find_all_batch(&self.queries(&self.sample), bound)?;
        let mut pairs = Vec::new();
        for (&number, near) in self.sample.iter().zip(near.iter()) {
            for copy in near.iter().filter(|m| documents.are_copies(number, m.id)) {
                let [one, other] = [documents.queries[number], documents.stored[copy.id as usize]];
                pairs.push((&documents.sums[number], one.to_bits() ^ other.to_bits()));
            }
        }
        let calibration = Calibration::fit(pairs);
        let near = among.find_all_batch(&self.queries(&self.numbers), bound)?;
        let copies = near.iter().enumerate().flat_map(|(query, near)| {
            let copies = near.iter().filter(move |&m| self.is_unequal_copy(query, m));
            copies.map(move |&m| (query, m))
        });
        Ok(Known { bound, calibration, copies: copies.collect() })
    }

    fn is_unequal_copy(&self, query: usize, m: &Match) -> bool {
        m.distance > 0 && self.documents.are_copies(self.numbers[query], m.id)
    }

    /// Builds and measures weak bits for this many pages.
    pub(super) fn measure(&self, pages: usize, known: &Known) -> anyhow::Result<Row> {
        let recall = Recall::new(self.share).context("a recall is above 0 and at most 1")?;
        let mut random = SplitMix(pages as u64);
        let padding = (DOCUMENTS..pages)
            .map(|id| Entry { fingerprint: Fingerprint::from_bits(random.next()), id: id as u64 });
        let entries = self.documents.entries().take(pages).chain(padding);
        let options =
            WeakOptions::within(known.bound, recall).calibration(known.calibration.clone());
        let index = WeakBits::build(Collection::new(entries)?, options)?;
        let asked = self.queries(&self.numbers);
        let (answers, took) = best_cpu(3, || index.find_all_batch(&asked, known.bound));
        let answers = answers?;

        let stored = |&&(_, m): &&(usize, Match)| m.id < pages as u64;
        let there: Vec<&(usize, Match)> = known.copies.iter().filter(stored).collect();
        let found = there.iter().filter(|(query, m)| answers.of(*query).contains(m)).count();
        let all = answers.iter().enumerate().map(|(query, matches)| {
            matches.iter().filter(|&m| self.is_unequal_copy(query, m)).count()
        });
        ensure!(all.sum::<usize>() == found, "found what is not there");
        let measured = found as f64 / there.len().max(1) as f64;
        let share = self.share;
        ensure!(measured > share - TOLERANCE, "recall {measured} where {share} was asked for");
        Ok(Row {
            engine: format!("weak bits (p = {})", index.prefix_bits()),
            pages,
            within: known.bound.bits(),
            recall: measured,
            bytes: Some(index.memory_bytes()),
            build: None,
            queries_per_second: asked.len() as f64 / took.as_secs_f64(),
        })
    }
}
