//! Measures one segment in every engine and encoding: bytes, opening, searching.
//!
//! The file is cached when opening is timed, because checks are measured and not the disk. Rates are queries per CPU
//! second of this thread, in batches.

use std::sync::Arc;
use std::time::Duration;

use comfy_table::Table;
use hapax::fingerprint::{MaxDistance, RecipeId};
use hapax::index::HammingIndex;
use hapax::index::segment::{Encoding, Segment, SegmentEngine, SegmentView, SharedBytes};

use crate::timing::{Rate, grouped, rate, timed};

pub(crate) fn run(entries: u64, bound: MaxDistance) -> anyhow::Result<()> {
    let (all, queries) = crate::data(entries, 0, bound);
    let recipe: RecipeId = "bench-1:0000000000000000".parse()?;
    let least = Duration::from_secs(1);
    let (built, scan) = timed(|| Segment::build(all, SegmentEngine::Scan, bound));
    let scan = scan?;
    // A scan of many queries is slow, so it gets a sample.
    let few = &queries[..queries.len().min(256)];
    let (scan_rate, expected) = rate(&scan, few, bound, least)?;

    let mut table = Table::new();
    table.set_header([
        "segment",
        "file bytes/entry",
        "heap bytes/entry",
        "ready after",
        "queries/s of CPU",
        "against scan",
    ]);
    let per_entry = |bytes: usize| format!("{:.2}", bytes as f64 / entries as f64);
    let mut row = |what: &str, file: usize, heap: usize, ready: Duration, rate: Rate| {
        let file = if file == 0 { "-".into() } else { per_entry(file) };
        let ready = format!("{:.1} ms", ready.as_secs_f64() * 1e3);
        let ratio = format!("{:.2}", rate.cpu / scan_rate.cpu);
        table.add_row([what.into(), file, per_entry(heap), ready, grouped(rate.cpu), ratio]);
    };
    row("scan, from entries", 0, scan.memory_bytes(), built, scan_rate);
    let mut lines = Vec::new();
    for encoding in [Encoding::Plain, Encoding::Compressed] {
        let (wrote, bytes) = timed(|| scan.to_bytes(&recipe, encoding));
        let bytes = bytes?;
        let name = format!("{encoding:?}").to_lowercase();
        lines.push(format!("{name}: written in {:.1} ms", wrote.as_secs_f64() * 1e3));
        let (opened, view) = timed(|| SegmentView::open(&bytes));
        let view = view?;
        let (view_rate, found) = rate(&view, few, bound, least)?;
        anyhow::ensure!(found == expected, "{name}: {found} matches, a scan has {expected}");
        row(&format!("{name} bytes, searched in place"), bytes.len(), 0, opened, view_rate);
        if encoding == Encoding::Plain {
            for most in [4, 10] {
                let engine = SegmentEngine::Tables(most);
                let (loaded, tables) = timed(|| Segment::load(&view, engine, bound));
                let tables = tables?;
                let (_, found) = rate(&tables, few, bound, Duration::ZERO)?;
                anyhow::ensure!(found == expected, "{found} matches, a scan has {expected}");
                let (tables_rate, _) = rate(&tables, &queries, bound, least)?;
                let name = format!("up to {most} tables, from plain bytes");
                row(&name, bytes.len(), tables.memory_bytes(), loaded, tables_rate);
            }
        }
        let owned: SharedBytes = Arc::new(bytes);
        anyhow::ensure!(Segment::map(owned)?.len() as u64 == entries);
    }
    println!("{} entries, within {bound}", grouped(entries as f64));
    println!("{table}");
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}
