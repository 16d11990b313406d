//! Time to find the k most likely sets of flips of a fingerprint (Figure 7a).
//!
//! Compares the thesis's heap, for 21 and 34 leading bits, with the engine's time per set: the engine enumerates
//! without a heap, because a batch is sorted differently anyway. Its time is predicted from constants measured on
//! this machine immediately before.

use std::time::Instant;

use anyhow::{Result, ensure};
use hapax::index::plan::Machine;
use hapax_report::chart::{Axis, Chart, Series};
use serde_json::json;

use super::attempts::{Heap, chances};
use crate::bench::Bench;
use crate::clock::best_cpu;
use crate::record::{Record, Table, Verdict};
use crate::synthetic::DocumentSet;

const SETS: [usize; 7] = [1, 5, 10, 20, 40, 80, 160];

pub(super) fn figure_7a(bench: &Bench<'_>) -> Result<()> {
    const NAME: &str = "sood-figure-7-a";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let fingerprints = bench.size.of(2_000, 20_000);
    let set = DocumentSet::new(6, 0, fingerprints);
    let started = Instant::now();
    let machine = Machine::calibrate(&mut || started.elapsed().as_nanos() as u64);
    let mut table = Table::new(["k", "p = 21, us", "p = 34, us", "engine, predicted us"]);
    let mut lines: [Vec<(f64, f64)>; 3] = Default::default();
    for k in SETS {
        let mut row = vec![k.to_string()];
        for (line, prefix) in [(0, 21), (1, 34)] {
            let (weights, seconds) = best_cpu(2, || {
                let mut covered = 0.0;
                for sums in &set.sums {
                    let mut heap = Heap::new(&chances(sums), prefix, 3);
                    let sets = std::iter::from_fn(|| heap.next()).take(k);
                    covered += sets.map(|set| set.1.exp()).sum::<f64>();
                }
                covered
            });
            // Probabilities by (4.5) are near 1 for the weakest bits.
            ensure!(weights > 0.0 && weights <= (k * fingerprints) as f64, "no probabilities");
            let microseconds = seconds * 1e6 / set.sums.len() as f64;
            lines[line].push((k as f64, microseconds));
            row.push(format!("{microseconds:.2}"));
        }
        let engine = (machine.ranked + k as f64 * machine.near_combination) * 1e-3;
        lines[2].push((k as f64, engine));
        row.push(format!("{engine:.2}"));
        table.row(row);
    }
    let [short, long, engine] = lines;
    let at = |line: &[(f64, f64)], k: f64| line.iter().find(|it| it.0 == k).map_or(0.0, |it| it.1);
    let (twenty, most) = (at(&short, 20.0), at(&short, 160.0));
    let ratio = long.iter().zip(&short).map(|(a, b)| a.1 / b.1).sum::<f64>() / SETS.len() as f64;
    let rises = [&short, &long].iter().all(|line| line.is_sorted_by(|a, b| a.1 <= b.1));
    let sentence = format!(
        "160 sets take {:.1} times as long as 20, and 34 bits {ratio:.2} times as long as 21; {twenty:.1} us a fingerprint at k = 20 are {:.0} s for ten million on one core, and the engine is predicted to take {:.1} us for ranking, enumerating and looking up as many.",
        most / twenty,
        twenty * 10.0,
        at(&engine, 20.0),
    );
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Figure 7(a)".to_owned(),
        title: "preprocessing time".to_owned(),
        claim: "Time to find the k weakest combinations of 10 million fingerprints rises with k, for p = 21 and p = 34 (a collection of eight billion); drawn without numbers.".to_owned(),
        ran_on: format!("{fingerprints} synthetic documents, sets of at most 3 bits, one thread; the thesis's heap"),
        verdict: if rises { Verdict::Agrees } else { Verdict::Differs },
        sentence,
        size: bench.size,
        table: Some(table),
        charts: vec![Chart {
            title: "Finding the likeliest sets of flips".to_owned(),
            x: Axis::logarithmic("sets found (k)"),
            y: Axis::logarithmic("microseconds a fingerprint"),
            series: vec![
                Series::new("thesis's heap, p = 21", short),
                Series::new("thesis's heap, p = 34", long),
                Series::reference("engine, with the look-ups, predicted", engine),
            ],
            about: String::new(),
        }],
        data: json!({ "ranked ns": machine.ranked, "combination ns": machine.near_combination }),
    })
}
