//! An index of real and synthetic pages with PageRank scores, and a log of queries about them.
//!
//! The synthetic web has its own log. Queries about real pages are consecutive words of their titles with the same
//! frequencies; they are not from users. There are as many queries of each kind as pages; the 2000 most frequent are
//! processed, as in the paper. The best 1000 results are a larger part of this index than of the paper's, so a second
//! policy examines the same share as in the paper. As in the paper, fingerprints alone decide; pairs that sketches
//! would reject are counted in `parallel`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax::page::{ExtractOptions, Extractor, Hints};
use hapax_report::grouped;
use hapax_search::SearchPage;
use hapax_search::job::{Ranked, ranked};
use hapax_search::log::{Log, Noise, Row};
use hapax_search::policy::Policy;
use hapax_search::rank::{Graph, RankSettings, page_key, pagerank};
use hapax_search::tantivy::{TantivyIndex, Writer, WriterOptions};
use hapax_synth::{Rng, Web, WebOptions, Zipf};
use rayon::prelude::*;

use crate::bench::Bench;
use crate::real::real_sets;

/// Number of processed queries.
const QUERIES: usize = 2000;

/// Documents of the paper's index.
pub(super) const THEIR_PAGES: u64 = 1_612_633;

/// Number of results that the paper examined per query.
const THEIR_RESULTS: u64 = 1000;

/// Zipf exponent of queries about real pages, as in the synthetic web's log.
const EXPONENT: f64 = 0.75;

/// Number of pages generated and read at a time.
const BATCH_SIZE: usize = 2048;

/// The index, the log, and the policies.
pub(super) struct Library {
    // Dropped before its folder.
    pub(super) engine: TantivyIndex,
    _folder: tempfile::TempDir,
    pub(super) queries: Vec<Ranked>,
    pub(super) policy: Policy,
    /// The same policy, but examining the same share of the index as the paper.
    pub(super) in_part: Policy,
    /// Number of results examined by `in_part`.
    pub(super) part: u64,
    /// Description of the index.
    pub(super) about: String,
}

/// A page without its score.
struct Made {
    page: SearchPage,
    links: Vec<String>,
}

impl Library {
    pub(super) fn new(bench: &Bench<'_>) -> Result<Self> {
        let sets = real_sets(bench, bench.size.of(400, 9000))?;
        let mut options = WebOptions::new(7, bench.size.of(8_000, 60_000));
        options.queries = bench.size.of(3_000, 6_000);
        let web = Web::new(options);
        bench.say(format!(
            "  indexing {} synthetic and {} real pages",
            web.len(),
            sets.iter().map(|it| it.pages.len()).sum::<usize>()
        ));
        let mut made: Vec<Made> = Vec::new();
        for set in &sets {
            let sources = set.pages.iter().map(|page| (page.url.as_str(), page.html.as_str()));
            made.extend(read(&sources.collect::<Vec<_>>())?);
        }
        let real = made.len();
        let mut at = 0;
        while at < web.len() {
            let until = (at + BATCH_SIZE as u64).min(web.len());
            let pages: Vec<_> = web.pages(at..until).collect();
            let sources = pages.iter().map(|page| (page.url.as_str(), page.html.as_str()));
            made.extend(read(&sources.collect::<Vec<_>>())?);
            at = until;
        }
        score(&mut made)?;
        let folder = tempfile::tempdir()?;
        let engine = index(&folder.path().join("index"), &made)?;
        let documents = engine.totals().documents;
        ensure!(documents == made.len() as u64, "{documents} of {} pages are found", made.len());

        let titles: Vec<&str> = made[..real].iter().map(|it| it.page.title.as_str()).collect();
        let queries = log(&web, &titles);
        let about = format!(
            "{} synthetic pages and {} real ones ({}); {} queries, PageRank scores, the best 1000 results, fingerprints alone decide",
            grouped(web.len()),
            grouped(real as u64),
            sets.iter()
                .map(|it| format!("{} of {}", grouped(it.pages.len() as u64), it.name))
                .collect::<Vec<_>>()
                .join(", "),
            grouped(queries.len() as u64)
        );
        let policy = Policy::from_toml("confirm = false")?;
        let part = (documents * THEIR_RESULTS).div_ceil(THEIR_PAGES).max(2);
        let in_part = Policy::from_toml(&format!("confirm = false\nresults = {part}"))?;
        Ok(Self { engine, _folder: folder, queries, policy, in_part, part, about })
    }

    pub(super) fn pages(&self) -> u64 {
        self.engine.totals().documents
    }
}

