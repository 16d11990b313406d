//! Compares the percentage of agreeing bits with the share of a page that is a copy (Figures 11 to 13).
//!
//! As in the paper, a page starts as a copy of itself, and step by step more of it is replaced by words of another
//! page; the remaining share is the true duplication, which a third-party tool measured in the paper (Figure 12).
//! Pages have 300 to 1020 words, the paper's range. Two estimates of the engine are compared with it: the cosine that
//! corresponds to the distance, and the overlap 2J / (1 + J) for the sketch's Jaccard similarity J, for pages of
//! equal length.

use anyhow::{Context, Result, ensure};
use hapax::fingerprint::{Comparable, Fingerprinter, Recipe};
use hapax::page::{ExtractOptions, Extractor, Hints};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_synth::{Scratch, Web, WebOptions};
use rayon::prelude::*;
use serde_json::json;

use crate::bench::Bench;
use crate::real::{RealSet, sampled};
use crate::record::{Record, Table, Verdict};

/// Words of the paper's pages.
const WORDS: std::ops::RangeInclusive<usize> = 300..=1020;

/// Number of steps from a full copy to none.
const STEPS: usize = 20;

/// Means and spread over pages at each step, in percent; step 0 is a full copy.
struct Curve {
    name: String,
    pages: usize,
    percent: Vec<f64>,
    spread: Vec<f64>,
    cosine: Vec<f64>,
    overlap: Vec<f64>,
}

/// Estimates of one pair, in percent.
#[derive(Clone, Copy)]
struct Seen {
    percent: f64,
    cosine: f64,
    overlap: f64,
}

impl Seen {
    fn of(one: &Comparable, other: &Comparable) -> Self {
        let distance = f64::from(one.fingerprint.distance(other.fingerprint));
        let jaccard = one.sketch.estimate(&other.sketch).jaccard;
        Self {
            percent: one.fingerprint.percent(other.fingerprint),
            cosine: 100.0 * (std::f64::consts::PI * distance / 64.0).cos().max(0.0),
            overlap: 100.0 * 2.0 * jaccard / (1.0 + jaccard),
        }
    }
}

/// The first words of one page, filled up to the same length with words of another.
fn mixed(one: &[&str], other: &[&str], kept: usize) -> String {
    let rest = other.iter().cycle().take(one.len() - kept);
    one[..kept].iter().chain(rest).copied().collect::<Vec<_>>().join(" ")
}

fn true_percent(step: usize) -> f64 {
    100.0 * (STEPS - step) as f64 / STEPS as f64
}

fn curve(name: &str, texts: &[String], most: usize) -> Result<Option<Curve>> {
    let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    let chosen: Vec<usize> =
        (0..words.len()).filter(|&at| WORDS.contains(&words[at].len())).collect();
    if chosen.len() < 10 {
        return Ok(None);
    }
    let by = Fingerprinter::new(Recipe::built_in("khan-words")?, None)?;
    let pages: Vec<usize> = sampled(chosen.len(), most).collect();
    let seen: Vec<Vec<Seen>> = pages
        .par_iter()
        .map_init(
            || by.clone(),
            |by, &at| -> Result<Vec<Seen>> {
                // Half a set away, so that it is not the next version of the same page.
                let other = &words[chosen[(at + chosen.len() / 2) % chosen.len()]];
                let one = &words[chosen[at]];
                let whole = by.text(&one.join(" "))?.comparable.context("a page without words")?;
                (0..=STEPS)
                    .map(|step| -> Result<Seen> {
                        let kept = one.len() * (STEPS - step) / STEPS;
                        let copy = by.text(&mixed(one, other, kept))?.comparable;
                        Ok(Seen::of(&whole, &copy.context("a copy without words")?))
                    })
                    .collect()
            },
        )
        .collect::<Result<_>>()?;
    let mean = |step: usize, of: fn(&Seen) -> f64| {
        seen.iter().map(|page| of(&page[step])).sum::<f64>() / seen.len() as f64
    };
    let steps = || 0..=STEPS;
    let percent: Vec<f64> = steps().map(|step| mean(step, |it| it.percent)).collect();
    let spread = steps()
        .map(|step| {
            let square = |page: &Vec<Seen>| (page[step].percent - percent[step]).powi(2);
            (seen.iter().map(square).sum::<f64>() / seen.len() as f64).sqrt()
        })
        .collect();
    ensure!(percent[0] == 100.0, "a page and itself are {} % alike", percent[0]);
    ensure!(percent[0] > percent[STEPS / 2] && percent[STEPS / 2] > percent[STEPS], "no fall");
    Ok(Some(Curve {
        name: name.to_owned(),
        pages: seen.len(),
        spread,
        cosine: steps().map(|step| mean(step, |it| it.cosine)).collect(),
        overlap: steps().map(|step| mean(step, |it| it.overlap)).collect(),
        percent,
    }))
}

/// The mean distance of a line from the true one, over steps down to this duplication.
fn deviation(line: &[f64], least: f64) -> f64 {
    let steps: Vec<f64> = (0..=STEPS)
        .filter(|&step| true_percent(step) >= least)
        .map(|step| (line[step] - true_percent(step)).abs())
        .collect();
    steps.iter().sum::<f64>() / steps.len() as f64
}

