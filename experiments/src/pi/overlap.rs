//! Queries chosen to show different documents (the idea of Figure 7).
//!
//! The paper takes the most frequent queries and notes that a choice with little overlap would be better. The
//! engine's greedy order next takes the query with the most unseen documents, weighted by its frequency. Reports
//! documents seen and duplicates removed for prefixes of both orders.

use anyhow::{Context, Result, ensure};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_report::grouped;
use hapax_search::choose::Sample;
use hapax_search::clean::figures::Coverage;
use hapax_search::job::{JobOptions, Outcome, Ranked, all_at_once};
use serde_json::json;

use super::library::Library;
use crate::bench::Bench;
use crate::record::{Record, Table, Verdict};

#[derive(Clone, Copy, serde::Serialize)]
struct Point {
    queries: u64,
    /// Documents seen and duplicates removed; by frequency and by overlap.
    seen: (u64, u64),
    removed: (usize, usize),
}

pub(super) fn run(bench: &Bench<'_>, library: &Library, all: &Outcome) -> Result<()> {
    const NAME: &str = "pi-figure-7";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let queries = &library.queries;
    let coverage = Coverage::of(queries, &all.queries, Sample { one_of: 1 });
    let options = JobOptions::new(&library.policy);
    let removed = |chosen: &[Ranked]| -> Result<usize> {
        Ok(all_at_once(&library.engine, chosen, &options, |_| ())?.removed.len())
    };
    let mut points: Vec<Point> = Vec::new();
    for covered in coverage.curve(queries).into_iter().filter(|it| it.queries >= 5) {
        let most = covered.queries;
        let by_overlap: Vec<Ranked> = queries
            .iter()
            .zip(&coverage.order_by_overlap)
            .filter(|(_, place)| **place <= most)
            .map(|(query, _)| query.clone())
            .collect();
        ensure!(by_overlap.len() as u64 == most, "an order has every query once");
        points.push(Point {
            queries: most,
            seen: (covered.by_frequency, covered.by_overlap),
            removed: (removed(&queries[..most as usize])?, removed(&by_overlap)?),
        });
    }
    let last = points.last().context("there are queries")?;
    ensure!(
        last.removed == (all.removed.len(), all.removed.len()),
        "all queries find the same in any order"
    );
    ensure!(last.seen.0 == last.seen.1, "all queries show the same in any order");
    let mut table = Table::new([
        "queries",
        "seen, by frequency",
        "seen, by overlap",
        "removed, by frequency",
        "removed, by overlap",
        "times",
    ]);
    for point in &points {
        table.row([
            point.queries.to_string(),
            point.seen.0.to_string(),
            point.seen.1.to_string(),
            point.removed.0.to_string(),
            point.removed.1.to_string(),
            format!("{:.2}", point.removed.1 as f64 / point.removed.0.max(1) as f64),
        ]);
    }
    let hundred = points.iter().find(|it| it.queries == 100).unwrap_or(last);
    let line = |of: fn(&Point) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|it| (it.queries as f64, of(it))).collect()
    };
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Figure 7".to_owned(),
        title: "queries chosen to overlap little".to_owned(),
        claim: "Top queries overlap; \"a better choice would select queries about different interest, completely mutual or with very small overlapping portion\". Drawn as an idea, without numbers.".to_owned(),
        ran_on: format!("{} pages: {}; k = 3, all at once", library.pages(), library.about),
        verdict: match hundred.removed.1 > hundred.removed.0 {
            true => Verdict::Agrees,
            false => Verdict::Differs,
        },
        sentence: format!(
            "{} queries chosen by overlap show {} documents and remove {} duplicates where the {} most frequent show {} and remove {}, {:.2} times as many; with all {} queries both orders end at the same {}.",
            hundred.queries,
            grouped(hundred.seen.1),
            grouped(hundred.removed.1 as u64),
            hundred.queries,
            grouped(hundred.seen.0),
            grouped(hundred.removed.0 as u64),
            hundred.removed.1 as f64 / hundred.removed.0.max(1) as f64,
            grouped(last.queries),
            grouped(last.removed.0 as u64),
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![
            Chart {
                title: "Removed by the first queries".to_owned(),
                x: Axis::logarithmic("queries processed"),
                y: Axis::linear("documents removed").showing(0.0),
                series: vec![
                    Series::new("by frequency", line(|it| it.removed.0 as f64)),
                    Series::new("by overlap", line(|it| it.removed.1 as f64)),
                ],
                about: String::new(),
            },
            Chart {
                title: "Seen in the results of the first queries".to_owned(),
                x: Axis::logarithmic("queries processed"),
                y: Axis::linear("documents").showing(0.0),
                series: vec![
                    Series::new("by frequency", line(|it| it.seen.0 as f64)),
                    Series::new("by overlap", line(|it| it.seen.1 as f64)),
                ],
                about: String::new(),
            },
        ],
        data: json!(points),
    })
}
