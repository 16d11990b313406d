//! Differences between the sums of a near-duplicate and its original (Figure 1).
//!
//! The thesis says that the difference at a bit "intuitively should follow a normal distribution with mean 0" and
//! shows a sketch. Here near-duplicates are pairs with a cosine of 0.9. Tests the difference at bit 0 directly, and
//! the differences at all bits after dividing each pair by its own spread, because edits of one size and a mixture of
//! sizes differ.

use anyhow::{Context, Result, ensure};
use hapax_report::chart::{Axis, Chart, Series};
use serde_json::json;

use super::normality::{Normality, density, histogram};
use super::vectors::Vectors;
use crate::bench::Bench;
use crate::record::{Record, Table, Verdict};

/// A set's name, bit 0, and all bits normalized by pair.
type Found = (String, Normality, Normality);

/// Maximum number of pairs per document.
const EACH: usize = 3;

pub(super) fn figure_1(bench: &Bench<'_>, sets: &[Vectors]) -> Result<()> {
    const NAME: &str = "sood-figure-1";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let mut table = Table::new([
        "differences",
        "values",
        "mean/deviation",
        "skewness",
        "excess kurtosis",
        "distance to normal",
    ]);
    let bell: Vec<(f64, f64)> =
        (-16..=16).map(|at| f64::from(at) / 4.0).map(|z| (z, density(z))).collect();
    let mut raw = vec![Series::reference("normal", bell.clone())];
    let mut scaled = vec![Series::reference("normal", bell)];
    let mut found: Vec<Found> = Vec::new();
    for set in sets {
        let pairs = set.near(0.9, EACH, bench.size.of(2000, 4000));
        if pairs.len() < 30 {
            continue;
        }
        let (first, all) = differences(set, &pairs);
        let (one, every) = (Normality::of(&first), Normality::of(&all));
        ensure!(one.count == pairs.len(), "a difference is missing");
        let name = set.name.as_str();
        for (what, it) in [(format!("{name}, bit 0"), &one), (format!("{name}, by pair"), &every)] {
            table.row([
                what,
                it.count.to_string(),
                format!("{:.3}", it.mean / it.deviation),
                format!("{:.2}", it.skewness),
                format!("{:.2}", it.excess_kurtosis),
                format!("{:.3}", it.distance),
            ]);
        }
        raw.push(Series::new(name, histogram(&first, &one)));
        scaled.push(Series::new(name, histogram(&all, &every)));
        found.push((name.to_owned(), one, every));
    }
    let (name, one, every) = found.last().context("no set has near-duplicates")?;
    let least = |of: fn(&Found) -> f64| found.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&Found) -> f64| found.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let chart = |title: &str, series| Chart {
        title: title.to_owned(),
        x: Axis::linear("difference over its standard deviation"),
        y: Axis::linear("density").showing(0.0),
        series,
        about: "Pairs with a cosine of 0.9 or more whose words are not the same.".to_owned(),
    };
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Figure 1".to_owned(),
        title: "distribution of weight differences between near-duplicates".to_owned(),
        claim: "The differences at bit 0 of 45 million pairs look normal with mean 0, and so do those of other bits; no test is given.".to_owned(),
        ran_on: format!(
            "{}; at most {EACH} pairs a page",
            found.iter().map(|it| format!("{} pairs of {}", it.1.count, it.0)).collect::<Vec<_>>().join(", ")
        ),
        verdict: match found.iter().all(|it| it.1.looks_normal() && it.1.centred()) {
            true => Verdict::Agrees,
            false if found.iter().all(|it| it.1.centred()) => Verdict::Partly,
            false => Verdict::Differs,
        },
        sentence: format!(
            "The means at bit 0 are {:.2} to {:.2} deviations by set, {}; the distances to the normal distribution are {:.3} to {:.3} (normal: 0){}; on the {name} the excess kurtosis at bit 0 is {:.1} and the distance {:.3}, and over all bits, with each pair divided by its own spread, {:.1} and {:.3}{}.",
            least(|it| it.1.mean / it.1.deviation),
            most(|it| it.1.mean / it.1.deviation),
            match found.iter().all(|it| it.1.centred()) {
                true => "about 0 as in the thesis",
                false => "not all 0 as in the thesis",
            },
            least(|it| it.1.distance),
            most(|it| it.1.distance),
            match found.iter().all(|it| it.1.looks_normal()) {
                true => ", as normal as in the thesis",
                false => ", a higher peak and longer tails than in the thesis",
            },
            one.excess_kurtosis,
            one.distance,
            every.excess_kurtosis,
            every.distance,
            match every.distance < one.distance {
                true => ", so that it is edits of many sizes, mixed, that make the tails long",
                false => "",
            },
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![chart("Bit 0", raw), chart("All bits, each pair by its own spread", scaled)],
        data: json!(found),
    })
}

/// Differences at bit 0; and at all bits, divided by the pair's root mean square.
fn differences(set: &Vectors, pairs: &[(usize, usize)]) -> (Vec<f64>, Vec<f64>) {
    let (mut first, mut all) = (Vec::new(), Vec::new());
    for &(a, b) in pairs {
        let [one, other] = [a, b].map(|page| set.sums[page].as_array());
        let differ: Vec<f64> = one.iter().zip(other).map(|(x, y)| (y - x) as f64).collect();
        first.push(differ[0]);
        let spread = (differ.iter().map(|it| it * it).sum::<f64>() / 64.0).sqrt();
        if spread > 0.0 {
            all.extend(differ.iter().map(|it| it / spread));
        }
    }
    (first, all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_synth::{Web, WebOptions};

    #[test]
    fn each_pair_has_one_difference_at_bit_0_and_its_spread_is_1() {
        let set = Vectors::of_web(&Web::new(WebOptions::new(4, 1500)));
        let pairs = set.near(0.9, 2, 0);
        let (first, all) = differences(&set, &pairs);
        assert_eq!(first.len(), pairs.len());
        for pair in all.chunks(64) {
            let square: f64 = pair.iter().map(|it| it * it).sum::<f64>() / 64.0;
            assert!((square - 1.0).abs() < 1e-9);
        }
    }
}
