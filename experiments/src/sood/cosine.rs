//! Hamming distance compared with cosine: the cost of each (Table II), and their agreement (Figure 6).
//!
//! Similar means a cosine of 0.9, as in the thesis. Precision and recall are over pairs with different fingerprints,
//! because the thesis's pages contain no exact duplicates.

use anyhow::{Context, Result, ensure};
use hapax_report::chart::{Axis, Chart, Series};
use rayon::prelude::*;
use serde_json::json;

use super::vectors::Vectors;
use crate::bench::Bench;
use crate::clock::best_cpu;
use crate::real::sampled;
use crate::record::{Record, Table, Verdict};

/// Number of documents in Table II.
const TABLE_PAGES: usize = 1000;

/// Minimum cosine of a similar pair.
const SIMILAR: f32 = 0.9;

/// Largest distance in the figures.
const WIDEST: usize = 20;

pub(super) fn table_2(bench: &Bench<'_>, sets: &[Vectors]) -> Result<()> {
    const NAME: &str = "sood-table-2";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let mut table = Table::new([
        "pages",
        "Hamming, s",
        "cosine, s",
        "times",
        "fingerprints, bytes",
        "vectors, bytes",
        "times ",
    ]);
    let mut factors = Vec::new();
    let mut each = (0.0, 0.0, 0.0);
    for set in sets {
        let pages = set.len().min(TABLE_PAGES);
        let bits = &set.bits[..pages];
        let (sum, hamming) = best_cpu(20, || {
            let one = |(at, a): (usize, &u64)| {
                bits[at + 1..].iter().map(|b| u64::from((a ^ b).count_ones())).sum::<u64>()
            };
            bits.iter().enumerate().map(one).sum::<u64>()
        });
        ensure!(sum > 0, "all fingerprints of {} are the same", set.name);
        let (total, cosine) = best_cpu(1, || {
            let one = |a: usize| (a + 1..pages).map(|b| f64::from(set.cosine(a, b))).sum::<f64>();
            (0..pages).map(one).sum::<f64>()
        });
        let checked: f64 = (0..pages)
            .map(|a| set.cosines(a, pages)[a + 1..].iter().map(|&it| f64::from(it)).sum::<f64>())
            .sum();
        ensure!((checked - total).abs() < 1e-3 * total.max(1.0), "two ways to a cosine differ");
        let (small, large) = (pages * 8, set.bytes(pages));
        factors.push((set.name.clone(), cosine / hamming, large as f64 / small as f64));
        let pairs = (pages * (pages - 1) / 2) as f64;
        each = (hamming / pairs * 1e9, cosine / pairs * 1e9, large as f64 / pages as f64);
        table.row([
            format!("{} {}", pages, set.name),
            format!("{hamming:.6}"),
            format!("{cosine:.3}"),
            format!("{:.0}", cosine / hamming),
            small.to_string(),
            large.to_string(),
            format!("{:.0}", large as f64 / small as f64),
        ]);
    }
    table.row(["1000, thesis", "0.04", "1.914", "48", "8000", "27000000", "3375"]);
    let (name, time, space) = factors.last().context("there are sets")?;
    let chart = Chart {
        title: "All pairs of the pages".to_owned(),
        x: Axis::linear("set (1 is the thesis)"),
        y: Axis::logarithmic("how many times as much cosines take"),
        series: vec![
            Series::new("time", numbered(48.0, factors.iter().map(|it| it.1))),
            Series::new("space", numbered(3375.0, factors.iter().map(|it| it.2))),
        ],
        about: "Cosine of weighted words against Hamming distance of fingerprints.".to_owned(),
    };
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Table II".to_owned(),
        title: "all-pair Hamming distance and cosine similarity".to_owned(),
        claim: "1000 pages: 0.04 s and 8000 bytes for fingerprints, 1.914 s and 27 MB for word vectors, 48 and 3375 times as much.".to_owned(),
        ran_on: format!("the first {TABLE_PAGES} pages of each set, all pairs once, one thread"),
        verdict: match factors.iter().all(|it| it.1 > 1.0 && it.2 > 1.0) {
            true if factors.iter().all(|it| about(it.1, 48.0) && about(it.2, 3375.0)) => {
                Verdict::Agrees
            }
            true => Verdict::Partly,
            false => Verdict::Differs,
        },
        sentence: format!(
            "On the {name} cosines take {time:.0} times as long as Hamming distances (thesis: 48) and {space:.0} times the space (thesis: 3375): a distance takes {:.2} ns here and 80 ns in the thesis, as processors now count bits in one instruction, a cosine {:.0} ns and 3832 ns, and a page's words take {:.0} bytes and 27,000, counting 12 for a word.",
            each.0, each.1, each.2,
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![chart],
        data: json!(factors),
    })
}

