//! Measures weak bits on real pages: probes needed for the requested share of the matches.
//!
//! Pages come from a file of JSON objects, one per line, with `html` or `text`; sums and fingerprints are those of
//! the default recipe. All pages are stored; every second one calibrates and the others are queries. Searching a few
//! thousand pages takes no time, so probes are measured, for each shape of the flip curve: a probe costs the same in
//! a large set. The exact engine gives the truth.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, ensure};
use hapax::fingerprint::{Comparable, Fingerprinter, MaxDistance, Recipe};
use hapax::index::{
    Answers, Calibration, Collection, Entry, HammingIndex, Match, Query, Recall, Shape,
    TableOptions, Tables, WeakBits, WeakOptions,
};

#[derive(serde::Deserialize)]
struct Line {
    html: Option<String>,
    text: Option<String>,
}

/// Prints a table for the pages of a file.
pub(super) fn run(
    path: &Path,
    within: &[u8],
    recalls: &[f64],
    prefixes: &[u32],
) -> anyhow::Result<()> {
    let comparables = read(path)?;
    let entries =
        comparables.iter().zip(0..).map(|(m, id)| Entry { fingerprint: m.fingerprint, id });
    let pages = Collection::new(entries)?;
    println!("{} pages, {} different fingerprints", comparables.len(), pages.fingerprints().len());
    let sample: Vec<Query> = comparables.iter().step_by(2).map(query).collect();
    let asked: Vec<Query> = comparables.iter().skip(1).step_by(2).map(query).collect();
    println!("| k | p | shape | asked | found | probes | pairs that differ |");
    println!("|---|---|---|---|---|---|---|");
    for &within in within {
        let bound = MaxDistance::new(within).context("a fingerprint has 64 bits")?;
        let exact = Tables::build(pages.clone(), TableOptions::within(bound))?;
        let truth = exact.find_all_batch(&asked, bound)?;
        let near = exact.find_all_batch(&sample, bound)?;
        let pairs = sample.iter().zip(near.iter()).flat_map(|(query, near)| {
            near.iter().filter_map(|m| {
                let other = comparables[m.id as usize].fingerprint.to_bits();
                query.sums.map(|sums| (sums, query.fingerprint.to_bits() ^ other))
            })
        });
        let calibration = Calibration::fit(pairs);
        for &bits in prefixes {
            for shape in [Shape::Linear, Shape::Normal, Shape::Logistic] {
                for &share in recalls {
                    let recall = Recall::new(share).context("a recall is above 0, at most 1")?;
                    let options = WeakOptions::within(bound, recall)
                        .calibration(calibration.clone().shape(shape))
                        .prefix_bits(bits);
                    let index = WeakBits::build(pages.clone(), options)?;
                    let found = index.find_all_batch(&asked, bound)?;
                    for (found, truth) in found.iter().zip(truth.iter()) {
                        let real = found.iter().all(|m| truth.binary_search(m).is_ok());
                        ensure!(real, "what is not there was reported");
                    }
                    let all = unequal(&truth);
                    let effort =
                        index.visit_batch(&asked, bound, &mut |_, _| ControlFlow::Continue(()))?;
                    println!(
                        "| {within} | {bits} | {shape:?} | {share} | {:.4} | {:.1} | {all} |",
                        unequal(&found) as f64 / all.max(1) as f64,
                        effort.probes as f64 / asked.len().max(1) as f64,
                    );
                }
            }
        }
    }
    Ok(())
}

fn query(comparable: &Comparable) -> Query<'_> {
    Query { fingerprint: comparable.fingerprint, sums: Some(&comparable.sums) }
}

fn unequal(answers: &Answers) -> usize {
    let different = |of: &[Match]| of.iter().filter(|m| m.distance > 0).count();
    answers.iter().map(different).sum()
}

/// The comparable parts of all pages with words.
fn read(path: &Path) -> anyhow::Result<Vec<Comparable>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let recipe = Recipe::built_in(Recipe::BUILT_IN[0])?;
    let mut fingerprinter = Fingerprinter::new(recipe, None)?;
    let mut comparables = Vec::new();
    for line in BufReader::new(file).lines() {
        let line: Line = serde_json::from_str(&line?)?;
        let signature = match (&line.html, &line.text) {
            (Some(html), _) => fingerprinter.html(html)?,
            (None, Some(text)) => fingerprinter.text(text)?,
            (None, None) => continue,
        };
        comparables.extend(signature.comparable);
    }
    Ok(comparables)
}