/// Extracts text, fingerprints and links.
fn read(pages: &[(&str, &str)]) -> Result<Vec<Made>> {
    let fingerprinter = Fingerprinter::new(Recipe::built_in("web-2")?, None)?;
    let extent = fingerprinter.recipe().extent;
    let options = ExtractOptions { extent, collect_links: true, ..Default::default() };
    pages
        .par_iter()
        .map_init(
            || (Extractor::new(options.clone()), fingerprinter.clone()),
            |(extractor, fingerprinter), &(url, html)| -> Result<Made> {
                let page =
                    extractor.extract_html(html, &Hints { content_type: None, url: Some(url) })?;
                let signature = fingerprinter.extracted(page);
                Ok(Made {
                    links: page.links.iter().filter_map(|link| page_key(&link.url)).collect(),
                    page: SearchPage {
                        url: url.to_owned(),
                        title: page.title.clone().unwrap_or_default(),
                        language: page.language.clone().unwrap_or_default(),
                        ..SearchPage::new(url, page.text.as_str(), &signature)
                    },
                })
            },
        )
        .collect()
}

/// Computes PageRank of all pages from the links among them.
fn score(made: &mut [Made]) -> Result<()> {
    let keys: BTreeMap<String, u32> =
        (0..).zip(made.iter()).filter_map(|(at, it)| Some((page_key(&it.page.url)?, at))).collect();
    let mut links = Vec::new();
    for (from, page) in (0..).zip(made.iter_mut()) {
        links.extend(page.links.iter().filter_map(|to| Some((from, *keys.get(to)?))));
        page.links = Vec::new();
    }
    let ranks = pagerank(&Graph::new(made.len(), &links)?, &RankSettings::default(), None)?;
    ensure!(ranks.converged, "PageRank did not converge");
    for (page, score) in made.iter_mut().zip(ranks.scores) {
        page.page.score = Some(score);
    }
    Ok(())
}

fn index(path: &Path, made: &[Made]) -> Result<TantivyIndex> {
    let recipe = Fingerprinter::new(Recipe::built_in("web-2")?, None)?.recipe_id().clone();
    let mut writer = Writer::create(path, recipe, WriterOptions { threads: 2, memory: 256 << 20 })?;
    for page in made {
        writer.put(&page.page)?;
    }
    writer.finish()?;
    Ok(TantivyIndex::open(path)?)
}

/// The most frequent queries of a log about both kinds of pages.
fn log(web: &Web, titles: &[&str]) -> Vec<Ranked> {
    let entries = web.options().queries * 10;
    let mut rows: Vec<Row> = (0..entries).map(|entry| row(web.query(entry).text)).collect();
    let distinct = web.options().queries * titles.len() as u64 / web.len().max(1);
    if distinct > 0 {
        let popularity = Zipf::new(distinct, EXPONENT);
        let mut rng = Rng::new(21);
        let asked = (0..distinct * 10).map(|_| row(words_of(titles, popularity.draw(&mut rng))));
        rows.extend(asked);
    }
    let mut log = Log::of(rows, &Noise::default());
    log.queries.truncate(QUERIES);
    ranked(&log.queries)
}

fn row(query: String) -> Row {
    Row { query, count: 1, user: None, time: None }
}

/// Query number `query`: one to three consecutive words of a title.
fn words_of(titles: &[&str], query: u64) -> String {
    let mut rng = Rng::new(query + 1);
    let title = titles[rng.below(titles.len() as u64) as usize];
    let words: Vec<&str> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 1)
        .collect();
    let most = (1 + rng.below(3) as usize).min(words.len());
    let from = rng.below((words.len() - most + 1) as u64) as usize;
    words[from..from + most].join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_words_of_titles_and_deterministic() {
        let titles = ["CREATE INDEX: a manual", "", "日本 語"];
        for query in 0..50 {
            let words = words_of(&titles, query);
            assert_eq!(words, words_of(&titles, query));
            assert!(words.split(' ').count() <= 3);
            assert!(
                words.is_empty()
                    || titles.iter().any(|it| it.contains(words.split(' ').next().unwrap()))
            );
        }
    }

    #[test]
    fn the_log_ranks_queries_by_frequency() {
        let web = Web::new(WebOptions::new(1, 500));
        let queries = log(&web, &["one title", "another title"]);
        assert!(queries.len() > 20);
        assert!(queries.is_sorted_by_key(|it| std::cmp::Reverse(it.query.count)));
        assert!(queries.is_sorted_by_key(|it| it.rank));
    }
}
