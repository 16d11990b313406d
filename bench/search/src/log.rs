//! Makes a log for corpora without a public one: queries are consecutive words in the titles and texts of their own
//! pages, with the frequencies of a real log.
//!
//! A power law is fitted to the real log's counts by rank; query lengths are drawn from its queries. Pages are drawn
//! uniformly, so a popular query is about any page. Does not model that popular pages get more queries, misspellings,
//! or sessions.

use crate::arguments::Arguments;
use anyhow::ensure;
use hapax::page::{ExtractOptions, Extractor, Hints};
use hapax_corpus::{Content, Kind, ReadOptions, Source, Unpacked};
use hapax_search::log::read::{ReadLog, read};
use hapax_search::log::{Log, Noise};
use hapax_synth::Rng;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

pub(crate) fn run(mut arguments: Arguments) -> anyhow::Result<()> {
    let like: PathBuf = arguments.needed("like")?;
    let queries: usize = arguments.given("queries")?.unwrap_or(2500);
    let out: PathBuf = arguments.needed("out")?;
    let inputs = arguments.done()?;

    let (rows, _) = read(Unpacked::open(&like)?, &ReadLog::default())?;
    let real = Log::of(rows, &Noise::default());
    let exponent = exponent(&real);
    let lengths: Vec<usize> =
        real.queries.iter().map(|query| query.text.split(' ').count().min(6)).collect();
    let mut rng = Rng::new(11);

    let mut passages: Vec<String> = Vec::new();
    let mut extractor = Extractor::new(ExtractOptions::default());
    let mut seen = 0u64;
    let wanted = queries * 3;
    for mut batch in Source::open(&inputs, ReadOptions::default())?.batches() {
        for document in batch.documents() {
            let document = document?;
            let hints = Hints::default();
            let (Content::Str(text), Kind::Html) = (&document.body.content, document.body.kind)
            else {
                continue;
            };
            // Reservoir sampling: every page so far has the same chance, and only drawn ones are
            // read.
            seen += 1;
            let at = if passages.len() < wanted { seen - 1 } else { rng.below(seen) };
            if at >= wanted as u64 {
                continue;
            }
            let page = extractor.extract_html(text, &hints)?;
            let title = page.title.as_deref().filter(|_| rng.below(2) == 0);
            let start: String = page.text.chars().take(2000).collect();
            let passage = title.map_or(start, str::to_owned);
            match passages.get_mut(at as usize) {
                Some(place) => *place = passage,
                None => passages.push(passage),
            }
        }
    }
    let mut chosen: BTreeMap<String, usize> = BTreeMap::new();
    for passage in &passages {
        let words: Vec<&str> = passage
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().count() > 2 || !word.is_ascii())
            .collect();
        let most = lengths[rng.below(lengths.len() as u64) as usize].min(words.len());
        if most == 0 {
            continue;
        }
        let from = rng.below((words.len() - most + 1) as u64) as usize;
        let query = words[from..from + most].join(" ").to_lowercase();
        // Long runs without spaces are not plausible queries.
        let query: String = query.chars().take(40).collect();
        let next = chosen.len();
        if next < queries {
            chosen.entry(query).or_insert(next);
        }
    }
    ensure!(chosen.len() == queries, "only {} different queries", chosen.len());
    let mut by_rank: Vec<(usize, String)> =
        chosen.into_iter().map(|(query, rank)| (rank, query)).collect();
    by_rank.sort();
    let mut out = std::io::BufWriter::new(std::fs::File::create(&out)?);
    writeln!(out, "query\tcount")?;
    for (rank, query) in &by_rank {
        let count = 10_000.0 / ((rank + 1) as f64).powf(exponent);
        writeln!(out, "{query}\t{}", count.max(1.0) as u64)?;
    }
    out.flush()?;
    println!(
        "{} different queries, asked by rank^-{exponent:.2} as in the given log of {} different ones",
        by_rank.len(),
        real.queries.len()
    );
    Ok(())
}

/// Least squares of the logarithms, over the ranks before the counts become constant.
fn exponent(log: &Log) -> f64 {
    let points: Vec<(f64, f64)> = (1..)
        .zip(&log.queries)
        .take_while(|(_, query)| query.count > 1)
        .map(|(rank, query): (u32, _)| (f64::from(rank).ln(), (query.count as f64).ln()))
        .collect();
    let n = points.len() as f64;
    let mean = |get: fn(&(f64, f64)) -> f64| points.iter().map(get).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    -covariance / variance
}
