//! Measures time per query and bytes per page against the number of pages, for every power of two: batched find-all,
//! one thread, CPU time.
//!
//! Scan and tables run on uniform fingerprints with planted neighbours, all of which must be found; on a sample the
//! tables must agree with the scan. The planner chooses the tables within `--memory`. Weak bits run on documents: see
//! `weak`. Each index is dropped before the next is built; peak memory is printed at the end.
//!
//! ```text
//! cargo run --release -p hapax-bench -- growth --to 27 --plot growth.svg
//! ```

mod weak;

use anyhow::{Context, ensure};
use hapax::fingerprint::MaxDistance;
use hapax::index::plan::{Engine, Machine, Request, candidates};
use hapax::index::{Collection, HammingIndex, Match, Query, Scan, TableOptions, Tables};
use std::path::PathBuf;

use crate::measure::{Row, best_cpu, print};
use crate::near::planted::Planted;
use crate::plot::{Charts, Point, draw};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Log2 of the smallest number of pages
    #[arg(long, default_value_t = 16)]
    from: u32,
    /// Log2 of the largest number of pages
    #[arg(long, default_value_t = 22)]
    to: u32,
    /// Distances; each is a line of the plot
    #[arg(long, value_delimiter = ',', default_value = "3,6")]
    within: Vec<u8>,
    /// Number of queries at each size
    #[arg(long, default_value_t = 200_000)]
    queries: usize,
    /// Recall of weak bits
    #[arg(long, default_value_t = 0.95)]
    recall: f64,
    /// Memory limit of an exact index in gigabytes
    #[arg(long, default_value_t = 6.0)]
    memory: f64,
    /// Output file of the plot
    #[arg(long)]
    plot: Option<PathBuf>,
}

/// More tables improve little.
const MOST_TABLES: u64 = 10;

const CHARTS: Charts = Charts {
    time: "microseconds per query, one thread, by number of pages",
    bytes: "bytes per page, by number of pages",
    logarithmic: true,
    bytes_of: None,
    label: |pages| format!("2<tspan dy='-5' font-size='10'>{}</tspan>", pages.ilog2()),
};

/// Number of queries for which engines are compared with the scan.
const CHECKED: usize = 100;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(arguments.from <= arguments.to && arguments.to <= 30, "--from to --to, at most 30");
    let mut rows: Vec<Row> = Vec::new();
    let documents = weak::QueryDocuments::new(arguments.queries / 2, arguments.recall)?;
    for &within in &arguments.within {
        let bound = MaxDistance::new(within).context("a fingerprint has 64 bits")?;
        let known = documents.learn(bound)?;
        for power in arguments.from..=arguments.to {
            let already = rows.len();
            rows.extend(exact(1 << power, bound, arguments)?);
            rows.push(documents.measure(1 << power, &known)?);
            for row in &rows[already..] {
                let microseconds = 1e6 / row.queries_per_second;
                eprintln!("2^{power} within {within}: {}, {microseconds:.2} us", row.engine);
            }
        }
    }
    print(&rows, "scan");
    if let Some(peak) = peak_memory() {
        println!("at most {peak:.2} GiB of memory were held");
    }
    if let Some(path) = &arguments.plot {
        let svg = draw(&points(&rows, arguments.recall), &CHARTS);
        std::fs::write(path, svg).with_context(|| path.display().to_string())?;
        eprintln!("plot: {}", path.display());
    }
    Ok(())
}

/// Measures the scan and the tables.
fn exact(pages: usize, bound: MaxDistance, arguments: &Arguments) -> anyhow::Result<[Row; 2]> {
    let Planted { stored, queries, truth } =
        Planted::new(pages as u64, pages, arguments.queries, bound.bits());
    let entries = Planted { stored, queries: Vec::new(), truth: Vec::new() };
    let scan = Scan::new(Collection::new(entries.entries())?);
    drop(entries);
    let queries: Vec<Query<'_>> = queries.iter().map(|&q| Query::from(q)).collect();
    let checked = &queries[..CHECKED.min(queries.len())];
    let (scanned_answers, scanned) = best_cpu(1, || scan.find_all_batch(checked, bound));
    let scanned_answers = scanned_answers?;
    let row = |engine: String, index: &dyn HammingIndex, queries_per_second: f64| Row {
        engine,
        pages,
        within: bound.bits(),
        recall: 1.0,
        bytes: Some(index.memory_bytes()),
        build: None,
        queries_per_second,
    };
    let scan_row = row("scan".into(), &scan, checked.len() as f64 / scanned.as_secs_f64());

    let options = planned(pages, bound, arguments.memory)?;
    let index = Tables::build(scan.into_collection(), options)?;
    let (answers, took) = best_cpu(3, || index.find_all_batch(&queries, bound));
    let answers = answers?;
    for (number, expected) in scanned_answers.iter().enumerate() {
        ensure!(answers.of(number) == expected, "query {number} differs from the scan");
    }
    for &(query, id, distance) in &truth {
        ensure!(answers.of(query).contains(&Match { distance, id }), "a planted page was missed");
    }
    let name = format!("tables ({})", index.design().keys().len());
    Ok([scan_row, row(name, &index, queries.len() as f64 / took.as_secs_f64())])
}

/// The fastest tables that fit into memory.
fn planned(pages: usize, bound: MaxDistance, gigabytes: f64) -> anyhow::Result<TableOptions> {
    let machine = Machine::typical();
    let request = Request::new(pages as u64, bound).memory((gigabytes * 1e9) as u64);
    let fastest = candidates(&request, &machine)?
        .into_iter()
        .filter(|candidate| candidate.fits && candidate.engine.tables() <= MOST_TABLES)
        .filter_map(|candidate| match candidate.engine {
            Engine::Tables(design) => Some((candidate.nanoseconds_per_query, design)),
            _ => None,
        })
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let (_, design) = fastest.context("no tables fit; give more --memory")?;
    Ok(TableOptions::within(bound).design(design).costs(machine.costs(pages)))
}

/// Lines of the plot. A scan takes the same time for any distance, so it has one line.
fn points(rows: &[Row], recall: f64) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for row in rows {
        let line = match row.engine.split_once(" (") {
            Some(("tables", _)) => format!("tables, k = {}", row.within),
            Some((name, _)) => format!("{name} {recall}, k = {}", row.within),
            None => row.engine.clone(),
        };
        if !points.iter().any(|p| p.line == line && p.pages == row.pages) {
            let bytes = row.bytes.unwrap_or(0) as f64 / row.pages as f64;
            let microseconds = 1e6 / row.queries_per_second;
            points.push(Point { line, pages: row.pages, microseconds, bytes });
        }
    }
    points
}

/// Peak memory of this process in GiB; `None` if the system does not report it.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes / 1024.0 / 1024.0)
}
