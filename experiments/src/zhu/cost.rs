//! Figure 9: machines saved by removing near-duplicates early, in a small model.
//!
//! The inputs are the paper's where it states them, and otherwise stated with the result. Nothing is measured here.

use anyhow::Result;
use hapax_report::chart::{Axis, Chart, Series};
use serde_json::json;

use crate::bench::Bench;
use crate::record::{Record, Table, Verdict};

/// Stated by the paper: replicas of every online machine, and the shares of pages that each scheme
/// removes.
const REPLICAS: f64 = 2.0;
const REMOVED_A: f64 = 0.05;
const REMOVED_B: f64 = 0.33;
/// Our assumptions: million pages served by an online machine of the first tier, and compared by an
/// offline machine.
const ONLINE_MILLIONS: f64 = 10.0;
const OFFLINE_MILLIONS: f64 = 100.0;
/// According to the paper, a first tier with fewer duplicates answers 5 to 10 % more queries; this
/// is the middle.
const ANSWERS_MORE: f64 = 0.075;

/// Machines of both schemes for a database of this many billion pages.
fn machines(billions: f64, tier_one: f64, tier_two_traffic: f64) -> (f64, f64) {
    let per_billion = 1_000.0 / ONLINE_MILLIONS * REPLICAS;
    // A machine of the second tier gets fewer queries and serves that many times more pages.
    let online = |removed: f64, first: f64| {
        let pages = billions * (1.0 - removed);
        let one = pages.min(tier_one);
        (one * first + (pages - one) * tier_two_traffic) * per_billion
    };
    let offline = billions * 1_000.0 / OFFLINE_MILLIONS;
    (online(REMOVED_A, 1.0), online(REMOVED_B, 1.0 / (1.0 + ANSWERS_MORE)) + offline)
}

pub(super) fn run(bench: &Bench<'_>) -> Result<()> {
    if !bench.wants("zhu-figure-9") {
        return Ok(());
    }
    let sizes = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let curves = [(1.4, 1.0 / 3.0), (1.4, 0.25), (2.5, 1.0 / 3.0), (2.5, 0.25)];
    let saved = |billions: f64, (tier, traffic): (f64, f64)| {
        let (a, b) = machines(billions, tier, traffic);
        100.0 * (1.0 - b / a)
    };
    let name = |(tier, traffic): (f64, f64)| format!("T{tier}, tier 2 gets 1/{:.0}", 1.0 / traffic);
    let mut table = Table::new(std::iter::once("billion pages".to_owned()).chain(curves.map(name)));
    for billions in sizes {
        let cells = curves.map(|curve| format!("{:.1} %", saved(billions, curve)));
        table.row(std::iter::once(format!("{billions}")).chain(cells));
    }
    let all: Vec<f64> =
        sizes.iter().flat_map(|&size| curves.map(|curve| saved(size, curve))).collect();
    let (least, most) =
        all.iter().fold((f64::INFINITY, 0f64), |(low, high), &it| (low.min(it), high.max(it)));
    bench.keep(Record {
        name: "zhu-figure-9".into(),
        figure: "Figure 9".into(),
        title: "machines saved by removing near-duplicates offline".into(),
        claim: "8.2 % to 25.6 % fewer machines for 3 to 8 billion pages, with 1.4 or 2.5 billion pages in the first tier.".into(),
        ran_on: format!(
            "a model. From the paper: {REPLICAS} replicas, {:.0} % of pages removed against {:.0} %, a third or a quarter of the traffic reaches the second tier, a cleaner first tier answers 5 to 10 % more (taken: {:.1} %). Ours: {ONLINE_MILLIONS:.0} million pages an online machine, {OFFLINE_MILLIONS:.0} million an offline machine, a second-tier machine serves as many times more pages as it is asked less.",
            100.0 * REMOVED_A, 100.0 * REMOVED_B, 100.0 * ANSWERS_MORE
        ),
        verdict: Verdict::Modelled,
        sentence: format!(
            "The model saves {least:.1} % to {most:.1} %, about the paper's range, with inputs of which the paper states half; it leaves out the saved communication that the paper counts besides."
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![Chart {
            title: "Machines saved".into(),
            x: Axis::linear("billion pages"),
            y: Axis::linear("%").showing(0.0),
            series: curves
                .map(|curve| Series::reference(name(curve), sizes.map(|size| (size, saved(size, curve))).to_vec()))
                .to_vec(),
            about: "A model with stated inputs.".into(),
        }],
        data: json!({ "least_percent": least, "most_percent": most }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_more_saves_machines_and_removing_the_same_does_not() {
        let (a, b) = machines(8.0, 1.4, 1.0 / 3.0);
        assert!(b < a);
        // 7.6 billion pages, of which 1.4 at full cost and 6.2 at a third.
        assert!((a - 200.0 * (1.4 + 6.2 / 3.0)).abs() < 1e-9);
    }
}