/// Whether two numbers agree within a factor of 3.
fn about(measured: f64, stated: f64) -> bool {
    (stated / 3.0..=stated * 3.0).contains(&measured)
}

fn numbered(stated: f64, measured: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    (1u32..).map(f64::from).zip([stated].into_iter().chain(measured)).collect()
}

/// Counts of pairs by distance.
struct ByDistance {
    pairs: Vec<u64>,
    similar: Vec<u64>,
    cosines: Vec<f64>,
}

impl ByDistance {
    fn new() -> Self {
        Self { pairs: vec![0; 65], similar: vec![0; 65], cosines: vec![0.0; 65] }
    }

    fn add(&mut self, distance: u32, cosine: f32) {
        let at = distance as usize;
        self.pairs[at] += 1;
        self.similar[at] += u64::from(cosine >= SIMILAR);
        self.cosines[at] += f64::from(cosine);
    }

    fn with(mut self, other: &Self) -> Self {
        self.pairs.iter_mut().zip(&other.pairs).for_each(|(sum, more)| *sum += more);
        self.similar.iter_mut().zip(&other.similar).for_each(|(sum, more)| *sum += more);
        self.cosines.iter_mut().zip(&other.cosines).for_each(|(sum, more)| *sum += more);
        self
    }

    /// Share of similar pairs among pairs within `most` bits; `None` without pairs.
    fn precision(&self, most: usize) -> Option<f64> {
        let within = self.pairs[1..=most].iter().sum::<u64>();
        (within > 0).then(|| self.similar[1..=most].iter().sum::<u64>() as f64 / within as f64)
    }

    /// Share of similar pairs that are within `most` bits.
    fn recall(&self, most: usize) -> f64 {
        let all = self.similar[1..].iter().sum::<u64>().max(1);
        self.similar[1..=most].iter().sum::<u64>() as f64 / all as f64
    }

    fn mean_cosine(&self, at: usize) -> Option<f64> {
        (self.pairs[at] > 0).then(|| self.cosines[at] / self.pairs[at] as f64)
    }
}

