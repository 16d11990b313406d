//! The points of weak bits: documents among random numbers, recall measured on their copies.
//!
//! Up to a million of the stored fingerprints come from documents, and so do all queries; what lies
//! beyond are random numbers, which cost a search what other documents would and are near
//! nothing. So the copies of a query are found exactly among the documents alone, and that is
//! the truth recall is measured against. One query in ten calibrates and is not asked.

use anyhow::{Context, ensure};
use hapax::fingerprint::MaxDistance;
use hapax::index::{
    Answers, Calibration, Collection, Entry, HammingIndex, Match, Query, Recall, TableOptions,
    Tables, WeakBits, WeakOptions,
};

use crate::measure::{Row, best_cpu};
use crate::weak::documents::Documents;

/// The most stored fingerprints that come from documents.
const DOCUMENTS: usize = 1 << 20;

/// How far below the asked recall a measured one may be.
const TOLERANCE: f64 = 0.02;

/// Builds and measures weak bits on so many pages.
pub(super) fn measure(
    pages: usize,
    bound: MaxDistance,
    share: f64,
    queries: usize,
) -> anyhow::Result<Row> {
    let recall = Recall::new(share).context("a recall is above 0 and at most 1")?;
    let documents = Documents::new(1, pages, pages.min(DOCUMENTS), queries)?;
    let (sample, numbers): (Vec<usize>, Vec<usize>) =
        (0..documents.asking.len()).partition(|number| number.is_multiple_of(10));
    let asked: Vec<Query<'_>> = numbers.iter().map(|&number| documents.query(number)).collect();

    let real = documents.stored.len() - documents.padding;
    let among = Tables::build(
        Collection::new(documents.entries().take(real))?,
        TableOptions::within(bound),
    )?;
    let calibration = calibrate(&documents, &among, &sample, bound)?;
    let truth = among.find_all_batch(&asked, bound)?;
    drop(among);

    let entries: Vec<Entry> = documents.entries().collect();
    let options = WeakOptions::within(bound, recall).calibration(calibration);
    let index = WeakBits::build(Collection::new(entries)?, options)?;
    let (answers, took) = best_cpu(3, || index.find_all_batch(&asked, bound));
    let answers = answers?;
    let copies = |answers: &Answers| -> Vec<(usize, Match)> {
        let near = numbers.iter().zip(answers.iter()).enumerate();
        near.flat_map(|(query, (&number, matches))| {
            let copy = |m: &&Match| m.distance > 0 && documents.are_copies(number, m.id);
            matches.iter().filter(copy).map(move |&m| (query, m)).collect::<Vec<_>>()
        })
        .collect()
    };
    let (there, found) = (copies(&truth), copies(&answers));
    ensure!(found.iter().all(|one| there.binary_search(one).is_ok()), "found what is not there");
    let measured = found.len() as f64 / there.len().max(1) as f64;
    ensure!(measured > share - TOLERANCE, "recall {measured} where {share} was asked for");
    Ok(Row {
        engine: format!("weak bits (p = {})", index.prefix_bits()),
        pages,
        within: bound.bits(),
        recall: measured,
        bytes: Some(index.memory_bytes()),
        build: None,
        queries_per_second: asked.len() as f64 / took.as_secs_f64(),
    })
}

fn calibrate(
    documents: &Documents,
    among: &Tables,
    sample: &[usize],
    bound: MaxDistance,
) -> anyhow::Result<Calibration> {
    let queries: Vec<Query<'_>> = sample.iter().map(|&number| documents.query(number)).collect();
    let near = among.find_all_batch(&queries, bound)?;
    let mut pairs = Vec::new();
    for (&number, near) in sample.iter().zip(near.iter()) {
        for copy in near.iter().filter(|m| documents.are_copies(number, m.id)) {
            let [one, other] = [documents.asking[number], documents.stored[copy.id as usize]];
            pairs.push((&documents.sums[number], one.to_bits() ^ other.to_bits()));
        }
    }
    Ok(Calibration::fit(pairs))
}
