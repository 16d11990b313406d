//! Measures each stage alone, all together, and on two threads.
//!
//! The input of a stage is the real output of the stages before it. Two threads must give the fingerprints of one.
//! A wrong answer stops the run. Does not measure reading of files.

use crate::measure::{Bench, table};
use anyhow::{Result, ensure};
use hapax::features::{ShingleSize, WordFilter, WordHasher, hash, shingles};
use hapax::fingerprint::{
    ContentHash, Fingerprinter, Recipe, Tally, Tie, simhash, sketch::Sketcher,
};
use hapax::page::{ExtractOptions, Extractor, Hints};
use hapax::text::{Segmenter, Unspaced};
use std::hint::black_box;
use std::time::Instant;

const HINTS: Hints<'static> = Hints { content_type: Some("text/html; charset=utf-8"), url: None };

/// SimHash of given tokens, on one thread.
pub(crate) fn accumulation(bench: &Bench<'_>) -> Result<()> {
    let tokens = tokens(bench)?;
    let count: usize = tokens.iter().map(Vec::len).sum();
    let mut hashes = Vec::new();
    let took = bench.best(|| {
        for page in &tokens {
            hashes.clear();
            hashes.extend(page.iter().map(|word| hash::word_hash(word, 0)));
            let mut tally = Tally::default();
            tally.add_all(&hashes);
            black_box(simhash::cut(&tally.sums(), Tie::Zero));
        }
    });
    println!("tokens to SimHash: {:.1} million a second\n", count as f64 / took / 1e6);
    Ok(())
}

fn tokens(bench: &Bench<'_>) -> Result<Vec<Vec<String>>> {
    let mut segmenter = Segmenter::new(Unspaced::Bigrams);
    texts(bench)?
        .iter()
        .map(|text| {
            let mut words = Vec::new();
            segmenter.words(text, |word| words.push(word.to_owned()));
            Ok(words)
        })
        .collect()
}

fn texts(bench: &Bench<'_>) -> Result<Vec<String>> {
    let mut extractor = Extractor::new(ExtractOptions::default());
    bench
        .pages
        .iter()
        .map(|page| Ok(extractor.extract(page.as_bytes(), &HINTS)?.text.clone()))
        .collect()
}

pub(crate) fn whole_way(bench: &Bench<'_>) -> Result<()> {
    let texts = texts(bench)?;
    let five = ShingleSize::new(5).unwrap_or(ShingleSize::ONE);
    let mut hasher = WordHasher::new(Unspaced::Bigrams, WordFilter::default(), 0);
    let words: Vec<Vec<u64>> = texts
        .iter()
        .map(|text| {
            let mut hashes = Vec::new();
            hasher.hash_into(text, &mut hashes);
            hashes
        })
        .collect();

    let read = bench.best(|| {
        for page in bench.pages {
            let words = page.as_bytes().as_chunks::<8>().0;
            black_box(words.iter().fold(0, |sum, w| sum ^ u64::from_le_bytes(*w)));
        }
    });
    let mut extractor = Extractor::new(ExtractOptions::default());
    let extract = bench.best(|| {
        for page in bench.pages {
            black_box(extractor.extract(page.as_bytes(), &HINTS).is_ok());
        }
    });
    let mut segmenter = Segmenter::new(Unspaced::Bigrams);
    let segment = bench.best(|| {
        for text in &texts {
            segmenter.words(text, |word| {
                black_box(word.len());
            });
        }
    });
    let mut hashes = Vec::new();
    let segment_and_hash = bench.best(|| {
        for text in &texts {
            hashes.clear();
            hasher.hash_into(text, &mut hashes);
            black_box(&hashes);
        }
    });
    let accumulate = bench.best(|| {
        for page in &words {
            let mut tally = Tally::default();
            tally.add_all(page);
            black_box(simhash::cut(&tally.sums(), Tie::Zero));
        }
    });
    let mut sketcher = Sketcher::default();
    let sketch = bench.best(|| {
        for page in &words {
            hashes.clear();
            shingles(page, five, &mut hashes);
            black_box(sketcher.sketch(&hashes));
        }
    });
    let content = bench.best(|| {
        for text in &texts {
            black_box(ContentHash::of(text));
        }
    });
    let mut by = Fingerprinter::new(Recipe::built_in("web-2")?, None)?;
    let whole = bench.best(|| {
        for page in bench.pages {
            black_box(by.page(page.as_bytes(), &HINTS).is_ok());
        }
    });

    let mut table = table(&["stage", "us/page", "MB/s of HTML", "share of the whole"]);
    for (stage, seconds) in [
        ("reading the bytes once", read),
        ("extract", extract),
        ("segment", segment),
        ("hash words", (segment_and_hash - segment).max(0.0)),
        ("accumulate SimHash", accumulate),
        ("shingles and sketch", sketch),
        ("content hash", content),
        ("whole way, bytes to signature", whole),
    ] {
        let share = format!("{:.1} %", 100.0 * seconds / whole);
        table.add_row([stage.to_owned(), bench.per_page(seconds), bench.speed(seconds), share]);
    }
    println!("{table}\n");
    Ok(())
}

/// Wall time of one thread and of two, for the same pages.
pub(crate) fn two_threads(bench: &Bench<'_>) -> Result<()> {
    let by = Fingerprinter::new(Recipe::built_in("web-2")?, None)?;
    let sum = |pages: &[String]| -> u64 {
        let mut by = by.clone();
        pages.iter().fold(0, |sum, page| {
            let signature = by.page(page.as_bytes(), &HINTS).ok();
            let bits = signature.and_then(|i| i.comparable).map_or(0, |m| m.fingerprint.to_bits());
            sum.rotate_left(1) ^ bits
        })
    };
    let (mut one, mut two) = (f64::INFINITY, f64::INFINITY);
    let (left, right) = bench.pages.split_at(bench.pages.len() / 2);
    for _ in 0..bench.rounds.max(1) {
        let start = Instant::now();
        let alone = [sum(left), sum(right)];
        one = one.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let together = std::thread::scope(|scope| {
            let other = scope.spawn(|| sum(right));
            let mine = sum(left);
            other.join().map(|theirs| [mine, theirs])
        });
        two = two.min(start.elapsed().as_secs_f64());
        ensure!(together.is_ok_and(|sums| sums == alone), "two threads give other fingerprints");
    }
    println!("two threads: {:.2} times one (wall time, best of {})\n", one / two, bench.rounds);
    Ok(())
}
