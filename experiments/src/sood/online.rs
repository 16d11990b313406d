//! Searches in memory: weak bits, the engine's exact tables, and the thesis's baseline, on the same documents and
//! queries.
//!
//! Documents are those of a synthetic web, weighted by frequency and rarity; a larger collection is filled up with
//! random numbers. One query in ten calibrates and is not measured. The exact engine gives the true matches, and is
//! itself compared with a scan. As in the thesis, recall is over *all* matches that differ from their query, whether
//! copies or not.

use anyhow::{Context, Result, ensure};
use hapax::fingerprint::Fingerprint;
use hapax::index::{
    Answers, Calibration, Collection, Design, Entry, HammingIndex, Match, Query, Recall, Scan,
    TableOptions, Tables, WeakBits, WeakOptions,
};
use std::ops::ControlFlow;

use super::baseline::SortedTables;
use super::{RECALL, bound};
use crate::bench::Bench;
use crate::clock::{best_cpu, cpu};
use crate::synthetic::{DocumentSet, noise};

/// Number of queries checked by a scan.
const CHECKED: usize = 100;

/// Number of queries for the baseline, and for weak bits one at a time.
const SLOW: usize = 3000;

/// Allowed shortfall of measured recall: the copies of a page flip similar bits, so that thousands
/// of pairs are equivalent to some hundred independent ones.
const TOLERANCE: f64 = 0.05;

/// Lower recall is an error; recall between the two is reported.
const LEAST_RECALL: f64 = 0.8;

/// Stored documents and queries.
pub(super) struct Online {
    /// Documents, followed by random numbers.
    stored: Vec<u64>,
    /// How many of the stored fingerprints are documents.
    pub(super) documents: usize,
    set: DocumentSet,
    /// Queries that calibrate.
    sample: Vec<usize>,
    /// Queries that are measured.
    numbers: Vec<usize>,
}

/// The exact results for a number of stored fingerprints.
pub(super) struct Truth {
    pub(super) pages: usize,
    answers: Answers,
    calibration: Calibration,
    /// Matches that differ from their query: index of the query, and the differing bits.
    pub(super) pairs: Vec<(usize, u64)>,
}

/// The results of an engine.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Measured {
    pub(super) engine: String,
    /// Seconds per query: all matches, the first, and all of a single query at a time.
    pub(super) all: f64,
    pub(super) first: f64,
    pub(super) alone: f64,
    pub(super) recall: f64,
    pub(super) recall_first: f64,
    pub(super) probes: f64,
    pub(super) compared: f64,
    pub(super) bytes: f64,
    pub(super) prefix: u32,
}

impl Measured {
    /// Whether the recall reaches the requested one, within the tolerance.
    pub(super) fn reaches(&self) -> bool {
        self.recall > RECALL - TOLERANCE
    }
}

impl Online {
    pub(super) fn new(bench: &Bench<'_>) -> Result<Self> {
        let documents = bench.size.of(1 << 18, 1 << 22);
        let pages = bench.size.of(1 << 18, 1 << 23);
        let queries = bench.size.of(20_000, 60_000);
        bench.say(format!("  making {documents} synthetic documents"));
        let set = DocumentSet::new(1, documents, queries);
        let mut stored = set.stored.clone();
        stored.extend(noise(11, pages - documents));
        let (sample, numbers) = (0..set.queries.len()).partition(|it| it.is_multiple_of(10));
        Ok(Self { stored, documents, set, sample, numbers })
    }

    /// Log2 of the size of the largest collection.
    pub(super) fn most(&self) -> u32 {
        self.stored.len().ilog2()
    }

    pub(super) fn queries(&self) -> usize {
        self.numbers.len()
    }

    /// The sums of a measured query.
    pub(super) fn sums(&self, query: usize) -> &hapax::fingerprint::BitSums {
        &self.set.sums[self.numbers[query]]
    }

