//! Time and tables.
//!
//! One-thread figures are CPU time of the measuring thread, because wall time depends on the load of the machine. For
//! several threads both are given: wall time as observed, and CPU time as an estimate with one core per thread.

use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table};
use cpu_time::ThreadTime;

/// Runs `work`; returns its result and CPU time of this thread.
pub(crate) fn cpu<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = ThreadTime::now();
    let result = work();
    (result, start.elapsed())
}

/// The fastest of `times` runs, which was disturbed least. All must give the same result.
pub(crate) fn best_cpu<T: PartialEq>(times: u32, mut work: impl FnMut() -> T) -> (T, Duration) {
    let (result, mut best) = cpu(&mut work);
    for _ in 1..times {
        let (again, took) = cpu(&mut work);
        assert!(again == result, "two runs of the same search disagree");
        best = best.min(took);
    }
    (result, best)
}

/// Runs `work`; returns its result and wall time.
pub(crate) fn wall<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

pub(crate) struct Row {
    pub(crate) engine: String,
    pub(crate) pages: usize,
    pub(crate) within: u32,
    pub(crate) recall: f64,
    pub(crate) bytes: Option<usize>,
    pub(crate) build: Option<Duration>,
    pub(crate) queries_per_second: f64,
}

/// Prints rows, each with the ratio of its speed to that of the row named `against`.
pub(crate) fn print(rows: &[Row], against: &str) {
    let ratio = format!("x {against}");
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header([
        "engine",
        "pages",
        "k",
        "recall",
        "bytes/page",
        "build s",
        "queries/s",
        "us/query",
        &ratio,
    ]);
    for column in 1..9 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        let speed = row.queries_per_second;
        // Compares with rows of the same number of pages and the same bound.
        let base = rows.iter().find(|base| {
            base.engine.starts_with(against) && (base.pages, base.within) == (row.pages, row.within)
        });
        table.add_row([
            row.engine.clone(),
            row.pages.to_string(),
            row.within.to_string(),
            format!("{:.4}", row.recall),
            row.bytes.map_or("-".into(), |b| format!("{:.1}", b as f64 / row.pages as f64)),
            row.build.map_or("-".into(), |b| format!("{:.1}", b.as_secs_f64())),
            format!("{speed:.0}"),
            format!("{:.2}", 1e6 / speed),
            base.map_or("-".into(), |b| format!("{:.1}", speed / b.queries_per_second)),
        ]);
    }
    println!("{table}");
}