pub(super) fn run(bench: &Bench<'_>, sets: &[RealSet]) -> Result<()> {
    const NAME: &str = "khan-figure-11";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let most = bench.size.of(100, 300);
    let mut curves = Vec::new();
    for set in sets {
        let mut extractor = Extractor::new(ExtractOptions::default());
        let mut texts = Vec::new();
        for page in &set.pages {
            texts.push(extractor.extract_html(&page.html, &Hints::default())?.text.clone());
        }
        curves.extend(curve(&set.name, &texts, most)?);
    }
    let web = Web::new(WebOptions::new(5, bench.size.of(2000, 6000)));
    let (mut text, mut scratch) = (String::new(), Scratch::default());
    let texts: Vec<String> = (0..web.len())
        .map(|page| {
            web.text_into(page, &mut text, &mut scratch);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        })
        .collect();
    curves.extend(curve("synthetic web", &texts, most)?);
    let mut table = Table::new([
        "true duplication, %",
        "set",
        "agreeing bits, %",
        "spread",
        "cosine of the bits, %",
        "overlap of sketches, %",
    ]);
    for curve in &curves {
        for step in (0..=STEPS).step_by(4) {
            table.row([
                format!("{:.0}", true_percent(step)),
                curve.name.clone(),
                format!("{:.1}", curve.percent[step]),
                format!("{:.1}", curve.spread[step]),
                format!("{:.1}", curve.cosine[step]),
                format!("{:.1}", curve.overlap[step]),
            ]);
        }
    }
    let line = |values: &[f64]| -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(step, &it)| (true_percent(step), it)).collect()
    };
    let truth: Vec<f64> = (0..=STEPS).map(true_percent).collect();
    let chart = |title: &str, of: fn(&Curve) -> &Vec<f64>| Chart {
        title: title.to_owned(),
        x: Axis::linear("true duplication, percent"),
        y: Axis::linear("percent").showing(0.0),
        series: [Series::reference("true (Figure 12)", line(&truth))]
            .into_iter()
            .chain(curves.iter().map(|it| Series::new(it.name.clone(), line(of(it)))))
            .collect(),
        about: "Mean over pages of 300 to 1020 words.".to_owned(),
    };
    let mean = |of: fn(&Curve) -> &Vec<f64>, least: f64| {
        curves.iter().map(|it| deviation(of(it), least)).sum::<f64>() / curves.len() as f64
    };
    let unrelated = curves.iter().map(|it| it.percent[STEPS]).sum::<f64>() / curves.len() as f64;
    let spikes = curves.iter().map(|it| it.spread.iter().sum::<f64>() / 21.0).sum::<f64>()
        / curves.len() as f64;
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Figures 11 to 13".to_owned(),
        title: "similarity against true duplication".to_owned(),
        claim: "The percentage of agreeing bits falls with the true duplication from 100 % downwards, with spikes, on average 10 % away from the benchmark line; over 300 pages of two B2B sites, 300 to 1020 words.".to_owned(),
        ran_on: format!(
            "{}; recipe khan-words; {} steps of 5 %",
            curves.iter().map(|it| format!("{} pages of {}", it.pages, it.name)).collect::<Vec<_>>().join(", "),
            STEPS
        ),
        verdict: match mean(|it| &it.percent, 0.0) {
            points if points <= 12.0 => Verdict::Agrees,
            _ if unrelated < 90.0 => Verdict::Partly,
            _ => Verdict::Differs,
        },
        sentence: format!(
            "From 100 % the line falls to {unrelated:.0} % when every word is another page's, since half of the bits agree by chance alone, and single pages scatter around it by {spikes:.0} points (the paper's spikes); its mean distance to the truth is {:.0} points over all steps and {:.0} down to half a copy, where the paper has 10; the cosine that the same bits stand for is {:.0} points away, the overlap of the sketches that Hapax keeps beside them {:.0}.",
            mean(|it| &it.percent, 0.0),
            mean(|it| &it.percent, 50.0),
            mean(|it| &it.cosine, 0.0),
            mean(|it| &it.overlap, 0.0),
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![
            chart("Agreeing bits (Figures 11 and 13)", |it| &it.percent),
            chart("Cosine of the bits", |it| &it.cosine),
            chart("Overlap of the sketches", |it| &it.overlap),
        ],
        data: json!(curves.iter().map(|it| json!({
            "set": it.name, "pages": it.pages, "percent": it.percent, "spread": it.spread,
            "cosine": it.cosine, "overlap": it.overlap,
        })).collect::<Vec<_>>()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixed_page_keeps_its_first_words_and_its_length() {
        let (one, other) = (["a", "b", "c", "d"], ["x", "y"]);
        assert_eq!(mixed(&one, &other, 4), "a b c d");
        assert_eq!(mixed(&one, &other, 1), "a x y x");
        assert_eq!(mixed(&one, &other, 0), "x y x y");
    }

    #[test]
    fn the_true_line_has_no_deviation() {
        let truth: Vec<f64> = (0..=STEPS).map(true_percent).collect();
        assert_eq!((truth[0], truth[STEPS], deviation(&truth, 0.0)), (100.0, 0.0, 0.0));
        let high: Vec<f64> = truth.iter().map(|it| it + 7.0).collect();
        assert!((deviation(&high, 50.0) - 7.0).abs() < 1e-9);
    }
}