    fn of(&self, numbers: &[usize]) -> Vec<Query<'_>> {
        let query = |&number: &usize| Query {
            fingerprint: Fingerprint::from_bits(self.set.queries[number]),
            sums: Some(&self.set.sums[number]),
        };
        numbers.iter().map(query).collect()
    }

    fn pages(&self, pages: usize) -> Result<Collection> {
        let entry =
            |(&bits, id): (&u64, u64)| Entry { fingerprint: Fingerprint::from_bits(bits), id };
        Ok(Collection::new(self.stored[..pages].iter().zip(0..).map(entry))?)
    }

    pub(super) fn truth(&self, pages: usize) -> Result<Truth> {
        let bound = bound()?;
        let asked = self.of(&self.numbers);
        let scan = Scan::new(self.pages(pages)?);
        let expected = scan.find_all_batch(&asked[..CHECKED.min(asked.len())], bound)?;
        let exact = Tables::build(scan.into_collection(), TableOptions::within(bound))?;
        let answers = exact.find_all_batch(&asked, bound)?;
        for (number, expected) in expected.iter().enumerate() {
            ensure!(answers.of(number) == expected, "query {number} differs from the scan");
        }
        let flips = |queries: &[usize], answers: &Answers| -> Vec<(usize, u64)> {
            let of = |(at, near): (usize, &[Match])| {
                let query = self.set.queries[queries[at]];
                let differ = near.iter().map(move |m| (at, query ^ self.stored[m.id as usize]));
                differ.filter(|pair| pair.1 != 0).collect::<Vec<_>>()
            };
            answers.iter().enumerate().flat_map(of).collect()
        };
        let near = exact.find_all_batch(&self.of(&self.sample), bound)?;
        let sampled = flips(&self.sample, &near);
        let calibration = Calibration::fit(
            sampled.iter().map(|&(at, flips)| (&self.set.sums[self.sample[at]], flips)),
        );
        let pairs = flips(&self.numbers, &answers);
        ensure!(!pairs.is_empty(), "no query has a match that differs");
        Ok(Truth { pages, answers, calibration, pairs })
    }

    /// Weak bits, with this many leading bits or the predicted best number.
    pub(super) fn weak(&self, truth: &Truth, prefix: Option<u32>) -> Result<Measured> {
        let recall = Recall::new(RECALL).context("a share")?;
        let mut options =
            WeakOptions::within(bound()?, recall).calibration(truth.calibration.clone());
        if let Some(bits) = prefix {
            options = options.prefix_bits(bits);
        }
        let index = WeakBits::build(self.pages(truth.pages)?, options)?;
        let bits = index.prefix_bits();
        let found = self.measure(&index, truth, "weak bits", bits)?;
        ensure!(found.recall > LEAST_RECALL, "recall {} at p = {bits}", found.recall);
        Ok(found)
    }

    /// The engine's own exact tables.
    pub(super) fn exact(&self, truth: &Truth) -> Result<Measured> {
        let index = Tables::build(self.pages(truth.pages)?, TableOptions::within(bound()?))?;
        let name = format!("exact, {} tables", index.design().keys().len());
        let found = self.measure(&index, truth, &name, 0)?;
        ensure!(found.recall == 1.0 && found.recall_first == 1.0, "an exact engine missed a match");
        Ok(found)
    }

    fn measure(
        &self,
        index: &dyn HammingIndex,
        truth: &Truth,
        engine: &str,
        prefix: u32,
    ) -> Result<Measured> {
        let bound = bound()?;
        let asked = self.of(&self.numbers);
        let (answers, all) = best_cpu(3, || index.find_all_batch(&asked, bound));
        let (firsts, first) = best_cpu(3, || index.find_first_batch(&asked, bound));
        let (answers, firsts) = (answers?, firsts?);
        let alone = &asked[..SLOW.min(asked.len())];
        let (single, one_by_one) = cpu(|| {
            alone.iter().map(|query| Ok(index.find_all(query, bound)?.len())).sum::<Result<usize>>()
        });
        let batched: usize = (0..alone.len()).map(|at| answers.of(at).len()).sum();
        ensure!(single? == batched, "one at a time finds something else than a batch");
        let [mut seen, mut there, mut answered, mut could] = [0usize; 4];
        for (at, (found, truth)) in answers.iter().zip(truth.answers.iter()).enumerate() {
            let real = found.iter().all(|m| truth.binary_search(m).is_ok());
            ensure!(real, "{engine} reports what is not there");
            seen += found.iter().filter(|m| m.distance > 0).count();
            there += truth.iter().filter(|m| m.distance > 0).count();
            if truth.first().is_some_and(|m| m.distance > 0) {
                could += 1;
                answered += usize::from(firsts[at].is_some());
            }
        }
        let effort = index.visit_batch(&asked, bound, &mut |_, _| ControlFlow::Continue(()))?;
        let queries = asked.len() as f64;
        Ok(Measured {
            engine: engine.to_owned(),
            all: all / queries,
            first: first / queries,
            alone: one_by_one / alone.len() as f64,
            recall: seen as f64 / there.max(1) as f64,
            recall_first: answered as f64 / could.max(1) as f64,
            probes: effort.probes as f64 / queries,
            compared: effort.compared as f64 / queries,
            bytes: index.memory_bytes() as f64 / truth.pages as f64,
            prefix,
        })
    }

    /// The thesis's baseline, with keys of `blocks - 3` of `blocks` blocks.
    pub(super) fn manku(&self, truth: &Truth, blocks: u32) -> Result<Measured> {
        let design = Design::blocks(blocks, bound()?)?;
        let index = SortedTables::new(&self.stored[..truth.pages], &design);
        let some = SLOW.min(self.numbers.len());
        let asked: Vec<u64> = self.numbers[..some].iter().map(|&at| self.set.queries[at]).collect();
        let (answers, all) =
            best_cpu(2, || asked.iter().map(|&query| index.find_all(query)).collect::<Vec<_>>());
        let (answered, first) = best_cpu(2, || {
            asked.iter().filter(|&&query| index.find_first(query).is_some()).count()
        });
        for ((found, _), truth) in answers.iter().zip(truth.answers.iter()) {
            ensure!(found == truth, "the baseline and the exact engine disagree");
        }
        let could = (0..some).filter(|&at| !truth.answers.of(at).is_empty()).count();
        ensure!(answered == could, "the baseline misses a first match");
        let queries = asked.len() as f64;
        Ok(Measured {
            engine: format!("thesis's baseline, {} tables", design.keys().len()),
            all: all / queries,
            first: first / queries,
            alone: all / queries,
            recall: 1.0,
            recall_first: 1.0,
            probes: design.keys().len() as f64,
            compared: answers.iter().map(|it| it.1).sum::<u64>() as f64 / queries,
            bytes: index.bytes() as f64 / truth.pages as f64,
            prefix: 0,
        })
    }
}
