//! How do time per query and bytes per page grow with the number of pages?
//!
//! ```text
//! cargo run --release -p hapax-bench -- growth --to 24 --plot growth.svg
//! ```
//!
//! For every power of two: uniform fingerprints with planted neighbours, batched find-all, one
//! thread, CPU time. All planted neighbours must be found, and on a sample every engine must
//! answer as the scan does, before a point is drawn.

mod plot;

use anyhow::{Context, ensure};
use hapax::fingerprint::MaxDistance;
use hapax::index::{Collection, HammingIndex, Match, Query, Scan, TableOptions, Tables};
use std::path::PathBuf;

use crate::measure::{Row, best_cpu, print};
use crate::near::planted::Planted;
use plot::Point;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The smallest set has two to this power
    #[arg(long, default_value_t = 16)]
    from: u32,
    /// The largest set has two to this power
    #[arg(long, default_value_t = 22)]
    to: u32,
    /// Distances, each a line of the plot
    #[arg(long, value_delimiter = ',', default_value = "3,6")]
    within: Vec<u8>,
    /// How many queries are asked at each size
    #[arg(long, default_value_t = 200_000)]
    queries: usize,
    /// Where to draw the plot
    #[arg(long)]
    plot: Option<PathBuf>,
}

/// Queries on which engines are judged by the scan.
const JUDGED: usize = 100;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(arguments.from <= arguments.to && arguments.to <= 30, "--from to --to, at most 30");
    let (mut rows, mut points) = (Vec::new(), Vec::new());
    for power in arguments.from..=arguments.to {
        for &within in &arguments.within {
            let bound = MaxDistance::new(within).context("a fingerprint has 64 bits")?;
            measure(1 << power, bound, arguments.queries, &mut rows, &mut points)?;
        }
    }
    print(&rows, "scan");
    if let Some(path) = &arguments.plot {
        std::fs::write(path, plot::draw(&points)).with_context(|| path.display().to_string())?;
        eprintln!("plot: {}", path.display());
    }
    Ok(())
}

fn measure(
    pages: usize,
    bound: MaxDistance,
    queries: usize,
    rows: &mut Vec<Row>,
    points: &mut Vec<Point>,
) -> anyhow::Result<()> {
    let planted = Planted::new(pages as u64, pages, queries, bound.bits());
    let queries: Vec<Query<'_>> = planted.queries.iter().map(|&q| Query::from(q)).collect();
    let collection = Collection::new(planted.entries())?;
    let scan = Scan::new(collection.clone());
    let judged = &queries[..JUDGED.min(queries.len())];
    let (judge, scanned) = best_cpu(1, || scan.find_all_batch(judged, bound));
    let judge = judge?;
    let index = Tables::build(collection, TableOptions::within(bound))?;
    let (answers, took) = best_cpu(3, || index.find_all_batch(&queries, bound));
    let answers = answers?;
    for (number, expected) in judge.iter().enumerate() {
        ensure!(answers.of(number) == expected, "query {number} differs from the scan");
    }
    for &(query, id, distance) in &planted.truth {
        ensure!(answers.of(query).contains(&Match { distance, id }), "a planted page was missed");
    }
    let tables = index.design().keys().len();
    for (engine, bytes, asked, took) in [
        ("scan".to_owned(), scan.memory_bytes(), judged.len(), scanned),
        (format!("tables ({tables})"), index.memory_bytes(), queries.len(), took),
    ] {
        let seconds = took.as_secs_f64() / asked as f64;
        // A scan takes as long for any distance: one line is enough.
        let line = match engine.split_once(' ') {
            Some((name, _)) => format!("{name}, k = {bound}"),
            None => engine.clone(),
        };
        if points.iter().any(|p: &Point| p.line == line && p.pages == pages) {
            continue;
        }
        points.push(Point {
            line,
            pages,
            microseconds: 1e6 * seconds,
            bytes: bytes as f64 / pages as f64,
        });
        rows.push(Row {
            engine,
            pages,
            within: bound.bits(),
            recall: 1.0,
            bytes: Some(bytes),
            build: None,
            queries_per_second: 1.0 / seconds,
        });
    }
    Ok(())
}