pub(super) fn figure_6(bench: &Bench<'_>, sets: &[Vectors]) -> Result<()> {
    const NAME: &str = "sood-figure-6";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let rows = bench.size.of(400, 1500);
    let documents = bench.size.of(4000, 8000);
    let mut all: Vec<(String, ByDistance, usize)> = Vec::new();
    for set in sets {
        bench.say(format!("  cosines of {}", set.name));
        let documents = set.len().min(documents);
        let sample: Vec<usize> = sampled(documents, rows).collect();
        let found = sample
            .par_iter()
            .map(|&a| {
                let mut found = ByDistance::new();
                for (b, cosine) in set.cosines(a, documents).into_iter().enumerate() {
                    if a != b {
                        found.add((set.bits[a] ^ set.bits[b]).count_ones(), cosine);
                    }
                }
                found
            })
            .reduce(ByDistance::new, |a, b| a.with(&b));
        all.push((set.name.clone(), found, documents));
    }
    let stated = [(1.0, 0.95), (2.0, 0.93), (3.0, 0.89)];
    let mut table = Table::new(["set", "k", "pairs", "precision", "recall", "mean cosine at k"]);
    for (name, found, _) in &all {
        for k in [1, 2, 3, 4, 6, 8, 10] {
            let or_none = |value: Option<f64>| value.map_or("-".into(), |it| format!("{it:.3}"));
            table.row([
                name.clone(),
                k.to_string(),
                found.pairs[1..=k].iter().sum::<u64>().to_string(),
                or_none(found.precision(k)),
                format!("{:.3}", found.recall(k)),
                or_none(found.mean_cosine(k)),
            ]);
        }
    }
    let line = |of: &dyn Fn(usize) -> Option<f64>| {
        (1..=WIDEST).filter_map(|k| Some((k as f64, of(k)?))).collect::<Vec<_>>()
    };
    let (mut share, mut cosine) = (Vec::new(), vec![Series::reference("thesis", stated.to_vec())]);
    for (name, found, _) in &all {
        if name == "synthetic web" || all.len() <= 3 {
            share.push(Series::new(format!("precision, {name}"), line(&|k| found.precision(k))));
            share.push(Series::new(format!("recall, {name}"), line(&|k| Some(found.recall(k)))));
        }
        cosine.push(Series::new(name.clone(), line(&|k| found.mean_cosine(k))));
    }
    let real = all.iter().filter(|it| it.0 != "synthetic web");
    let pooled = real.fold(ByDistance::new(), |sum, it| sum.with(&it.1));
    if all.len() > 3 {
        share.push(Series::new("precision, real sets", line(&|k| pooled.precision(k))));
        share.push(Series::new("recall, real sets", line(&|k| Some(pooled.recall(k)))));
    }
    let (_, last, _) = all.last().context("there are sets")?;
    let precise = all.iter().filter_map(|it| it.1.precision(3)).all(|it| it > 0.7);
    let far = all.iter().all(|it| it.1.precision(3).is_none_or(|high| it.1.recall(3) < high));
    let alike = stated.iter().all(|&(k, cosine)| {
        [last, &pooled]
            .iter()
            .filter_map(|it| it.mean_cosine(k as usize))
            .all(|it| (it - cosine).abs() < 0.05)
    });
    let means = |of: &ByDistance| {
        [1, 2, 3].map(|k| of.mean_cosine(k).map_or("-".into(), |it| format!("{it:.2}"))).join(", ")
    };
    // Two vectors at angle t differ in a bit with probability t / pi.
    let by_angle = [1.0, 2.0, 3.0].map(|k: f64| (std::f64::consts::PI * k / 64.0).cos());
    let chart = |title: &str, y: &str, series| Chart {
        title: title.to_owned(),
        x: Axis::linear("Hamming distance").showing(0.0),
        y: Axis::linear(y).showing(0.0).showing(1.0),
        series,
        about: "Pairs with equal fingerprints are left out.".to_owned(),
    };
    let threes: Vec<String> = all
        .iter()
        .map(|(name, found, _)| {
            let precision = found.precision(3).map_or("none".into(), |it| format!("{it:.2}"));
            format!("{name} {precision} and {:.2}", found.recall(3))
        })
        .collect();
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Figure 6".to_owned(),
        title: "Hamming distance against cosine similarity".to_owned(),
        claim: "Precision is high and recall low at small distances, k = 3 balances them; pairs at distance 1, 2 and 3 have a mean cosine of 0.95, 0.93 and 0.89.".to_owned(),
        ran_on: format!(
            "{}; {rows} documents of each set against all of it",
            all.iter().map(|it| format!("{} of {}", it.2, it.0)).collect::<Vec<_>>().join(", ")
        ),
        verdict: if precise && far && alike { Verdict::Agrees } else { Verdict::Partly },
        sentence: format!(
            "Precision and recall at 3 bits are {}; pairs at distance 1, 2 and 3 have a mean cosine of {} on the synthetic web and {} on real pages, where the thesis has 0.95, 0.93, 0.89 and the angle that so many of 64 bits stand for has {}.",
            threes.join(", "),
            means(last),
            means(&pooled),
            by_angle.map(|it| format!("{it:.2}")).join(", "),
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![
            chart("Similar pairs", "share", share),
            chart("Mean cosine", "cosine", cosine),
        ],
        data: json!(all.iter().map(|(name, it, _)| json!({
            "set": name, "pairs": it.pairs[..=32], "similar": it.similar[..=32],
        })).collect::<Vec<_>>()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_and_recall_count_pairs_that_differ() {
        let mut found = ByDistance::new();
        for (distance, cosine) in [(0, 1.0), (1, 0.95), (2, 0.5), (3, 0.92), (9, 0.91)] {
            found.add(distance, cosine);
        }
        assert_eq!(found.precision(1), Some(1.0));
        assert_eq!(found.precision(3), Some(2.0 / 3.0));
        assert_eq!(found.recall(3), 2.0 / 3.0);
        assert_eq!(found.mean_cosine(2), Some(0.5));
        assert_eq!(ByDistance::new().precision(3), None);
    }
}
